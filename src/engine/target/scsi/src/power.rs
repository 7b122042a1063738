//! START STOP UNIT, PREVENT ALLOW MEDIUM REMOVAL (SBC-4 5.30, 5.11) and small change: SEND DIAGNOSTIC, READ
//! DEFECT DATA.
//!
//! A volume draws the same in every power condition and does not spin, so only a medium that can be removed
//! makes a difference: it can be ejected, loaded, and locked in. A stop makes everything durable.

use plimsoll_wire::scsi::{Additional, Command, Sense, Width};

use crate::Completion;
use crate::job::{Job, data_in};
use crate::unit::{EJECTED, write_sense};

/// START STOP UNIT.
pub(crate) fn start_stop(job: &Job) -> Result<Completion, Sense> {
    let Command::StartStop { power, no_flush, load_eject, start, .. } = job.command else {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE));
    };
    let unit = job.unit();
    // With a power condition LOEJ and START are not looked at.
    if power != 0 {
        return Ok(Completion::good());
    }
    if load_eject && !unit.settings().removable {
        return Err(Sense::cdb_field(4, Some(1)));
    }
    if load_eject && !unit.state().prevented_by.is_empty() {
        return Err(Sense::illegal(Additional::MEDIUM_REMOVAL_PREVENTED));
    }
    if !start && !no_flush {
        unit.store().flush().map_err(|error| write_sense(&error))?;
    }
    if load_eject {
        let before = unit.set_flags(EJECTED, if start { 0 } else { EJECTED });
        if start && before & EJECTED != 0 {
            for other in unit.others(job.attachment.nexus.id) {
                other.attention(Additional::NOT_READY_TO_READY_CHANGE);
            }
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
