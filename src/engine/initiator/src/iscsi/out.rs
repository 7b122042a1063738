//! Where the PDUs of a session leave: a TCP connection's send queue, or an iSER connection's datamover.

use plimsoll_fabric::SendQueue;
use plimsoll_wire::iscsi::{Bhs, Digests, digest, frame};
use plimsoll_wire::iser;

use super::iser::Mover;

/// One of the two.
pub(super) enum Out<'a> {
    Tcp(&'a mut SendQueue),
    Iser(Mover<'a>),
}

impl Out<'_> {
    /// Sends a PDU without data.
    #[inline]
    pub fn put(&mut self, bhs: &Bhs, digests: Digests) {
        match self {
            Self::Tcp(send) => {
                send.bytes(bhs);
                if digests.header {
                    send.bytes(&digest::header(bhs));
                }
            }
            Self::Iser(mover) => mover.send(&iser::Header::default(), bhs, &[]),
        }
    }

    /// Sends a PDU with a small data segment.
    pub fn put_small(&mut self, bhs: &Bhs, data: &[u8], digests: Digests) {
        match self {
            Self::Tcp(send) => send.append(|out| frame::append(out, bhs, &[], data, digests)),
            Self::Iser(mover) => mover.send(&iser::Header::default(), bhs, data),
        }
    }

    /// The answer to what is sent next may be the last of the login.
    pub fn expect_full_feature(&mut self) {
        if let Self::Iser(mover) = self {
            mover.expect_full_feature();
        }
    }

    /// Nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Tcp(send) => send.is_empty(),
            Self::Iser(mover) => !mover.buffers.is_unflushed,
        }
    }
}
