//! NOP, text, logout and asynchronous messages (RFC 7143 sections 11.9 to 11.11, 11.14, 11.15, 11.18, 11.19).

use plimsoll_fabric::Close;
use plimsoll_wire::iscsi::pdu::{
    Async, AsyncEvent, LogoutReason, LogoutRequest, LogoutResponse, LogoutResult, NopIn, NopOut,
    RejectReason, TextRequest, TextResponse,
};
use plimsoll_wire::iscsi::text::{self, Chunks};
use plimsoll_wire::iscsi::{NO_TAG, Pdu};
use plimsoll_wire::scsi::LunField;

use super::Session;
use crate::mover::{Mover, Turn};

/// Target transfer tag of the target's pings; one is outstanding at a time.
const PING_TAG: u32 = 0xffff_fff0;
/// Target transfer tag of text answers that go on; one exchange is open at a time.
const TEXT_TAG: u32 = 0xffff_fff1;

impl<M: Mover> Session<M> {
    pub(super) fn nop_out(&mut self, pdu: &Pdu<'_>, io: &mut Turn<'_, M>) -> Result<(), Close> {
        let nop = NopOut::parse(pdu.bhs);
        if nop.itt == NO_TAG {
            return Ok(()); // the answer to our ping, or a plain acknowledgement of statuses
        }
        let limit = self.parameters.peer_max_recv_data_segment_bytes as usize;
        let data = &pdu.data[..pdu.data.len().min(limit)];
        let reply = NopIn {
            data_len: data.len() as u32,
            lun: nop.lun,
            itt: nop.itt,
            ttt: NO_TAG,
            sequence: self.next_sequence(),
        };
        self.put(io.send, &reply.build(), data);
        Ok(())
    }

    /// Pings a silent initiator, ends one that does not answer, and drops one that was asked to log out.
    pub(super) fn watch(&mut self, io: &mut Turn<'_, M>) -> Result<(), Close> {
        if self.logout_by.is_some_and(|by| by <= io.now) {
            self.announce_drop(io);
            return Err(Close::Finished);
        }
        let settings = &self.shared.settings;
        match self.pinged {
            Some(at) if at + settings.ping_timeout <= io.now => return Err(Close::Idle),
            None if self.heard + settings.ping_after <= io.now => {
                self.pinged = Some(io.now);
                let ping = NopIn {
                    data_len: 0,
                    lun: LunField::unit(0),
                    itt: NO_TAG,
                    ttt: PING_TAG,
                    sequence: self.sequence(),
                };
                self.put(io.send, &ping.build(), &[]);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn text_request(
        &mut self,
        pdu: &Pdu<'_>,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        let request = TextRequest::parse(pdu.bhs);
        if request.ttt == TEXT_TAG && self.answer.has_more() {
            self.send_text(&request, io);
            return Ok(());
        }
        if request.ttt != NO_TAG && request.ttt != TEXT_TAG {
            self.reject(io.send, RejectReason::InvalidPduField, pdu.bhs);
            return Ok(());
        }
        if request.ttt == NO_TAG && !self.text.is_partial() {
            self.answer = Chunks::default(); // a new exchange ends the old one (section 11.10.4)
        }
        let Ok(whole) = self.text.push(pdu.data, request.more) else {
            self.reject(io.send, RejectReason::LongOperationReject, pdu.bhs);
            return Ok(());
        };
        if let Some(whole) = whole {
            match self.text_answer(&whole) {
                Some(answer) => self.answer = Chunks::new(answer),
                None => {
                    self.reject(io.send, RejectReason::ProtocolError, pdu.bhs);
                    return Ok(());
                }
            }
        }
        self.send_text(&request, io);
        Ok(())
    }

    /// The next piece of the answer. The initiator asks for each further one by an empty request.
    fn send_text(&mut self, request: &TextRequest, io: &mut Turn<'_, M>) {
        let limit = self.parameters.peer_max_recv_data_segment_bytes as usize;
        let (piece, more) = self.answer.next(limit);
        let piece = piece.to_vec();
        let goes_on = more || request.more;
        let response = TextResponse {
            is_final: !goes_on,
            more,
            data_len: piece.len() as u32,
            lun: request.lun,
            itt: request.itt,
            ttt: if goes_on { TEXT_TAG } else { NO_TAG },
            sequence: self.next_sequence(),
        };
        self.put(io.send, &response.build(), &piece);
    }

    /// The answer to a whole text; `None` when the text breaks the protocol.
    fn text_answer(&mut self, whole: &[u8]) -> Option<Vec<u8>> {
        let mut answer = Vec::new();
        for pair in text::pairs(whole) {
            let (key, value) = pair.ok()?;
            match key {
                "SendTargets" => self.send_targets(value, &mut answer),
                "InitiatorAlias" => {}
                _ => {
                    if let Some(reply) = self.negotiator.receive(key, value).ok()? {
                        text::append(&mut answer, key, &reply);
                    }
                    // MaxRecvDataSegmentLength may be declared anew at any time, and again.
                    self.negotiator.enter_full_feature();
                    let declared = self.negotiator.finish().ok()?;
                    self.parameters.peer_max_recv_data_segment_bytes =
                        declared.peer_max_recv_data_segment_bytes;
                }
            }
        }
        Some(answer)
    }

    /// Appendix C: All in a discovery session; in a normal one the empty value, or the target's own name.
    fn send_targets(&self, value: &str, answer: &mut Vec<u8>) {
        let own = self.peer.target.as_deref();
        let only = match (value, own) {
            ("All", None) => None,
            ("All", Some(_)) | ("", None) => {
                return text::append(answer, "SendTargets", "Reject");
            }
            ("", Some(own)) => Some(own),
            (name, None) => Some(name),
            (name, Some(own)) if name == own => Some(own),
            // Another target than its own: nothing to tell.
            _ => return,
        };
        let reached = self.peer.local.ip();
        let records = self.shared.records(only, &self.peer.initiator, self.host, reached);
        records.iter().for_each(|record| record.append(answer));
    }

    pub(super) fn logout_request(
        &mut self,
        pdu: &Pdu<'_>,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        let request = LogoutRequest::parse(pdu.bhs);
        let result = match request.reason {
            LogoutReason::CloseSession => LogoutResult::Closed,
            LogoutReason::CloseConnection if request.cid == self.peer.cid => LogoutResult::Closed,
            LogoutReason::CloseConnection => LogoutResult::CidNotFound,
            LogoutReason::RemoveForRecovery => LogoutResult::RecoveryNotSupported,
            LogoutReason::Unknown(_) => {
                self.reject(io.send, RejectReason::InvalidPduField, pdu.bhs);
                return Ok(());
            }
        };
        let response = LogoutResponse {
            result,
            itt: request.itt,
            sequence: self.next_sequence(),
            time2wait: 0,
            time2retain: 0,
        };
        self.put(io.send, &response.build(), &[]);
        if result == LogoutResult::Closed { Err(Close::Finished) } else { Ok(()) }
    }

    /// Asks the initiator to log out within `seconds`.
    pub(super) fn request_logout(&mut self, seconds: u16, io: &mut Turn<'_, M>) {
        self.logout_by = Some(io.now + std::time::Duration::from_secs(seconds.into()));
        self.send_async(AsyncEvent::LogoutRequested { seconds }, io);
    }

    /// Says that the session is dropped.
    pub(super) fn announce_drop(&mut self, io: &mut Turn<'_, M>) {
        let time2wait = self.parameters.default_time2wait_s;
        self.send_async(AsyncEvent::DropSession { time2wait, time2retain: 0 }, io);
    }

    fn send_async(&mut self, event: AsyncEvent, io: &mut Turn<'_, M>) {
        let lun = LunField::unit(0);
        let message = Async { event, data_len: 0, lun, sequence: self.next_sequence() };
        self.put(io.send, &message.build(), &[]);
    }
}
