//! REPORT SUPPORTED OPERATION CODES (SPC-5 6.35) tells the truth.

use plimsoll_target_scsi::Plan;
use plimsoll_wire::scsi::supported::{options, parse_all_supported, parse_one_supported};
use plimsoll_wire::scsi::{Additional, Command, LunField, SenseKey};

use crate::support::{assert_check, assert_good, device, login, run, sense};

fn report(options: u8, opcode: u8, service: u16) -> Command {
    Command::ReportSupportedOpcodes { timeouts: true, options, opcode, service, allocation: 65_535 }
}

#[test]
fn spc5_6_35_2_what_is_listed_is_served_and_what_is_not_is_not() {
    let mut nexus = login(&device(), 1, 1);
    let listed = parse_all_supported(&run(&mut nexus, report(options::ALL, 0, 0)).data_in).unwrap();
    assert!(listed.len() > 60);
    for opcode in 0..=255_u8 {
        for service in 0..32_u16 {
            let known =
                listed.iter().any(|&(o, s, _)| o == opcode && s.is_none_or(|s| s == service));
            let mut cdb = [0; 16];
            cdb[0] = opcode;
            let has_services = listed.iter().any(|&(o, s, _)| o == opcode && s.is_some());
            if has_services {
                cdb[1] = service as u8;
            } else if service > 0 {
                continue;
            }
            let refused = match nexus.begin(LunField::unit(0), &cdb, 0) {
                Plan::Done(completion) if !completion.sense.is_empty() => {
                    let told = sense(&completion);
                    told.additional == Additional::INVALID_COMMAND_OPERATION_CODE
                        || told.additional == Additional::INVALID_FIELD_IN_CDB
                            && told.specific
                                == Some(plimsoll_wire::scsi::Specific::Field {
                                    in_cdb: true,
                                    byte: 1,
                                    bit: Some(4),
                                })
                }
                _ => false,
            };
            assert_eq!(known, !refused, "{opcode:#04x}/{service:#04x}");
        }
    }
}

#[test]
fn spc5_6_35_3_one_command_is_told_with_its_usage_mask() {
    let mut nexus = login(&device(), 1, 1);
    let one = |nexus: &mut plimsoll_target_scsi::Nexus, options, opcode, service| {
        let completion = run(nexus, report(options, opcode, service));
        assert_good(&completion);
        parse_one_supported(&completion.data_in).unwrap().map(<[u8]>::to_vec)
    };
    for (options, opcode, service, length) in [
        (options::OPCODE, 0x28, 0, Some(10)),
        (options::OPCODE, 0xff, 0, None),
        (options::SERVICE, 0x9e, 0x10, Some(16)),
        (options::SERVICE, 0x9e, 0x1f, None),
        (options::EITHER, 0x9e, 0x12, Some(16)),
        (options::EITHER, 0x28, 0, Some(10)),
        (options::EITHER, 0x28, 1, None),
        // A fixed medium cannot be locked in.
        (options::OPCODE, 0x1e, 0, None),
    ] {
        let usage = one(&mut nexus, options, opcode, service);
        assert_eq!(usage.as_ref().map(Vec::len), length, "{options} {opcode:#x}");
        if let Some(usage) = usage {
            assert_eq!(usage[0], opcode);
        }
    }
    for (options, opcode) in [(options::OPCODE, 0x9e), (options::SERVICE, 0x28), (7, 0x28)] {
        let completion = run(&mut nexus, report(options, opcode, 0));
        assert_check(&completion, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
    }
}

#[test]
fn spc5_6_36_task_management_functions_are_told() {
    let mut nexus = login(&device(), 1, 1);
    let ask = |extended| Command::ReportSupportedTaskManagement { extended, allocation: 64 };
    assert_eq!(run(&mut nexus, ask(false)).data_in.len(), 4);
    assert_eq!(run(&mut nexus, ask(true)).data_in.len(), 16);
}

#[test]
fn sbc4_5_19_defect_lists_are_empty() {
    let mut nexus = login(&device(), 1, 1);
    for (width, length) in
        [(plimsoll_wire::scsi::Width::Ten, 4), (plimsoll_wire::scsi::Width::Twelve, 8)]
    {
        let command = Command::ReadDefectData {
            width,
            primary: true,
            grown: true,
            format: 5,
            allocation: 255,
        };
        let data = run(&mut nexus, command).data_in;
        assert_eq!((data.len(), data[1]), (length, 0x1d));
        assert!(data[2..].iter().all(|&b| b == 0));
    }
}
