//! The device server under arbitrary commands of two initiators with arbitrary data-out: ranges that it
//! hands to a transport lie in the unit, errors carry sense data, and nothing panics.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use plimsoll_storage::{Kind, Volume, VolumeSettings};
use plimsoll_target_scsi::{
    Completion, Device, Identity, Initiator, LogicalUnit, MAX_COLLECT, MAX_TRANSFER, Management,
    Nexus, Plan, Port, UnitSettings,
};
use plimsoll_wire::scsi::{LunField, Sense, Status};

const SIZE: u64 = 256 << 10;

fn device() -> Arc<Device> {
    let identity =
        Identity { vendor: "V".to_owned(), product: "P".to_owned(), revision: "1".to_owned() };
    let ports = [Port { relative: 1, group: 1 }, Port { relative: 2, group: 2 }];
    let device = Device::new("iqn.2026-11.test:array", identity, &ports);
    for lun in 0..2 {
        let settings = VolumeSettings {
            name: format!("volume{lun}"),
            kind: Kind::Block,
            size_bytes: SIZE,
            limits: Default::default(),
            remote: None,
        };
        let volume = Volume::memory(settings, &format!("{lun:016x}"));
        device.map(lun, LogicalUnit::new(volume, UnitSettings::default()));
    }
    device
}

fn login(device: &Arc<Device>, number: u8) -> Nexus {
    let initiator = Initiator {
        name: format!("iqn.2026-11.test:host{number}"),
        isid: [0x80, 0, 0, 0, 0, number],
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    device
        .login(initiator, 1 + u16::from(number & 1), Box::new(|_| {}))
        .expect("a port that exists")
}

fn sound(completion: &Completion) {
    if completion.status == Status::CheckCondition {
        assert!(Sense::parse(&completion.sense).is_some(), "{completion:?}");
        assert!(
            completion.data_in.is_empty() || completion.sense[0] & 0x7f < 0x72,
            "{completion:?}"
        );
    }
}

fuzz_target!(|input: &[u8]| {
    let device = device();
    let mut nexuses = [login(&device, 0), login(&device, 1)];
    // SANITIZE works in pieces of 4 MiB; nothing else needs as much for 256 KiB of data.
    plimsoll_fuzz::cap_allocations_at(6 << 20);
    for part in plimsoll_fuzz::parts(input) {
        // A byte that chooses initiator, unit and what happens, the CDB, the data.
        let Some((choice, rest)) = part.split_first() else { continue };
        let nexus = &mut nexuses[usize::from(choice & 1)];
        let lun = LunField::unit(u32::from(choice >> 1 & 3));
        if choice & 0x80 != 0 {
            let function = match choice >> 4 & 7 {
                0 => Management::ClearTaskSet,
                1 => Management::LogicalUnitReset,
                2 => Management::TargetWarmReset,
                _ => Management::TargetColdReset,
            };
            let _ = nexus.manage(function, lun);
            continue;
        }
        let Some((cdb, data)) = rest.split_first_chunk::<16>() else { continue };
        match nexus.begin(lun, cdb, data.len()) {
            Plan::Done(completion) => sound(&completion),
            Plan::Collect { len, job, .. } => {
                assert!(len <= MAX_COLLECT);
                sound(&job.run(&data[..len.min(data.len())]));
            }
            Plan::Read { offset, len } => {
                assert!(len <= MAX_TRANSFER && offset + len as u64 <= SIZE);
                let unit = nexus.unit(lun).expect("the unit of the plan");
                let mut sum = 0;
                let read = unit.store().read(offset, len, &mut |payload| sum += payload.len());
                assert!(read.is_ok() && sum == len);
            }
            Plan::Write { offset, len, durable } => {
                assert!(len <= MAX_TRANSFER && offset + len as u64 <= SIZE);
                let unit = nexus.unit(lun).expect("the unit of the plan");
                unit.store().write(offset, &data[..len.min(data.len())]).expect("room");
                if durable {
                    sound(&unit.flush());
                }
            }
        }
    }
});
