//! Parameter data of SCSI commands, in and out (SPC-5, SBC-4): no list, however it lies about its length,
//! makes a reader panic or allocate beyond it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::scsi::{
    Sense, TransportId, Width, block_vpd, capacity, copy, designator, inquiry, mode,
    parse_report_luns, port_groups, reservation, supported, transport_ids,
};

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let Some((choice, data)) = input.split_first() else { return };
    match choice % 16 {
        0 => {
            if let Some(sense) = Sense::parse(data) {
                let mut again = Vec::new();
                sense.write(true, &mut again);
                assert!(Sense::parse(&again).is_some());
            }
        }
        1 => {
            let _ = inquiry::StandardInquiry::parse(data);
            if let Some(page) = inquiry::VpdPage::parse(data) {
                let _ = (page.serial(), page.designators().count());
                let _ = inquiry::ExtendedInquiry::parse(page.body);
                let _ = block_vpd::BlockLimits::parse(page.body);
                let _ = block_vpd::BlockCharacteristics::parse(page.body);
                let _ = block_vpd::Provisioning::parse(page.body);
            }
        }
        2 => {
            for item in designator::designators(data) {
                let _ = item.port_value();
            }
        }
        3 => {
            for width in [Width::Six, Width::Ten] {
                let Some((_, _, pages)) = mode::ModeHeader::parse(width, data) else { continue };
                for page in mode::mode_pages(pages).flatten() {
                    let _ = mode::Caching::parse(page.body);
                    let _ = mode::Control::parse(page.body);
                }
            }
        }
        4 => {
            let _ = reservation::parse_keys(data).map(|(_, keys)| keys.count());
        }
        5 => {
            let _ = (reservation::parse_reservation(data), reservation::Capabilities::parse(data));
        }
        6 => {
            let _ = reservation::parse_full_status(data);
        }
        7 => {
            if let Ok(list) = reservation::ReserveOut::parse(data) {
                let mut again = Vec::new();
                list.write(&mut again);
                assert_eq!(reservation::ReserveOut::parse(&again).ok(), Some(list));
            }
        }
        8 => {
            if let Ok(list) = reservation::RegisterAndMove::parse(data) {
                let mut again = Vec::new();
                list.write(&mut again);
                assert_eq!(reservation::RegisterAndMove::parse(&again).ok(), Some(list));
            }
        }
        9 => {
            let _ = (TransportId::parse(data), transport_ids(data).count());
        }
        10 => {
            let _ = (capacity::parse_capacity_10(data), capacity::Capacity::parse(data));
            let _ = capacity::parse_lba_status(data).map(|runs| runs.count());
        }
        11 => {
            if let Some(runs) = capacity::parse_unmap(data) {
                let runs: Vec<_> = runs.collect();
                let mut again = Vec::new();
                capacity::write_unmap(&runs, &mut again);
                let parsed: Vec<_> = capacity::parse_unmap(&again).into_iter().flatten().collect();
                assert_eq!(parsed, runs);
            }
        }
        12 => {
            let _ = (copy::CopyHeader::parse(data), copy::CopySegment::parse(data));
            if let Some(target) = data.first_chunk() {
                let _ = copy::CopyTarget::parse(target);
            }
        }
        13 => {
            let _ = (copy::CopyParameters::parse(data), copy::CopyStatus::parse(data));
        }
        14 => {
            let _ = port_groups::parse_port_groups(data);
            let _ = port_groups::parse_set_port_groups(data).map(|list| list.count());
        }
        _ => {
            let _ = parse_report_luns(data).map(|(_, luns)| luns.count());
            let _ = supported::parse_all_supported(data);
            let _ = supported::parse_one_supported(data);
        }
    }
});
