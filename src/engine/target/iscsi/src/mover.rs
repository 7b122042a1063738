//! The datamover (RFC 5047): what differs between TCP and RDMA once a connection stands.
//!
//! The session and the login are the same on both; they are generic over a [`Mover`], so that TCP pays nothing
//! for the choice. On TCP it is
//! the send queue itself; on RDMA see [`iser`](crate::iser).

use std::time::Instant;

use plimsoll_fabric::Close;
use plimsoll_wire::iscsi::negotiate::Wishes;
use plimsoll_wire::iscsi::pdu::Residual;
use plimsoll_wire::iscsi::{Bhs, Digests, Pdu};

use crate::Settings;
use crate::session::{Session, Tag};

/// How an initiator is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// iSCSI over TCP.
    Tcp,
    /// iSER over RDMA.
    Iser,
}

impl Transport {
    /// Its name for people: `tcp`, `iser`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Iser => "iser",
        }
    }
}

/// What a session may use during one turn.
pub(crate) struct Turn<'a, M> {
    /// How PDUs and data leave.
    pub send: &'a mut M,
    /// The time of this turn.
    pub now: Instant,
    /// When the connection wants to be woken next.
    pub deadline: &'a mut Option<Instant>,
}

/// Moves PDUs and data of one connection.
pub(crate) trait Mover: Send + Sized + 'static {
    /// Buffers of the initiator that come with a command.
    type Tags: Copy + Default + Send + 'static;
    /// What it is.
    const TRANSPORT: Transport;
    /// Bytes of a frame before its BHS.
    const BHS_AT: usize;

    /// What the target brings into negotiations.
    fn wishes(settings: &Settings) -> Wishes;

    /// Takes a received frame apart; at most `data_cap` bytes of data are accepted.
    fn split(
        frame: &[u8],
        digests: Digests,
        data_cap: usize,
    ) -> Result<(Pdu<'_>, Self::Tags), Close>;

    /// Bytes that wait to be sent.
    fn backlog(&self) -> usize;

    /// Send_Control: a PDU with little data.
    fn put(&mut self, bhs: &Bhs, data: &[u8], digests: Digests);

    /// The response that ends the command with these buffers.
    fn put_response(&mut self, bhs: &Bhs, data: &[u8], digests: Digests, tags: Self::Tags);

    /// Put_Data: moves `total` bytes (at least one) of the payloads of the session to the initiator, and ends
    /// the command well. False when the initiator has no room for them: then the command has failed.
    fn put_data(
        session: &mut Session<Self>,
        send: &mut Self,
        itt: u32,
        tags: Self::Tags,
        total: u32,
        residual: Residual,
    ) -> bool;

    /// Get_Data: asks for data that the task lacks, as far as may be asked now.
    fn get_data(session: &mut Session<Self>, send: &mut Self, tag: Tag);

    /// Asks for no more data of a task; true when some is on its way into memory of this end.
    fn cancel(&mut self, tag: Tag) -> bool;
}
