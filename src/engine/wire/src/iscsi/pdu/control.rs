//! NOP, Asynchronous Message and Reject (RFC 7143 sections 11.9 and 11.17 to 11.19).

use crate::scsi::LunField;

use super::{
    Bhs, FINAL, Opcode, Sequence, data_len, is_immediate, itt, lun, put_lun, put_u16, put_u32,
    start, u16_at, u32_at,
};
use crate::iscsi::NO_TAG;

/// NOP-Out (section 11.18): a ping of the initiator, or its answer to a ping of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NopOut {
    /// Delivered at once, outside the order of CmdSN.
    pub immediate: bool,
    /// Bytes of ping data.
    pub data_len: u32,
    /// Logical unit, in an answer as in the ping.
    pub lun: LunField,
    /// Tag of a ping; [`NO_TAG`] when no answer is wanted.
    pub itt: u32,
    /// Tag of the target's ping that this answers, or [`NO_TAG`].
    pub ttt: u32,
    /// Place in the order of commands.
    pub cmd_sn: u32,
    /// Acknowledges all statuses before it.
    pub exp_stat_sn: u32,
}

impl NopOut {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            immediate: is_immediate(bhs),
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
        let mut bhs = start(Opcode::NopOut, self.immediate, FINAL, self.data_len);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.ttt);
        put_u32(&mut bhs, 24, self.cmd_sn);
        put_u32(&mut bhs, 28, self.exp_stat_sn);
        bhs
    }
}

/// NOP-In (section 11.19): the target's answer to a ping, or its own ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NopIn {
    /// Bytes of ping data.
    pub data_len: u32,
    /// Logical unit.
    pub lun: LunField,
    /// Tag of the initiator's ping that this answers, or [`NO_TAG`].
    pub itt: u32,
    /// Tag of the target's ping; [`NO_TAG`] when no answer is wanted.
    pub ttt: u32,
    /// Sequence numbers; StatSN is used up only when this answers a ping.
    pub sequence: Sequence,
}

impl NopIn {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            data_len: data_len(bhs),
            lun: lun(bhs),
            itt: itt(bhs),
            ttt: u32_at(bhs, 20),
            sequence: Sequence::parse(bhs),
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let mut bhs = start(Opcode::NopIn, false, FINAL, self.data_len);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.ttt);
        self.sequence.put(&mut bhs);
        bhs
    }
}

/// What an asynchronous message says (section 11.9.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsyncEvent {
    /// A SCSI asynchronous event with sense data.
    Scsi,
    /// The target wants the initiator to log out within `seconds`.
    LogoutRequested {
        /// Time left.
        seconds: u16,
    },
    /// The target drops the connection `cid`.
    DropConnection {
        /// Connection that is dropped.
        cid: u16,
        /// Wait so many seconds before reconnecting.
        time2wait: u16,
        /// Tasks can be taken over for so many seconds more.
        time2retain: u16,
    },
    /// The target drops all connections of the session.
    DropSession {
        /// Wait so many seconds before reconnecting.
        time2wait: u16,
        /// Tasks can be taken over for so many seconds more.
        time2retain: u16,
    },
    /// The target wants to negotiate parameters anew within `seconds`.
    Renegotiate {
        /// Time left.
        seconds: u16,
    },
    /// Something else, with its three parameters.
    Other(u8, [u16; 3]),
}

/// Asynchronous Message (section 11.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Async {
    /// What it says.
    pub event: AsyncEvent,
    /// Bytes of sense and event data.
    pub data_len: u32,
    /// Logical unit.
    pub lun: LunField,
    /// Sequence numbers; StatSN is used up.
    pub sequence: Sequence,
}

impl Async {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        let [first, second, third] = [u16_at(bhs, 38), u16_at(bhs, 40), u16_at(bhs, 42)];
        let event = match bhs[36] {
            0 => AsyncEvent::Scsi,
            1 => AsyncEvent::LogoutRequested { seconds: third },
            2 => AsyncEvent::DropConnection { cid: first, time2wait: second, time2retain: third },
            3 => AsyncEvent::DropSession { time2wait: second, time2retain: third },
            4 => AsyncEvent::Renegotiate { seconds: third },
            other => AsyncEvent::Other(other, [first, second, third]),
        };
        Self { event, data_len: data_len(bhs), lun: lun(bhs), sequence: Sequence::parse(bhs) }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let (code, parameters) = match self.event {
            AsyncEvent::Scsi => (0, [0; 3]),
            AsyncEvent::LogoutRequested { seconds } => (1, [0, 0, seconds]),
            AsyncEvent::DropConnection { cid, time2wait, time2retain } => {
                (2, [cid, time2wait, time2retain])
            }
            AsyncEvent::DropSession { time2wait, time2retain } => (3, [0, time2wait, time2retain]),
            AsyncEvent::Renegotiate { seconds } => (4, [0, 0, seconds]),
            AsyncEvent::Other(code, parameters) => (code, parameters),
        };
        let mut bhs = start(Opcode::Async, false, FINAL, self.data_len);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, NO_TAG);
        self.sequence.put(&mut bhs);
        bhs[36] = code;
        put_u16(&mut bhs, 38, parameters[0]);
        put_u16(&mut bhs, 40, parameters[1]);
        put_u16(&mut bhs, 42, parameters[2]);
        bhs
    }
}

/// Why a PDU was rejected (section 11.17.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectReason {
    /// The data digest does not match.
    DataDigestError,
    /// A SNACK cannot be served.
    SnackReject,
    /// The PDU breaks the protocol.
    ProtocolError,
    /// The command is not supported.
    CommandNotSupported,
    /// Too many immediate commands.
    ImmediateCommandReject,
    /// A task is in progress.
    TaskInProgress,
    /// A data acknowledgement is invalid.
    InvalidDataAck,
    /// A field of the PDU is invalid.
    InvalidPduField,
    /// The target has run out of something.
    LongOperationReject,
    /// The text negotiation is reset.
    NegotiationReset,
    /// The target waits for a logout.
    WaitingForLogout,
    /// A value that the RFC does not define.
    Unknown(u8),
}

impl RejectReason {
    pub(super) fn parse(code: u8) -> Self {
        match code {
            0x02 => Self::DataDigestError,
            0x03 => Self::SnackReject,
            0x04 => Self::ProtocolError,
            0x05 => Self::CommandNotSupported,
            0x06 => Self::ImmediateCommandReject,
            0x07 => Self::TaskInProgress,
            0x08 => Self::InvalidDataAck,
            0x09 => Self::InvalidPduField,
            0x0a => Self::LongOperationReject,
            0x0b => Self::NegotiationReset,
            0x0c => Self::WaitingForLogout,
            other => Self::Unknown(other),
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Self::DataDigestError => 0x02,
            Self::SnackReject => 0x03,
            Self::ProtocolError => 0x04,
            Self::CommandNotSupported => 0x05,
            Self::ImmediateCommandReject => 0x06,
            Self::TaskInProgress => 0x07,
            Self::InvalidDataAck => 0x08,
            Self::InvalidPduField => 0x09,
            Self::LongOperationReject => 0x0a,
            Self::NegotiationReset => 0x0b,
            Self::WaitingForLogout => 0x0c,
            Self::Unknown(other) => other,
        }
    }
}

/// Reject (section 11.17). Its data segment is the header of the PDU that is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reject {
    /// Why.
    pub reason: RejectReason,
    /// Bytes of the rejected header.
    pub data_len: u32,
    /// Sequence numbers; StatSN is used up.
    pub sequence: Sequence,
    /// For a SNACK: next data number.
    pub data_sn: u32,
}

impl Reject {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            reason: RejectReason::parse(bhs[2]),
            data_len: data_len(bhs),
            sequence: Sequence::parse(bhs),
            data_sn: u32_at(bhs, 36),
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let mut bhs = start(Opcode::Reject, false, FINAL, self.data_len);
        bhs[2] = self.reason.code();
        put_u32(&mut bhs, 16, NO_TAG);
        self.sequence.put(&mut bhs);
        put_u32(&mut bhs, 36, self.data_sn);
        bhs
    }
}
