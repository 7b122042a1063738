//! Results of the procedures of NFS version 3 (RFC 1813 section 3.3), as a client reads them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::round_trip;
use plimsoll_wire::nfs3;

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let Some((procedure, data)) = input.split_first() else { return };
    match procedure % 17 {
        0 => round_trip!(nfs3::GetAttrResult, data),
        1 => round_trip!(nfs3::SetAttrResult, data),
        2 => round_trip!(nfs3::LookupResult<'_>, data),
        3 => round_trip!(nfs3::AccessResult, data),
        4 => round_trip!(nfs3::ReadLinkResult<'_>, data),
        5 => round_trip!(nfs3::ReadResult<'_>, data),
        6 => round_trip!(nfs3::WriteResult, data),
        7 => round_trip!(nfs3::CreateResult<'_>, data),
        8 => round_trip!(nfs3::RemoveResult, data),
        9 => round_trip!(nfs3::RenameResult, data),
        10 => round_trip!(nfs3::LinkResult, data),
        11 => round_trip!(nfs3::ReadDirResult<'_>, data),
        12 => round_trip!(nfs3::ReadDirPlusResult<'_>, data),
        13 => round_trip!(nfs3::FsStatResult, data),
        14 => round_trip!(nfs3::FsInfoResult, data),
        15 => round_trip!(nfs3::PathConfResult, data),
        _ => round_trip!(nfs3::CommitResult, data),
    }
});
