//! The records that SendTargets returns (RFC 7143 appendix C): a TargetName and its TargetAddress lines.

use super::text;

/// Where a target can be reached: `address[:port][,group]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetAddress {
    /// Host name, IPv4 address, or IPv6 address without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Target portal group tag.
    pub group: u16,
}

impl TargetAddress {
    /// Reads the value of TargetAddress.
    pub fn parse(value: &str) -> Option<Self> {
        let (address, group) = match value.rsplit_once(',') {
            Some((address, group)) => (address, group.parse().ok()?),
            None => (value, 1),
        };
        let (host, port) = match address.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                (host, port.strip_prefix(':').or(port.is_empty().then_some("")))
            }
            None => match address.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (address, Some("")),
            },
        };
        let port = match port? {
            "" => super::PORT,
            port => port.parse().ok()?,
        };
        let is_host = !host.is_empty() && !host.contains(['[', ']']);
        is_host.then(|| Self { host: host.to_owned(), port, group })
    }
}

impl std::fmt::Display for TargetAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, port, group } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port},{group}")
        } else {
            write!(f, "{host}:{port},{group}")
        }
    }
}

/// One target and its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetRecord {
    /// iSCSI name.
    pub name: String,
    /// All its portals that the initiator may use.
    pub addresses: Vec<TargetAddress>,
}

impl TargetRecord {
    /// Appends the record to the text of an answer.
    pub fn append(&self, out: &mut Vec<u8>) {
        text::append(out, "TargetName", &self.name);
        for address in &self.addresses {
            text::append(out, "TargetAddress", &address.to_string());
        }
    }
}

/// Reads the records of an answer; pairs that do not belong to a record are passed over.
pub fn records(answer: &[u8]) -> Result<Vec<TargetRecord>, text::TextError> {
    let mut records: Vec<TargetRecord> = Vec::new();
    for pair in text::pairs(answer) {
        match pair? {
            ("TargetName", name) => {
                records.push(TargetRecord { name: name.to_owned(), addresses: Vec::new() });
            }
            ("TargetAddress", value) => {
                if let (Some(record), Some(address)) =
                    (records.last_mut(), TargetAddress::parse(value))
                {
                    record.addresses.push(address);
                }
            }
            _ => {}
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn brackets_belong_around_an_address_only() {
        assert_eq!(TargetAddress::parse("[[]"), None);
        assert_eq!(TargetAddress::parse("a]:3260,1"), None);
        let address = TargetAddress::parse("[::1],2").map(|address| address.to_string());
        assert_eq!(address.as_deref(), Some("[::1]:3260,2"));
    }

    #[test]
    fn rfc7143_appendix_c_records_round_trip() {
        let address =
            |host: &str, port, group| TargetAddress { host: host.to_owned(), port, group };
        let all = vec![
            TargetRecord {
                name: "iqn.1993-11.com.example:diskarray.sn.8675309".to_owned(),
                addresses: vec![address("10.1.0.45", 3260, 2), address("fe80::1", 5003, 1)],
            },
            TargetRecord { name: "iqn.1993-11.com.example:second".to_owned(), addresses: vec![] },
        ];
        let mut answer = Vec::new();
        all.iter().for_each(|record| record.append(&mut answer));
        assert_eq!(records(&answer).unwrap(), all);
    }

    #[test]
    fn rfc7143_13_8_target_addresses() {
        let parse = |value| TargetAddress::parse(value).map(|address| address.to_string());
        assert_eq!(parse("10.0.0.1:5003,1").as_deref(), Some("10.0.0.1:5003,1"));
        assert_eq!(parse("host.example").as_deref(), Some("host.example:3260,1"));
        assert_eq!(parse("[1080::417A],7").as_deref(), Some("[1080::417A]:3260,7"));
        assert_eq!(parse("[1080::417A]:5,7").as_deref(), Some("[1080::417A]:5,7"));
        for bad in ["", ":3260", "a:b", "a:3260,x", "[::1", "[::1]x"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
