//! READ CAPACITY(10) and (16) parameter data (SBC-4 5.15, 5.16), GET LBA STATUS (SBC-4 5.5) and UNMAP
//! (SBC-4 5.34).

use super::Blocks;
use super::bytes::{array, be16, be32, be64, close32};

/// Appends READ CAPACITY(10) data; a capacity beyond 32 bits reads as all ones.
pub fn write_capacity_10(last_lba: u64, block_bytes: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(last_lba).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(&block_bytes.to_be_bytes());
}

/// Reads READ CAPACITY(10) data: last LBA (`None` when only the 16-byte form can tell) and block length.
pub fn parse_capacity_10(bytes: &[u8]) -> Option<(Option<u32>, u32)> {
    let last = be32(bytes, 0)?;
    Some(((last != u32::MAX).then_some(last), be32(bytes, 4)?))
}

/// READ CAPACITY(16) data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// RETURNED LOGICAL BLOCK ADDRESS: the last block.
    pub last_lba: u64,
    /// LOGICAL BLOCK LENGTH IN BYTES.
    pub block_bytes: u32,
    /// PROT_EN: protection information is there.
    pub protected: bool,
    /// LOGICAL BLOCKS PER PHYSICAL BLOCK EXPONENT.
    pub physical_exponent: u8,
    /// LBPME: thin or resource provisioned.
    pub provisioning_managed: bool,
    /// LBPRZ: unmapped blocks read as zeroes.
    pub reads_zeroes: bool,
    /// LOWEST ALIGNED LOGICAL BLOCK ADDRESS.
    pub lowest_aligned: u16,
}

impl Capacity {
    /// Length of the data.
    pub const LENGTH: usize = 32;

    /// Appends the data.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut b = [0; Self::LENGTH];
        b[0..8].copy_from_slice(&self.last_lba.to_be_bytes());
        b[8..12].copy_from_slice(&self.block_bytes.to_be_bytes());
        b[12] = u8::from(self.protected);
        b[13] = self.physical_exponent & 0x0f;
        let [high, low] = self.lowest_aligned.to_be_bytes();
        b[14] = u8::from(self.provisioning_managed) << 7
            | u8::from(self.reads_zeroes) << 6
            | high & 0x3f;
        b[15] = low;
        out.extend_from_slice(&b);
    }

    /// Reads at least the first 12 bytes; what is cut off is zero.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [protect, physical, high, low] = array(bytes, 12).unwrap_or_default();
        Some(Self {
            last_lba: be64(bytes, 0)?,
            block_bytes: be32(bytes, 8)?,
            protected: protect & 1 != 0,
            physical_exponent: physical & 0x0f,
            provisioning_managed: high & 0x80 != 0,
            reads_zeroes: high & 0x40 != 0,
            lowest_aligned: u16::from_be_bytes([high & 0x3f, low]),
        })
    }
}

/// PROVISIONING STATUS of a run of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LbaState {
    /// Holds data, or the device does not say.
    Mapped = 0,
    /// Holds no data and has no space.
    Deallocated = 1,
    /// Holds no data and has space.
    Anchored = 2,
}

/// Appends GET LBA STATUS data.
pub fn write_lba_status(runs: impl Iterator<Item = (Blocks, LbaState)>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    for (blocks, state) in runs {
        out.extend_from_slice(&blocks.lba.to_be_bytes());
        out.extend_from_slice(&blocks.count.to_be_bytes());
        out.extend_from_slice(&[state as u8, 0, 0, 0]);
    }
    close32(&mut out[start..], 0);
}

/// Reads GET LBA STATUS data; a reserved state reads as mapped.
pub fn parse_lba_status(bytes: &[u8]) -> Option<impl Iterator<Item = (Blocks, LbaState)> + '_> {
    let length = be32(bytes, 0)? as usize;
    let list = bytes.get(8..)?;
    let list = &list[..list.len().min(length.saturating_sub(4))];
    Some(list.as_chunks::<16>().0.iter().filter_map(|b| {
        let state = match b[12] & 0x0f {
            1 => LbaState::Deallocated,
            2 => LbaState::Anchored,
            _ => LbaState::Mapped,
        };
        Some((Blocks { lba: be64(b, 0)?, count: be32(b, 8)? }, state))
    }))
}

/// Appends the UNMAP parameter list.
pub fn write_unmap(runs: &[Blocks], out: &mut Vec<u8>) {
    let descriptors = (runs.len() * 16) as u16;
    out.extend_from_slice(&(descriptors + 6).to_be_bytes());
    out.extend_from_slice(&descriptors.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    for run in runs {
        out.extend_from_slice(&run.lba.to_be_bytes());
        out.extend_from_slice(&run.count.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
    }
}

/// Reads the UNMAP parameter list; `None` when it is shorter than its header. A descriptor that is cut short
/// is left out (SBC-4 5.34.2: that is not an error).
pub fn parse_unmap(bytes: &[u8]) -> Option<impl ExactSizeIterator<Item = Blocks> + Clone + '_> {
    let list = bytes.get(8..)?;
    let length = usize::from(be16(bytes, 2)?).min(list.len());
    Some(list[..length].as_chunks::<16>().0.iter().map(|b| {
        let [lba @ .., a, b, c, d, _, _, _, _] = *b;
        Blocks { lba: u64::from_be_bytes(lba), count: u32::from_be_bytes([a, b, c, d]) }
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sbc4_5_15_ten_bytes_say_when_sixteen_are_needed() {
        let mut bytes = Vec::new();
        write_capacity_10(1 << 33, 512, &mut bytes);
        assert_eq!(parse_capacity_10(&bytes), Some((None, 512)));
        bytes.clear();
        write_capacity_10(99, 512, &mut bytes);
        assert_eq!(parse_capacity_10(&bytes), Some((Some(99), 512)));
        assert_eq!(parse_capacity_10(&bytes[..7]), None);
    }

    #[test]
    fn sbc4_5_16_capacity_round_trips() {
        let capacity = Capacity {
            last_lba: (1 << 40) - 1,
            block_bytes: 512,
            protected: false,
            physical_exponent: 3,
            provisioning_managed: true,
            reads_zeroes: true,
            lowest_aligned: 0x1234,
        };
        let mut bytes = Vec::new();
        capacity.write(&mut bytes);
        assert_eq!(bytes.len(), 32);
        assert_eq!(Capacity::parse(&bytes), Some(capacity));
        assert_eq!(Capacity::parse(&bytes[..12]).unwrap().physical_exponent, 0);
        assert_eq!(Capacity::parse(&bytes[..11]), None);
    }

    #[test]
    fn sbc4_5_5_lba_status_round_trips_and_survives_truncation() {
        let runs = [
            (Blocks { lba: 0, count: 8 }, LbaState::Mapped),
            (Blocks { lba: 8, count: 100 }, LbaState::Deallocated),
            (Blocks { lba: 108, count: 1 }, LbaState::Anchored),
        ];
        let mut bytes = Vec::new();
        write_lba_status(runs.into_iter(), &mut bytes);
        assert_eq!(bytes[..4], 52_u32.to_be_bytes());
        assert_eq!(parse_lba_status(&bytes).unwrap().collect::<Vec<_>>(), runs);
        assert_eq!(parse_lba_status(&bytes[..39]).unwrap().count(), 1);
    }

    #[test]
    fn sbc4_5_34_unmap_list_round_trips_and_never_reads_beyond_its_end() {
        let runs = [Blocks { lba: 7, count: 9 }, Blocks { lba: 1 << 35, count: u32::MAX }];
        let mut bytes = Vec::new();
        write_unmap(&runs, &mut bytes);
        assert_eq!(parse_unmap(&bytes).unwrap().collect::<Vec<_>>(), runs);
        assert_eq!(parse_unmap(&bytes[..39]).unwrap().len(), 1);
        assert!(parse_unmap(&bytes[..7]).is_none());
        bytes[2..4].copy_from_slice(&u16::MAX.to_be_bytes());
        assert_eq!(parse_unmap(&bytes).unwrap().len(), 2);
    }
}
