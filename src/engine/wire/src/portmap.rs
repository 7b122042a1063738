//! Where programs listen: portmap version 2 and the GETADDR of rpcbind versions 3 and 4 (RFC 1833).

use std::net::{IpAddr, SocketAddr};

use crate::xdr::{xdr_fields, xdr_opaque};

/// Program number of portmap and rpcbind.
pub const PROGRAM: u32 = 100_000;
/// The well-known port.
pub const PORT: u16 = 111;
/// Version of portmap.
pub const VERSION_2: u32 = 2;
/// First version of rpcbind.
pub const VERSION_3: u32 = 3;
/// Last version of rpcbind.
pub const VERSION_4: u32 = 4;
/// Protocol number of TCP in a [`Mapping`].
pub const IPPROTO_TCP: u32 = 6;
/// Protocol number of UDP in a [`Mapping`].
pub const IPPROTO_UDP: u32 = 17;

/// Does nothing; all versions.
pub const PROC_NULL: u32 = 0;
/// Registers a [`Mapping`] (version 2) or an [`RpcAddress`] (3 and 4); answers a boolean.
pub const PROC_SET: u32 = 1;
/// Removes a registration; answers a boolean.
pub const PROC_UNSET: u32 = 2;
/// Version 2: takes a [`Mapping`] (port ignored), answers a port as a word, 0 for none. Versions 3 and 4:
/// GETADDR takes an [`RpcAddress`], answers a [`UniversalAddress`], empty for none.
pub const PROC_GETPORT: u32 = 3;
/// Answers the list of all registrations.
pub const PROC_DUMP: u32 = 4;

/// A registration of portmap version 2 (RFC 1833 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Program number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// IP protocol number.
    pub protocol: u32,
    /// Port.
    pub port: u32,
}

/// A registration of rpcbind (RFC 1833 section 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpcAddress<'a> {
    /// Program number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// Network identifier: `tcp`, `tcp6`, `udp`, `udp6`.
    pub netid: NetworkId<'a>,
    /// Universal address.
    pub address: UniversalAddress<'a>,
    /// Who registered it.
    pub owner: Owner<'a>,
}

xdr_fields! {
    Mapping { program, version, protocol, port }
    RpcAddress<'a> { program, version, netid, address, owner }
}

xdr_opaque! {
    /// Network identifier of a transport.
    NetworkId "netid" 64
}
xdr_opaque! {
    /// A transport address as text (RFC 5665): the IP address, then the port as two decimal octets.
    UniversalAddress "universal address" 128
}
xdr_opaque! {
    /// Owner of a registration.
    Owner "rpcbind owner" 256
}

impl UniversalAddress<'_> {
    /// The text of a socket address (RFC 5665 sections 5.2.3.2 and 5.2.3.4).
    pub fn format(address: SocketAddr) -> String {
        let [high, low] = address.port().to_be_bytes();
        format!("{}.{high}.{low}", address.ip())
    }

    /// The socket address; none if the text is none, which also means "not registered".
    pub fn parse(&self) -> Option<SocketAddr> {
        let text = std::str::from_utf8(self.0).ok()?;
        let (rest, low) = text.rsplit_once('.')?;
        let (ip, high) = rest.rsplit_once('.')?;
        let ip: IpAddr = ip.parse().ok()?;
        let port = u16::from_be_bytes([high.parse().ok()?, low.parse().ok()?]);
        Some(SocketAddr::new(ip, port))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::xdr::check::{encode, round_trip};

    #[test]
    fn rfc1833_3_1_mapping_on_the_wire() {
        let mapping = Mapping { program: 100_003, version: 3, protocol: IPPROTO_TCP, port: 2049 };
        assert_eq!(encode(&mapping), [0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 8, 1]);
        round_trip(&vec![mapping, mapping], &mut Vec::new());
    }

    #[test]
    fn rfc1833_2_1_rpcb_on_the_wire() {
        let address = RpcAddress {
            program: 100_005,
            version: 3,
            netid: NetworkId(b"tcp"),
            address: UniversalAddress(b"0.0.0.0.8.1"),
            owner: Owner(b"superuser"),
        };
        round_trip(&address, &mut Vec::new());
    }

    #[test]
    fn rfc5665_5_2_3_universal_addresses() {
        let v4 = UniversalAddress(b"127.0.0.1.8.1");
        assert_eq!(v4.parse(), Some("127.0.0.1:2049".parse().unwrap()));
        let v6 = UniversalAddress(b"fe80::1.3.231");
        assert_eq!(v6.parse(), Some("[fe80::1]:999".parse().unwrap()));
        for address in ["10.1.2.3:65535", "[::]:111"] {
            let address = address.parse().unwrap();
            let text = UniversalAddress::format(address);
            assert_eq!(UniversalAddress(text.as_bytes()).parse(), Some(address));
        }
        for bad in ["", "1.2", "127.0.0.1.8.256", "127.0.0.1.8", "host.8.1", "\u{e9}.1.1"] {
            assert_eq!(UniversalAddress(bad.as_bytes()).parse(), None, "{bad}");
        }
    }
}
