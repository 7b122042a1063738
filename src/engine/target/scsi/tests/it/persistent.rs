//! Persistent reservations (SPC-5 5.14): who may what under each type, and what each service action does.

use std::sync::{Arc, Mutex};

use plimsoll_target_scsi::{Nexus, Notice, UnitSettings};
use plimsoll_wire::scsi::opcode::service;
use plimsoll_wire::scsi::reservation::ReservationKind::{
    self as Kind, ExclusiveAccess, ExclusiveAccessAllRegistrants, ExclusiveAccessRegistrantsOnly,
    WriteExclusive, WriteExclusiveAllRegistrants, WriteExclusiveRegistrantsOnly,
};
use plimsoll_wire::scsi::reservation::{Capabilities, RegisterAndMove, ReserveOut};
use plimsoll_wire::scsi::{Additional, Command, SenseKey, Status, TransportId};

use crate::persistent_out::{
    clear, out, preempt, read_full_status, read_keys, read_reservation, register,
    register_and_move, register_anyhow, release, reserve,
};
use crate::support::{
    SERIAL, TARGET, assert_attention, assert_check, assert_conflict, assert_good, assert_ready,
    device, device_of, host, login, nexus_with, read, run, send, volume, write,
};

const KINDS: [Kind; 6] = [
    WriteExclusive,
    ExclusiveAccess,
    WriteExclusiveRegistrantsOnly,
    ExclusiveAccessRegistrantsOnly,
    WriteExclusiveAllRegistrants,
    ExclusiveAccessAllRegistrants,
];

fn allowed(nexus: &mut Nexus, command: Command) -> bool {
    let completion = send(nexus, command, &[0; 512]);
    match completion.status {
        Status::Good => true,
        Status::ReservationConflict => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn spc5_table_73_and_sbc4_table_13_who_may_read_and_write() {
    for kind in KINDS {
        let device = device();
        let mut holder = login(&device, 1, 1);
        let mut registrant = login(&device, 2, 1);
        let mut stranger = login(&device, 3, 1);
        assert_good(&register(&mut holder, 0, 1));
        assert_good(&register(&mut registrant, 0, 2));
        assert_good(&reserve(&mut holder, 1, kind));
        let shared = kind.registrants();
        let reads = kind.allows_reads();
        let rights = |nexus: &mut Nexus| (allowed(nexus, read(0, 1)), allowed(nexus, write(0, 1)));
        assert_eq!(rights(&mut holder), (true, true), "{kind:?}");
        assert_eq!(rights(&mut registrant), (shared || reads, shared), "{kind:?}");
        assert_eq!(rights(&mut stranger), (reads, false), "{kind:?}");
        // Readiness and capacity are nobody's secret.
        assert_ready(&mut stranger);
        assert!(allowed(&mut stranger, Command::ReadCapacity10));
        // A nexus that logs in later meets the reservation, too.
        assert_eq!(rights(&mut login(&device, 4, 2)), (reads, false), "{kind:?}");
    }
}

#[test]
fn spc5_5_14_7_register_needs_the_present_key() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    assert_conflict(&register(&mut first, 5, 1));
    assert_good(&register(&mut first, 0, 1));
    assert_conflict(&register(&mut first, 0, 2));
    assert_good(&register(&mut first, 1, 2));
    assert_good(&register_anyhow(&mut first, 3));
    assert_good(&register_anyhow(&mut second, 4));
    assert_eq!(read_keys(&mut second), (4, vec![3, 4]));
    assert_good(&register(&mut first, 3, 0));
    assert_good(&register(&mut first, 0, 0));
    assert_eq!(read_keys(&mut second), (6, vec![4]));
}

#[test]
fn spc5_5_14_9_reserve_is_for_registrants_and_repeats_only_as_it_was() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    assert_conflict(&reserve(&mut first, 0, WriteExclusive));
    assert_good(&register(&mut first, 0, 1));
    assert_good(&register(&mut second, 0, 2));
    assert_conflict(&reserve(&mut first, 9, WriteExclusive));
    assert_good(&reserve(&mut first, 1, WriteExclusive));
    assert_good(&reserve(&mut first, 1, WriteExclusive));
    assert_conflict(&reserve(&mut first, 1, ExclusiveAccess));
    assert_conflict(&reserve(&mut second, 2, WriteExclusive));
    assert_eq!(read_reservation(&mut second), Some((1, WriteExclusive)));
    let list = ReserveOut { key: 1, ..ReserveOut::default() };
    for kind in [0, 2, 4, 9] {
        let completion = out(&mut first, service::RESERVE, kind, &list);
        assert_check(&completion, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
    }
}

#[test]
fn spc5_5_14_11_2_release_tells_registrants_of_shared_types_only() {
    for kind in KINDS {
        let device = device();
        let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
        assert_good(&register(&mut first, 0, 1));
        assert_good(&register(&mut second, 0, 2));
        assert_good(&reserve(&mut first, 1, kind));
        let other = KINDS.into_iter().find(|&other| other != kind).unwrap();
        assert_check(
            &release(&mut first, 1, other),
            SenseKey::IllegalRequest,
            Additional::INVALID_RELEASE_OF_PERSISTENT_RESERVATION,
        );
        if !kind.all_registrants() {
            assert_good(&release(&mut second, 2, kind));
        }
        assert!(read_reservation(&mut first).is_some());
        assert_good(&release(&mut first, 1, kind));
        assert_eq!(read_reservation(&mut first), None);
        if kind.registrants() {
            assert_attention(&mut second, Additional::RESERVATIONS_RELEASED);
        }
        assert_ready(&mut second);
        assert_ready(&mut first);
    }
}

#[test]
fn spc5_5_14_11_3_the_end_of_a_registration_may_end_the_reservation() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    for kind in [WriteExclusiveRegistrantsOnly, WriteExclusive] {
        assert_good(&register_anyhow(&mut first, 1));
        assert_good(&register_anyhow(&mut second, 2));
        assert_good(&reserve(&mut first, 1, kind));
        assert_good(&register(&mut first, 1, 0));
        assert_eq!(read_reservation(&mut first), None);
        if kind.registrants() {
            assert_attention(&mut second, Additional::RESERVATIONS_RELEASED);
        }
        assert_ready(&mut second);
    }
    // Of an all-registrants type only the last one takes the reservation away.
    assert_good(&register_anyhow(&mut first, 1));
    assert_good(&reserve(&mut first, 1, ExclusiveAccessAllRegistrants));
    assert_good(&register(&mut first, 1, 0));
    assert_eq!(read_reservation(&mut second), Some((0, ExclusiveAccessAllRegistrants)));
    assert_good(&register(&mut second, 2, 0));
    assert_eq!(read_reservation(&mut second), None);
}

#[test]
fn spc5_5_14_11_6_clear_takes_everything_and_tells_everybody_else() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    assert_good(&register(&mut first, 0, 1));
    assert_good(&register(&mut second, 0, 2));
    assert_good(&reserve(&mut first, 1, ExclusiveAccess));
    assert_conflict(&clear(&mut second, 9));
    assert_good(&clear(&mut second, 2));
    assert_eq!(read_reservation(&mut second), None);
    assert_eq!(read_keys(&mut second).1, []);
    assert_attention(&mut first, Additional::RESERVATIONS_PREEMPTED);
    assert_ready(&mut second);
}

#[test]
fn spc5_5_14_11_4_preempt_takes_the_reservation_of_the_key_it_names() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    let mut third = login(&device, 3, 1);
    assert_good(&register(&mut first, 0, 1));
    assert_good(&register(&mut second, 0, 2));
    assert_good(&register(&mut third, 0, 3));
    assert_good(&reserve(&mut first, 1, WriteExclusive));
    assert_conflict(&preempt(&mut second, 2, 99, WriteExclusive, false));
    assert_check(
        &preempt(&mut second, 2, 0, WriteExclusive, false),
        SenseKey::IllegalRequest,
        Additional::INVALID_FIELD_IN_PARAMETER_LIST,
    );
    assert_good(&preempt(&mut second, 2, 1, ExclusiveAccess, false));
    assert_eq!(read_reservation(&mut second), Some((2, ExclusiveAccess)));
    assert_eq!(read_keys(&mut second).1, [2, 3]);
    assert_attention(&mut first, Additional::REGISTRATIONS_PREEMPTED);
    assert_attention(&mut third, Additional::RESERVATIONS_RELEASED);
    assert_conflict(&run(&mut first, read(0, 1)));
    // A key that holds nothing loses its registration alone.
    assert_good(&preempt(&mut second, 2, 3, WriteExclusive, false));
    assert_eq!(read_reservation(&mut second), Some((2, ExclusiveAccess)));
    assert_eq!(read_keys(&mut second).1, [2]);
    assert_attention(&mut third, Additional::REGISTRATIONS_PREEMPTED);
    // Preempting oneself changes the type.
    assert_good(&preempt(&mut second, 2, 2, WriteExclusive, false));
    assert_eq!(read_reservation(&mut second), Some((2, WriteExclusive)));
}

#[test]
fn spc5_5_14_11_4_a_zero_key_preempts_all_other_registrants() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    assert_good(&register(&mut first, 0, 1));
    assert_good(&register(&mut second, 0, 2));
    assert_good(&reserve(&mut first, 1, WriteExclusiveAllRegistrants));
    assert_good(&preempt(&mut second, 2, 0, WriteExclusive, false));
    assert_eq!(read_reservation(&mut second), Some((2, WriteExclusive)));
    assert_eq!(read_keys(&mut second).1, [2]);
    assert_attention(&mut first, Additional::REGISTRATIONS_PREEMPTED);
}

#[test]
fn spc5_5_14_11_5_preempt_and_abort_drops_the_tasks_of_the_preempted() {
    let device = device();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    let notify = Box::new(move |notice| sink.lock().unwrap().push(notice));
    let mut first = nexus_with(&device, 1, 1, notify);
    let mut second = login(&device, 2, 1);
    assert_attention(&mut first, Additional::POWER_ON_RESET_OCCURRED);
    assert_good(&register(&mut first, 0, 1));
    assert_good(&register(&mut second, 0, 2));
    heard.lock().unwrap().clear();
    assert_good(&preempt(&mut second, 2, 1, WriteExclusive, true));
    let heard = heard.lock().unwrap();
    assert!(heard.contains(&Notice::AbortTasks { lun: Some(0) }), "{heard:?}");
}

#[test]
fn spc5_5_14_8_register_and_move_hands_the_reservation_over() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 2));
    let mut list = RegisterAndMove {
        key: 1,
        action_key: 2,
        unregister: true,
        persist: false,
        relative_port: 2,
        initiator: host(2),
    };
    assert_good(&register(&mut first, 0, 1));
    assert_conflict(&register_and_move(&mut first, &list));
    assert_good(&reserve(&mut first, 1, WriteExclusive));
    for wrong in [
        RegisterAndMove { relative_port: 3, ..list.clone() },
        RegisterAndMove { action_key: 0, ..list.clone() },
        RegisterAndMove { relative_port: 1, initiator: host(1), ..list.clone() },
    ] {
        assert_check(
            &register_and_move(&mut first, &wrong),
            SenseKey::IllegalRequest,
            Additional::INVALID_FIELD_IN_PARAMETER_LIST,
        );
    }
    assert_good(&register_and_move(&mut first, &list));
    assert_eq!(read_reservation(&mut second), Some((2, WriteExclusive)));
    assert_eq!(read_keys(&mut second).1, [2]);
    assert!(allowed(&mut second, write(0, 1)));
    assert!(!allowed(&mut first, write(0, 1)));
    // Back, and the source stays registered this time.
    list = RegisterAndMove {
        key: 2,
        action_key: 1,
        unregister: false,
        relative_port: 1,
        initiator: host(1),
        ..list
    };
    assert_good(&register_and_move(&mut second, &list));
    assert_eq!(read_reservation(&mut second), Some((1, WriteExclusive)));
    assert_eq!(read_keys(&mut second).1, [2, 1]);
}

#[test]
fn spc5_6_17_3_spec_i_pt_and_all_tg_pt_register_more_than_the_sender() {
    let device = device();
    let mut first = login(&device, 1, 1);
    let whole_host = TransportId { isid: None, ..host(3) };
    let mut list = ReserveOut {
        action_key: 7,
        initiators: Some(vec![host(2), whole_host.clone()]),
        all_target_ports: true,
        ..ReserveOut::default()
    };
    // Not with IGNORE, not twice the same, not for one who is registered.
    for action in [service::REGISTER_AND_IGNORE_EXISTING_KEY, service::CLEAR] {
        let completion = out(&mut first, action, 0, &list);
        let additional = Additional::INVALID_FIELD_IN_PARAMETER_LIST;
        assert_check(&completion, SenseKey::IllegalRequest, additional);
    }
    let twice = ReserveOut { initiators: Some(vec![host(2), host(2)]), ..list.clone() };
    assert_check(
        &out(&mut first, service::REGISTER, 0, &twice),
        SenseKey::IllegalRequest,
        Additional::INVALID_FIELD_IN_PARAMETER_LIST,
    );
    assert_good(&out(&mut first, service::REGISTER, 0, &list));
    let registered: Vec<_> = read_full_status(&mut first)
        .into_iter()
        .map(|s| (s.initiator, s.all_target_ports))
        .collect();
    assert_eq!(registered, [(host(1), true), (host(2), true), (whole_host, true)]);
    assert_good(&reserve(&mut first, 7, WriteExclusiveRegistrantsOnly));
    for (number, port) in [(1, 2), (2, 1), (2, 2), (3, 1), (3, 2)] {
        assert!(allowed(&mut login(&device, number, port), write(0, 1)), "{number} by {port}");
    }
    assert!(!allowed(&mut login(&device, 4, 1), write(0, 1)));
    list.key = 7;
    assert_check(
        &out(&mut first, service::REGISTER, 0, &list),
        SenseKey::IllegalRequest,
        Additional::INVALID_FIELD_IN_PARAMETER_LIST,
    );
}

#[test]
fn spc5_5_14_7_without_all_tg_pt_each_path_registers_for_itself() {
    let device = device();
    let (mut one, mut two) = (login(&device, 1, 1), login(&device, 1, 2));
    assert_good(&register(&mut one, 0, 1));
    assert_good(&reserve(&mut one, 1, WriteExclusiveRegistrantsOnly));
    assert!(!allowed(&mut two, write(0, 1)));
    assert_good(&register(&mut two, 0, 1));
    assert!(allowed(&mut two, write(0, 1)));
    let ports: Vec<_> = read_full_status(&mut one).iter().map(|s| s.relative_port).collect();
    assert_eq!(ports, [1, 2]);
}

#[test]
fn spc5_5_14_registrations_outlive_the_nexus() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    assert_good(&register(&mut first, 0, 1));
    assert_good(&reserve(&mut first, 1, WriteExclusive));
    drop(first);
    assert!(!allowed(&mut second, write(0, 1)));
    assert!(allowed(&mut login(&device, 1, 1), write(0, 1)));
}

#[test]
fn spc5_5_14_5_aptpl_brings_everything_back_after_a_restart() {
    let volume = volume(SERIAL);
    let settings = UnitSettings::default();
    let capabilities = |nexus: &mut Nexus| {
        let service = service::REPORT_CAPABILITIES;
        let data = run(nexus, Command::PersistentReserveIn { service, allocation: 8 }).data_in;
        Capabilities::parse(&data).unwrap()
    };
    {
        let mut nexus = login(&device_of(&volume, settings), 1, 1);
        assert!(!capabilities(&mut nexus).persist_active);
        let list = ReserveOut { action_key: 1, persist: true, ..ReserveOut::default() };
        assert_good(&out(&mut nexus, service::REGISTER, 0, &list));
        assert_good(&reserve(&mut nexus, 1, ExclusiveAccess));
        assert!(capabilities(&mut nexus).persist_active);
    }
    let saved = String::from_utf8(volume.saved_reservations().unwrap()).unwrap();
    assert!(saved.contains(TARGET), "{saved}");
    {
        let device = device_of(&volume, settings);
        let (mut back, mut other) = (login(&device, 1, 1), login(&device, 2, 1));
        assert_eq!(read_reservation(&mut other), Some((1, ExclusiveAccess)));
        assert!(allowed(&mut back, write(0, 1)) && !allowed(&mut other, read(0, 1)));
        // Registering without APTPL lets go of what was saved.
        assert_good(&register(&mut back, 1, 2));
        assert!(volume.saved_reservations().is_none());
    }
    let mut nexus = login(&device_of(&volume, settings), 2, 1);
    assert_eq!(read_keys(&mut nexus), (0, vec![]));
}

#[test]
fn spc5_6_17_a_list_of_the_wrong_length_or_scope_is_refused() {
    let device = device();
    let mut nexus = login(&device, 1, 1);
    for (length, sent) in [(23, 23), (25, 25), (24, 20)] {
        let service = service::REGISTER;
        let command = Command::PersistentReserveOut { service, scope: 0, kind: 0, length };
        let completion = send(&mut nexus, command, &vec![0; sent]);
        let additional = Additional::PARAMETER_LIST_LENGTH_ERROR;
        assert_check(&completion, SenseKey::IllegalRequest, additional);
    }
    let service = service::RESERVE;
    let command = Command::PersistentReserveOut { service, scope: 1, kind: 1, length: 24 };
    let completion = send(&mut nexus, command, &[0; 24]);
    assert_check(&completion, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
}
