//! What the session sends for commands: Data-In with the status in the last PDU, responses, rejects.
//!
//! Payloads go into the send queue by reference. Only with data digests is the data copied first, so that the
//! digest covers what is sent even when a write changes the store meanwhile.

use plimsoll_fabric::{Payload, SendQueue};
use plimsoll_target_scsi::Completion;
use plimsoll_wire::iscsi::frame::{append, padding};
use plimsoll_wire::iscsi::pdu::{
    DataIn, Reject, RejectReason, Residual, ScsiResponse, sense_segment,
};
use plimsoll_wire::iscsi::{Bhs, NO_TAG, digest};
use plimsoll_wire::scsi::{LunField, Status};

use super::Session;

/// What the initiator expects a command to move (section 11.3.4).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Expected {
    /// Bytes of data-in.
    pub read: u32,
    /// Bytes of data-out.
    pub write: u32,
    /// Bytes that the command has to move by its CDB: for the residual when it ends well.
    pub wants: u32,
}

impl Session {
    /// Sends `total` bytes of `payloads` and GOOD: the fast path of READ.
    #[inline]
    pub(super) fn send_read(
        &mut self,
        send: &mut SendQueue,
        itt: u32,
        total: u32,
        residual: Residual,
    ) {
        if total == 0 {
            self.payloads.clear();
            return self.send_response(send, itt, Status::Good, &[], residual, Residual::None, 0);
        }
        let segment_max = self.parameters.peer_max_recv_data_segment_bytes;
        let max_burst = self.parameters.max_burst_bytes;
        let mut payloads = std::mem::take(&mut self.payloads);
        let mut rest = payloads.drain(..);
        let mut current = rest.next();
        let (mut offset, mut data_sn, mut burst_left) = (0, 0, max_burst);
        while offset < total {
            let len = segment_max.min(total - offset).min(burst_left);
            burst_left -= len;
            let last = offset + len == total;
            let mut sequence = self.sequence();
            if last {
                self.stat_sn = self.stat_sn.wrapping_add(1);
            } else {
                sequence.stat_sn = 0; // reserved without a status
            }
            let header = DataIn {
                is_final: last || burst_left == 0,
                acknowledge: false,
                status: last.then_some(Status::Good as u8),
                residual: if last { residual } else { Residual::None },
                data_len: len,
                lun: LunField::unit(0), // reserved without `acknowledge`
                itt,
                ttt: NO_TAG,
                sequence,
                data_sn,
                buffer_offset: offset,
            };
            self.put_header(send, &header.build());
            let mut left = len as usize;
            let pad = padding(left);
            if self.digests.data {
                send.append(|out| {
                    let start = out.len();
                    while let Some(part) = next_part(&mut current, &mut rest, &mut left) {
                        part.copy_to(out);
                    }
                    out.resize(out.len() + pad, 0);
                    let crc = digest::crc32c(&out[start..]);
                    out.extend_from_slice(&crc);
                });
            } else {
                while let Some(part) = next_part(&mut current, &mut rest, &mut left) {
                    send.payload(part);
                }
                send.bytes(&[0; 3][..pad]);
            }
            debug_assert_eq!(left, 0, "the store gave fewer bytes than were asked for");
            offset += len;
            data_sn += 1;
            if burst_left == 0 {
                burst_left = max_burst;
            }
        }
        drop(rest);
        self.payloads = payloads; // keeps its room
        self.stats.reads += 1;
        self.stats.read_bytes += u64::from(total);
    }

    /// Ends a command by what the device server says.
    pub(super) fn complete(
        &mut self,
        send: &mut SendQueue,
        itt: u32,
        expected: Expected,
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
            return self.send_response(send, itt, status, sense, residual, both, r2t_sn);
        }
        let total = data_len.min(expected.read.into()) as u32;
        if good && total > 0 {
            let mut data = completion.data_in;
            data.truncate(total as usize);
            self.payloads.clear();
            self.payloads.push(Payload::from_vec(data));
            let (reads, bytes) = (self.stats.reads, self.stats.read_bytes);
            self.send_read(send, itt, total, read_residual);
            (self.stats.reads, self.stats.read_bytes) = (reads, bytes); // not a READ
            return;
        }
        let (status, sense) = (completion.status, &completion.sense);
        self.send_response(send, itt, status, sense, read_residual, Residual::None, 0);
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one PDU")]
    #[inline]
    pub(super) fn send_response(
        &mut self,
        send: &mut SendQueue,
        itt: u32,
        status: Status,
        sense: &[u8],
        residual: Residual,
        read_residual: Residual,
        exp_data_sn: u32,
    ) {
        let sequence = self.next_sequence();
        let segment = if sense.is_empty() { Vec::new() } else { sense_segment(sense) };
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
        self.put(send, &response.build(), &segment);
    }

    /// Rejects a PDU (section 11.17); the header of the PDU goes back as data.
    pub(super) fn reject(&mut self, send: &mut SendQueue, reason: RejectReason, bhs: &Bhs) {
        self.stats.rejects += 1;
        let sequence = self.next_sequence();
        let reject = Reject { reason, data_len: bhs.len() as u32, sequence, data_sn: 0 };
        self.put(send, &reject.build(), bhs);
    }

    /// Queues a PDU with little data.
    #[inline]
    pub(super) fn put(&self, send: &mut SendQueue, bhs: &Bhs, data: &[u8]) {
        if data.is_empty() {
            self.put_header(send, bhs);
        } else {
            send.append(|out| append(out, bhs, &[], data, self.digests));
        }
    }

    #[inline]
    fn put_header(&self, send: &mut SendQueue, bhs: &Bhs) {
        send.bytes(bhs);
        if self.digests.header {
            send.bytes(&digest::header(bhs));
        }
    }
}

/// The next of the `left` bytes of a segment that lie in one payload; counts them off.
#[inline]
fn next_part(
    current: &mut Option<Payload>,
    rest: &mut impl Iterator<Item = Payload>,
    left: &mut usize,
) -> Option<Payload> {
    if *left == 0 {
        return None;
    }
    let payload = current.as_mut()?;
    let part = if payload.len() <= *left {
        std::mem::replace(current, rest.next())?
    } else {
        payload.split_to(*left)
    };
    *left -= part.len();
    Some(part)
}
