//! EXTENDED COPY(LID1) parameter list (SPC-5 6.6) and RECEIVE COPY RESULTS data (SPC-5 6.20 - 6.23).
//!
//! Only what block-to-block offload needs: identification target descriptors (E4h) and block-to-block segment
//! descriptors (02h); others are told by their code so that the device server can refuse them by name.

use super::bytes::{array, be16, be32, be64};
use super::designator::Designator;

/// Type code of an identification descriptor target descriptor.
pub const TARGET_IDENTIFICATION: u8 = 0xe4;
/// Type code of a block-to-block segment descriptor.
pub const SEGMENT_BLOCK_TO_BLOCK: u8 = 0x02;
/// Length of every target descriptor that is not extended.
pub const TARGET_LENGTH: usize = 32;
/// Length of a block-to-block segment descriptor.
pub const SEGMENT_LENGTH: usize = 28;
/// Length of the list's header.
pub const HEADER_LENGTH: usize = 16;

/// Header of the parameter list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyHeader {
    /// LIST IDENTIFIER.
    pub list: u8,
    /// LIST ID USAGE: 3 means that the identifier is not used.
    pub list_usage: u8,
    /// TARGET DESCRIPTOR LIST LENGTH.
    pub targets: u16,
    /// SEGMENT DESCRIPTOR LIST LENGTH.
    pub segments: u32,
    /// INLINE DATA LENGTH.
    pub inline: u32,
}

impl CopyHeader {
    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.list, (self.list_usage & 3) << 3]);
        out.extend_from_slice(&self.targets.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.segments.to_be_bytes());
        out.extend_from_slice(&self.inline.to_be_bytes());
    }

    /// Reads the header.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [list, flags] = array(bytes, 0)?;
        Some(Self {
            list,
            list_usage: flags >> 3 & 3,
            targets: be16(bytes, 2)?,
            segments: be32(bytes, 8)?,
            inline: be32(bytes, 12)?,
        })
    }
}

/// Appends an identification target descriptor for a disk with this designator (at most 20 bytes).
pub fn write_target(designator: &Designator<'_>, block_bytes: u32, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[TARGET_IDENTIFICATION, 0, 0, 0]);
    designator.write(out);
    out.resize(start + 28, 0);
    out.extend_from_slice(&(block_bytes & 0xff_ffff).to_be_bytes());
}

/// A target descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyTarget<'a> {
    /// DESCRIPTOR TYPE CODE.
    pub kind: u8,
    /// PERIPHERAL DEVICE TYPE.
    pub peripheral: u8,
    /// The designator, if the descriptor is an identification that is whole.
    pub designator: Option<Designator<'a>>,
    /// DISK BLOCK LENGTH.
    pub block_bytes: u32,
}

impl<'a> CopyTarget<'a> {
    /// Reads a descriptor.
    pub fn parse(bytes: &'a [u8; TARGET_LENGTH]) -> Self {
        let identification = bytes[0] == TARGET_IDENTIFICATION;
        Self {
            kind: bytes[0],
            peripheral: bytes[1] & 0x1f,
            designator: identification.then(|| Designator::parse(&bytes[4..28])).flatten(),
            block_bytes: u32::from_be_bytes([0, bytes[29], bytes[30], bytes[31]]),
        }
    }
}

/// A block-to-block segment descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopySegment {
    /// DC: the count is in blocks of the destination.
    pub destination_count: bool,
    /// CAT: residual data goes to the next segment.
    pub concatenate: bool,
    /// Index of the source among the target descriptors.
    pub source: u16,
    /// Index of the destination.
    pub destination: u16,
    /// BLOCK DEVICE NUMBER OF BLOCKS.
    pub count: u16,
    /// First block of the source.
    pub source_lba: u64,
    /// First block of the destination.
    pub destination_lba: u64,
}

impl CopySegment {
    /// Appends the descriptor.
    pub fn write(&self, out: &mut Vec<u8>) {
        let flags = u8::from(self.destination_count) << 1 | u8::from(self.concatenate);
        out.extend_from_slice(&[SEGMENT_BLOCK_TO_BLOCK, flags, 0, (SEGMENT_LENGTH - 4) as u8]);
        out.extend_from_slice(&self.source.to_be_bytes());
        out.extend_from_slice(&self.destination.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.count.to_be_bytes());
        out.extend_from_slice(&self.source_lba.to_be_bytes());
        out.extend_from_slice(&self.destination_lba.to_be_bytes());
    }

    /// Reads a descriptor whose type is block to block and whose length is 28.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let b: &[u8; SEGMENT_LENGTH] = bytes.first_chunk()?;
        if b[0] != SEGMENT_BLOCK_TO_BLOCK || be16(b, 2)? != (SEGMENT_LENGTH - 4) as u16 {
            return None;
        }
        Some(Self {
            destination_count: b[1] & 2 != 0,
            concatenate: b[1] & 1 != 0,
            source: be16(b, 4)?,
            destination: be16(b, 6)?,
            count: be16(b, 10)?,
            source_lba: be64(b, 12)?,
            destination_lba: be64(b, 20)?,
        })
    }
}

/// What RECEIVE COPY OPERATING PARAMETERS tells (SPC-5 6.22).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyParameters {
    /// SNLID: the list identifier may be left unused.
    pub no_list_id: bool,
    /// MAXIMUM TARGET DESCRIPTOR COUNT.
    pub max_targets: u16,
    /// MAXIMUM SEGMENT DESCRIPTOR COUNT.
    pub max_segments: u16,
    /// MAXIMUM DESCRIPTOR LIST LENGTH in bytes.
    pub max_descriptors: u32,
    /// MAXIMUM SEGMENT LENGTH in bytes.
    pub max_segment_bytes: u32,
    /// MAXIMUM INLINE DATA LENGTH in bytes.
    pub max_inline: u32,
    /// TOTAL CONCURRENT COPIES and, at most 255, MAXIMUM CONCURRENT COPIES.
    pub concurrent: u16,
    /// DATA SEGMENT GRANULARITY as a power of two.
    pub granularity_log2: u8,
    /// IMPLEMENTED DESCRIPTOR TYPE CODEs in ascending order.
    pub descriptors: Vec<u8>,
}

impl CopyParameters {
    /// Appends the data.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut b = [0; 44];
        b[0..4].copy_from_slice(&(40 + self.descriptors.len() as u32).to_be_bytes());
        b[4] = u8::from(self.no_list_id);
        b[8..10].copy_from_slice(&self.max_targets.to_be_bytes());
        b[10..12].copy_from_slice(&self.max_segments.to_be_bytes());
        b[12..16].copy_from_slice(&self.max_descriptors.to_be_bytes());
        b[16..20].copy_from_slice(&self.max_segment_bytes.to_be_bytes());
        b[20..24].copy_from_slice(&self.max_inline.to_be_bytes());
        b[34..36].copy_from_slice(&self.concurrent.to_be_bytes());
        b[36] = self.concurrent.min(255) as u8;
        b[37] = self.granularity_log2;
        b[43] = self.descriptors.len() as u8;
        out.extend_from_slice(&b);
        out.extend_from_slice(&self.descriptors);
    }

    /// Reads the data.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let b: &[u8; 44] = bytes.first_chunk()?;
        let descriptors = bytes.get(44..44 + usize::from(b[43]))?;
        Some(Self {
            no_list_id: b[4] & 1 != 0,
            max_targets: be16(b, 8)?,
            max_segments: be16(b, 10)?,
            max_descriptors: be32(b, 12)?,
            max_segment_bytes: be32(b, 16)?,
            max_inline: be32(b, 20)?,
            concurrent: be16(b, 34)?,
            granularity_log2: b[37],
            descriptors: descriptors.to_vec(),
        })
    }
}

/// COPY COMMAND STATUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CopyState {
    /// Still running.
    InProgress = 0,
    /// Ended without an error.
    Done = 1,
    /// Ended with an error.
    Failed = 2,
}

/// What RECEIVE COPY STATUS(LID1) tells (SPC-5 6.23).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyStatus {
    /// Whether and how it ended.
    pub state: CopyState,
    /// SEGMENTS PROCESSED.
    pub segments: u16,
    /// Bytes transferred.
    pub bytes: u32,
}

impl CopyStatus {
    /// Appends the data.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&8_u32.to_be_bytes());
        out.push(self.state as u8);
        out.extend_from_slice(&self.segments.to_be_bytes());
        // TRANSFER COUNT UNITS 0: bytes.
        out.push(0);
        out.extend_from_slice(&self.bytes.to_be_bytes());
    }

    /// Reads the data.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let state = match bytes.get(4)? & 0x7f {
            0 => CopyState::InProgress,
            1 => CopyState::Done,
            2 => CopyState::Failed,
            _ => return None,
        };
        Some(Self { state, segments: be16(bytes, 5)?, bytes: be32(bytes, 8)? })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spc5_6_6_parameter_list_round_trips() {
        let header =
            CopyHeader { list: 9, list_usage: 3, targets: 64, segments: 28, inline: 0x1234 };
        let segment = CopySegment {
            destination_count: true,
            concatenate: false,
            source: 0,
            destination: 1,
            count: 2048,
            source_lba: 1 << 40,
            destination_lba: 7,
        };
        let naa = [0x60; 16];
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        write_target(&Designator::naa(&naa), 512, &mut bytes);
        segment.write(&mut bytes);
        assert_eq!(bytes.len(), HEADER_LENGTH + TARGET_LENGTH + SEGMENT_LENGTH);
        assert_eq!(CopyHeader::parse(&bytes), Some(header));
        let target = CopyTarget::parse(bytes[16..].first_chunk().unwrap());
        assert_eq!(target.designator, Some(Designator::naa(&naa)));
        assert_eq!((target.kind, target.peripheral, target.block_bytes), (0xe4, 0, 512));
        assert_eq!(CopySegment::parse(&bytes[48..]), Some(segment));
        assert_eq!(CopySegment::parse(&bytes[48..75]), None);
        assert_eq!(CopyHeader::parse(&bytes[..15]), None);
    }

    #[test]
    fn spc5_6_22_and_6_23_results_round_trip() {
        let parameters = CopyParameters {
            no_list_id: true,
            max_targets: 2,
            max_segments: 8,
            max_descriptors: 288,
            max_segment_bytes: 16 << 20,
            max_inline: 0,
            concurrent: 300,
            granularity_log2: 9,
            descriptors: vec![0x02, 0xe4],
        };
        let mut bytes = Vec::new();
        parameters.write(&mut bytes);
        assert_eq!(bytes.len(), 46);
        assert_eq!(bytes[..4], 42_u32.to_be_bytes());
        assert_eq!(CopyParameters::parse(&bytes), Some(parameters));
        assert_eq!(CopyParameters::parse(&bytes[..45]), None);

        let status = CopyStatus { state: CopyState::Failed, segments: 3, bytes: 99 };
        bytes.clear();
        status.write(&mut bytes);
        assert_eq!(CopyStatus::parse(&bytes), Some(status));
    }

    #[test]
    fn spc5_6_6_5_a_designator_longer_than_its_descriptor_is_absent() {
        let mut bytes = [0; TARGET_LENGTH];
        (bytes[0], bytes[7]) = (TARGET_IDENTIFICATION, 21);
        assert_eq!(CopyTarget::parse(&bytes).designator, None);
    }
}
