//! What a soft fabric does worse than it could: everything that adapters, peers and administrators do.

/// How connections behave that are made from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    /// Completions of the two queues of an end come in any order that keeps each queue's own, and in small
    /// lots; by this seed. None: in the order of what happened.
    pub reorder: Option<u64>,
    /// Work is carried out piecemeal, a little with each poll and flush of either end, and reads are under way
    /// while later work is begun.
    pub delay: bool,
    /// The accepting end hears of the first messages before it hears that the connection is up.
    pub late_established: bool,
    /// A send that finds no receive posted fails instead of waiting.
    pub rnr_fails: bool,
    /// Receives take no more than this, whatever was posted.
    pub receive_bytes: Option<u32>,
    /// The connection breaks after so many work requests of both ends.
    pub works_left: Option<u64>,
    /// Segments of one work request, 1 to 32.
    pub segments: u32,
    /// RDMA reads outstanding, at either end.
    pub reads: u8,
    /// Keys can be made invalid by the peer's sends, as those of fast registration can.
    pub invalidatable: bool,
    /// An accepting end's private data arrives zero padded to this length.
    pub padded_to: usize,
    /// Nobody can connect: no route.
    pub unreachable: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            reorder: None,
            delay: false,
            late_established: false,
            rnr_fails: false,
            receive_bytes: None,
            works_left: None,
            segments: 16,
            reads: 16,
            invalidatable: false,
            padded_to: super::super::PRIVATE_DATA_ACCEPT_MAX,
            unreachable: false,
        }
    }
}

/// A small generator of choices (xorshift64).
pub(super) struct Shuffle(u64);

impl Shuffle {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }
}
