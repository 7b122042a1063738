//! Commands over iSER (RFC 7145 sections 7.3 and 9.2): data is advertised with the command and moved by the
//! target; a response says that it is done, and how much of it there is.

use plimsoll_fabric::Close;
use plimsoll_wire::iscsi::pdu::{Attribute, Residual, ScsiCommand, ScsiResponse};
use plimsoll_wire::iser::{Header, Tag};
use plimsoll_wire::scsi::Status;

use super::super::iser::{Mover, SEND_DATA_MAX};
use super::{Command, Owner, Session, Task, Upper};

/// The command's last byte of immediate data, if it has some, is the last of all: a write of up to so many
/// bytes goes whole with its command, as copying it costs less than the target's round trip to fetch it; a
/// longer one goes without, so that none of it is copied.
const IMMEDIATE_MAX: u32 = SEND_DATA_MAX as u32;

impl Session {
    /// Sends a command. False when it has to wait for a tag, a send or memory.
    #[inline]
    pub(super) fn command_iser(&mut self, mover: &mut Mover<'_>, command: Command) -> bool {
        let Command { owner, lun, cdb, read, write, issued } = command;
        if !mover.has_room() {
            return false;
        }
        let write_len = write.as_ref().map_or(0, |data| data.len() as u32);
        let immediate = if write_len <= self.immediate_max() { write_len } else { 0 };
        let mut header = Header::default();
        let mut held = None;
        match &write {
            Some(data) if write_len > immediate => {
                let Some((exposed, tag)) = mover.expose(data) else { return false };
                // The tag points at what is solicited: past what goes with the command.
                let address = tag.address + u64::from(immediate);
                header.write = Some(Tag { address, ..tag });
                held = Some(exposed);
            }
            None if read > 0 => {
                let zeroed = !matches!(owner, Owner::Part(_));
                let Some((place, tag)) = mover.place(read, zeroed) else { return false };
                header.read = Some(tag);
                held = Some(place);
            }
            _ => {}
        }
        let is_read = write.is_none();
        let task = Task {
            owner,
            lun,
            cmd_sn: self.cmd_sn,
            len: if is_read { read } else { write_len },
            moved: 0,
            next_sn: 0,
            is_read,
            data: write.clone(),
            held,
            collected: Vec::new(),
            issued,
            aborting: false,
        };
        let Ok(itt) = self.tasks.insert(task) else {
            held.into_iter().for_each(|held| mover.release(held));
            return false;
        };
        let bhs = ScsiCommand {
            immediate: false,
            is_final: true,
            read: is_read && read > 0,
            write: write_len > 0,
            attribute: Attribute::Simple,
            ahs_len: 0,
            data_len: immediate,
            lun,
            itt,
            expected_len: if is_read { read } else { write_len },
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            cdb,
        }
        .build();
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        match &write {
            Some(data) if immediate > 0 => mover.send_immediate(&header, &bhs, data),
            _ => mover.send(&header, &bhs, &[]),
        }
        true
    }

    fn immediate_max(&self) -> u32 {
        let agreed = &self.agreed;
        if agreed.immediate_data {
            IMMEDIATE_MAX.min(agreed.first_burst).min(agreed.max_send_data)
        } else {
            0
        }
    }

    /// The data that a target has placed before it responded: handed over where it is; then the memory of the
    /// task is free again.
    #[inline]
    pub(super) fn take_placed<U: Upper>(
        &mut self,
        mover: &mut Mover<'_>,
        header: &ScsiResponse,
        upper: &mut U,
    ) -> Result<(), Close> {
        let Some(task) = self.tasks.get_mut(header.itt) else { return Ok(()) };
        let missing = match header.residual {
            Residual::None | Residual::Overflow(_) => 0,
            Residual::Underflow(missing) => missing,
        };
        let Some(moved) = task.len.checked_sub(missing) else {
            let what = "a residual is larger than what was to be transferred";
            return Err(Close::Protocol(what.to_owned()));
        };
        let Some(held) = task.held.take() else { return Ok(()) };
        if task.is_read && may_have_data(header) {
            task.moved = moved;
            let data = mover.placed(held, task.moved as usize);
            match task.owner {
                Owner::Part(part) if !data.is_empty() => upper.data(part, part.at, data),
                Owner::Part(_) => {}
                _ => task.collected.extend_from_slice(data),
            }
        }
        mover.release(held);
        Ok(())
    }
}

/// Whether the status is one that data comes with (a recovered error is a CHECK CONDITION).
#[inline]
fn may_have_data(header: &ScsiResponse) -> bool {
    header.response == 0
        && matches!(
            Status::from_code(header.status),
            Some(Status::Good | Status::ConditionMet | Status::CheckCondition)
        )
}
