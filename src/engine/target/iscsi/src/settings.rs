//! What can be set for the server and for a target. Every default says why it is what it is.

use std::time::Duration;

use plimsoll_wire::iscsi::negotiate::{DigestWish, IserParameters, Parameters, Role, Wishes};

use crate::session::IMMEDIATE_TASKS;
use crate::{Access, Chap};

/// Settings of the whole server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What the target brings into negotiations.
    pub wishes: Wishes,
    /// The same on RDMA connections.
    pub iser: Wishes,
    /// Commands that one session may have outstanding: the CmdSN window. ESXi uses up to 128 a device.
    pub commands_per_session: u16,
    /// Sessions of all initiators together.
    pub sessions: usize,
    /// Sessions of one initiator name: ESXi opens one per bound port and portal.
    pub sessions_per_initiator: usize,
    /// Connections that have not logged in yet.
    pub logins: usize,
    /// Bytes of collected data-out and of reads that wait for a disk, of all sessions together; one session
    /// gets at most a quarter.
    pub memory_bytes: usize,
    /// A login that takes longer ends.
    pub login_timeout: Duration,
    /// After that much silence the target pings (NOP-In).
    pub ping_after: Duration,
    /// A ping that is not answered in that time ends the session.
    pub ping_timeout: Duration,
    /// CHAP of discovery sessions.
    pub discovery_chap: Option<Chap>,
}

impl Default for Settings {
    fn default() -> Self {
        let parameters = Parameters {
            // One receive buffer of an I/O thread.
            max_recv_data_segment_bytes: 256 << 10,
            max_burst_bytes: 1 << 20,
            first_burst_bytes: 256 << 10,
            initial_r2t: false,
            immediate_data: true,
            max_outstanding_r2t: 4,
            // Tasks do not outlive their connection at error recovery level 0.
            default_time2retain_s: 0,
            ..Parameters::default()
        };
        let iser = Parameters {
            // Of each receive, one a command: what LIO takes, and what initiators send with a command.
            max_recv_data_segment_bytes: 8192,
            peer_max_recv_data_segment_bytes: 8192,
            first_burst_bytes: 8192,
            // Unsolicited data beyond the command would need receives that no window counts.
            initial_r2t: true,
            // What comes with the command has to be copied, what is fetched lands in the store. And libiscsi
            // 1.19 announces immediate data without sending it; tgt does not allow it on RDMA either.
            immediate_data: false,
            iser: IserParameters {
                role: Some(Role::Target),
                max_unexpected_pdus: IMMEDIATE_TASKS as u32,
                ..IserParameters::default()
            },
            ..parameters.clone()
        };
        Self {
            iser: Wishes {
                parameters: iser,
                header_digest: DigestWish::Never,
                data_digest: DigestWish::Never,
            },
            wishes: Wishes {
                parameters,
                header_digest: DigestWish::Allow,
                data_digest: DigestWish::Allow,
            },
            commands_per_session: 128,
            sessions: 4096,
            sessions_per_initiator: 1024,
            logins: 1024,
            memory_bytes: 256 << 20,
            login_timeout: Duration::from_secs(15),
            ping_after: Duration::from_secs(30),
            // A client that waits a minute between commands without looking at its socket, as the SANITIZE
            // test of libiscsi does, is still there.
            ping_timeout: Duration::from_secs(45),
            discovery_chap: None,
        }
    }
}

/// Settings of one target.
#[derive(Debug, Clone, Default)]
pub struct TargetSettings {
    /// iSCSI name.
    pub name: String,
    /// A name for people, told at login.
    pub alias: Option<String>,
    /// Who may log in: the first rule that matches decides. Without rules, everybody without CHAP.
    pub access: Vec<Access>,
}
