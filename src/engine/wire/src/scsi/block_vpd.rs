//! VPD pages of block devices (SBC-4 6.6): limits B0, characteristics B1, logical block provisioning B2.

use super::bytes::{array, be16, be32, be64};

/// Block limits, page B0 (SBC-4 6.6.5). Zero means "not reported" as in the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockLimits {
    /// WSNZ: WRITE SAME with zero blocks is refused.
    pub write_same_non_zero: bool,
    /// MAXIMUM COMPARE AND WRITE LENGTH in blocks.
    pub compare_and_write: u8,
    /// OPTIMAL TRANSFER LENGTH GRANULARITY in blocks.
    pub granularity: u16,
    /// MAXIMUM TRANSFER LENGTH in blocks.
    pub max_transfer: u32,
    /// OPTIMAL TRANSFER LENGTH in blocks.
    pub optimal_transfer: u32,
    /// MAXIMUM PREFETCH LENGTH in blocks.
    pub max_prefetch: u32,
    /// MAXIMUM UNMAP LBA COUNT.
    pub max_unmap_blocks: u32,
    /// MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT.
    pub max_unmap_descriptors: u32,
    /// OPTIMAL UNMAP GRANULARITY in blocks.
    pub unmap_granularity: u32,
    /// UNMAP GRANULARITY ALIGNMENT, when valid.
    pub unmap_alignment: Option<u32>,
    /// MAXIMUM WRITE SAME LENGTH in blocks.
    pub max_write_same: u64,
}

impl BlockLimits {
    /// Appends the body of the page.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut b = [0; 60];
        b[0] = u8::from(self.write_same_non_zero);
        b[1] = self.compare_and_write;
        b[2..4].copy_from_slice(&self.granularity.to_be_bytes());
        b[4..8].copy_from_slice(&self.max_transfer.to_be_bytes());
        b[8..12].copy_from_slice(&self.optimal_transfer.to_be_bytes());
        b[12..16].copy_from_slice(&self.max_prefetch.to_be_bytes());
        b[16..20].copy_from_slice(&self.max_unmap_blocks.to_be_bytes());
        b[20..24].copy_from_slice(&self.max_unmap_descriptors.to_be_bytes());
        b[24..28].copy_from_slice(&self.unmap_granularity.to_be_bytes());
        if let Some(alignment) = self.unmap_alignment {
            b[28..32].copy_from_slice(&(alignment | 1 << 31).to_be_bytes());
        }
        b[32..40].copy_from_slice(&self.max_write_same.to_be_bytes());
        out.extend_from_slice(&b);
    }

    /// Reads the body of the page; what an older device leaves out is zero.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let [flags, compare_and_write] = array(body, 0)?;
        let alignment = be32(body, 28).unwrap_or(0);
        Some(Self {
            write_same_non_zero: flags & 1 != 0,
            compare_and_write,
            granularity: be16(body, 2)?,
            max_transfer: be32(body, 4)?,
            optimal_transfer: be32(body, 8)?,
            max_prefetch: be32(body, 12).unwrap_or(0),
            max_unmap_blocks: be32(body, 16).unwrap_or(0),
            max_unmap_descriptors: be32(body, 20).unwrap_or(0),
            unmap_granularity: be32(body, 24).unwrap_or(0),
            unmap_alignment: (alignment >> 31 == 1).then_some(alignment & !(1 << 31)),
            max_write_same: be64(body, 32).unwrap_or(0),
        })
    }
}

/// Block device characteristics, page B1 (SBC-4 6.6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockCharacteristics {
    /// MEDIUM ROTATION RATE: 1 for a medium that does not rotate.
    pub rotation_rate: u16,
    /// WABEREQ: how a read of an erased block ends; 1 is without an error.
    pub erased_reads: u8,
    /// FUAB: FUA is honoured as SBC-4 defines it for SYNCHRONIZE CACHE.
    pub fua_behaviour: bool,
}

impl BlockCharacteristics {
    /// Appends the body of the page.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut b = [0; 60];
        b[0..2].copy_from_slice(&self.rotation_rate.to_be_bytes());
        b[3] = self.erased_reads << 6;
        b[4] = u8::from(self.fua_behaviour) << 1;
        out.extend_from_slice(&b);
    }

    /// Reads the body of the page.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let [erased, flags] = array(body, 3).unwrap_or_default();
        Some(Self {
            rotation_rate: be16(body, 0)?,
            erased_reads: erased >> 6,
            fua_behaviour: flags & 2 != 0,
        })
    }
}

/// Logical block provisioning, page B2 (SBC-4 6.6.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Provisioning {
    /// THRESHOLD EXPONENT: thresholds count in 2^n blocks; 0 when there are none.
    pub threshold_exponent: u8,
    /// LBPU: UNMAP.
    pub unmap: bool,
    /// LBPWS: WRITE SAME(16) with UNMAP.
    pub write_same_16: bool,
    /// LBPWS10: WRITE SAME(10) with UNMAP.
    pub write_same_10: bool,
    /// LBPRZ: unmapped blocks read as zeroes.
    pub reads_zeroes: bool,
    /// ANC_SUP: blocks can be anchored.
    pub anchor: bool,
    /// PROVISIONING TYPE: 0 full, 1 resource, 2 thin.
    pub kind: u8,
}

impl Provisioning {
    /// Appends the body of the page.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[
            self.threshold_exponent,
            u8::from(self.unmap) << 7
                | u8::from(self.write_same_16) << 6
                | u8::from(self.write_same_10) << 5
                | u8::from(self.reads_zeroes) << 2
                | u8::from(self.anchor) << 1,
            self.kind & 7,
            0,
        ]);
    }

    /// Reads the body of the page.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let [threshold_exponent, flags, kind] = array(body, 0)?;
        Some(Self {
            threshold_exponent,
            unmap: flags & 0x80 != 0,
            write_same_16: flags & 0x40 != 0,
            write_same_10: flags & 0x20 != 0,
            reads_zeroes: flags & 0x1c == 0x04,
            anchor: flags & 0x02 != 0,
            kind: kind & 7,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sbc4_6_6_5_block_limits_round_trip() {
        let limits = BlockLimits {
            write_same_non_zero: true,
            compare_and_write: 255,
            granularity: 8,
            max_transfer: 32_768,
            optimal_transfer: 256,
            max_prefetch: 7,
            max_unmap_blocks: 1 << 22,
            max_unmap_descriptors: 256,
            unmap_granularity: 8,
            unmap_alignment: Some(0),
            max_write_same: 1 << 33,
        };
        let mut body = Vec::new();
        limits.write(&mut body);
        assert_eq!(body.len(), 60);
        assert_eq!(BlockLimits::parse(&body), Some(limits));
        // SBC-2 had 12 bytes.
        assert_eq!(BlockLimits::parse(&body[..12]).map(|l| l.max_unmap_blocks), Some(0));
        assert_eq!(BlockLimits::parse(&body[..11]), None);
    }

    #[test]
    fn sbc4_6_6_2_and_6_6_7_round_trip() {
        let characteristics =
            BlockCharacteristics { rotation_rate: 1, erased_reads: 1, fua_behaviour: true };
        let mut body = Vec::new();
        characteristics.write(&mut body);
        assert_eq!(BlockCharacteristics::parse(&body), Some(characteristics));

        let provisioning = Provisioning {
            threshold_exponent: 11,
            unmap: true,
            write_same_16: true,
            write_same_10: false,
            reads_zeroes: true,
            anchor: true,
            kind: 2,
        };
        body.clear();
        provisioning.write(&mut body);
        assert_eq!(Provisioning::parse(&body), Some(provisioning));
        assert_eq!(Provisioning::parse(&body[..2]), None);
    }
}
