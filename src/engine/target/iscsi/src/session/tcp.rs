//! The datamover of TCP: READ data leaves as Data-In PDUs from the store's memory, with the status in the last
//! one; WRITE data is asked for by R2T (RFC 7143 sections 11.7 and 11.8).

use plimsoll_fabric::{Close, Payload, SendQueue};
use plimsoll_wire::iscsi::frame::{append, padding};
use plimsoll_wire::iscsi::negotiate::Wishes;
use plimsoll_wire::iscsi::pdu::{DataIn, R2t, Residual};
use plimsoll_wire::iscsi::{Bhs, Digests, NO_TAG, Pdu, digest};
use plimsoll_wire::scsi::{LunField, Status};

use super::Session;
use super::tasks::{Tag, Work};
use crate::Settings;
use crate::connection::broken;
use crate::mover::{Mover, Transport};

impl Mover for SendQueue {
    /// Data goes by task tag.
    type Tags = ();
    const TRANSPORT: Transport = Transport::Tcp;
    const BHS_AT: usize = 0;

    fn wishes(settings: &Settings) -> Wishes {
        settings.wishes.clone()
    }

    #[inline]
    fn split(
        frame: &[u8],
        digests: Digests,
        _data_cap: usize, // held before the frame was waited for
    ) -> Result<(Pdu<'_>, ()), Close> {
        Pdu::split(frame, digests).map(|pdu| (pdu, ())).map_err(|error| broken(&error))
    }

    #[inline]
    fn backlog(&self) -> usize {
        self.len()
    }

    #[inline]
    fn put(&mut self, bhs: &Bhs, data: &[u8], digests: Digests) {
        if data.is_empty() {
            put_header(self, bhs, digests);
        } else {
            self.append(|out| append(out, bhs, &[], data, digests));
        }
    }

    #[inline]
    fn put_response(&mut self, bhs: &Bhs, data: &[u8], digests: Digests, (): ()) {
        self.put(bhs, data, digests);
    }

    #[inline]
    fn put_data(
        session: &mut Session<Self>,
        send: &mut Self,
        itt: u32,
        (): (),
        total: u32,
        residual: Residual,
    ) -> bool {
        let segment_max = session.parameters.peer_max_recv_data_segment_bytes;
        let max_burst = session.parameters.max_burst_bytes;
        let mut payloads = std::mem::take(&mut session.payloads);
        let mut rest = payloads.drain(..);
        let mut current = rest.next();
        let (mut offset, mut data_sn, mut burst_left) = (0, 0, max_burst);
        while offset < total {
            let len = segment_max.min(total - offset).min(burst_left);
            burst_left -= len;
            let last = offset + len == total;
            let mut sequence = session.sequence();
            if last {
                session.stat_sn = session.stat_sn.wrapping_add(1);
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
            put_header(send, &header.build(), session.digests);
            let mut left = len as usize;
            let pad = padding(left);
            if session.digests.data {
                let mut crc = digest::Running::begin();
                while let Some(part) = next_part(&mut current, &mut rest, &mut left) {
                    send.payload(digested(part, &mut crc));
                }
                send.bytes(&[0; 3][..pad]);
                send.bytes(&crc.end(pad));
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
        session.payloads = payloads; // keeps its room
        true
    }

    fn get_data(session: &mut Session<Self>, send: &mut Self, tag: Tag) {
        let max_burst = session.parameters.max_burst_bytes;
        let most = u32::from(session.parameters.max_outstanding_r2t);
        loop {
            let sequence = session.sequence();
            let Some(task) = session.tasks.get_mut(tag) else { return };
            let Work::Out(out) = &mut task.work else { return };
            if out.requested >= out.wanted || out.r2t_sn - out.answered >= most {
                return;
            }
            let desired_len = max_burst.min(out.wanted - out.requested);
            let r2t = R2t {
                lun: task.lun,
                itt: task.itt,
                ttt: tag.transfer_tag(out.r2t_sn),
                sequence,
                r2t_sn: out.r2t_sn,
                buffer_offset: out.requested,
                desired_len,
            };
            out.requested += desired_len;
            out.r2t_sn += 1;
            send.put(&r2t.build(), &[], session.digests);
        }
    }

    /// What was asked for comes as PDUs, which find no task any more.
    fn cancel(&mut self, _tag: Tag) -> bool {
        false
    }
}

#[inline]
fn put_header(send: &mut SendQueue, bhs: &Bhs, digests: Digests) {
    send.bytes(bhs);
    if digests.header {
        send.bytes(&digest::header(bhs));
    }
}

/// Lets the digest cover a part of a segment. What may change meanwhile is copied first, so that the digest is that
/// of what is sent.
fn digested(part: Payload, crc: &mut digest::Running) -> Payload {
    let part = part.stable_or_copy();
    crc.update(part.stable_bytes().unwrap_or_default());
    part
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
