//! MODE SENSE and MODE SELECT: what can be changed, what must not, and what the change does.

use plimsoll_target_scsi::{Completion, Nexus, Plan};
use plimsoll_wire::scsi::mode::{
    Caching, Control, ModeHeader, control, mode_pages, page, write_page,
};
use plimsoll_wire::scsi::{Additional, Command, LunField, SenseKey, Width};

use crate::support::{
    assert_attention, assert_check, assert_good, assert_ready, device, login, run, send, sense,
    write,
};

fn mode_sense(width: Width, control: u8, page: u8) -> Command {
    Command::ModeSense {
        width,
        no_blocks: false,
        long_lba: false,
        control,
        page,
        subpage: 0,
        allocation: 255,
    }
}

fn body(nexus: &mut Nexus, control: u8, code: u8) -> Vec<u8> {
    let completion = run(nexus, mode_sense(Width::Six, control, code));
    assert_good(&completion);
    let (_, _, pages) = ModeHeader::parse(Width::Six, &completion.data_in).unwrap();
    mode_pages(pages).next().unwrap().unwrap().body.to_vec()
}

fn select(nexus: &mut Nexus, code: u8, body: &[u8]) -> Completion {
    let mut list = vec![0; 4];
    write_page(code, body, &mut list);
    let length = list.len() as u16;
    let width = Width::Six;
    send(nexus, Command::ModeSelect { width, page_format: true, save: false, length }, &list)
}

#[test]
fn spc5_6_14_all_pages_and_each_page_in_both_widths() {
    let mut nexus = login(&device(), 1, 1);
    for width in [Width::Six, Width::Ten] {
        let all = run(&mut nexus, mode_sense(width, control::CURRENT, page::ALL)).data_in;
        let (header, length, pages) = ModeHeader::parse(width, &all).unwrap();
        assert_eq!(length, all.len());
        assert_eq!(header.block, Some((2048, 512)));
        assert!(header.dpo_fua && !header.write_protected);
        let codes: Vec<_> = mode_pages(pages).map(|p| p.unwrap().code).collect();
        assert_eq!(codes, [page::CACHING, page::CONTROL, page::INFORMATIONAL_EXCEPTIONS]);
    }
    let saved = run(&mut nexus, mode_sense(Width::Six, control::SAVED, page::ALL));
    let additional = Additional::SAVING_PARAMETERS_NOT_SUPPORTED;
    assert_check(&saved, SenseKey::IllegalRequest, additional);
    let unknown = run(&mut nexus, mode_sense(Width::Six, control::CURRENT, 0x11));
    assert_check(&unknown, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
}

#[test]
fn spc5_7_5_13_d_sense_changes_the_format_and_tells_the_others() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    let mut page = body(&mut first, control::CURRENT, page::CONTROL);
    assert!(!Control::parse(&page).unwrap().descriptor_sense);
    let far = crate::support::read(1 << 40, 1);
    assert_eq!(sense(&run(&mut first, far)).information, None);
    page[0] |= 0x04;
    assert_good(&select(&mut first, page::CONTROL, &page));
    assert_ready(&mut first);
    assert_attention(&mut second, Additional::MODE_PARAMETERS_CHANGED);
    let completion = run(&mut second, far);
    assert_eq!(completion.sense[0], 0x72);
    assert_eq!(sense(&completion).information, Some(1 << 40), "a large block fits now");
    assert_eq!(body(&mut first, control::DEFAULT, page::CONTROL)[0] & 0x04, 0);
}

#[test]
fn spc5_7_5_13_swp_protects_from_writing() {
    let mut nexus = login(&device(), 1, 1);
    let mut page = body(&mut nexus, control::CURRENT, page::CONTROL);
    page[2] |= 0x08;
    assert_good(&select(&mut nexus, page::CONTROL, &page));
    let refused = send(&mut nexus, write(0, 1), &[0; 512]);
    assert_check(&refused, SenseKey::DataProtect, Additional::WRITE_PROTECTED);
    let list = run(&mut nexus, mode_sense(Width::Six, 0, page::CONTROL)).data_in;
    assert!(ModeHeader::parse(Width::Six, &list).unwrap().0.write_protected);
    page[2] &= !0x08;
    assert_good(&select(&mut nexus, page::CONTROL, &page));
    assert_good(&send(&mut nexus, write(0, 1), &[0; 512]));
}

#[test]
fn sbc4_6_5_6_without_write_cache_every_write_is_durable() {
    let mut nexus = login(&device(), 1, 1);
    let mut page = body(&mut nexus, control::CURRENT, page::CACHING);
    assert!(Caching::parse(&page).unwrap().write_cache);
    let durable = |nexus: &mut Nexus| {
        let plan = nexus.begin(LunField::unit(0), &write(0, 1).cdb(), 512);
        matches!(plan, Plan::Write { durable: true, .. })
    };
    assert!(!durable(&mut nexus));
    page[0] &= !0x04;
    assert_good(&select(&mut nexus, page::CACHING, &page));
    assert!(durable(&mut nexus));
}

#[test]
fn spc5_6_12_what_cannot_be_changed_is_refused_and_nothing_changes() {
    let mut nexus = login(&device(), 1, 1);
    let changeable = body(&mut nexus, control::CHANGEABLE, page::CONTROL);
    assert_eq!((changeable[0], changeable[2]), (0x04, 0x08));
    let before = body(&mut nexus, control::CURRENT, page::CONTROL);
    let mut wrong = before.clone();
    wrong[0] |= 0x04;
    wrong[4] |= 0x01;
    for (code, body) in
        [(page::CONTROL, &wrong[..]), (page::CONTROL, &before[..9]), (0x11, &[0; 4])]
    {
        assert_check(
            &select(&mut nexus, code, body),
            SenseKey::IllegalRequest,
            Additional::INVALID_FIELD_IN_PARAMETER_LIST,
        );
    }
    assert_eq!(body(&mut nexus, control::CURRENT, page::CONTROL), before);
    let width = Width::Six;
    for (page_format, save) in [(false, false), (true, true)] {
        let command = Command::ModeSelect { width, page_format, save, length: 0 };
        let completion = run(&mut nexus, command);
        assert_check(&completion, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
    }
    let command = Command::ModeSelect { width, page_format: true, save: false, length: 3 };
    let completion = send(&mut nexus, command, &[0; 3]);
    let additional = Additional::PARAMETER_LIST_LENGTH_ERROR;
    assert_check(&completion, SenseKey::IllegalRequest, additional);
}
