//! Login, text and logout (RFC 7143 sections 11.10 to 11.15).

use crate::scsi::LunField;

use super::{
    Bhs, CONTINUE, FINAL, Opcode, Sequence, data_len, flag, is_immediate, itt, lun, put_lun,
    put_u16, put_u32, start, u16_at, u32_at,
};
use crate::iscsi::Isid;

/// Stage of the login phase (section 11.12.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// Security negotiation.
    Security = 0,
    /// Operational parameters.
    Operational = 1,
    /// The reserved value.
    Reserved = 2,
    /// Full feature phase.
    FullFeature = 3,
}

impl Stage {
    fn parse(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Security,
            1 => Self::Operational,
            2 => Self::Reserved,
            _ => Self::FullFeature,
        }
    }
}

/// Login Request (section 11.12); always immediate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginRequest {
    /// The initiator is ready to go to `next_stage`.
    pub transit: bool,
    /// The text goes on in the next request.
    pub more: bool,
    /// Current stage.
    pub stage: Stage,
    /// Stage to go to, with `transit` only.
    pub next_stage: Stage,
    /// Highest version that the initiator supports; 0 is the only one.
    pub version_max: u8,
    /// Lowest version that the initiator supports.
    pub version_min: u8,
    /// Bytes of text.
    pub data_len: u32,
    /// Initiator's part of the session id.
    pub isid: Isid,
    /// Target's part of the session id; 0 for a new session.
    pub tsih: u16,
    /// Tag of the login.
    pub itt: u32,
    /// Connection id.
    pub cid: u16,
    /// First CmdSN of the session.
    pub cmd_sn: u32,
    /// Acknowledges all statuses before it, from the second request on.
    pub exp_stat_sn: u32,
}

impl LoginRequest {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            transit: bhs[1] & FINAL != 0,
            more: bhs[1] & CONTINUE != 0,
            stage: Stage::parse(bhs[1] >> 2),
            next_stage: Stage::parse(bhs[1]),
            version_max: bhs[2],
            version_min: bhs[3],
            data_len: data_len(bhs),
            isid: Isid::parse(bhs),
            tsih: u16_at(bhs, 14),
            itt: itt(bhs),
            cid: u16_at(bhs, 20),
            cmd_sn: u32_at(bhs, 24),
            exp_stat_sn: u32_at(bhs, 28),
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let flags = stages(self.transit, self.more, self.stage, self.next_stage);
        let mut bhs = start(Opcode::LoginRequest, true, flags, self.data_len);
        bhs[2] = self.version_max;
        bhs[3] = self.version_min;
        bhs[8..14].copy_from_slice(&self.isid.0);
        put_u16(&mut bhs, 14, self.tsih);
        put_u32(&mut bhs, 16, self.itt);
        put_u16(&mut bhs, 20, self.cid);
        put_u32(&mut bhs, 24, self.cmd_sn);
        put_u32(&mut bhs, 28, self.exp_stat_sn);
        bhs
    }
}

fn stages(transit: bool, more: bool, stage: Stage, next: Stage) -> u8 {
    let next = if transit { next as u8 } else { 0 };
    flag(transit, FINAL) | flag(more, CONTINUE) | (stage as u8) << 2 | next
}

/// Status class and detail of a login (section 11.13.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginStatus {
    /// 0 success, 1 redirection, 2 initiator error, 3 target error.
    pub class: u8,
    /// What exactly.
    pub detail: u8,
}

impl LoginStatus {
    /// The login goes on or is done.
    pub const SUCCESS: Self = Self { class: 0, detail: 0 };
    /// The target is at another address for now.
    pub const MOVED_TEMPORARILY: Self = Self { class: 1, detail: 1 };
    /// The target is at another address.
    pub const MOVED_PERMANENTLY: Self = Self { class: 1, detail: 2 };
    /// The initiator breaks the protocol.
    pub const INITIATOR_ERROR: Self = Self { class: 2, detail: 0 };
    /// The initiator could not prove who it is.
    pub const AUTHENTICATION_FAILED: Self = Self { class: 2, detail: 1 };
    /// The initiator may not use the target.
    pub const FORBIDDEN: Self = Self { class: 2, detail: 2 };
    /// There is no such target.
    pub const NOT_FOUND: Self = Self { class: 2, detail: 3 };
    /// The target was there once.
    pub const TARGET_REMOVED: Self = Self { class: 2, detail: 4 };
    /// No version in common.
    pub const UNSUPPORTED_VERSION: Self = Self { class: 2, detail: 5 };
    /// More connections than the session may have.
    pub const TOO_MANY_CONNECTIONS: Self = Self { class: 2, detail: 6 };
    /// InitiatorName, or TargetName in a normal session, is missing.
    pub const MISSING_PARAMETER: Self = Self { class: 2, detail: 7 };
    /// The connection cannot be part of that session.
    pub const CANNOT_INCLUDE: Self = Self { class: 2, detail: 8 };
    /// The session type is not supported.
    pub const SESSION_TYPE_NOT_SUPPORTED: Self = Self { class: 2, detail: 9 };
    /// There is no session with that TSIH.
    pub const SESSION_DOES_NOT_EXIST: Self = Self { class: 2, detail: 10 };
    /// The request does not fit the state of the login.
    pub const INVALID_DURING_LOGIN: Self = Self { class: 2, detail: 11 };
    /// The target failed.
    pub const TARGET_ERROR: Self = Self { class: 3, detail: 0 };
    /// The service is not available now.
    pub const SERVICE_UNAVAILABLE: Self = Self { class: 3, detail: 1 };
    /// The target has no room for one more session.
    pub const OUT_OF_RESOURCES: Self = Self { class: 3, detail: 2 };

    /// Whether the same request may be sent again later with another result (section 11.13.5).
    pub fn may_retry(self) -> bool {
        self.class == 3
    }
}

impl std::fmt::Display for LoginStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match *self {
            Self::SUCCESS => "success",
            Self::MOVED_TEMPORARILY => "target moved temporarily",
            Self::MOVED_PERMANENTLY => "target moved permanently",
            Self::INITIATOR_ERROR => "initiator error",
            Self::AUTHENTICATION_FAILED => "authentication failed",
            Self::FORBIDDEN => "initiator is not allowed",
            Self::NOT_FOUND => "target not found",
            Self::TARGET_REMOVED => "target removed",
            Self::UNSUPPORTED_VERSION => "unsupported version",
            Self::TOO_MANY_CONNECTIONS => "too many connections",
            Self::MISSING_PARAMETER => "missing parameter",
            Self::CANNOT_INCLUDE => "connection cannot join the session",
            Self::SESSION_TYPE_NOT_SUPPORTED => "session type not supported",
            Self::SESSION_DOES_NOT_EXIST => "session does not exist",
            Self::INVALID_DURING_LOGIN => "invalid request during login",
            Self::TARGET_ERROR => "target error",
            Self::SERVICE_UNAVAILABLE => "service unavailable",
            Self::OUT_OF_RESOURCES => "target is out of resources",
            _ => "unknown status",
        };
        write!(f, "{text} ({:02x}{:02x}h)", self.class, self.detail)
    }
}

/// Login Response (section 11.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginResponse {
    /// The target agrees to go to `next_stage`.
    pub transit: bool,
    /// The text goes on in the next response.
    pub more: bool,
    /// Current stage.
    pub stage: Stage,
    /// Stage to go to, with `transit` only.
    pub next_stage: Stage,
    /// Highest version that the target supports.
    pub version_max: u8,
    /// Version in use.
    pub version_active: u8,
    /// Bytes of text.
    pub data_len: u32,
    /// As in the request.
    pub isid: Isid,
    /// Target's part of the session id; set in the last response.
    pub tsih: u16,
    /// As in the request.
    pub itt: u32,
    /// Sequence numbers.
    pub sequence: Sequence,
    /// How it stands.
    pub status: LoginStatus,
}

impl LoginResponse {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            transit: bhs[1] & FINAL != 0,
            more: bhs[1] & CONTINUE != 0,
            stage: Stage::parse(bhs[1] >> 2),
            next_stage: Stage::parse(bhs[1]),
            version_max: bhs[2],
            version_active: bhs[3],
            data_len: data_len(bhs),
            isid: Isid::parse(bhs),
            tsih: u16_at(bhs, 14),
            itt: itt(bhs),
            sequence: Sequence::parse(bhs),
            status: LoginStatus { class: bhs[36], detail: bhs[37] },
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let flags = stages(self.transit, self.more, self.stage, self.next_stage);
        let mut bhs = start(Opcode::LoginResponse, false, flags, self.data_len);
        bhs[2] = self.version_max;
        bhs[3] = self.version_active;
        bhs[8..14].copy_from_slice(&self.isid.0);
        put_u16(&mut bhs, 14, self.tsih);
        put_u32(&mut bhs, 16, self.itt);
        self.sequence.put(&mut bhs);
        bhs[36] = self.status.class;
        bhs[37] = self.status.detail;
        bhs
    }
}

/// Text Request (section 11.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRequest {
    /// Delivered at once, outside the order of CmdSN.
    pub immediate: bool,
    /// The initiator has nothing to add.
    pub is_final: bool,
    /// The text goes on in the next request.
    pub more: bool,
    /// Bytes of text.
    pub data_len: u32,
    /// Logical unit, as in the response that this continues.
    pub lun: LunField,
    /// Tag of the exchange.
    pub itt: u32,
    /// Tag of the response that this continues, or [`NO_TAG`](crate::iscsi::NO_TAG).
    pub ttt: u32,
    /// Place in the order of commands.
    pub cmd_sn: u32,
    /// Acknowledges all statuses before it.
    pub exp_stat_sn: u32,
}

impl TextRequest {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            immediate: is_immediate(bhs),
            is_final: bhs[1] & FINAL != 0,
            more: bhs[1] & CONTINUE != 0,
            data_len: data_len(bhs),
            lun: lun(bhs),
            itt: itt(bhs),
            ttt: u32_at(bhs, 20),
            cmd_sn: u32_at(bhs, 24),
            exp_stat_sn: u32_at(bhs, 28),
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let flags = flag(self.is_final, FINAL) | flag(self.more, CONTINUE);
        let mut bhs = start(Opcode::TextRequest, self.immediate, flags, self.data_len);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.ttt);
        put_u32(&mut bhs, 24, self.cmd_sn);
        put_u32(&mut bhs, 28, self.exp_stat_sn);
        bhs
    }
}

/// Text Response (section 11.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextResponse {
    /// The exchange is over.
    pub is_final: bool,
    /// The text goes on in the next response, which the initiator has to ask for.
    pub more: bool,
    /// Bytes of text.
    pub data_len: u32,
    /// Logical unit.
    pub lun: LunField,
    /// Tag of the exchange.
    pub itt: u32,
    /// Tag for the next request; [`NO_TAG`](crate::iscsi::NO_TAG) when the exchange is over.
    pub ttt: u32,
    /// Sequence numbers.
    pub sequence: Sequence,
}

impl TextResponse {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            is_final: bhs[1] & FINAL != 0,
            more: bhs[1] & CONTINUE != 0,
            data_len: data_len(bhs),
            lun: lun(bhs),
            itt: itt(bhs),
            ttt: u32_at(bhs, 20),
            sequence: Sequence::parse(bhs),
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let flags = flag(self.is_final, FINAL) | flag(self.more, CONTINUE);
        let mut bhs = start(Opcode::TextResponse, false, flags, self.data_len);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.ttt);
        self.sequence.put(&mut bhs);
        bhs
    }
}

/// Why an initiator logs out (section 11.14.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogoutReason {
    /// Close the session.
    CloseSession,
    /// Close one connection.
    CloseConnection,
    /// Remove a connection for recovery.
    RemoveForRecovery,
    /// A value that the RFC does not define.
    Unknown(u8),
}

/// Logout Request (section 11.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogoutRequest {
    /// Delivered at once, outside the order of CmdSN.
    pub immediate: bool,
    /// Why.
    pub reason: LogoutReason,
    /// Tag of the request.
    pub itt: u32,
    /// Connection to close.
    pub cid: u16,
    /// Place in the order of commands.
    pub cmd_sn: u32,
    /// Acknowledges all statuses before it.
    pub exp_stat_sn: u32,
}

impl LogoutRequest {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        let reason = match bhs[1] & 0x7f {
            0 => LogoutReason::CloseSession,
            1 => LogoutReason::CloseConnection,
            2 => LogoutReason::RemoveForRecovery,
            other => LogoutReason::Unknown(other),
        };
        Self {
            immediate: is_immediate(bhs),
            reason,
            itt: itt(bhs),
            cid: u16_at(bhs, 20),
            cmd_sn: u32_at(bhs, 24),
            exp_stat_sn: u32_at(bhs, 28),
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let reason = match self.reason {
            LogoutReason::CloseSession => 0,
            LogoutReason::CloseConnection => 1,
            LogoutReason::RemoveForRecovery => 2,
            LogoutReason::Unknown(other) => other & 0x7f,
        };
        let mut bhs = start(Opcode::LogoutRequest, self.immediate, FINAL | reason, 0);
        put_u32(&mut bhs, 16, self.itt);
        put_u16(&mut bhs, 20, self.cid);
        put_u32(&mut bhs, 24, self.cmd_sn);
        put_u32(&mut bhs, 28, self.exp_stat_sn);
        bhs
    }
}

/// How a logout ended (section 11.15.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogoutResult {
    /// Closed.
    Closed,
    /// There is no such connection.
    CidNotFound,
    /// Connection recovery is not supported.
    RecoveryNotSupported,
    /// The clean-up failed.
    CleanupFailed,
    /// A value that the RFC does not define.
    Unknown(u8),
}

/// Logout Response (section 11.15).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogoutResponse {
    /// How it ended.
    pub result: LogoutResult,
    /// Tag of the request.
    pub itt: u32,
    /// Sequence numbers.
    pub sequence: Sequence,
    /// Wait so many seconds before reconnecting.
    pub time2wait: u16,
    /// Tasks can be taken over for so many seconds more.
    pub time2retain: u16,
}

impl LogoutResponse {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        let result = match bhs[2] {
            0 => LogoutResult::Closed,
            1 => LogoutResult::CidNotFound,
            2 => LogoutResult::RecoveryNotSupported,
            3 => LogoutResult::CleanupFailed,
            other => LogoutResult::Unknown(other),
        };
        Self {
            result,
            itt: itt(bhs),
            sequence: Sequence::parse(bhs),
            time2wait: u16_at(bhs, 40),
            time2retain: u16_at(bhs, 42),
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let mut bhs = start(Opcode::LogoutResponse, false, FINAL, 0);
        bhs[2] = match self.result {
            LogoutResult::Closed => 0,
            LogoutResult::CidNotFound => 1,
            LogoutResult::RecoveryNotSupported => 2,
            LogoutResult::CleanupFailed => 3,
            LogoutResult::Unknown(other) => other,
        };
        put_u32(&mut bhs, 16, self.itt);
        self.sequence.put(&mut bhs);
        put_u16(&mut bhs, 40, self.time2wait);
        put_u16(&mut bhs, 42, self.time2retain);
        bhs
    }
}
