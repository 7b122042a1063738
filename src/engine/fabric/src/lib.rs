//! How bytes move: event loops, batched vectored sends, payloads that are sent without a copy.
//!
//! ```text
//! thread ── Loops ──▶ Slot (one connection) ──▶ Stream ──▶ frames in place ──▶ Connection
//!                        ▲                        └──────◀ SendQueue ◀── replies, Payloads
//!                        └── Remote::post from other threads
//! ```
//!
//! A connection belongs to one thread for life. All frames of one receive are handled before one send goes
//! out: batching decides the speed of small blocks. Clients use [`Stream`] with a poll of their own.

mod close;
mod connection;
mod descriptors;
mod loops;
mod payload;
pub mod rdma;
mod send_queue;
mod slot;
mod stream;

pub use close::Close;
pub use connection::{Connection, Io, Remote, Service};
pub use descriptors::raise_open_files_limit;
pub use loops::{Listening, Loops};
pub use payload::{Owner, Payload};
pub use send_queue::SendQueue;
pub use stream::{Frame, Frames, RECEIVE_BUFFER_BYTES, Received, Stream};
