//! What unit tests of the device server share: a memory volume behind a device with two ports.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use plimsoll_storage::{Kind, Volume, VolumeSettings};
use plimsoll_wire::scsi::{Command, LunField, Sense, Status};

use crate::attachment::{Attachment, NexusIdentity};
use crate::{
    Completion, Device, Identity, Initiator, LogicalUnit, Nexus, Notify, Plan, Port, UnitSettings,
};

/// Bytes of a test unit: 2,048 blocks.
pub(crate) const SIZE: u64 = 1 << 20;

/// A memory volume.
pub(crate) fn volume(serial: &str) -> Arc<Volume> {
    let settings = VolumeSettings {
        name: serial.to_owned(),
        kind: Kind::Block,
        size_bytes: SIZE,
        limits: Default::default(),
    };
    Volume::memory(settings, serial)
}

/// A unit over a memory volume.
pub(crate) fn unit(settings: UnitSettings) -> Arc<LogicalUnit> {
    LogicalUnit::new(volume("0123456789abcdef"), settings)
}

/// A device with two ports in two groups and one unit at LUN 0.
pub(crate) fn device() -> Arc<Device> {
    device_with(UnitSettings::default())
}

/// The same with settings of the unit.
pub(crate) fn device_with(settings: UnitSettings) -> Arc<Device> {
    let identity = Identity {
        vendor: "PLIMSOLL".to_owned(),
        product: "datastore".to_owned(),
        revision: "1".to_owned(),
    };
    let ports = [Port { relative: 1, group: 1 }, Port { relative: 2, group: 2 }];
    let device = Device::new("iqn.2026-11.test:array", identity, &ports);
    assert!(device.map(0, unit(settings)));
    device
}

/// A nexus of host `number` through port `port`, its power-on attention taken.
pub(crate) fn login(device: &Arc<Device>, number: u8, port: u16) -> Nexus {
    login_with(device, number, port, Box::new(|_| {}))
}

/// The same with a listener for notices.
pub(crate) fn login_with(device: &Arc<Device>, number: u8, port: u16, notify: Notify) -> Nexus {
    let initiator = Initiator {
        name: format!("iqn.2026-11.test:host{number}"),
        isid: [0x80, 0, 0, 0, 0, number],
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    let mut nexus = device.login(initiator, port, notify).unwrap();
    let first = run(&mut nexus, Command::TestUnitReady, &[]);
    assert_eq!(first.status, Status::CheckCondition);
    nexus
}

/// A bare attachment.
pub(crate) fn attachment() -> Attachment {
    let nexus = NexusIdentity {
        id: 0,
        initiator: plimsoll_wire::scsi::TransportId { name: "iqn.a".to_owned(), isid: None },
        device: Arc::from("iqn.b"),
        relative_port: 1,
        group: 1,
        notify: Box::new(|_| {}),
    };
    Attachment::new(unit(UnitSettings::default()), Arc::new(nexus), 0)
}

/// Runs a command on LUN 0 as a transport would.
pub(crate) fn run(nexus: &mut Nexus, command: Command, data: &[u8]) -> Completion {
    run_at(nexus, LunField::unit(0), command, data)
}

/// Runs a command as a transport would.
pub(crate) fn run_at(
    nexus: &mut Nexus,
    lun: LunField,
    command: Command,
    data: &[u8],
) -> Completion {
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

/// The sense data of a completion.
pub(crate) fn sense(completion: &Completion) -> Sense {
    assert_eq!(completion.status, Status::CheckCondition, "{completion:?}");
    Sense::parse(&completion.sense).unwrap()
}
