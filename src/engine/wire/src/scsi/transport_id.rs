//! TransportIDs of iSCSI (SPC-5 7.6.4.6): the name of an initiator port, or of an initiator with all its
//! ports.

use super::bytes::be16;
use super::designator::PROTOCOL_ISCSI;

/// Longest iSCSI name (RFC 7143 4.2.7.1).
const MAX_NAME: usize = 223;

/// An initiator port (name and ISID), or an initiator device (name alone).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransportId {
    /// iSCSI name.
    pub name: String,
    /// ISID; `None` stands for every port of the initiator (format 00b).
    pub isid: Option<[u8; 6]>,
}

impl TransportId {
    /// Appends the TransportID.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut text = self.name.clone();
        if let Some(isid) = self.isid {
            text.push_str(",i,0x");
            for byte in isid {
                text.push_str(&format!("{byte:02x}"));
            }
        }
        // Ended by a zero byte, padded to a multiple of four, at least 20 bytes.
        let length = ((text.len() / 4 + 1) * 4).max(20);
        let format = u8::from(self.isid.is_some()) << 6;
        out.extend_from_slice(&[format | PROTOCOL_ISCSI, 0]);
        out.extend_from_slice(&(length as u16).to_be_bytes());
        let start = out.len();
        out.extend_from_slice(text.as_bytes());
        out.resize(start + length, 0);
    }

    /// Reads one TransportID; returns it and its length in bytes.
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let first = *bytes.first()?;
        let length = usize::from(be16(bytes, 2)?);
        let field = bytes.get(4..4 + length)?;
        if first & 0x0f != PROTOCOL_ISCSI || length % 4 != 0 {
            return None;
        }
        let text = &field[..field.iter().position(|&b| b == 0)?];
        let text = std::str::from_utf8(text).ok()?;
        let (name, isid) = match first >> 6 {
            0 => (text, None),
            1 => {
                let (name, isid) = text.split_once(",i,0x")?;
                (name, Some(parse_isid(isid)?))
            }
            _ => return None,
        };
        let valid = !name.is_empty() && name.len() <= MAX_NAME;
        valid.then(|| (Self { name: name.to_owned(), isid }, 4 + length))
    }
}

fn parse_isid(text: &str) -> Option<[u8; 6]> {
    if text.is_empty() || text.len() > 12 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let [_, _, isid @ ..] = u64::from_str_radix(text, 16).ok()?.to_be_bytes();
    Some(isid)
}

/// The TransportIDs in a list; an item is `None` when one is wrong, and the last then.
pub fn transport_ids(mut list: &[u8]) -> impl Iterator<Item = Option<TransportId>> + '_ {
    std::iter::from_fn(move || {
        if list.is_empty() {
            return None;
        }
        match TransportId::parse(list) {
            Some((id, length)) => {
                list = &list[length..];
                Some(Some(id))
            }
            None => {
                list = &[];
                Some(None)
            }
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spc5_7_6_4_6_both_formats_round_trip() {
        for (name, isid) in [
            ("iqn.2026-11.test:host", None),
            ("iqn.2026-11.test:host", Some([0x80, 0, 0, 0xab, 0, 1])),
            ("eui.02004567A425678D", None),
            ("iqn.a", None),
        ] {
            let id = TransportId { name: name.to_owned(), isid };
            let mut bytes = Vec::new();
            id.write(&mut bytes);
            assert_eq!(bytes.len() % 4, 0);
            assert!(bytes.len() >= 24);
            let length = bytes.len();
            assert_eq!(TransportId::parse(&bytes), Some((id.clone(), length)));
            assert_eq!(TransportId::parse(&bytes[..length - 1]), None);
            bytes.extend_from_within(..);
            assert_eq!(
                transport_ids(&bytes).collect::<Option<Vec<_>>>().unwrap(),
                [id.clone(), id]
            );
        }
    }

    #[test]
    fn spc5_7_6_4_6_what_is_not_an_iscsi_id_is_refused() {
        let good = {
            let mut bytes = Vec::new();
            TransportId { name: "iqn.b".to_owned(), isid: Some([1; 6]) }.write(&mut bytes);
            bytes
        };
        let with = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            TransportId::parse(&bytes)
        };
        assert!(TransportId::parse(&good).is_some());
        assert_eq!(with(0, 0x40), None, "another protocol");
        assert_eq!(with(0, 0x85), None, "a reserved format");
        assert_eq!(with(3, 21), None, "a length that is not padded");
        assert_eq!(with(9, b';'), None, "no separator");
        assert_eq!(with(14, b'g'), None, "not hexadecimal");
        assert_eq!(TransportId::parse(&[0x05, 0, 0, 0]), None);
    }
}
