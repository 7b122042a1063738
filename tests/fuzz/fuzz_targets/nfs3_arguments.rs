//! Arguments of the procedures of NFS version 3 (RFC 1813 section 3.3), as a server reads them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::round_trip;
use plimsoll_wire::nfs3;

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let Some((procedure, data)) = input.split_first() else { return };
    match procedure % 16 {
        0 => round_trip!(nfs3::FileHandle<'_>, data),
        1 => round_trip!(nfs3::SetAttrArgs<'_>, data),
        2 => round_trip!(nfs3::DirOp<'_>, data),
        3 => round_trip!(nfs3::AccessArgs<'_>, data),
        4 => round_trip!(nfs3::ReadArgs<'_>, data),
        5 => round_trip!(nfs3::WriteArgs<'_>, data),
        6 => round_trip!(nfs3::WriteHead<'_>, data),
        7 => round_trip!(nfs3::CreateArgs<'_>, data),
        8 => round_trip!(nfs3::MakeDirArgs<'_>, data),
        9 => round_trip!(nfs3::SymlinkArgs<'_>, data),
        10 => round_trip!(nfs3::MakeNodeArgs<'_>, data),
        11 => round_trip!(nfs3::RenameArgs<'_>, data),
        12 => round_trip!(nfs3::LinkArgs<'_>, data),
        13 => round_trip!(nfs3::ReadDirArgs<'_>, data),
        14 => round_trip!(nfs3::ReadDirPlusArgs<'_>, data),
        _ => round_trip!(nfs3::CommitArgs<'_>, data),
    }
});
