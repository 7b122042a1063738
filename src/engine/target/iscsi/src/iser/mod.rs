//! iSER, the target's side (RFC 7145): one RDMA connection carries one session, and data moves without the
//! processor.
//!
//! ```text
//! receives ─▶ Message: tags + PDU ─▶ Login / Session ─▶ RdmaMover ─▶ pump ─▶ Endpoint
//!   READ:  RDMA Write from the store's memory, then the response, in one chain
//!   WRITE: immediate data as on TCP; the rest by RDMA Read into the store's memory
//! ```
//!
//! * [`buffers`]: registered blocks, and the receives.
//! * [`mover`]: what is to be sent, what is under way, what a completion frees.
//! * [`fetch`]: RDMA reads, never more than the initiator answers at a time.
//! * [`connection`]: the state machine in the I/O loop; [`portal`]: who may connect.
//!
//! Memory of one connection: 50 KiB until the login is complete; then receives of 8.4 KiB for each command of
//! the window and 18 more (1.2 MiB at 128 commands), 0.5 KiB a send (0.2 MiB), and 24 buffers of 64 KiB for data
//! that does not lie in a store's registered memory (1.5 MiB): 3 MiB in all. Data in registered memory of a
//! store needs none.

mod buffers;
mod connection;
mod fetch;
mod mover;
mod portal;

pub(crate) use fetch::{Fetched, Into};
pub(crate) use mover::RdmaMover;
pub(crate) use portal::RdmaPortal;

use plimsoll_wire::iser::{LOGIN_MESSAGE_MAX, MESSAGE_MIN};

use crate::Settings;
use crate::session::{IMMEDIATE_TASKS, window};

/// Receives of the login phase: one request at a time, and one to spare.
const LOGIN_RECEIVES: u32 = 2;
/// Receives beyond window and unexpected PDUs.
const SPARE_RECEIVES: u32 = 2;
/// A send that fits here takes a small buffer: everything but text, echoes and login.
const SMALL_BYTES: usize = 512;
/// A large buffer: a grain of a store.
const LARGE_BYTES: usize = 64 << 10;
/// Large buffers for data that leaves.
const LARGE_BUFFERS: usize = 8;
/// RDMA reads under way, at most; as many large buffers are kept for them.
const READS_MAX: u8 = 16;
/// Segments of one work request, at most.
const SEGMENTS_MAX: usize = 16;

/// How much of everything a connection has.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Receives in full feature phase, those of the login among them.
    receives: u32,
    /// Length of a receive.
    receive_bytes: usize,
    /// Work requests under way.
    sends: u32,
}

impl Plan {
    fn new(settings: &Settings) -> Self {
        let wish = &settings.iser.parameters;
        let window = window(settings);
        // Unsolicited data beside the commands, if that is allowed at all.
        let segments = if wish.initial_r2t {
            0
        } else {
            wish.first_burst_bytes.div_ceil(wish.max_recv_data_segment_bytes.max(512))
        };
        let data = wish.max_recv_data_segment_bytes as usize;
        let longest = MESSAGE_MIN + wish.iser.max_ahs_bytes as usize + data;
        Self {
            receives: window * (1 + segments) + IMMEDIATE_TASKS as u32 + SPARE_RECEIVES,
            receive_bytes: longest.max(LOGIN_MESSAGE_MAX).next_multiple_of(64),
            // A write and a response for each command, reads, and what the target says unasked.
            sends: 2 * (window + IMMEDIATE_TASKS as u32) + u32::from(READS_MAX) + 32,
        }
    }
}
