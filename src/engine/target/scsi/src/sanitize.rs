//! SANITIZE (SBC-4 5.29): OVERWRITE and BLOCK ERASE of the whole unit.
//!
//! There is no encryption, so CRYPTOGRAPHIC ERASE is refused. While an operation runs every nexus gets NOT
//! READY with its progress; a reset does not stop it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_storage::StoreError;
use plimsoll_wire::scsi::opcode::service;
use plimsoll_wire::scsi::{Additional, Command, Sense, SenseKey};

use crate::job::{Job, Step, parameter_list};
use crate::persistent::Refusal;
use crate::unit::{BLOCK_BYTES, SANITIZE_FAILED, SANITIZING};
use crate::{Completion, LogicalUnit};

/// Bytes that one step of an operation covers.
const STEP: u64 = 4 << 20;
/// Bytes of the header of an OVERWRITE parameter list.
const HEADER: usize = 4;

/// What to do with each step's range.
#[derive(Debug, Clone)]
enum Erase {
    Unmap,
    Overwrite { pattern: Vec<u8>, passes: u8, invert: bool },
}

/// Checks the service action and the length of its list (SBC-4 5.29.2).
pub(crate) fn prepare(job: &Job, expected_out: usize) -> Result<Step, Sense> {
    let Command::Sanitize { service, length, .. } = job.command else {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE));
    };
    let length = usize::from(length);
    match service {
        service::SANITIZE_OVERWRITE => {
            if !(HEADER + 1..=HEADER + BLOCK_BYTES as usize).contains(&length) {
                return Err(Sense::cdb_field(7, None));
            }
            parameter_list(length, expected_out, true)
        }
        service::SANITIZE_BLOCK_ERASE | service::SANITIZE_EXIT_FAILURE_MODE if length == 0 => {
            Ok(Step::BLOCKING)
        }
        service::SANITIZE_BLOCK_ERASE | service::SANITIZE_EXIT_FAILURE_MODE => {
            Err(Sense::cdb_field(7, None))
        }
        // There is nothing encrypted.
        _ => Err(Sense::cdb_field(1, Some(4))),
    }
}

/// SANITIZE.
pub(crate) fn sanitize(job: &Job, data: &[u8]) -> Result<Completion, Refusal> {
    let Command::Sanitize { service, immediate, .. } = job.command else {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE).into());
    };
    let unit = Arc::clone(&job.attachment.unit);
    let erase = match service {
        service::SANITIZE_OVERWRITE => parse_overwrite(data)?,
        service::SANITIZE_BLOCK_ERASE => Erase::Unmap,
        _ => return exit_failure_mode(&unit),
    };
    // Whoever sets the flag runs the operation; a second command meets it.
    if unit.set_flags(SANITIZING | SANITIZE_FAILED, SANITIZING) & SANITIZING != 0 {
        return Err(crate::gate::sanitizing(&unit).into());
    }
    unit.state().sanitize_progress = 0;
    for other in unit.others(job.attachment.nexus.id) {
        other.abort_tasks();
    }
    if !immediate {
        return run(&unit, &erase).map_err(Refusal::Check);
    }
    let worker = Arc::clone(&unit);
    let spawned = std::thread::Builder::new().name("sanitize".to_owned()).spawn(move || {
        // The failure is kept in the unit's state; commands that follow meet it.
        let _ = run(&worker, &erase);
    });
    match spawned {
        Ok(_) => Ok(Completion::good()),
        Err(error) => {
            tracing::error!(%error, "no thread for a sanitize operation");
            unit.set_flags(SANITIZING, 0);
            Err(Sense::new(SenseKey::HardwareError, Additional::INTERNAL_TARGET_FAILURE).into())
        }
    }
}

/// EXIT FAILURE MODE: only from the mode itself (SBC-4 5.29.2.5).
fn exit_failure_mode(unit: &LogicalUnit) -> Result<Completion, Refusal> {
    if unit.set_flags(SANITIZE_FAILED, 0) & SANITIZE_FAILED == 0 {
        return Err(Sense::cdb_field(1, Some(4)).into());
    }
    Ok(Completion::good())
}

/// The parameter list of OVERWRITE (SBC-4 5.29.2.2).
fn parse_overwrite(data: &[u8]) -> Result<Erase, Sense> {
    let &[flags, _, high, low, ref pattern @ ..] = data else {
        return Err(Sense::illegal(Additional::PARAMETER_LIST_LENGTH_ERROR));
    };
    let passes = flags & 0x1f;
    if passes == 0 {
        return Err(Sense::parameter_field(0, Some(4)));
    }
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length == 0 || length > BLOCK_BYTES as usize {
        return Err(Sense::parameter_field(2, None));
    }
    if pattern.len() != length {
        return Err(Sense::illegal(Additional::PARAMETER_LIST_LENGTH_ERROR));
    }
    Ok(Erase::Overwrite { pattern: pattern.to_vec(), passes, invert: flags & 0x80 != 0 })
}

/// Runs an operation to its end and keeps the outcome in the unit.
fn run(unit: &LogicalUnit, erase: &Erase) -> Result<Completion, Sense> {
    let result = match erase {
        Erase::Unmap => steps(unit, 0, 1, None, |offset, len| unit.store().unmap(offset, len)),
        Erase::Overwrite { pattern, passes, invert } => overwrite(unit, pattern, *passes, *invert),
    };
    let result = result.and_then(|()| unit.store().flush());
    unit.set_flags(SANITIZING | SANITIZE_FAILED, if result.is_err() { SANITIZE_FAILED } else { 0 });
    match result {
        Ok(()) => Ok(Completion::good()),
        Err(error) => {
            tracing::error!(volume = unit.volume().name(), %error, "sanitize failed");
            Err(Sense::new(SenseKey::MediumError, Additional::SANITIZE_COMMAND_FAILED))
        }
    }
}

fn overwrite(
    unit: &LogicalUnit,
    pattern: &[u8],
    passes: u8,
    invert: bool,
) -> Result<(), StoreError> {
    let block = BLOCK_BYTES as usize;
    // The pattern starts anew in each block.
    let one: Vec<u8> = pattern.iter().copied().cycle().take(block).collect();
    let rate = Some(unit.settings().overwrite_bytes_per_second);
    let mut step = one.repeat(STEP as usize / block);
    for pass in 0..passes {
        if invert && pass > 0 {
            step.iter_mut().for_each(|byte| *byte = !*byte);
        }
        steps(unit, pass, passes, rate, |offset, len| {
            unit.store().write(offset, &step[..len as usize])
        })?;
    }
    Ok(())
}

/// Walks over the unit in steps and keeps its progress; `rate` is in bytes per second.
fn steps(
    unit: &LogicalUnit,
    pass: u8,
    passes: u8,
    rate: Option<u64>,
    mut step: impl FnMut(u64, u64) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let size = unit.blocks() * u64::from(BLOCK_BYTES);
    let start = Instant::now();
    for offset in (0..size).step_by(STEP as usize) {
        let len = STEP.min(size - offset);
        step(offset, len)?;
        let done = u64::from(pass) * size + offset + len;
        let fraction = done as f64 / (f64::from(passes) * size as f64);
        // A float to integer cast saturates.
        unit.state().sanitize_progress = (fraction * 65_535.0) as u16;
        if let Some(rate) = rate {
            let due = Duration::from_secs_f64((offset + len) as f64 / rate.max(1) as f64);
            std::thread::sleep(due.saturating_sub(start.elapsed()));
        }
    }
    Ok(())
}
