//! Who may use an export, by network, and as whom.

use std::net::IpAddr;
use std::str::FromStr;

use plimsoll_storage::namespace::Credential;
use plimsoll_wire::rpc::{AuthSys, Gids};

/// User and group that squashed callers become: nobody.
pub const NOBODY: u32 = 65_534;

/// An IP network: an address and how many of its leading bits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// The text is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network; write an address such as 10.0.0.0/8, fd00::/8 or 10.1.2.3")]
pub struct NetworkError(String);

impl Network {
    /// All addresses of the family of `address`.
    pub fn all_like(address: IpAddr) -> Self {
        Self { address, prefix: 0 }
    }

    /// Whether the address lies in the network. An IPv4 address mapped into IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (network, bits) = bits_of(self.address);
        let (address, address_bits) = bits_of(address.to_canonical());
        let shift = bits - u32::from(self.prefix);
        bits == address_bits && (shift == 128 || network >> shift == address >> shift)
    }
}

fn bits_of(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let error = || NetworkError(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| error())?;
        let (_, most) = bits_of(address);
        let prefix = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| error())?,
            None => most as u8,
        };
        if u32::from(prefix) > most { Err(error()) } else { Ok(Self { address, prefix }) }
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Which callers lose their identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Squash {
    /// Nobody: ESXi works as root.
    #[default]
    Nobody,
    /// Root becomes nobody.
    Root,
    /// Everybody becomes nobody.
    Everybody,
}

/// What one network may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Whom the rule is about.
    pub network: Network,
    /// Changes are refused.
    pub read_only: bool,
    /// Whose identity is taken away.
    pub squash: Squash,
}

impl Rule {
    /// Full use from a network.
    pub fn full(network: Network) -> Self {
        Self { network, read_only: false, squash: Squash::Nobody }
    }
}

/// The rules of an export; the first whose network has the peer decides, without one there is no access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access(Vec<Rule>);

impl Access {
    /// These rules.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self(rules)
    }

    /// Full use from everywhere.
    pub fn everybody() -> Self {
        let all = |address: IpAddr| Rule::full(Network { address, prefix: 0 });
        Self(vec![
            all(std::net::Ipv4Addr::UNSPECIFIED.into()),
            all(std::net::Ipv6Addr::UNSPECIFIED.into()),
        ])
    }

    /// What the peer may do.
    pub fn rule_for(&self, peer: IpAddr) -> Option<Rule> {
        self.0.iter().find(|rule| rule.network.contains(peer)).copied()
    }

    /// The networks, as EXPORT tells them.
    pub fn networks(&self) -> impl Iterator<Item = Network> {
        self.0.iter().map(|rule| rule.network)
    }
}

/// Who calls, after squashing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    uid: u32,
    gid: u32,
    groups: Gids,
}

impl Caller {
    pub fn credential(&self) -> Credential<'_> {
        Credential { uid: self.uid, gid: self.gid, groups: self.groups.as_slice() }
    }
}

impl Squash {
    /// The caller as the namespace sees it.
    pub(crate) fn apply(self, caller: &AuthSys<'_>) -> Caller {
        let squashed = match self {
            Self::Nobody => false,
            Self::Root => caller.uid == 0,
            Self::Everybody => true,
        };
        if squashed {
            Caller { uid: NOBODY, gid: NOBODY, groups: Gids::default() }
        } else {
            Caller { uid: caller.uid, gid: caller.gid, groups: caller.gids }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn networks_contain_their_addresses() {
        let contains = |text: &str, address: &str| network(text).contains(address.parse().unwrap());
        assert!(contains("10.0.0.0/8", "10.255.0.1"));
        assert!(!contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("10.1.2.3", "10.1.2.3"));
        assert!(!contains("10.1.2.3", "10.1.2.2"));
        assert!(contains("0.0.0.0/0", "255.1.1.1"));
        assert!(!contains("0.0.0.0/0", "::1"));
        assert!(contains("::/0", "fe80::1"));
        assert!(contains("192.168.0.0/16", "::ffff:192.168.3.4"));
        assert!(contains("fd00:1::/32", "fd00:1::77"));
        for bad in ["", "host", "10.0.0.0/33", "10.0.0.0/x", "::/129", "10.0.0"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let locked = Rule { read_only: true, ..Rule::full(network("10.9.0.0/16")) };
        let access = Access::new(vec![locked, Rule::full(network("10.0.0.0/8"))]);
        let rule = |peer: &str| access.rule_for(peer.parse().unwrap());
        assert!(rule("10.9.1.1").unwrap().read_only);
        assert!(!rule("10.8.1.1").unwrap().read_only);
        assert_eq!(rule("192.168.1.1"), None);
        assert!(Access::everybody().rule_for("::1".parse().unwrap()).is_some());
    }

    #[test]
    fn root_is_kept_unless_squashing_is_asked_for() {
        let root = AuthSys::default();
        assert_eq!(Squash::default().apply(&root).uid, 0);
        assert_eq!(Squash::Root.apply(&root).uid, NOBODY);
        let user = AuthSys { uid: 7, ..AuthSys::default() };
        assert_eq!(Squash::Root.apply(&user).uid, 7);
        assert_eq!(Squash::Everybody.apply(&user).uid, NOBODY);
    }
}
