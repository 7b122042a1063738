//! PERSISTENT RESERVE IN (SPC-5 6.16).

use plimsoll_wire::scsi::opcode::service;
use plimsoll_wire::scsi::reservation::{
    Capabilities, FullStatus, write_full_status, write_keys, write_reservation,
};

use crate::Completion;
use crate::job::{Job, data_in};

/// Answers a service action; the parser lets no other through.
pub(crate) fn reserve_in(job: &Job, action: u8, allocation: usize) -> Completion {
    let persistent = job.unit().state().persistent.clone();
    let mut out = Vec::new();
    match action {
        service::READ_KEYS => {
            let keys = persistent.registrations.iter().map(|r| r.key);
            write_keys(persistent.generation, keys, &mut out);
        }
        service::READ_RESERVATION => {
            let held = persistent.held.map(|(kind, holder)| {
                // A reservation of all registrants has no one key (SPC-5 6.16.3.2).
                let key = persistent.registrations.get(holder).map_or(0, |r| r.key);
                (if kind.all_registrants() { 0 } else { key }, kind)
            });
            write_reservation(persistent.generation, held, &mut out);
        }
        service::REPORT_CAPABILITIES => Capabilities {
            compatible_reserve: true,
            specify_initiator_ports: true,
            all_target_ports: true,
            persist_capable: true,
            persist_active: persistent.persist,
        }
        .write(&mut out),
        _ => {
            let describe = |(index, r): (usize, &crate::persistent::Registration)| FullStatus {
                key: r.key,
                all_target_ports: r.port.is_none(),
                holds: persistent
                    .held
                    .filter(|_| persistent.is_holder(index))
                    .map(|(kind, _)| kind),
                relative_port: r.port.unwrap_or(0),
                initiator: r.initiator.clone(),
            };
            let list: Vec<_> = persistent.registrations.iter().enumerate().map(describe).collect();
            write_full_status(persistent.generation, &list, &mut out);
        }
    }
    data_in(out, allocation)
}
