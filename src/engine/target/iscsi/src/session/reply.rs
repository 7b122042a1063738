//! What the session sends for commands: read data, responses, rejects.
//!
//! Read data leaves from the store's memory, by the connection's [`Mover`].

use plimsoll_fabric::Payload;
use plimsoll_target_scsi::Completion;
use plimsoll_wire::iscsi::Bhs;
use plimsoll_wire::iscsi::pdu::{Reject, RejectReason, Residual, ScsiResponse, sense_segment};
use plimsoll_wire::scsi::Status;

use super::Session;
use crate::mover::Mover;

/// What the initiator expects a command to move (section 11.3.4).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expected<T> {
    /// Bytes of data-in.
    pub read: u32,
    /// Bytes of data-out.
    pub write: u32,
    /// Bytes that the command has to move by its CDB: for the residual when it ends well.
    pub wants: u32,
    /// Its buffers.
    pub tags: T,
}

impl<M: Mover> Session<M> {
    /// Sends `total` bytes of `payloads` and GOOD: the fast path of READ.
    #[inline]
    pub(super) fn send_read(
        &mut self,
        send: &mut M,
        itt: u32,
        tags: M::Tags,
        total: u32,
        residual: Residual,
    ) {
        if total == 0 {
            self.payloads.clear();
            let none = Residual::None;
            return self.send_response(send, itt, tags, Status::Good, &[], residual, none, 0);
        }
        if M::put_data(self, send, itt, tags, total, residual) {
            self.stats.reads += 1;
            self.stats.read_bytes += u64::from(total);
        }
    }

    /// Ends a command by what the device server says.
    pub(super) fn complete(
        &mut self,
        send: &mut M,
        itt: u32,
        expected: Expected<M::Tags>,
        completion: Completion,
        r2t_sn: u32,
    ) {
        let good = completion.status == Status::Good;
        if !good {
            self.stats.failed += 1;
        }
        let wants = if good { expected.wants } else { 0 };
        let data_len = completion.data_in.len() as u64;
        let read_residual = Residual::between(expected.read.into(), data_len);
        if expected.write > 0 || wants > 0 {
            // Of a bidirectional command both halves have a residual. Data-in that nobody expects is told
            // only when no data-out is there to be told about.
            let residual = Residual::between(expected.write.into(), wants.into());
            let both = if expected.read > 0 { read_residual } else { Residual::None };
            let (status, sense) = (completion.status, &completion.sense);
            return self.send_response(
                send,
                itt,
                expected.tags,
                status,
                sense,
                residual,
                both,
                r2t_sn,
            );
        }
        let total = data_len.min(expected.read.into()) as u32;
        if good && total > 0 {
            let mut data = completion.data_in;
            data.truncate(total as usize);
            self.payloads.clear();
            self.payloads.push(Payload::from_vec(data));
            let (reads, bytes) = (self.stats.reads, self.stats.read_bytes);
            self.send_read(send, itt, expected.tags, total, read_residual);
            (self.stats.reads, self.stats.read_bytes) = (reads, bytes); // not a READ
            return;
        }
        let (status, sense) = (completion.status, &completion.sense);
        self.send_response(
            send,
            itt,
            expected.tags,
            status,
            sense,
            read_residual,
            Residual::None,
            0,
        );
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one PDU")]
    #[inline]
    pub(super) fn send_response(
        &mut self,
        send: &mut M,
        itt: u32,
        tags: M::Tags,
        status: Status,
        sense: &[u8],
        residual: Residual,
        read_residual: Residual,
        exp_data_sn: u32,
    ) {
        let sequence = self.next_sequence();
        let mut segment = if sense.is_empty() { Vec::new() } else { sense_segment(sense) };
        segment.truncate(self.parameters.peer_max_recv_data_segment_bytes as usize);
        let response = ScsiResponse {
            response: 0,
            status: status as u8,
            data_len: segment.len() as u32,
            itt,
            sequence,
            exp_data_sn,
            residual,
            read_residual,
        };
        send.put_response(&response.build(), &segment, self.digests, tags);
    }

    /// Rejects a PDU (section 11.17); the header of the PDU goes back as data.
    pub(super) fn reject(&mut self, send: &mut M, reason: RejectReason, bhs: &Bhs) {
        self.stats.rejects += 1;
        let sequence = self.next_sequence();
        let reject = Reject { reason, data_len: bhs.len() as u32, sequence, data_sn: 0 };
        self.put(send, &reject.build(), bhs);
    }

    /// Queues a PDU with little data.
    #[inline]
    pub(super) fn put(&self, send: &mut M, bhs: &Bhs, data: &[u8]) {
        send.put(bhs, data, self.digests);
    }
}
