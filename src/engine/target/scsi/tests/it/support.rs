//! A small array of one volume, and a transport that runs commands to their end.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use plimsoll_storage::{Kind, Limits, Volume, VolumeSettings};
use plimsoll_target_scsi::{
    Completion, Device, Identity, Initiator, LogicalUnit, Nexus, Notify, Plan, Port, UnitSettings,
};
use plimsoll_wire::scsi::{
    Access, Additional, Blocks, Command, LunField, Sense, SenseKey, Status, TransportId, Width,
};

/// Bytes of the test unit.
pub const SIZE: u64 = 1 << 20;
/// Its blocks.
pub const BLOCKS: u64 = SIZE / 512;
/// Its serial.
pub const SERIAL: &str = "fedcba9876543210";
/// The target's name.
pub const TARGET: &str = "iqn.2026-11.test:array";

pub fn volume(serial: &str) -> Arc<Volume> {
    let settings = VolumeSettings {
        name: serial.to_owned(),
        kind: Kind::Block,
        size_bytes: SIZE,
        limits: Limits::default(),
        remote: None,
    };
    Volume::memory(settings, serial)
}

/// A device with ports 1 and 2 in groups 1 and 2, and `volume` at LUN 0.
pub fn device_of(volume: &Arc<Volume>, settings: UnitSettings) -> Arc<Device> {
    let identity = Identity {
        vendor: "PLIMSOLL".to_owned(),
        product: "datastore".to_owned(),
        revision: "1".to_owned(),
    };
    let ports = [Port { relative: 1, group: 1 }, Port { relative: 2, group: 2 }];
    let device = Device::new(TARGET, identity, &ports);
    assert!(device.map(0, LogicalUnit::new(Arc::clone(volume), settings)));
    device
}

pub fn device() -> Arc<Device> {
    device_of(&volume(SERIAL), UnitSettings::default())
}

/// Name and ISID of host `number`.
pub fn host(number: u8) -> TransportId {
    TransportId {
        name: format!("iqn.2026-11.test:host{number}"),
        isid: Some([0x80, 0, 0, 0, 0, number]),
    }
}

/// A nexus of host `number` through a port; the power-on attention of LUN 0 is still pending.
pub fn nexus_with(device: &Arc<Device>, number: u8, port: u16, notify: Notify) -> Nexus {
    let TransportId { name, isid } = host(number);
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    device.login(Initiator { name, isid: isid.unwrap(), address }, port, notify).unwrap()
}

/// A nexus whose power-on attention of LUN 0 has been taken.
pub fn login(device: &Arc<Device>, number: u8, port: u16) -> Nexus {
    let mut nexus = nexus_with(device, number, port, Box::new(|_| {}));
    let first = run(&mut nexus, Command::TestUnitReady);
    assert_eq!(sense(&first).additional, Additional::POWER_ON_RESET_OCCURRED);
    nexus
}

/// Runs a command without data-out on LUN 0.
pub fn run(nexus: &mut Nexus, command: Command) -> Completion {
    send(nexus, command, &[])
}

/// Runs a command with data-out on LUN 0.
pub fn send(nexus: &mut Nexus, command: Command, data: &[u8]) -> Completion {
    send_at(nexus, LunField::unit(0), command, data)
}

/// Runs a command as a transport does.
pub fn send_at(nexus: &mut Nexus, lun: LunField, command: Command, data: &[u8]) -> Completion {
    match nexus.begin(lun, &command.cdb(), data.len()) {
        Plan::Done(completion) => completion,
        Plan::Collect { len, job, .. } => job.run(&data[..len.min(data.len())]),
        Plan::Read { offset, len } => {
            let mut out = vec![0; len];
            let unit = nexus.unit(lun).unwrap();
            match unit.store().read_blocking(offset, &mut out) {
                Ok(()) => Completion::data(out),
                Err(error) => unit.read_failed(&error),
            }
        }
        Plan::Write { offset, len, durable } => {
            let unit = nexus.unit(lun).unwrap();
            match unit.store().write(offset, &data[..len.min(data.len())]) {
                Ok(()) if durable => unit.flush(),
                Ok(()) => Completion::good(),
                Err(error) => unit.write_failed(&error),
            }
        }
    }
}

/// The sense data of a CHECK CONDITION.
#[track_caller]
pub fn sense(completion: &Completion) -> Sense {
    assert_eq!(completion.status, Status::CheckCondition, "{completion:?}");
    Sense::parse(&completion.sense).unwrap()
}

#[track_caller]
pub fn assert_good(completion: &Completion) {
    assert_eq!(completion.status, Status::Good, "{:?}", Sense::parse(&completion.sense));
}

#[track_caller]
pub fn assert_conflict(completion: &Completion) {
    assert_eq!(completion.status, Status::ReservationConflict);
}

/// CHECK CONDITION with this key and code.
#[track_caller]
pub fn assert_check(completion: &Completion, key: SenseKey, additional: Additional) {
    let sense = sense(completion);
    assert_eq!((sense.key, sense.additional), (key, additional));
}

/// A UNIT ATTENTION with this code, met by TEST UNIT READY.
#[track_caller]
pub fn assert_attention(nexus: &mut Nexus, additional: Additional) {
    let completion = run(nexus, Command::TestUnitReady);
    assert_check(&completion, SenseKey::UnitAttention, additional);
}

/// No attention is pending.
#[track_caller]
pub fn assert_ready(nexus: &mut Nexus) {
    assert_good(&run(nexus, Command::TestUnitReady));
}

pub fn read(lba: u64, count: u32) -> Command {
    let blocks = Blocks { lba, count };
    Command::Read { width: Width::Sixteen, blocks, access: Access::default() }
}

pub fn write(lba: u64, count: u32) -> Command {
    let blocks = Blocks { lba, count };
    Command::Write { width: Width::Sixteen, blocks, access: Access::default() }
}

/// Writes blocks of one byte.
#[track_caller]
pub fn fill(nexus: &mut Nexus, lba: u64, count: u32, byte: u8) {
    assert_good(&send(nexus, write(lba, count), &vec![byte; 512 * count as usize]));
}

/// Whether blocks hold one byte alone.
#[track_caller]
pub fn holds(nexus: &mut Nexus, lba: u64, count: u32, byte: u8) -> bool {
    let completion = run(nexus, read(lba, count));
    assert_good(&completion);
    assert_eq!(completion.data_in.len(), 512 * count as usize);
    completion.data_in.iter().all(|&b| b == byte)
}
