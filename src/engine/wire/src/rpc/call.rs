//! The call message (RFC 5531 section 9).

use super::{AuthStat, Credential, Denial, MAX_AUTH_BYTES, RPC_VERSION};
use crate::xdr::{self, Reader, Writer, Xdr};

const CALL: u32 = 0;

/// The header of a call; the arguments follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// Transaction id: the reply bears the same.
    pub xid: u32,
    /// Program number.
    pub program: u32,
    /// Version of the program.
    pub version: u32,
    /// Procedure of the program.
    pub procedure: u32,
    /// Who calls.
    pub credential: Credential<'a>,
}

/// Why a call cannot be handed to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Not a call at all: the connection cannot be trusted any more and is to be closed.
    #[error("not an rpc call: {0}")]
    Malformed(#[from] xdr::Error),
    /// A call that must be answered by this denial.
    #[error("rpc call {xid:#010x} denied: {denial:?}")]
    Denied {
        /// Transaction id to answer.
        xid: u32,
        /// The answer, see [`super::deny`].
        denial: Denial,
    },
}

impl<'a> Call<'a> {
    /// Reads the header of a record and gives a reader that stands at the arguments.
    pub fn parse(record: &'a [u8]) -> Result<(Self, Reader<'a>), Refusal> {
        let mut from = Reader::new(record);
        let xid = from.u32()?;
        match from.u32()? {
            CALL => {}
            value => return Err(xdr::Error::Value { what: "rpc call", value }.into()),
        }
        if from.u32()? != RPC_VERSION {
            let denial = Denial::RpcMismatch { low: RPC_VERSION, high: RPC_VERSION };
            return Err(Refusal::Denied { xid, denial });
        }
        let program = from.u32()?;
        let version = from.u32()?;
        let procedure = from.u32()?;
        let bad = |stat| move |_| Refusal::Denied { xid, denial: Denial::Auth(stat) };
        let credential = from.value().map_err(bad(AuthStat::BadCredential))?;
        let _verifier_flavor = from.u32().map_err(bad(AuthStat::BadVerifier))?;
        let _verifier_body =
            from.opaque("verifier", MAX_AUTH_BYTES).map_err(bad(AuthStat::BadVerifier))?;
        Ok((Self { xid, program, version, procedure, credential }, from))
    }

    /// Appends the header with an AUTH_NONE verifier; the arguments are to follow.
    pub fn put(&self, out: &mut Writer<'_>) {
        out.u32(self.xid);
        out.u32(CALL);
        out.u32(RPC_VERSION);
        out.u32(self.program);
        out.u32(self.version);
        out.u32(self.procedure);
        self.credential.put(out);
        Credential::None.put(out);
    }
}
