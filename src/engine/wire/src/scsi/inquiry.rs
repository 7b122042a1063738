//! INQUIRY: standard data (SPC-5 6.7.2) and the vital product data pages 00, 80, 83 and 86 (SPC-5 7.7).
//!
//! The block pages B0, B1 and B2 stand in `block_vpd`, designation descriptors in `designator`.

use super::bytes::{array, ascii, be16, close16, text};
use super::designator::{Designator, designators};

/// Page codes of vital product data.
pub mod vpd {
    /// Supported VPD pages.
    pub const SUPPORTED_PAGES: u8 = 0x00;
    /// Unit serial number.
    pub const UNIT_SERIAL_NUMBER: u8 = 0x80;
    /// Device identification.
    pub const DEVICE_IDENTIFICATION: u8 = 0x83;
    /// Extended INQUIRY data.
    pub const EXTENDED_INQUIRY: u8 = 0x86;
    /// Block limits.
    pub const BLOCK_LIMITS: u8 = 0xb0;
    /// Block device characteristics.
    pub const BLOCK_DEVICE_CHARACTERISTICS: u8 = 0xb1;
    /// Logical block provisioning.
    pub const LOGICAL_BLOCK_PROVISIONING: u8 = 0xb2;
}

/// PERIPHERAL QUALIFIER and DEVICE TYPE of a direct-access block device that is there.
pub const PERIPHERAL_DISK: u8 = 0x00;
/// A LUN that the target supports but that is not there now.
pub const PERIPHERAL_ABSENT_DISK: u8 = 0x20;
/// A LUN that the target does not support.
pub const PERIPHERAL_UNSUPPORTED: u8 = 0x7f;
/// A well-known logical unit.
pub const PERIPHERAL_WELL_KNOWN: u8 = 0x1e;

/// Standard INQUIRY data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandardInquiry<'a> {
    /// Qualifier and type in one byte.
    pub peripheral: u8,
    /// RMB: the medium can be removed.
    pub removable: bool,
    /// VERSION: 6 for SPC-4, 7 for SPC-5.
    pub version: u8,
    /// TPGS: bit 0 implicit, bit 1 explicit asymmetric access.
    pub tpgs: u8,
    /// 3PC: copy commands are supported.
    pub third_party_copy: bool,
    /// MULTIP: more than one port.
    pub multi_port: bool,
    /// T10 VENDOR IDENTIFICATION, up to 8 characters.
    pub vendor: &'a str,
    /// PRODUCT IDENTIFICATION, up to 16.
    pub product: &'a str,
    /// PRODUCT REVISION LEVEL, up to 4.
    pub revision: &'a str,
    /// VERSION DESCRIPTORs that are not zero, up to 8.
    pub standards: Vec<u16>,
}

impl<'a> StandardInquiry<'a> {
    /// Length as built.
    pub const LENGTH: usize = 96;

    /// Appends the data.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + Self::LENGTH, 0);
        let b = &mut out[start..];
        b[0] = self.peripheral;
        b[1] = u8::from(self.removable) << 7;
        b[2] = self.version;
        // HISUP: hierarchical addressing model of LUNs; response data format 2.
        b[3] = 0x12;
        b[4] = (Self::LENGTH - 5) as u8;
        b[5] = (self.tpgs & 3) << 4 | u8::from(self.third_party_copy) << 3;
        b[6] = u8::from(self.multi_port) << 4;
        // CMDQUE.
        b[7] = 0x02;
        b[8..16].copy_from_slice(&ascii::<8>(self.vendor));
        b[16..32].copy_from_slice(&ascii::<16>(self.product));
        b[32..36].copy_from_slice(&ascii::<4>(self.revision));
        for (field, standard) in b[58..74].as_chunks_mut::<2>().0.iter_mut().zip(&self.standards) {
            *field = standard.to_be_bytes();
        }
    }

    /// Reads standard data of at least 36 bytes.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let b: &[u8; 36] = bytes.first_chunk()?;
        let standards = bytes.get(58..).unwrap_or_default();
        Some(Self {
            peripheral: b[0],
            removable: b[1] & 0x80 != 0,
            version: b[2],
            tpgs: b[5] >> 4 & 3,
            third_party_copy: b[5] & 8 != 0,
            multi_port: b[6] & 0x10 != 0,
            vendor: text(&bytes[8..16]),
            product: text(&bytes[16..32]),
            revision: text(&bytes[32..36]),
            standards: standards
                .as_chunks::<2>()
                .0
                .iter()
                .take(8)
                .map(|&field| u16::from_be_bytes(field))
                .filter(|&standard| standard != 0)
                .collect(),
        })
    }
}

/// Appends a VPD page: its header, then what `body` appends.
pub fn write_vpd(peripheral: u8, page: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[peripheral, page, 0, 0]);
    body(out);
    close16(&mut out[start..], 2);
}

/// A VPD page as received: its code and as much of its body as is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VpdPage<'a> {
    /// PAGE CODE.
    pub page: u8,
    /// Length of the body as the header tells it.
    pub length: usize,
    /// The body as far as received.
    pub body: &'a [u8],
}

impl<'a> VpdPage<'a> {
    /// Reads the header and cuts the body.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let length = usize::from(be16(bytes, 2)?);
        let body = bytes.get(4..)?;
        Some(Self { page: bytes[1], length, body: &body[..body.len().min(length)] })
    }

    /// The unit serial number of page 80.
    pub fn serial(&self) -> Option<&'a str> {
        (self.page == vpd::UNIT_SERIAL_NUMBER).then(|| text(self.body))
    }

    /// The designators of page 83.
    pub fn designators(&self) -> impl Iterator<Item = Designator<'a>> {
        let body = if self.page == vpd::DEVICE_IDENTIFICATION { self.body } else { &[] };
        designators(body)
    }
}

/// Extended INQUIRY data, page 86 (SPC-5 7.7.7): the part that is not always zero here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendedInquiry {
    /// V_SUP: there is a volatile cache.
    pub volatile_cache: bool,
    /// LUICLR: unit attentions are cleared per I_T nexus.
    pub nexus_clear: bool,
}

impl ExtendedInquiry {
    /// Appends the body of the page.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut body = [0; 60];
        // HEADSUP, ORDSUP, SIMPSUP: the task attributes that are accepted.
        body[1] = 0x07;
        body[2] = u8::from(self.volatile_cache);
        body[3] = u8::from(self.nexus_clear);
        out.extend_from_slice(&body);
    }

    /// Reads the body of the page.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let [_, _, caches, nexus] = array(body, 0)?;
        Some(Self { volatile_cache: caches & 1 != 0, nexus_clear: nexus & 1 != 0 })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spc5_6_7_2_standard_data_round_trips() {
        let data = StandardInquiry {
            peripheral: PERIPHERAL_DISK,
            removable: true,
            version: 6,
            tpgs: 3,
            third_party_copy: true,
            multi_port: true,
            vendor: "PLIMSOLL",
            product: "datastore",
            revision: "0.1",
            standards: vec![0x00a0, 0x0960],
        };
        let mut bytes = Vec::new();
        data.write(&mut bytes);
        assert_eq!((bytes.len(), bytes[4]), (96, 91));
        assert_eq!(StandardInquiry::parse(&bytes), Some(data));
        assert_eq!(&bytes[16..32], b"datastore       ");
        assert!(StandardInquiry::parse(&bytes[..35]).is_none());
        assert!(StandardInquiry::parse(&bytes[..36]).unwrap().standards.is_empty());
    }

    #[test]
    fn spc5_7_7_1_a_page_knows_its_length_and_survives_truncation() {
        let mut bytes = Vec::new();
        write_vpd(0, vpd::UNIT_SERIAL_NUMBER, &mut bytes, |b| {
            b.extend_from_slice(b"0123456789abcdef");
        });
        assert_eq!(VpdPage::parse(&bytes).unwrap().serial(), Some("0123456789abcdef"));
        let short = VpdPage::parse(&bytes[..10]).unwrap();
        assert_eq!((short.length, short.serial()), (16, Some("012345")));
        assert!(VpdPage::parse(&bytes[..3]).is_none());
    }

    #[test]
    fn spc5_7_7_7_extended_data_is_64_bytes_in_all() {
        let data = ExtendedInquiry { volatile_cache: true, nexus_clear: true };
        let mut bytes = Vec::new();
        write_vpd(0, vpd::EXTENDED_INQUIRY, &mut bytes, |b| data.write(b));
        assert_eq!((bytes.len(), &bytes[..4]), (64, &[0, 0x86, 0, 0x3c][..]));
        assert_eq!(ExtendedInquiry::parse(VpdPage::parse(&bytes).unwrap().body), Some(data));
    }

    #[test]
    fn spc5_4_3_1_text_that_is_not_ascii_is_replaced() {
        assert_eq!(ascii::<4>("aé"), *b"a?? ");
        assert_eq!(ascii::<2>("abc"), *b"ab");
    }
}
