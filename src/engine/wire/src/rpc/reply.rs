//! The reply message (RFC 5531 section 9).

use super::{Credential, MAX_AUTH_BYTES};
use crate::xdr::{Error, Reader, Result, Writer, Xdr, xdr_enum};

const REPLY: u32 = 1;
const MSG_ACCEPTED: u32 = 0;
const MSG_DENIED: u32 = 1;
const RPC_MISMATCH: u32 = 0;
const AUTH_ERROR: u32 = 1;

xdr_enum! {
    /// Why authentication failed (`auth_stat`).
    AuthStat "auth_stat" {
        /// No error.
        Ok = 0,
        /// The credential cannot be read (AUTH_BADCRED).
        BadCredential = 1,
        /// The session must begin anew (AUTH_REJECTEDCRED).
        RejectedCredential = 2,
        /// The verifier cannot be read (AUTH_BADVERF).
        BadVerifier = 3,
        /// The verifier expired or was replayed (AUTH_REJECTEDVERF).
        RejectedVerifier = 4,
        /// The flavour is too weak for this procedure (AUTH_TOOWEAK).
        TooWeak = 5,
        /// Bogus answer verifier (AUTH_INVALIDRESP).
        InvalidResponse = 6,
        /// Unknown reason (AUTH_FAILED).
        Failed = 7,
    }
}

/// How an accepted call ended (`accept_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// Executed; the results follow.
    Success,
    /// The program is not here (PROG_UNAVAIL).
    ProgramUnavailable,
    /// The version of the program is not here (PROG_MISMATCH).
    ProgramMismatch {
        /// Lowest version served.
        low: u32,
        /// Highest version served.
        high: u32,
    },
    /// The program has no such procedure (PROC_UNAVAIL).
    ProcedureUnavailable,
    /// The arguments cannot be read (GARBAGE_ARGS).
    GarbageArguments,
    /// Memory allocation or the like failed (SYSTEM_ERR).
    SystemError,
}

impl Xdr<'_> for Accepted {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match from.u32()? {
            0 => Self::Success,
            1 => Self::ProgramUnavailable,
            2 => Self::ProgramMismatch { low: from.u32()?, high: from.u32()? },
            3 => Self::ProcedureUnavailable,
            4 => Self::GarbageArguments,
            5 => Self::SystemError,
            value => return Err(Error::Value { what: "accept_stat", value }),
        })
    }
    fn put(&self, out: &mut Writer<'_>) {
        match *self {
            Self::Success => out.u32(0),
            Self::ProgramUnavailable => out.u32(1),
            Self::ProgramMismatch { low, high } => {
                out.u32(2);
                out.u32(low);
                out.u32(high);
            }
            Self::ProcedureUnavailable => out.u32(3),
            Self::GarbageArguments => out.u32(4),
            Self::SystemError => out.u32(5),
        }
    }
}

/// Why a call was not even tried (`reject_stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// Not RPC version 2.
    RpcMismatch {
        /// Lowest version served.
        low: u32,
        /// Highest version served.
        high: u32,
    },
    /// Authentication failed.
    Auth(AuthStat),
}

impl Xdr<'_> for Denial {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match from.u32()? {
            RPC_MISMATCH => Ok(Self::RpcMismatch { low: from.u32()?, high: from.u32()? }),
            AUTH_ERROR => {
                let stat = from.u32()?;
                Ok(Self::Auth(AuthStat::from_u32(stat).unwrap_or(AuthStat::Failed)))
            }
            value => Err(Error::Value { what: "reject_stat", value }),
        }
    }
    fn put(&self, out: &mut Writer<'_>) {
        match *self {
            Self::RpcMismatch { low, high } => {
                out.u32(RPC_MISMATCH);
                out.u32(low);
                out.u32(high);
            }
            Self::Auth(stat) => {
                out.u32(AUTH_ERROR);
                stat.put(out);
            }
        }
    }
}

/// The header of a reply; after [`Accepted::Success`] the results follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The call reached its program.
    Accepted(Accepted),
    /// The call was turned away.
    Denied(Denial),
}

impl Reply {
    /// Reads the header of a record: transaction id, outcome, and a reader that stands at the results.
    pub fn parse(record: &[u8]) -> Result<(u32, Self, Reader<'_>)> {
        let mut from = Reader::new(record);
        let xid = from.u32()?;
        match from.u32()? {
            REPLY => {}
            value => return Err(Error::Value { what: "rpc reply", value }),
        }
        let reply = match from.u32()? {
            MSG_ACCEPTED => {
                let _flavor = from.u32()?;
                let _verifier = from.opaque("verifier", MAX_AUTH_BYTES)?;
                Self::Accepted(from.value()?)
            }
            MSG_DENIED => Self::Denied(from.value()?),
            value => return Err(Error::Value { what: "reply_stat", value }),
        };
        Ok((xid, reply, from))
    }
}

/// Appends the header of an answer to an accepted call, with an AUTH_NONE verifier; the results of a
/// [`Accepted::Success`] are to follow.
pub fn accept(out: &mut Writer<'_>, xid: u32, accepted: Accepted) {
    out.u32(xid);
    out.u32(REPLY);
    out.u32(MSG_ACCEPTED);
    Credential::None.put(out);
    accepted.put(out);
}

/// Appends a whole answer to a denied call.
pub fn deny(out: &mut Writer<'_>, xid: u32, denial: Denial) {
    out.u32(xid);
    out.u32(REPLY);
    out.u32(MSG_DENIED);
    denial.put(out);
}
