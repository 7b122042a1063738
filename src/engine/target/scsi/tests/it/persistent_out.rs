//! PERSISTENT RESERVE OUT and IN as commands, for the tests of both kinds of reservation.

use plimsoll_target_scsi::{Completion, Nexus};
use plimsoll_wire::scsi::Command;
use plimsoll_wire::scsi::opcode::service;
use plimsoll_wire::scsi::reservation::{
    FullStatus, RegisterAndMove, ReservationKind, ReserveOut, parse_full_status, parse_keys,
    parse_reservation,
};

use crate::support::{run, send};

/// Sends a service action with its list.
pub fn out(nexus: &mut Nexus, action: u8, kind: u8, list: &ReserveOut) -> Completion {
    let mut data = Vec::new();
    list.write(&mut data);
    let length = data.len() as u32;
    send(nexus, Command::PersistentReserveOut { service: action, scope: 0, kind, length }, &data)
}

fn keys(key: u64, action_key: u64) -> ReserveOut {
    ReserveOut { key, action_key, ..ReserveOut::default() }
}

pub fn register(nexus: &mut Nexus, key: u64, action_key: u64) -> Completion {
    out(nexus, service::REGISTER, 0, &keys(key, action_key))
}

pub fn register_anyhow(nexus: &mut Nexus, action_key: u64) -> Completion {
    out(nexus, service::REGISTER_AND_IGNORE_EXISTING_KEY, 0, &keys(0, action_key))
}

pub fn reserve(nexus: &mut Nexus, key: u64, kind: ReservationKind) -> Completion {
    out(nexus, service::RESERVE, kind as u8, &keys(key, 0))
}

pub fn release(nexus: &mut Nexus, key: u64, kind: ReservationKind) -> Completion {
    out(nexus, service::RELEASE, kind as u8, &keys(key, 0))
}

pub fn clear(nexus: &mut Nexus, key: u64) -> Completion {
    out(nexus, service::CLEAR, 0, &keys(key, 0))
}

pub fn preempt(
    nexus: &mut Nexus,
    key: u64,
    action_key: u64,
    kind: ReservationKind,
    abort: bool,
) -> Completion {
    let action = if abort { service::PREEMPT_AND_ABORT } else { service::PREEMPT };
    out(nexus, action, kind as u8, &keys(key, action_key))
}

pub fn register_and_move(nexus: &mut Nexus, list: &RegisterAndMove) -> Completion {
    let mut data = Vec::new();
    list.write(&mut data);
    let length = data.len() as u32;
    let service = service::REGISTER_AND_MOVE;
    send(nexus, Command::PersistentReserveOut { service, scope: 0, kind: 0, length }, &data)
}

fn read_in(nexus: &mut Nexus, service: u8) -> Vec<u8> {
    run(nexus, Command::PersistentReserveIn { service, allocation: 4096 }).data_in
}

/// Generation and keys.
pub fn read_keys(nexus: &mut Nexus) -> (u32, Vec<u64>) {
    let data = read_in(nexus, service::READ_KEYS);
    let (generation, keys) = parse_keys(&data).unwrap();
    (generation, keys.collect())
}

/// The reservation.
pub fn read_reservation(nexus: &mut Nexus) -> Option<(u64, ReservationKind)> {
    parse_reservation(&read_in(nexus, service::READ_RESERVATION)).unwrap().1
}

/// The registrations.
pub fn read_full_status(nexus: &mut Nexus) -> Vec<FullStatus> {
    parse_full_status(&read_in(nexus, service::READ_FULL_STATUS)).unwrap().1
}
