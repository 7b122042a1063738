//! REPORT and SET TARGET PORT GROUPS (SPC-5 6.37, 6.45).

use plimsoll_wire::scsi::port_groups::{parse_set_port_groups, write_port_groups};
use plimsoll_wire::scsi::{Additional, Sense};

use crate::device::ChangedBy;
use crate::job::{Job, data_in};
use crate::{AccessState, Completion};

/// IMPLICIT TRANSITION TIME of the extended header: states change at once.
const TRANSITION_SECONDS: u8 = 1;

/// REPORT TARGET PORT GROUPS.
pub(crate) fn report(job: &Job, extended: bool, allocation: usize) -> Completion {
    let transition = extended.then_some(TRANSITION_SECONDS);
    let mut out = Vec::new();
    write_port_groups(&job.device.port_groups(), transition, &mut out);
    data_in(out, allocation)
}

/// SET TARGET PORT GROUPS. The whole list is checked before anything changes.
pub(crate) fn set(job: &Job, data: &[u8]) -> Result<Completion, Sense> {
    if data.is_empty() {
        return Ok(Completion::good());
    }
    let list = parse_set_port_groups(data)
        .filter(|_| data.len().is_multiple_of(4))
        .ok_or_else(|| Sense::illegal(Additional::PARAMETER_LIST_LENGTH_ERROR))?;
    let mut states = Vec::new();
    for (index, (code, group)) in list.enumerate() {
        let at = 4 + 4 * index as u16;
        let state = AccessState::from_code(code).ok_or(Sense::parameter_field(at, Some(3)))?;
        if job.device.access_state(group).is_none() {
            return Err(Sense::parameter_field(at + 2, None));
        }
        states.push((group, state));
    }
    let by = ChangedBy::Initiator(job.attachment.nexus.id);
    job.device.change_access_states(&states, by);
    Ok(Completion::good())
}
