//! Sense data (SPC-5 4.4): why a command ended in CHECK CONDITION, in fixed and in descriptor format.
//!
//! One [`Sense`] value holds the meaning; the format is chosen when it is written, by the D_SENSE bit of the
//! control mode page or by the DESC bit of REQUEST SENSE.

use super::Additional;
use super::bytes::{be32, be64};

/// The sense key: the class of what happened (SPC-5 4.4.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SenseKey {
    /// Nothing to report.
    NoSense = 0x0,
    /// Succeeded after a correction.
    RecoveredError = 0x1,
    /// The logical unit cannot be accessed now.
    NotReady = 0x2,
    /// The medium failed.
    MediumError = 0x3,
    /// The device failed.
    HardwareError = 0x4,
    /// The request is not valid.
    IllegalRequest = 0x5,
    /// Something changed that the initiator must know before it goes on.
    UnitAttention = 0x6,
    /// The medium may not be written.
    DataProtect = 0x7,
    /// Unwritten medium was met.
    BlankCheck = 0x8,
    /// Vendor specific.
    VendorSpecific = 0x9,
    /// A copy command failed on the way.
    CopyAborted = 0xa,
    /// The device server aborted the command; it may be retried.
    AbortedCommand = 0xb,
    /// Buffered data may remain.
    VolumeOverflow = 0xd,
    /// Data did not match the medium.
    Miscompare = 0xe,
    /// A power condition ended.
    Completed = 0xf,
}

impl SenseKey {
    /// The key of the low four bits of `code`; the reserved 0xc reads as no sense.
    pub const fn from_code(code: u8) -> Self {
        match code & 0x0f {
            0x1 => Self::RecoveredError,
            0x2 => Self::NotReady,
            0x3 => Self::MediumError,
            0x4 => Self::HardwareError,
            0x5 => Self::IllegalRequest,
            0x6 => Self::UnitAttention,
            0x7 => Self::DataProtect,
            0x8 => Self::BlankCheck,
            0x9 => Self::VendorSpecific,
            0xa => Self::CopyAborted,
            0xb => Self::AbortedCommand,
            0xd => Self::VolumeOverflow,
            0xe => Self::Miscompare,
            0xf => Self::Completed,
            _ => Self::NoSense,
        }
    }
}

/// The sense-key specific bytes (SPC-5 4.4.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Specific {
    /// Which field of the CDB or of the parameter list is wrong.
    Field {
        /// In the CDB (else in the parameter list).
        in_cdb: bool,
        /// Byte offset.
        byte: u16,
        /// Highest bit of the field, when it is smaller than a byte.
        bit: Option<u8>,
    },
    /// Progress of an operation, in 65,536ths.
    Progress(u16),
    /// Segment descriptor of EXTENDED COPY in error.
    Segment {
        /// The pointer is relative to the segment descriptor (else to the parameter list).
        in_descriptor: bool,
        /// Byte offset.
        byte: u16,
        /// Highest bit of the field.
        bit: Option<u8>,
    },
}

/// Why a command ended in CHECK CONDITION, or what REQUEST SENSE has to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    /// The class.
    pub key: SenseKey,
    /// The detail.
    pub additional: Additional,
    /// INFORMATION: for block devices the logical block or, after a miscompare, the offset of the first
    /// differing byte.
    pub information: Option<u64>,
    /// COMMAND-SPECIFIC INFORMATION.
    pub command_specific: Option<u64>,
    /// Sense-key specific data.
    pub specific: Option<Specific>,
    /// Whether it describes an earlier command (deferred error).
    pub deferred: bool,
}

/// Longest sense data that [`Sense::write`] builds: header and the information, command-specific and
/// sense-key specific descriptors.
pub const MAX_SENSE: usize = 8 + 12 + 12 + 8;

/// Length of fixed-format sense data as built here.
pub const FIXED_SENSE: usize = 18;

impl Sense {
    /// Sense with key and code alone.
    pub const fn new(key: SenseKey, additional: Additional) -> Self {
        Self {
            key,
            additional,
            information: None,
            command_specific: None,
            specific: None,
            deferred: false,
        }
    }

    /// ILLEGAL REQUEST with this code.
    pub const fn illegal(additional: Additional) -> Self {
        Self::new(SenseKey::IllegalRequest, additional)
    }

    /// ILLEGAL REQUEST, INVALID FIELD IN CDB, with the field's place.
    pub const fn cdb_field(byte: u16, bit: Option<u8>) -> Self {
        Self::illegal(Additional::INVALID_FIELD_IN_CDB).at(Specific::Field {
            in_cdb: true,
            byte,
            bit,
        })
    }

    /// ILLEGAL REQUEST, INVALID FIELD IN PARAMETER LIST, with the field's place.
    pub const fn parameter_field(byte: u16, bit: Option<u8>) -> Self {
        Self::illegal(Additional::INVALID_FIELD_IN_PARAMETER_LIST).at(Specific::Field {
            in_cdb: false,
            byte,
            bit,
        })
    }

    /// UNIT ATTENTION with this code.
    pub const fn attention(additional: Additional) -> Self {
        Self::new(SenseKey::UnitAttention, additional)
    }

    /// The same with INFORMATION.
    pub const fn with_information(mut self, information: u64) -> Self {
        self.information = Some(information);
        self
    }

    /// The same with COMMAND-SPECIFIC INFORMATION.
    pub const fn with_command_specific(mut self, value: u64) -> Self {
        self.command_specific = Some(value);
        self
    }

    /// The same with sense-key specific data.
    pub const fn at(mut self, specific: Specific) -> Self {
        self.specific = Some(specific);
        self
    }

    /// Appends the sense data in descriptor (SPC-5 4.4.2) or fixed format (4.4.3).
    pub fn write(&self, descriptor: bool, out: &mut Vec<u8>) {
        if descriptor { self.write_descriptor(out) } else { self.write_fixed(out) }
    }

    fn write_fixed(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + FIXED_SENSE, 0);
        let b = &mut out[start..];
        b[0] = 0x70 | u8::from(self.deferred);
        b[2] = self.key as u8;
        // INFORMATION and COMMAND-SPECIFIC hold four bytes: a larger value cannot be told (VALID stays 0).
        if let Some(information) = self.information.and_then(|i| u32::try_from(i).ok()) {
            b[0] |= 0x80;
            b[3..7].copy_from_slice(&information.to_be_bytes());
        }
        b[7] = (FIXED_SENSE - 8) as u8;
        if let Some(value) = self.command_specific.and_then(|v| u32::try_from(v).ok()) {
            b[8..12].copy_from_slice(&value.to_be_bytes());
        }
        b[12] = self.additional.code;
        b[13] = self.additional.qualifier;
        if let Some(specific) = self.specific {
            b[15..18].copy_from_slice(&specific.bytes());
        }
    }

    fn write_descriptor(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[
            0x72 | u8::from(self.deferred),
            self.key as u8,
            self.additional.code,
            self.additional.qualifier,
            0,
            0,
            0,
            0,
        ]);
        if let Some(information) = self.information {
            out.extend_from_slice(&[0x00, 0x0a, 0x80, 0]);
            out.extend_from_slice(&information.to_be_bytes());
        }
        if let Some(value) = self.command_specific {
            out.extend_from_slice(&[0x01, 0x0a, 0, 0]);
            out.extend_from_slice(&value.to_be_bytes());
        }
        if let Some(specific) = self.specific {
            let [a, b, c] = specific.bytes();
            out.extend_from_slice(&[0x02, 0x06, 0, 0, a, b, c, 0]);
        }
        out[start + 7] = (out.len() - start - 8) as u8;
    }

    /// Reads sense data in either format; `None` when it is too short or of another format. What a truncated
    /// buffer does not hold is absent.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? & 0x7f {
            code @ (0x70 | 0x71) => Self::parse_fixed(bytes, code == 0x71),
            code @ (0x72 | 0x73) => Self::parse_descriptor(bytes, code == 0x73),
            _ => None,
        }
    }

    fn parse_fixed(bytes: &[u8], deferred: bool) -> Option<Self> {
        let key = SenseKey::from_code(*bytes.get(2)?);
        let additional = match bytes.get(12..14) {
            Some(&[code, qualifier]) => Additional { code, qualifier },
            _ => Additional::NONE,
        };
        let mut sense = Self::new(key, additional);
        sense.deferred = deferred;
        if bytes[0] & 0x80 != 0 {
            sense.information = be32(bytes, 3).map(u64::from);
        }
        sense.command_specific = be32(bytes, 8).filter(|&v| v != 0).map(u64::from);
        if let Some(&[a, b, c]) = bytes.get(15..18) {
            sense.specific = Specific::parse(key, [a, b, c]);
        }
        Some(sense)
    }

    fn parse_descriptor(bytes: &[u8], deferred: bool) -> Option<Self> {
        let &[_, key, code, qualifier, _, _, _, length] = bytes.get(..8)? else { return None };
        let key = SenseKey::from_code(key);
        let mut sense = Self::new(key, Additional { code, qualifier });
        sense.deferred = deferred;
        let end = bytes.len().min(8 + usize::from(length));
        let mut rest = &bytes[8..end];
        while let [kind, length, tail @ ..] = rest {
            let Some(body) = tail.get(..usize::from(*length)) else { break };
            match kind {
                0x00 if body.len() >= 10 && body[0] & 0x80 != 0 => {
                    sense.information = be64(body, 2);
                }
                0x01 => sense.command_specific = be64(body, 2),
                0x02 => {
                    if let Some(&[a, b, c]) = body.get(2..5) {
                        sense.specific = Specific::parse(key, [a, b, c]);
                    }
                }
                _ => {}
            }
            rest = &tail[body.len()..];
        }
        Some(sense)
    }
}

impl Specific {
    fn bytes(self) -> [u8; 3] {
        let pointer = |flag: u8, byte: u16, bit: Option<u8>| {
            let [high, low] = byte.to_be_bytes();
            [0x80 | flag | bit.map_or(0, |b| 0x08 | (b & 7)), high, low]
        };
        match self {
            Self::Field { in_cdb, byte, bit } => pointer(u8::from(in_cdb) << 6, byte, bit),
            Self::Segment { in_descriptor, byte, bit } => {
                pointer(u8::from(in_descriptor) << 5, byte, bit)
            }
            Self::Progress(progress) => {
                let [high, low] = progress.to_be_bytes();
                [0x80, high, low]
            }
        }
    }

    fn parse(key: SenseKey, [flags, high, low]: [u8; 3]) -> Option<Self> {
        if flags & 0x80 == 0 {
            return None;
        }
        let value = u16::from_be_bytes([high, low]);
        let bit = (flags & 0x08 != 0).then_some(flags & 7);
        match key {
            SenseKey::IllegalRequest => {
                Some(Self::Field { in_cdb: flags & 0x40 != 0, byte: value, bit })
            }
            SenseKey::CopyAborted => {
                Some(Self::Segment { in_descriptor: flags & 0x20 != 0, byte: value, bit })
            }
            SenseKey::NoSense | SenseKey::NotReady => Some(Self::Progress(value)),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn samples() -> Vec<Sense> {
        vec![
            Sense::cdb_field(2, Some(7)),
            Sense::parameter_field(24, None),
            Sense::attention(Additional::CAPACITY_DATA_CHANGED),
            Sense::new(SenseKey::Miscompare, Additional::MISCOMPARE_DURING_VERIFY)
                .with_information(511),
            Sense::new(SenseKey::NotReady, Additional::NOT_READY_SANITIZE_IN_PROGRESS)
                .at(Specific::Progress(0x8000)),
            Sense::new(SenseKey::CopyAborted, Additional::COPY_DATA_UNDERRUN)
                .with_command_specific(7)
                .at(Specific::Segment { in_descriptor: true, byte: 4, bit: None }),
        ]
    }

    #[test]
    fn spc5_4_4_2_and_4_4_3_both_formats_round_trip() {
        for sense in samples() {
            for descriptor in [false, true] {
                let mut bytes = Vec::new();
                sense.write(descriptor, &mut bytes);
                assert!(bytes.len() <= MAX_SENSE);
                assert_eq!(Sense::parse(&bytes), Some(sense), "{descriptor} {bytes:02x?}");
            }
        }
    }

    #[test]
    fn spc5_4_4_2_only_descriptor_format_holds_a_large_information() {
        let sense = Sense::illegal(Additional::LBA_OUT_OF_RANGE).with_information(1 << 40);
        let mut bytes = Vec::new();
        sense.write(true, &mut bytes);
        assert_eq!(Sense::parse(&bytes).unwrap().information, Some(1 << 40));
        bytes.clear();
        sense.write(false, &mut bytes);
        assert_eq!(bytes[0], 0x70, "VALID must not be set");
        assert_eq!(Sense::parse(&bytes).unwrap().information, None);
    }

    #[test]
    fn spc5_4_4_3_layout_of_fixed_format() {
        let mut bytes = Vec::new();
        Sense::cdb_field(3, Some(5)).write(false, &mut bytes);
        assert_eq!(bytes, [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0x00, 0, 0xcd, 0, 3]);
    }

    #[test]
    fn truncated_sense_never_panics_and_loses_only_what_is_missing() {
        for sense in samples() {
            for descriptor in [false, true] {
                let mut bytes = Vec::new();
                sense.write(descriptor, &mut bytes);
                for cut in 0..bytes.len() {
                    if let Some(parsed) = Sense::parse(&bytes[..cut]) {
                        assert_eq!(parsed.key, sense.key);
                    }
                }
            }
        }
    }
}
