//! What all sessions to one target share, and the ISIDs that tell them apart.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_fabric::rdma::Fabric;
use plimsoll_wire::iscsi::Isid;

use super::iser;
use crate::{Chap, Digests, Error, IscsiUrl, Options, Transport};

/// How sessions to one target are made.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub initiator_name: String,
    /// Empty in a discovery session.
    pub target: String,
    pub chap: Option<Chap>,
    pub mutual_chap: Option<Chap>,
    pub digests: Digests,
    depth: u16,
    /// Provider of RDMA, or why there is none.
    rdma: Result<Arc<dyn Fabric>, String>,
    pub connect_timeout: Duration,
    pub keepalive: Duration,
    pub op_timeout: Duration,
}

impl Settings {
    pub fn new(url: &IscsiUrl, options: &Options) -> Result<Self, Error> {
        let name = &options.initiator_name;
        if !plimsoll_wire::iscsi::name::is_valid(name) {
            return Err(Error::Option {
                option: "initiator_name",
                reason: format!("`{name}` is no iSCSI name (iqn., eui. or naa.)"),
            });
        }
        let chap = url.chap.clone().or_else(|| options.chap.clone());
        if options.mutual_chap.is_some() && chap.is_none() {
            return Err(Error::Option {
                option: "mutual_chap",
                reason: "a target proves itself only to an initiator that does; set chap too"
                    .to_owned(),
            });
        }
        Ok(Self {
            initiator_name: name.clone(),
            target: url.target.clone(),
            chap,
            mutual_chap: options.mutual_chap.clone(),
            digests: options.digests,
            depth: options.flow_depth,
            rdma: options.rdma.clone().ok_or_else(|| options.rdma_absent.clone()),
            connect_timeout: options.connect_timeout,
            keepalive: options.keepalive,
            op_timeout: options.op_timeout,
        })
    }

    /// Commands under way on one flow at most.
    pub fn depth(&self, transport: Transport) -> u16 {
        match transport {
            Transport::Tcp => self.depth,
            Transport::Iser => self.depth.min(iser::DEPTH_MAX),
        }
    }

    /// The provider of RDMA, for those who need it.
    pub fn rdma(&self) -> Result<&Arc<dyn Fabric>, Error> {
        self.rdma.as_ref().map_err(|reason| Error::Option {
            option: "rdma",
            reason: format!("iser:// needs RDMA: {reason}"),
        })
    }

    pub fn is_discovery(&self) -> bool {
        self.target.is_empty()
    }
}

/// The random part in use and the next qualifier.
static NEXT_ISID: Mutex<Option<([u8; 3], u16)>> = Mutex::new(None);

/// An ISID that no other session of this process has (RFC 7143 section 11.12.5): 24 random bits for the
/// process, 16 for the session; when those are used up, new random bits.
pub(super) fn new_isid() -> Result<Isid, Error> {
    let mut next = NEXT_ISID.lock().unwrap_or_else(PoisonError::into_inner);
    let (seed, qualifier) = match *next {
        Some(current) => current,
        None => {
            let mut seed = [0; 3];
            random(&mut seed)?;
            (seed, 0)
        }
    };
    *next = qualifier.checked_add(1).map(|following| (seed, following));
    Ok(Isid::random(seed, qualifier))
}

pub(super) fn random(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|error| Error::Io {
        what: "random numbers are not to be had",
        source: std::io::Error::other(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rfc7143_11_12_5_isids_are_unique_past_256_and_past_65536_sessions() {
        let ids: std::collections::HashSet<_> = (0..70_000).map(|_| new_isid().unwrap()).collect();
        assert_eq!(ids.len(), 70_000);
    }
}
