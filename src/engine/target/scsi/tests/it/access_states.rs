//! Asymmetric access (SPC-5 5.15): two groups, changes by the array and by an initiator.

use plimsoll_target_scsi::{AccessState, Completion, Nexus};
use plimsoll_wire::scsi::port_groups::{parse_port_groups, write_set_port_groups};
use plimsoll_wire::scsi::{Additional, Command, SenseKey};

use crate::support::{
    assert_attention, assert_check, assert_good, assert_ready, device, login, read, run, send,
};

fn states(nexus: &mut Nexus, extended: bool) -> Vec<(u16, u8, Vec<u16>)> {
    let command = Command::ReportTargetPortGroups { extended, allocation: 256 };
    let groups = parse_port_groups(&run(nexus, command).data_in).unwrap();
    groups.into_iter().map(|g| (g.group, g.state, g.ports)).collect()
}

fn set(nexus: &mut Nexus, list: &[(u8, u16)]) -> Completion {
    let mut data = Vec::new();
    write_set_port_groups(list, &mut data);
    send(nexus, Command::SetTargetPortGroups { length: data.len() as u32 }, &data)
}

#[test]
fn spc5_6_37_both_groups_are_reported_with_their_ports() {
    let mut nexus = login(&device(), 1, 1);
    for extended in [false, true] {
        assert_eq!(states(&mut nexus, extended), [(1, 0, vec![1]), (2, 0, vec![2])]);
    }
}

#[test]
fn spc5_5_15_2_a_port_that_is_not_active_serves_what_its_state_allows() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 1, 2));
    for (state, additional) in [
        (AccessState::Standby, Additional::NOT_ACCESSIBLE_STANDBY),
        (AccessState::Unavailable, Additional::NOT_ACCESSIBLE_UNAVAILABLE),
    ] {
        device.set_access_state(2, state);
        assert_attention(&mut first, Additional::ASYMMETRIC_ACCESS_STATE_CHANGED);
        assert_attention(&mut second, Additional::ASYMMETRIC_ACCESS_STATE_CHANGED);
        assert_good(&run(&mut first, read(0, 1)));
        assert_check(&run(&mut second, read(0, 1)), SenseKey::NotReady, additional);
        assert_eq!(states(&mut second, false)[1].1, state as u8);
        assert_good(&run(&mut second, Command::Inquiry { page: Some(0x83), allocation: 255 }));
        // A session that begins now meets the state as well.
        assert_check(&run(&mut login(&device, 2, 2), read(0, 1)), SenseKey::NotReady, additional);
    }
    device.set_access_state(2, AccessState::ActiveNonOptimized);
    assert_attention(&mut second, Additional::ASYMMETRIC_ACCESS_STATE_CHANGED);
    assert_good(&run(&mut second, read(0, 1)));
    device.set_access_state(2, AccessState::ActiveNonOptimized);
    assert_ready(&mut second);
}

#[test]
fn spc5_6_45_an_initiator_changes_states_and_the_others_hear_of_it() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 2));
    assert_good(&set(&mut first, &[(1, 1), (0, 2)]));
    assert_eq!(device.access_state(1), Some(AccessState::ActiveNonOptimized));
    assert_ready(&mut first);
    assert_attention(&mut second, Additional::ASYMMETRIC_ACCESS_STATE_CHANGED);
    for wrong in [&[(0, 1), (0, 9)][..], &[(0, 1), (0xf, 2)]] {
        assert_check(
            &set(&mut first, wrong),
            SenseKey::IllegalRequest,
            Additional::INVALID_FIELD_IN_PARAMETER_LIST,
        );
    }
    assert_eq!(device.access_state(1), Some(AccessState::ActiveNonOptimized));
    let length = Command::SetTargetPortGroups { length: 7 };
    let completion = send(&mut first, length, &[0; 7]);
    let additional = Additional::PARAMETER_LIST_LENGTH_ERROR;
    assert_check(&completion, SenseKey::IllegalRequest, additional);
    assert_good(&run(&mut first, Command::SetTargetPortGroups { length: 0 }));
}
