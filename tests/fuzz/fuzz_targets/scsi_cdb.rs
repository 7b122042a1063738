//! CDBs (SPC-5, SBC-4): a command that can be read is the same after building its CDB and reading that.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::scsi::{Command, LunField, Sense};

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    for cdb in input.as_chunks::<16>().0 {
        match Command::parse(cdb) {
            Ok(command) => assert_eq!(Command::parse(&command.cdb()), Ok(command)),
            Err(error) => {
                let mut sense = Vec::new();
                Sense::from(error).write(false, &mut sense);
                assert!(Sense::parse(&sense).is_some());
            }
        }
    }
    if let Some(lun) = input.first_chunk::<8>() {
        let _ = (LunField(*lun).address(), LunField(*lun).number());
    }
});
