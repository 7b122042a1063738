//! Who may use a target: rules by initiator name and network, each with its CHAP (RFC 7143 section 9).

use std::net::IpAddr;
use std::str::FromStr;

use plimsoll_wire::iscsi::chap::Credentials;

/// Something in an access list cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// Not a network.
    #[error("{0:?} is not a network; write an address or address/prefix, for example 10.1.0.0/16")]
    Network(String),
    /// RFC 7143 section 9.2.1 forbids one secret for both directions: it makes reflection attacks possible.
    #[error(
        "the secret of {0:?} is used in both directions of mutual CHAP; give the target another one"
    )]
    SameSecret(String),
}

/// An IP network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Whether the address belongs to the network. An IPv4 address mapped into IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        fn same(one: u128, other: u128, width: u32, prefix: u8) -> bool {
            let rest = width - u32::from(prefix);
            one.checked_shr(rest).unwrap_or(0) == other.checked_shr(rest).unwrap_or(0)
        }
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                same(one.to_bits().into(), other.to_bits().into(), 32, self.prefix)
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                same(one.to_bits(), other.to_bits(), 128, self.prefix)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Self, AccessError> {
        let wrong = || AccessError::Network(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.trim().parse().map_err(|_| wrong())?,
            None => width,
        };
        if prefix > width { Err(wrong()) } else { Ok(Self { address, prefix }) }
    }
}

/// The two directions of CHAP.
#[derive(Debug, Clone, Default)]
pub struct Chap {
    /// Any of them proves an initiator.
    pub users: Vec<Credentials>,
    /// What the target proves when the initiator asks (mutual CHAP).
    pub mutual: Option<Credentials>,
}

impl Chap {
    /// Refuses one secret for both directions.
    pub fn check(&self) -> Result<(), AccessError> {
        let clash = self.mutual.as_ref().and_then(|mutual| {
            self.users.iter().find(|user| user.same_secret(mutual)).map(|user| user.name.clone())
        });
        clash.map_or(Ok(()), |name| Err(AccessError::SameSecret(name)))
    }
}

/// One rule of an access list.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Initiator names; a `*` at the end stands for any rest. Empty: any name.
    pub initiators: Vec<String>,
    /// Networks that the initiator may come from. Empty: any.
    pub networks: Vec<Network>,
    /// CHAP to be passed. `None`: no proof is asked for.
    pub chap: Option<Chap>,
}

impl Access {
    fn matches(&self, initiator: &str, address: IpAddr) -> bool {
        let name = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => initiator.starts_with(start),
            None => pattern == initiator,
        };
        (self.initiators.is_empty() || self.initiators.iter().any(name))
            && (self.networks.is_empty()
                || self.networks.iter().any(|network| network.contains(address)))
    }
}

/// What the rules say about an initiator.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    /// It may not use the target.
    Forbidden,
    /// It may, without a proof.
    Open,
    /// It may after CHAP.
    Chap(Chap),
}

/// The first rule that matches decides; without rules everything is open.
pub(crate) fn judge(rules: &[Access], initiator: &str, address: IpAddr) -> Verdict {
    if rules.is_empty() {
        return Verdict::Open;
    }
    match rules.iter().find(|rule| rule.matches(initiator, address)) {
        None => Verdict::Forbidden,
        Some(Access { chap: None, .. }) => Verdict::Open,
        Some(Access { chap: Some(chap), .. }) => Verdict::Chap(chap.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn networks() {
        let inside = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(inside("10.1.0.0/16", "10.1.255.3") && !inside("10.1.0.0/16", "10.2.0.1"));
        assert!(inside("10.1.0.7", "10.1.0.7") && !inside("10.1.0.7", "10.1.0.6"));
        assert!(inside("0.0.0.0/0", "1.2.3.4") && !inside("0.0.0.0/0", "::1"));
        assert!(inside("fe80::/10", "fe80::1") && inside("::/0", "::1"));
        assert!(inside("10.1.0.0/16", "::ffff:10.1.2.3"));
        for bad in ["", "10.1", "10.1.0.0/33", "x/8", "fe80::/129"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rule = |initiators: &[&str], networks: &[&str], chap: bool| Access {
            initiators: initiators.iter().map(|name| (*name).to_owned()).collect(),
            networks: networks.iter().map(|network| network.parse().unwrap()).collect(),
            chap: chap.then(Chap::default),
        };
        let rules = [rule(&["iqn.a:one"], &["10.0.0.0/8"], false), rule(&["iqn.a:*"], &[], true)];
        let verdict = |name: &str, address: &str| judge(&rules, name, address.parse().unwrap());
        assert!(matches!(verdict("iqn.a:one", "10.9.9.9"), Verdict::Open));
        assert!(matches!(verdict("iqn.a:one", "11.9.9.9"), Verdict::Chap(_)));
        assert!(matches!(verdict("iqn.a:two", "10.9.9.9"), Verdict::Chap(_)));
        assert!(matches!(verdict("iqn.b:two", "10.9.9.9"), Verdict::Forbidden));
    }

    #[test]
    fn rfc7143_9_2_1_one_secret_for_both_directions_is_refused() {
        let chap = |mutual: &str| Chap {
            users: vec![Credentials::new("host", "first secret")],
            mutual: Some(Credentials::new("array", mutual)),
        };
        assert!(chap("first secret").check().is_err());
        assert!(chap("second secret").check().is_ok());
    }
}
