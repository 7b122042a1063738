//! Logical unit numbers (SAM-5 4.7) and the REPORT LUNS parameter data (SPC-5 6.33).
//!
//! A LUN travels in eight bytes. Single-level device addressing says it in the first two: peripheral device
//! method for 0-255, flat space method up to 16,383; extended flat space reaches 24 bits. All three of them
//! are read; the shortest that fits is written, as arrays do that ESXi knows.

use std::fmt;

/// The eight bytes of a LUN as they travel in an iSCSI PDU or in REPORT LUNS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LunField(pub [u8; 8]);

/// What a [`LunField`] addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LunAddress {
    /// A logical unit of this device by its number.
    Unit(u32),
    /// A well-known logical unit: 1 is REPORT LUNS (SPC-5 8.2).
    WellKnown(u8),
    /// A form that single-level addressing does not have (other bus, more levels, logical unit addressing).
    Unsupported,
}

/// Number of the REPORT LUNS well-known logical unit.
pub const WELL_KNOWN_REPORT_LUNS: u8 = 0x01;

impl LunField {
    /// The field of logical unit `number` (24 bits at most; higher bits are dropped).
    pub const fn unit(number: u32) -> Self {
        let [_, high, middle, low] = number.to_be_bytes();
        if number < 256 {
            Self([0, low, 0, 0, 0, 0, 0, 0])
        } else if number < 16_384 {
            Self([0x40 | middle, low, 0, 0, 0, 0, 0, 0])
        } else {
            Self([0xd2, high, middle, low, 0, 0, 0, 0])
        }
    }

    /// The field of well-known logical unit `number`.
    pub const fn well_known(number: u8) -> Self {
        Self([0xc1, number, 0, 0, 0, 0, 0, 0])
    }

    /// What it addresses.
    pub fn address(self) -> LunAddress {
        let b = self.0;
        let rest_is_zero = |from: usize| b[from..].iter().all(|&x| x == 0);
        match b[0] >> 6 {
            // Peripheral device addressing with bus 0.
            0 if b[0] == 0 && rest_is_zero(2) => LunAddress::Unit(u32::from(b[1])),
            1 if rest_is_zero(2) => LunAddress::Unit(u32::from(b[0] & 0x3f) << 8 | u32::from(b[1])),
            3 if b[0] == 0xc1 && rest_is_zero(2) => LunAddress::WellKnown(b[1]),
            3 if b[0] == 0xd2 && rest_is_zero(4) => {
                LunAddress::Unit(u32::from_be_bytes([0, b[1], b[2], b[3]]))
            }
            _ => LunAddress::Unsupported,
        }
    }

    /// The number of the logical unit, if it addresses one.
    pub fn number(self) -> Option<u32> {
        match self.address() {
            LunAddress::Unit(number) => Some(number),
            _ => None,
        }
    }
}

impl From<[u8; 8]> for LunField {
    fn from(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for LunField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lun {:016x}", u64::from_be_bytes(self.0))
    }
}

/// Appends the REPORT LUNS parameter data with these LUNs.
pub fn write_report_luns(luns: impl ExactSizeIterator<Item = LunField>, out: &mut Vec<u8>) {
    // The count is bounded by the LUNs a target can have (24 bits), so the product fits.
    out.extend_from_slice(&((luns.len() * 8) as u32).to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    for lun in luns {
        out.extend_from_slice(&lun.0);
    }
}

/// Reads REPORT LUNS parameter data: the length of the whole list in bytes (more than `bytes` holds when the
/// allocation length was too small) and the LUNs present.
pub fn parse_report_luns(bytes: &[u8]) -> Option<(usize, impl Iterator<Item = LunField> + '_)> {
    let length = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let list = bytes.get(8..)?;
    let list = &list[..list.len().min(length)];
    Some((8 + length, list.as_chunks::<8>().0.iter().map(|&field| LunField(field))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sam5_4_7_each_number_round_trips_in_its_shortest_form() {
        for number in [0, 1, 255, 256, 257, 16_383, 16_384, 0xff_ffff] {
            assert_eq!(LunField::unit(number).number(), Some(number));
        }
        assert_eq!(LunField::unit(7).0, [0, 7, 0, 0, 0, 0, 0, 0]);
        assert_eq!(LunField::unit(300).0, [0x41, 0x2c, 0, 0, 0, 0, 0, 0]);
        assert_eq!(LunField::unit(0x01_0000).0, [0xd2, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn sam5_4_7_a_small_number_in_flat_space_form_is_the_same_unit() {
        assert_eq!(LunField([0x40, 7, 0, 0, 0, 0, 0, 0]).number(), Some(7));
    }

    #[test]
    fn sam5_4_7_forms_that_are_not_ours_address_nothing() {
        for field in [
            [0, 1, 0, 1, 0, 0, 0, 0],
            [1, 0, 0, 0, 0, 0, 0, 0],
            [0x80, 1, 0, 0, 0, 0, 0, 0],
            [255; 8],
        ] {
            assert_eq!(LunField(field).address(), LunAddress::Unsupported, "{field:?}");
        }
        assert_eq!(LunField::well_known(1).address(), LunAddress::WellKnown(1));
    }

    #[test]
    fn spc5_6_33_report_luns_round_trips_and_tells_its_whole_length() {
        let luns = [LunField::unit(0), LunField::unit(300), LunField::unit(70_000)];
        let mut bytes = Vec::new();
        write_report_luns(luns.into_iter(), &mut bytes);
        let (whole, parsed) = parse_report_luns(&bytes).unwrap();
        assert_eq!((whole, parsed.collect::<Vec<_>>()), (32, luns.to_vec()));
        let (whole, parsed) = parse_report_luns(&bytes[..20]).unwrap();
        assert_eq!((whole, parsed.count()), (32, 1));
        assert!(parse_report_luns(&bytes[..7]).is_none());
    }
}
