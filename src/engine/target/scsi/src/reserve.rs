//! RESERVE and RELEASE (SPC-2 7.21, 7.18): the whole unit for one nexus. ESXi formats VMFS with them.
//!
//! With persistent reservations they follow the CRH rule (SPC-5 5.14.3): a registered nexus gets GOOD without
//! a reservation being made; an unregistered one conflicts as soon as anybody is registered.

use plimsoll_wire::scsi::Status;

use crate::Completion;
use crate::job::Job;
use crate::persistent::Refusal;

/// RESERVE(6) and (10). That of another nexus was met by the gate, which answers RESERVATION CONFLICT.
pub(crate) fn reserve(job: &Job) -> Result<Completion, Refusal> {
    let nexus = &job.attachment.nexus;
    let mut state = job.unit().state();
    if state.persistent.is_registered(nexus) {
        return Ok(Completion::good());
    }
    let free = state.reserved_by.is_none_or(|holder| holder == nexus.id);
    if !free || !state.persistent.registrations.is_empty() {
        return Err(Refusal::Conflict);
    }
    state.reserved_by = Some(nexus.id);
    state.refresh_reservations();
    Ok(Completion::good())
}

/// RELEASE(6) and (10): of a unit that is not held it changes nothing.
pub(crate) fn release(job: &Job) -> Result<Completion, Refusal> {
    let nexus = &job.attachment.nexus;
    let mut state = job.unit().state();
    if state.reserved_by == Some(nexus.id) {
        state.reserved_by = None;
        state.refresh_reservations();
    }
    Ok(Completion::status(Status::Good))
}
