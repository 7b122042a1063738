//! Who calls: AUTH_SYS with the machine's name (RFC 5531 appendix A).

use plimsoll_wire::rpc::{AuthSys, Credential, Gids};

use super::NfsOptions;

/// User, groups and machine.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    machine: Vec<u8>,
    uid: u32,
    gid: u32,
    gids: Gids,
    stamp: u32,
}

impl Identity {
    pub fn new(options: &NfsOptions) -> Self {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name = if name.trim().is_empty() { "plimsoll" } else { name.trim() };
        Self {
            machine: name.as_bytes().to_vec(),
            uid: options.uid,
            gid: options.gid,
            gids: Gids::new(&options.gids),
            stamp: super::random(),
        }
    }

    pub fn credential(&self) -> Credential<'_> {
        let Self { machine, uid, gid, gids, stamp } = self;
        Credential::Sys(AuthSys { stamp: *stamp, machine, uid: *uid, gid: *gid, gids: *gids })
    }
}
