//! MODE SENSE and MODE SELECT parameter lists (SPC-5 7.5): the headers of both widths and the pages caching,
//! control and informational exceptions control.

use super::Width;
use super::bytes::be16;

/// Mode page codes.
pub mod page {
    /// Caching (SBC-4 6.5.6).
    pub const CACHING: u8 = 0x08;
    /// Control (SPC-5 7.5.13).
    pub const CONTROL: u8 = 0x0a;
    /// Informational exceptions control (SBC-4 6.5.8).
    pub const INFORMATIONAL_EXCEPTIONS: u8 = 0x1c;
    /// Every page.
    pub const ALL: u8 = 0x3f;
}

/// PAGE CONTROL of MODE SENSE.
pub mod control {
    /// Current values.
    pub const CURRENT: u8 = 0;
    /// Which bits can be changed.
    pub const CHANGEABLE: u8 = 1;
    /// Default values.
    pub const DEFAULT: u8 = 2;
    /// Saved values.
    pub const SAVED: u8 = 3;
}

/// What stands before the pages (SPC-5 7.5.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModeHeader {
    /// WP: write protected.
    pub write_protected: bool,
    /// DPOFUA: DPO and FUA are supported.
    pub dpo_fua: bool,
    /// Short block descriptor: count of blocks (0 when it does not fit) and block length.
    pub block: Option<(u32, u32)>,
}

impl ModeHeader {
    /// Appends header and block descriptor, then what `pages` appends, and closes the length.
    pub fn write(&self, width: Width, out: &mut Vec<u8>, pages: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        let flags = u8::from(self.write_protected) << 7 | u8::from(self.dpo_fua) << 4;
        let descriptor = if self.block.is_some() { 8 } else { 0 };
        if width == Width::Six {
            out.extend_from_slice(&[0, 0, flags, descriptor]);
        } else {
            out.extend_from_slice(&[0, 0, 0, flags, 0, 0, 0, descriptor]);
        }
        if let Some((count, length)) = self.block {
            out.extend_from_slice(&count.to_be_bytes());
            out.extend_from_slice(&(length & 0xff_ffff).to_be_bytes());
        }
        pages(out);
        let list = &mut out[start..];
        if width == Width::Six {
            list[0] = (list.len() - 1).min(255) as u8;
        } else {
            super::bytes::close16(list, 0);
        }
    }

    /// Reads a header; returns it, the length of the whole list as told (0 in MODE SELECT data) and the pages.
    pub fn parse(width: Width, bytes: &[u8]) -> Option<(Self, usize, &[u8])> {
        let (length, flags, descriptor, rest) = if width == Width::Six {
            let &[length, _, flags, descriptor, ref rest @ ..] = bytes else { return None };
            (usize::from(length) + 1, flags, usize::from(descriptor), rest)
        } else {
            let flags = *bytes.get(3)?;
            let descriptor = usize::from(be16(bytes, 6)?);
            (usize::from(be16(bytes, 0)?) + 2, flags, descriptor, bytes.get(8..)?)
        };
        let block = match rest.get(..descriptor)? {
            &[a, b, c, d, _, e, f, g, ..] => {
                Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([0, e, f, g])))
            }
            _ => None,
        };
        let header = Self { write_protected: flags & 0x80 != 0, dpo_fua: flags & 0x10 != 0, block };
        Some((header, length, &rest[descriptor..]))
    }
}

/// A mode page in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModePage<'a> {
    /// PAGE CODE.
    pub code: u8,
    /// SUBPAGE CODE; 0 for the page_0 format.
    pub subpage: u8,
    /// What follows the page length.
    pub body: &'a [u8],
    /// Offset of the page in the list of pages.
    pub at: usize,
}

/// The pages of a list; an item is `Err` with the offset when a page is cut short, and the last then.
pub fn mode_pages(list: &[u8]) -> impl Iterator<Item = Result<ModePage<'_>, usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = list.get(at..).filter(|rest| !rest.is_empty())?;
        let page = cut_page(rest, at);
        at = match page {
            Some((_, length)) => at + length,
            None => list.len(),
        };
        Some(page.map(|(page, _)| page).ok_or(at))
    })
}

/// The page at the start of `rest`, and its whole length.
fn cut_page(rest: &[u8], at: usize) -> Option<(ModePage<'_>, usize)> {
    let code = rest[0] & 0x3f;
    if rest[0] & 0x40 == 0 {
        let length = usize::from(*rest.get(1)?);
        let body = rest.get(2..2 + length)?;
        Some((ModePage { code, subpage: 0, body, at }, 2 + length))
    } else {
        let length = usize::from(be16(rest, 2)?);
        let body = rest.get(4..4 + length)?;
        Some((ModePage { code, subpage: rest[1], body, at }, 4 + length))
    }
}

/// Caching page: the two bits that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caching {
    /// WCE: status may be sent before data is durable.
    pub write_cache: bool,
    /// RCD: reads do not come from the cache.
    pub no_read_cache: bool,
}

impl Caching {
    /// The body of the page.
    pub fn body(&self) -> [u8; 18] {
        let mut body = [0; 18];
        body[0] = u8::from(self.write_cache) << 2 | u8::from(self.no_read_cache);
        body
    }

    /// Reads the body of the page.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let flags = *body.first()?;
        Some(Self { write_cache: flags & 4 != 0, no_read_cache: flags & 1 != 0 })
    }
}

/// Control page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// D_SENSE: sense data in descriptor format.
    pub descriptor_sense: bool,
    /// SWP: software write protect.
    pub software_write_protect: bool,
    /// TAS: commands aborted by another nexus end in TASK ABORTED instead of silently.
    pub task_aborted_status: bool,
    /// QUEUE ALGORITHM MODIFIER: 1 is unrestricted reordering.
    pub queue_algorithm: u8,
    /// BUSY TIMEOUT PERIOD in 100 ms; 0xffff is unlimited.
    pub busy_timeout: u16,
}

impl Control {
    /// The body of the page.
    pub fn body(&self) -> [u8; 10] {
        let [high, low] = self.busy_timeout.to_be_bytes();
        [
            u8::from(self.descriptor_sense) << 2,
            self.queue_algorithm << 4,
            u8::from(self.software_write_protect) << 3,
            u8::from(self.task_aborted_status) << 6,
            0,
            0,
            high,
            low,
            0,
            0,
        ]
    }

    /// Reads the body of the page.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let b: &[u8; 8] = body.first_chunk()?;
        Some(Self {
            descriptor_sense: b[0] & 4 != 0,
            software_write_protect: b[2] & 8 != 0,
            task_aborted_status: b[3] & 0x40 != 0,
            queue_algorithm: b[1] >> 4,
            busy_timeout: u16::from_be_bytes([b[6], b[7]]),
        })
    }
}

/// Appends a page in page_0 format.
pub fn write_page(code: u8, body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[code & 0x3f, body.len() as u8]);
    out.extend_from_slice(body);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spc5_7_5_6_lists_of_both_widths_round_trip() {
        let caching = Caching { write_cache: true, no_read_cache: false };
        let control = Control {
            descriptor_sense: true,
            software_write_protect: true,
            task_aborted_status: true,
            queue_algorithm: 1,
            busy_timeout: 0x1234,
        };
        let header =
            ModeHeader { write_protected: true, dpo_fua: true, block: Some((0x1000, 512)) };
        for width in [Width::Six, Width::Ten] {
            let mut bytes = Vec::new();
            header.write(width, &mut bytes, |out| {
                write_page(page::CACHING, &caching.body(), out);
                write_page(page::CONTROL, &control.body(), out);
            });
            let (parsed, length, list) = ModeHeader::parse(width, &bytes).unwrap();
            assert_eq!((parsed, length), (header, bytes.len()));
            let pages: Vec<_> = mode_pages(list).map(Result::unwrap).collect();
            assert_eq!(
                pages.iter().map(|p| (p.code, p.at)).collect::<Vec<_>>(),
                [(8, 0), (10, 20)]
            );
            assert_eq!(Caching::parse(pages[0].body), Some(caching));
            assert_eq!(Control::parse(pages[1].body), Some(control));
        }
    }

    #[test]
    fn spc5_7_5_7_a_page_cut_short_is_told_and_ends_the_list() {
        let list = [0x08, 2, 0, 0, 0x0a, 10, 0];
        let pages: Vec<_> = mode_pages(&list).collect();
        assert_eq!(pages.len(), 2);
        assert!(pages[0].is_ok() && pages[1].is_err());
        assert!(ModeHeader::parse(Width::Six, &[0, 0, 0, 8, 0]).is_none());
        // SPF: the sub_page format has its length in two bytes.
        let list = [0x4a, 0x01, 0, 3, 1, 2, 3];
        let pages: Vec<_> = mode_pages(&list).map(Result::unwrap).collect();
        assert_eq!(pages, [ModePage { code: 0x0a, subpage: 1, body: &[1, 2, 3], at: 0 }]);
    }
}
