//! START STOP UNIT, PREVENT ALLOW MEDIUM REMOVAL (SBC-4 5.30, 5.11) and small change: SEND DIAGNOSTIC, READ
//! DEFECT DATA.
//!
//! Only a unit with a removable medium can be stopped or ejected. An array's disk that one host stops would
//! stop for all others as well, so there a stop makes everything durable and changes nothing else.

use plimsoll_wire::scsi::{Additional, Command, Sense, Width};

use crate::Completion;
use crate::job::{Job, data_in};
use crate::unit::{EJECTED, STOPPED, write_sense};

/// START STOP UNIT.
pub(crate) fn start_stop(job: &Job) -> Result<Completion, Sense> {
    let Command::StartStop { power, no_flush, load_eject, start, .. } = job.command else {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE));
    };
    let unit = job.unit();
    match power {
        // With a power condition LOEJ and START are ignored. A volume draws the same in each of them:
        // ACTIVE, IDLE, STANDBY, LU_CONTROL, FORCE_IDLE_0, FORCE_STANDBY_0.
        0x1..=0x3 | 0x7 | 0xa | 0xb => return Ok(Completion::good()),
        0x0 => {}
        _ => return Err(Sense::cdb_field(4, Some(7))),
    }
    if !unit.settings().removable {
        return if load_eject { Err(Sense::cdb_field(4, Some(1))) } else { Ok(Completion::good()) };
    }
    match (start, load_eject) {
        (true, true) => {
            if unit.set_flags(EJECTED | STOPPED, 0) & EJECTED != 0 {
                for other in unit.others(job.attachment.nexus.id) {
                    other.attention(Additional::NOT_READY_TO_READY_CHANGE);
                }
            }
        }
        (true, false) => {
            unit.set_flags(STOPPED, 0);
        }
        (false, eject) => {
            if eject && !unit.state().prevented_by.is_empty() {
                return Err(Sense::illegal(Additional::MEDIUM_REMOVAL_PREVENTED));
            }
            if !no_flush {
                unit.store().flush().map_err(|error| write_sense(&error))?;
            }
            unit.set_flags(STOPPED | EJECTED, if eject { STOPPED | EJECTED } else { STOPPED });
        }
    }
    Ok(Completion::good())
}

/// PREVENT ALLOW MEDIUM REMOVAL: per nexus; the medium is free when nobody prevents its removal any more.
pub(crate) fn prevent_allow(job: &Job, prevent: u8) -> Result<Completion, Sense> {
    if prevent > 1 {
        return Err(Sense::cdb_field(4, Some(1)));
    }
    let unit = job.unit();
    if !unit.settings().removable {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE));
    }
    let nexus = job.attachment.nexus.id;
    let mut state = unit.state();
    state.prevented_by.retain(|&holder| holder != nexus);
    if prevent == 1 {
        state.prevented_by.push(nexus);
    }
    Ok(Completion::good())
}

/// SEND DIAGNOSTIC (SPC-5 6.43): the default self-test passes; there are no other tests and no pages.
pub(crate) fn send_diagnostic(code: u8, length: u16) -> Result<Completion, Sense> {
    if code != 0 {
        return Err(Sense::cdb_field(1, Some(7)));
    }
    if length != 0 {
        return Err(Sense::cdb_field(3, None));
    }
    Ok(Completion::good())
}

/// READ DEFECT DATA (SBC-4 5.19): the lists are empty.
pub(crate) fn read_defect_data(job: &Job) -> Result<Completion, Sense> {
    let Command::ReadDefectData { width, primary, grown, format, allocation } = job.command else {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE));
    };
    let flags = u8::from(primary) << 4 | u8::from(grown) << 3 | format & 7;
    let header: &[u8] =
        if width == Width::Ten { &[0, flags, 0, 0] } else { &[0, flags, 0, 0, 0, 0, 0, 0] };
    Ok(data_in(header.to_vec(), allocation as usize))
}
