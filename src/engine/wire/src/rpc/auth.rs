//! Credentials and verifiers (RFC 5531 section 8.2): AUTH_NONE and AUTH_SYS; others are carried unread.

use crate::xdr::{Error, Reader, Result, Writer, Xdr};

/// Limit of the body of a credential or verifier (RFC 5531 section 8.2).
pub const MAX_AUTH_BYTES: usize = 400;
/// Limit of the supplementary groups of AUTH_SYS (RFC 5531 appendix A).
pub const MAX_GIDS: usize = 16;
/// Limit of the machine name of AUTH_SYS (RFC 5531 appendix A).
const MAX_MACHINE_NAME: usize = 255;

const AUTH_NONE: u32 = 0;
const AUTH_SYS: u32 = 1;

/// At most sixteen group ids, held in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gids {
    ids: [u32; MAX_GIDS],
    len: usize,
}

impl Gids {
    /// The first sixteen of `ids`.
    pub fn new(ids: &[u32]) -> Self {
        let mut gids = Self::default();
        for (to, from) in gids.ids.iter_mut().zip(ids) {
            *to = *from;
            gids.len += 1;
        }
        gids
    }

    /// The ids.
    pub fn as_slice(&self) -> &[u32] {
        &self.ids[..self.len]
    }
}

impl Xdr<'_> for Gids {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let len = from.length("group list", MAX_GIDS)?;
        let mut gids = Self { len, ..Self::default() };
        for id in &mut gids.ids[..len] {
            *id = from.u32()?;
        }
        Ok(gids)
    }
    fn put(&self, out: &mut Writer<'_>) {
        out.length(self.len);
        for id in self.as_slice() {
            out.u32(*id);
        }
    }
}

/// AUTH_SYS: who calls, as a UNIX system sees it (RFC 5531 appendix A).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuthSys<'a> {
    /// Arbitrary number of the caller.
    pub stamp: u32,
    /// Name of the caller's machine, at most 255 bytes.
    pub machine: &'a [u8],
    /// Effective user.
    pub uid: u32,
    /// Effective group.
    pub gid: u32,
    /// Supplementary groups.
    pub gids: Gids,
}

impl<'a> Xdr<'a> for AuthSys<'a> {
    fn get(from: &mut Reader<'a>) -> Result<Self> {
        Ok(Self {
            stamp: from.u32()?,
            machine: from.opaque("machine name", MAX_MACHINE_NAME)?,
            uid: from.u32()?,
            gid: from.u32()?,
            gids: from.value()?,
        })
    }
    fn put(&self, out: &mut Writer<'_>) {
        out.u32(self.stamp);
        out.opaque(&self.machine[..self.machine.len().min(MAX_MACHINE_NAME)]);
        out.u32(self.uid);
        out.u32(self.gid);
        out.value(&self.gids);
    }
}

/// A credential as it stands in a call, or a verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential<'a> {
    /// AUTH_NONE.
    None,
    /// AUTH_SYS.
    Sys(AuthSys<'a>),
    /// Another flavour, body unread.
    Other {
        /// The flavour's number.
        flavor: u32,
        /// Its body, at most 400 bytes.
        body: &'a [u8],
    },
}

impl<'a> Xdr<'a> for Credential<'a> {
    fn get(from: &mut Reader<'a>) -> Result<Self> {
        let flavor = from.u32()?;
        let body = from.opaque("credential", MAX_AUTH_BYTES)?;
        match flavor {
            AUTH_NONE => Ok(Self::None),
            AUTH_SYS => {
                let mut reader = Reader::new(body);
                let sys = reader.value()?;
                match reader.remaining() {
                    0 => Ok(Self::Sys(sys)),
                    left => Err(Error::TooLong {
                        what: "auth_sys body",
                        len: body.len(),
                        max: body.len() - left,
                    }),
                }
            }
            flavor => Ok(Self::Other { flavor, body }),
        }
    }
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::None => {
                out.u32(AUTH_NONE);
                out.u32(0);
            }
            Self::Sys(sys) => {
                out.u32(AUTH_SYS);
                let at = out.len();
                out.u32(0);
                sys.put(out);
                let len = out.len() - at - 4;
                out.patch(at, u32::try_from(len).unwrap_or(u32::MAX));
            }
            Self::Other { flavor, body } => {
                out.u32(*flavor);
                out.opaque(body);
            }
        }
    }
}
