//! The private data of a connect request and of its reply (InfiniBand Architecture Annex A12): one byte of
//! flags and three reserved ones.
//!
//! The flags are negative: a bit that is set says that something is *not* supported. So an end that sends
//! nothing, whose peer sees zeroes (the connection manager pads), would seem to support everything. Doing
//! without is always allowed; so no data and all zeroes both read as no ability.

/// Zero-based virtual addresses are not supported.
const NO_ZERO_BASED: u8 = 0x80;
/// Send with invalidate is not supported.
const NO_REMOTE_INVALIDATION: u8 = 0x40;

/// Bytes of the private data.
pub const PRIVATE_DATA_LEN: usize = 4;

/// What an end says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// Addresses of tagged buffers may count from the start of the buffer.
    pub zero_based: bool,
    /// The peer may invalidate a tag of this end with its send.
    pub remote_invalidation: bool,
}

impl Abilities {
    /// Neither.
    pub const NONE: Self = Self { zero_based: false, remote_invalidation: false };

    /// Reads private data of the peer, which may be missing or be longer than what was sent.
    pub fn parse(private_data: &[u8]) -> Self {
        match private_data.first_chunk::<PRIVATE_DATA_LEN>() {
            None | Some([0, ..]) => Self::NONE,
            Some([flags, ..]) => Self {
                zero_based: flags & NO_ZERO_BASED == 0,
                remote_invalidation: flags & NO_REMOTE_INVALIDATION == 0,
            },
        }
    }

    /// The private data that says so. Both abilities at once cannot be told apart from no data at all.
    pub fn build(self) -> [u8; PRIVATE_DATA_LEN] {
        let flag = |able, flag| if able { 0 } else { flag };
        let zero_based = flag(self.zero_based, NO_ZERO_BASED);
        [zero_based | flag(self.remote_invalidation, NO_REMOTE_INVALIDATION), 0, 0, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVALIDATION: Abilities = Abilities { zero_based: false, remote_invalidation: true };

    #[test]
    fn annex_a12_the_flags_are_negative() {
        assert_eq!(Abilities::parse(&[0xc0, 0, 0, 0]), Abilities::NONE);
        assert_eq!(Abilities::parse(&[0x80, 0, 0, 0]), INVALIDATION);
        assert_eq!(INVALIDATION.build(), [0x80, 0, 0, 0]);
        assert_eq!(Abilities::NONE.build(), [0xc0, 0, 0, 0]);
        let zero_based = Abilities { zero_based: true, remote_invalidation: false };
        assert_eq!(Abilities::parse(&zero_based.build()), zero_based);
    }

    #[test]
    fn pitfall_01_no_private_data_and_padding_read_as_no_ability() {
        for nothing in [&[][..], &[0x80], &[0x80, 0, 0], &[0; 4], &[0; 56], &[0; 196]] {
            assert_eq!(Abilities::parse(nothing), Abilities::NONE, "{nothing:?}");
        }
        let mut padded = [0; 56];
        padded[0] = 0x80;
        assert_eq!(Abilities::parse(&padded), INVALIDATION, "the rest is padding");
    }
}
