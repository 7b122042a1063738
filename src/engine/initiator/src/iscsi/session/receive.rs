//! PDUs from the target (RFC 7143 sections 11.4 to 11.20): data, statuses, R2T, and everything else.

use plimsoll_fabric::{Close, Frame};
use plimsoll_wire::iscsi::pdu::{
    self, Async, AsyncEvent, DataIn, LogoutResponse, NopIn, NopOut, Opcode, R2t, Reject, Residual,
    ScsiResponse, Sequence, TaskResponse, TaskResult, TextResponse,
};
use plimsoll_wire::iscsi::{BHS_LEN, NO_TAG, Pdu, frame_length, serial};

use super::{Event, MAX_RECV_DATA, Out, Owner, Reply, Session, Upper, due};

/// Pings of the target answered before a flush; more is a flood.
const MAX_PINGS: u32 = 1024;

fn broken(what: impl Into<String>) -> Close {
    Close::Protocol(what.into())
}

impl Session {
    #[inline]
    pub fn frame(&self, head: &[u8]) -> Result<Frame, Close> {
        match frame_length(head, self.agreed.digests, MAX_RECV_DATA) {
            Ok(Some(length)) => Ok(Frame::Length(length)),
            Ok(None) => Ok(Frame::Need(BHS_LEN)),
            Err(error) => Err(broken(error.to_string())),
        }
    }

    #[inline]
    pub fn on_pdu<U: Upper>(
        &mut self,
        pdu: &Pdu<'_>,
        out: &mut Out<'_>,
        upper: &mut U,
    ) -> Result<(), Close> {
        if !pdu.data_is_sound {
            // Recovery within a connection is not negotiated, so the connection goes (section 7.8).
            return Err(broken("data digest does not match"));
        }
        let sequence = Sequence::parse(pdu.bhs);
        self.window(sequence);
        match Opcode::of(pdu.bhs) {
            Some(Opcode::DataIn) => self.on_data_in(pdu, upper),
            Some(Opcode::ScsiResponse) => self.on_response(pdu, out, upper),
            Some(Opcode::R2t) => self.on_r2t(&R2t::parse(pdu.bhs), out),
            _ => self.on_control(pdu, out, upper),
        }
    }

    /// Takes over a new command window (section 4.2.2.1): it only ever moves forward.
    #[inline]
    fn window(&mut self, sequence: Sequence) {
        let Sequence { exp_cmd_sn, max_cmd_sn, .. } = sequence;
        if !serial::less(max_cmd_sn, exp_cmd_sn.wrapping_sub(1))
            && serial::less(self.max_cmd_sn, max_cmd_sn)
        {
            self.max_cmd_sn = max_cmd_sn;
        }
    }

    /// Counts a status; statuses come in order, or one was lost.
    #[inline]
    fn status(&mut self, stat_sn: u32) -> Result<(), Close> {
        if stat_sn != self.exp_stat_sn {
            return self.status_ahead(stat_sn);
        }
        self.exp_stat_sn = stat_sn.wrapping_add(1);
        // What had come before its time is acknowledged with the one that was due.
        while self.ahead != 0 {
            let came = self.ahead & 1 == 1;
            self.ahead >>= 1;
            if !came {
                break;
            }
            self.exp_stat_sn = self.exp_stat_sn.wrapping_add(1);
        }
        Ok(())
    }

    /// A status that is not the next: it may have overtaken others, once and not by far.
    #[cold]
    fn status_ahead(&mut self, stat_sn: u32) -> Result<(), Close> {
        let distance = stat_sn.wrapping_sub(self.exp_stat_sn);
        let bit = 1_u64.checked_shl(distance.wrapping_sub(1)).unwrap_or(0);
        if !self.agreed.may_overtake || bit == 0 || self.ahead & bit != 0 {
            let due = self.exp_stat_sn;
            return Err(broken(format!("StatSN {stat_sn:#x} came where {due:#x} was due")));
        }
        self.ahead |= bit;
        Ok(())
    }

    #[inline]
    fn on_data_in<U: Upper>(&mut self, pdu: &Pdu<'_>, upper: &mut U) -> Result<(), Close> {
        let header = DataIn::parse(pdu.bhs);
        let Some(task) = self.tasks.get_mut(header.itt) else {
            return Err(broken(format!("Data-In for unknown task {:#010x}", header.itt)));
        };
        if header.data_sn != task.next_sn || header.buffer_offset != task.moved {
            return Err(broken("Data-In is out of order"));
        }
        let len = pdu.data.len() as u32;
        if !task.is_read || len > task.len - task.moved {
            return Err(broken("Data-In exceeds what the command reads"));
        }
        task.next_sn = task.next_sn.wrapping_add(1);
        task.moved += len;
        match task.owner {
            Owner::Part(part) => upper.data(part, part.at + header.buffer_offset, pdu.data),
            _ => task.collected.extend_from_slice(pdu.data),
        }
        let Some(status) = header.status else { return Ok(()) };
        self.status(header.sequence.stat_sn)?;
        self.end(header.itt, 0, status, &[], header.residual, upper)
    }

    fn on_response<U: Upper>(
        &mut self,
        pdu: &Pdu<'_>,
        out: &mut Out<'_>,
        upper: &mut U,
    ) -> Result<(), Close> {
        let header = ScsiResponse::parse(pdu.bhs);
        self.status(header.sequence.stat_sn)?;
        if let Out::Iser(mover) = out {
            self.take_placed(mover, &header, upper)?;
        }
        let sense = pdu::sense_of(pdu.data);
        self.end(header.itt, header.response, header.status, sense, header.residual, upper)
    }

    #[inline]
    fn end<U: Upper>(
        &mut self,
        itt: u32,
        response: u8,
        status: u8,
        sense: &[u8],
        residual: Residual,
        upper: &mut U,
    ) -> Result<(), Close> {
        let Some(task) = self.tasks.remove(itt) else {
            return Err(broken(format!("status for unknown task {itt:#010x}")));
        };
        self.due_bytes =
            self.due_bytes.saturating_sub(due(if task.is_read { task.len } else { 0 }));
        match task.owner {
            Owner::Part(part) => {
                let received = if task.is_read { task.moved } else { 0 };
                let reply =
                    Reply { response, status, sense, residual, received, issued: task.issued };
                upper.ended(part, &reply);
                Ok(())
            }
            Owner::Raw(token) => {
                let (sense, data) = (sense.to_vec(), task.collected);
                self.events.push(Event::Raw { token, response, status, sense, data });
                Ok(())
            }
            _ => Err(broken("SCSI status for a task that is no SCSI command")),
        }
    }

    /// Sends what the target is ready for; it may only ask for the next bytes of a write.
    fn on_r2t(&mut self, header: &R2t, out: &mut Out<'_>) -> Result<(), Close> {
        let Out::Tcp(send) = out else { return Err(broken("R2T where data is fetched by RDMA")) };
        let Some(task) = self.tasks.get_mut(header.itt) else {
            return Err(broken(format!("R2T for unknown task {:#010x}", header.itt)));
        };
        let (Some(data), false) = (&task.data, task.is_read) else {
            return Err(broken("R2T for a command that writes nothing"));
        };
        if header.buffer_offset != task.moved || header.r2t_sn != task.next_sn {
            return Err(broken("R2T is out of order"));
        }
        if header.desired_len == 0
            || header.desired_len > task.len - task.moved
            || header.desired_len > self.agreed.max_burst
        {
            return Err(broken("R2T asks for more than the command writes or a burst may have"));
        }
        let mut burst = data.clone();
        burst.advance(task.moved as usize);
        let burst = burst.split_to(header.desired_len as usize);
        task.moved += header.desired_len;
        task.next_sn = task.next_sn.wrapping_add(1);
        let lun = task.lun;
        self.send_burst(send, lun, header.itt, header.ttt, header.buffer_offset, burst);
        Ok(())
    }

    /// Everything that is not part of the data path.
    #[cold]
    fn on_control<U: Upper>(
        &mut self,
        pdu: &Pdu<'_>,
        out: &mut Out<'_>,
        upper: &mut U,
    ) -> Result<(), Close> {
        match Opcode::of(pdu.bhs) {
            Some(Opcode::NopIn) => self.on_nop(&NopIn::parse(pdu.bhs), out),
            Some(Opcode::TaskResponse) => {
                self.on_task_response(&TaskResponse::parse(pdu.bhs), out, upper)
            }
            Some(Opcode::TextResponse) => {
                let header = TextResponse::parse(pdu.bhs);
                self.status(header.sequence.stat_sn)?;
                self.answer(header.itt, |owner| matches!(owner, Owner::Text))?;
                self.events.push(Event::Text {
                    data: pdu.data.to_vec(),
                    more: header.more,
                    is_final: header.is_final,
                    ttt: header.ttt,
                });
                Ok(())
            }
            Some(Opcode::LogoutResponse) => {
                let header = LogoutResponse::parse(pdu.bhs);
                self.status(header.sequence.stat_sn)?;
                self.answer(header.itt, |owner| matches!(owner, Owner::Logout))?;
                self.events.push(Event::LoggedOut);
                Ok(())
            }
            Some(Opcode::Async) => {
                let header = Async::parse(pdu.bhs);
                self.status(header.sequence.stat_sn)?;
                self.events.push(match header.event {
                    AsyncEvent::LogoutRequested { .. } | AsyncEvent::Renegotiate { .. } => {
                        Event::LogoutRequested
                    }
                    AsyncEvent::DropConnection { time2wait, .. }
                    | AsyncEvent::DropSession { time2wait, .. } => Event::Dropped { time2wait },
                    AsyncEvent::Scsi | AsyncEvent::Other(..) => Event::Scsi,
                });
                Ok(())
            }
            Some(Opcode::Reject) => {
                let header = Reject::parse(pdu.bhs);
                Err(broken(format!("the target rejected a PDU: {:?}", header.reason)))
            }
            _ => Err(broken(format!("opcode {:#04x} is none of a target", pdu.bhs[0] & 0x3f))),
        }
    }

    /// Ends a control task and holds its kind to what was answered.
    fn answer(&mut self, itt: u32, is_kind: impl Fn(Owner) -> bool) -> Result<Owner, Close> {
        match self.tasks.remove(itt) {
            Some(task) if is_kind(task.owner) => {
                if !matches!(task.owner, Owner::Text) {
                    self.unexpected = self.unexpected.saturating_sub(1);
                }
                Ok(task.owner)
            }
            _ => Err(broken(format!("answer to unknown task {itt:#010x}"))),
        }
    }

    fn on_nop(&mut self, header: &NopIn, out: &mut Out<'_>) -> Result<(), Close> {
        if header.itt != NO_TAG {
            self.status(header.sequence.stat_sn)?;
            self.answer(header.itt, |owner| matches!(owner, Owner::Ping))?;
            self.ping_outstanding = false;
        }
        if header.ttt != NO_TAG {
            if out.is_empty() {
                self.pings = 0;
            }
            self.pings += 1;
            if self.pings > MAX_PINGS {
                return Err(broken("pings without end that are not read back"));
            }
            let reply = NopOut {
                immediate: true,
                data_len: 0,
                lun: header.lun,
                itt: NO_TAG,
                ttt: header.ttt,
                cmd_sn: self.cmd_sn,
                exp_stat_sn: self.exp_stat_sn,
            };
            out.put(&reply.build(), self.agreed.digests);
        }
        Ok(())
    }

    fn on_task_response<U: Upper>(
        &mut self,
        header: &TaskResponse,
        out: &mut Out<'_>,
        upper: &mut U,
    ) -> Result<(), Close> {
        self.status(header.sequence.stat_sn)?;
        let owner = self.answer(header.itt, |owner| matches!(owner, Owner::Abort(_)))?;
        let Owner::Abort(referenced) = owner else { return Ok(()) };
        match header.result {
            TaskResult::Complete | TaskResult::TaskDoesNotExist => {
                // Without the task its answer came before, and it has ended by that.
                if let Some(task) = self.tasks.remove(referenced)
                    && let Owner::Part(part) = task.owner
                {
                    let read = if task.is_read { task.len } else { 0 };
                    self.due_bytes = self.due_bytes.saturating_sub(due(read));
                    if let (Some(held), Out::Iser(mover)) = (task.held, out) {
                        mover.release(held);
                    }
                    upper.aborted(part);
                }
                Ok(())
            }
            other => Err(broken(format!("a task could not be aborted: {other:?}"))),
        }
    }
}
