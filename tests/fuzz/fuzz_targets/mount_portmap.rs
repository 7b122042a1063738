//! MOUNT version 3 (RFC 1813 section 5), portmap and rpcbind (RFC 1833), both directions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::round_trip;
use plimsoll_wire::{mount3, portmap};

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let Some((choice, data)) = input.split_first() else { return };
    match choice % 7 {
        0 => round_trip!(mount3::DirPath<'_>, data),
        1 => round_trip!(mount3::MountResult<'_>, data),
        2 => round_trip!(Vec<mount3::MountEntry<'_>>, data),
        3 => round_trip!(Vec<mount3::ExportNode<'_>>, data),
        4 => round_trip!(portmap::Mapping, data),
        5 => round_trip!(Vec<portmap::Mapping>, data),
        _ => {
            round_trip!(portmap::RpcAddress<'_>, data);
            if let Some(address) = portmap::UniversalAddress(data).parse() {
                let text = portmap::UniversalAddress::format(address);
                let again = portmap::UniversalAddress(text.as_bytes()).parse();
                assert_eq!(again, Some(address));
            }
        }
    }
});
