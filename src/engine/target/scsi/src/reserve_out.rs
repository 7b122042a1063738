//! PERSISTENT RESERVE OUT (SPC-5 6.17): parses the list, runs the state machine, makes the result durable when
//! APTPL asks for it, and only then lets it take effect and tells the nexuses.

use plimsoll_wire::scsi::opcode::service;
use plimsoll_wire::scsi::reservation::{
    RegisterAndMove, ReservationKind, ReserveOut, ReserveOutError,
};
use plimsoll_wire::scsi::{Additional, Sense};

use crate::Completion;
use crate::job::Job;
use crate::persistent::{Effect, Persistent, Refusal, Register};
use crate::unit::write_sense;

fn list_sense(error: ReserveOutError) -> Sense {
    match error {
        ReserveOutError::Length => Sense::illegal(Additional::PARAMETER_LIST_LENGTH_ERROR),
        ReserveOutError::Field(byte) => Sense::parameter_field(byte, None),
    }
}

/// Carries out a service action.
pub(crate) fn reserve_out(
    job: &Job,
    action: u8,
    scope: u8,
    kind: u8,
    data: &[u8],
) -> Result<Completion, Refusal> {
    let unit = job.unit();
    let _serial = unit.reserving();
    let before = {
        let state = unit.state();
        // A unit that is held by RESERVE, by whomever, has no persistent reservations (SPC-2 5.5.1).
        if state.reserved_by.is_some() {
            return Err(Refusal::Conflict);
        }
        state.persistent.clone()
    };
    let mut after = before.clone();
    let effects = apply(job, &mut after, action, scope, kind, data)?;
    if after.persist || before.persist {
        let saved = after.persist.then(|| after.encode());
        unit.volume().save_reservations(saved.as_deref()).map_err(|error| {
            tracing::error!(volume = unit.volume().name(), %error, "reservations not saved");
            write_sense(&error)
        })?;
    }
    let mut state = unit.state();
    state.persistent = after;
    state.refresh_reservations();
    drop(state);
    tell(job, &effects);
    Ok(Completion::good())
}

fn apply(
    job: &Job,
    state: &mut Persistent,
    action: u8,
    scope: u8,
    kind: u8,
    data: &[u8],
) -> Result<Vec<Effect>, Refusal> {
    let nexus = &job.attachment.nexus;
    if action == service::REGISTER_AND_MOVE {
        let ask = RegisterAndMove::parse(data).map_err(list_sense)?;
        if job.device.ports().iter().all(|port| port.relative != ask.relative_port) {
            return Err(Sense::parameter_field(18, None).into());
        }
        return state.register_and_move(nexus, &ask);
    }
    let ask = ReserveOut::parse(data).map_err(list_sense)?;
    let registers = matches!(action, service::REGISTER | service::REGISTER_AND_IGNORE_EXISTING_KEY);
    // SPEC_I_PT belongs to REGISTER; elsewhere it is an error in the list (SPC-5 6.17.3).
    if ask.initiators.is_some() && !registers {
        return Err(Sense::parameter_field(20, Some(3)).into());
    }
    if registers {
        return state.register(
            nexus,
            Register {
                key: ask.key,
                action_key: ask.action_key,
                ignore_key: action == service::REGISTER_AND_IGNORE_EXISTING_KEY,
                initiators: ask.initiators.as_deref(),
                all_ports: ask.all_target_ports,
                persist: ask.persist,
            },
        );
    }
    if action == service::CLEAR {
        return state.clear(nexus, ask.key);
    }
    // The others look at scope and type: the unit as a whole is the only scope.
    if scope != 0 {
        return Err(Sense::cdb_field(2, Some(7)).into());
    }
    let kind = ReservationKind::from_code(kind).ok_or(Sense::cdb_field(2, Some(3)))?;
    match action {
        service::RESERVE => state.reserve(nexus, ask.key, kind),
        service::RELEASE => state.release(nexus, ask.key, kind),
        service::PREEMPT => state.preempt(nexus, ask.key, ask.action_key, kind, false),
        service::PREEMPT_AND_ABORT => state.preempt(nexus, ask.key, ask.action_key, kind, true),
        _ => Err(Sense::cdb_field(1, Some(4)).into()),
    }
}

/// Unit attentions and aborts for every nexus that an effect covers, but for the one that sent the command.
fn tell(job: &Job, effects: &[Effect]) {
    for attachment in job.unit().others(job.attachment.nexus.id) {
        for effect in effects.iter().filter(|effect| effect.registration.covers(&attachment.nexus))
        {
            if effect.abort {
                attachment.abort_tasks();
            }
            attachment.attention(effect.attention);
        }
    }
}
