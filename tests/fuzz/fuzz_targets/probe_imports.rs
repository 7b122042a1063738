//! What people hand to the probe: IOmeter configurations, fio job files, datastore URLs, sizes and times.
//! A file is taken with notes or refused with a line number, and never makes an unbounded workload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_initiator::Url;
use plimsoll_probe::{import, text};

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let Some((choice, data)) = input.split_first() else { return };
    match choice % 3 {
        0 => {
            let _ = import::icf("test.icf", data);
        }
        1 => {
            let _ = import::fio("test.fio", data);
        }
        _ => {
            let Ok(typed) = std::str::from_utf8(data) else { return };
            let _ = (text::bytes(typed), text::block_bytes(typed), text::seconds(typed));
            let _ = (text::percent(typed), text::block_split(typed));
            if let Ok(url) = Url::parse(typed) {
                let shown = url.to_string();
                assert_eq!(Url::parse(&shown).map(|url| url.to_string()).ok(), Some(shown));
            }
        }
    }
});
