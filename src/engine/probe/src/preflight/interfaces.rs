//! The network interfaces of this namespace: addresses, networks, MTU; and which one leads to an address.

use std::{
    ffi::CStr,
    net::{IpAddr, SocketAddr, UdpSocket},
};

use crate::{Error, Result};

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Name of the interface.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Length of the network's prefix.
    pub prefix_bits: u8,
    /// Its MTU in bytes, if the system tells.
    pub mtu_bytes: Option<u32>,
    /// Whether it leads nowhere but here.
    pub is_loopback: bool,
}

impl Interface {
    /// Whether an address is in its network.
    #[must_use]
    pub fn reaches(&self, address: IpAddr) -> bool {
        network(self.address, self.prefix_bits) == network(address, self.prefix_bits)
            && self.address.is_ipv4() == address.is_ipv4()
    }
}

/// The network part of an address.
#[must_use]
pub fn network(address: IpAddr, prefix_bits: u8) -> u128 {
    let (bits, width): (u128, u32) = match address {
        IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32),
        IpAddr::V6(v6) => (u128::from(v6), 128),
    };
    let host_bits = width.saturating_sub(u32::from(prefix_bits));
    if host_bits >= 128 { 0 } else { bits >> host_bits << host_bits }
}

/// All addresses of interfaces that are up.
#[allow(unsafe_code)]
pub fn list() -> Result<Vec<Interface>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the pointer is to a live local; on success the list is freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(Error::System {
            call: "list interfaces",
            source: std::io::Error::last_os_error(),
        });
    }
    let mut found = Vec::new();
    let mut entry = first;
    while !entry.is_null() {
        // SAFETY: the entry is a node of the list that getifaddrs made and nobody has freed.
        let node = unsafe { &*entry };
        entry = node.ifa_next;
        let (up, is_loopback) = (
            node.ifa_flags & libc::IFF_UP as u32 != 0,
            node.ifa_flags & libc::IFF_LOOPBACK as u32 != 0,
        );
        // SAFETY: the name is a C string of the list.
        let name = unsafe { CStr::from_ptr(node.ifa_name) }.to_string_lossy().into_owned();
        // SAFETY: both pointers are null or to socket addresses of the list.
        let (address, mask) = unsafe { (ip(node.ifa_addr), ip(node.ifa_netmask)) };
        if let (true, Some(address)) = (up, address) {
            let prefix_bits = mask.map_or(0, prefix_length);
            let mtu_bytes = mtu(&name);
            found.push(Interface { name, address, prefix_bits, mtu_bytes, is_loopback });
        }
    }
    // SAFETY: the list came from getifaddrs and is not used after this.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// # Safety
/// The pointer is null or to a socket address of the length of its family.
#[allow(unsafe_code)]
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: not null, so a socket address; the family tells which.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: an AF_INET address is a sockaddr_in; it may be unaligned for nobody, the list aligns it.
            let v4 = unsafe { std::ptr::read_unaligned(address.cast::<libc::sockaddr_in>()) };
            Some(IpAddr::V4(u32::from_be(v4.sin_addr.s_addr).into()))
        }
        libc::AF_INET6 => {
            // SAFETY: as above, a sockaddr_in6.
            let v6 = unsafe { std::ptr::read_unaligned(address.cast::<libc::sockaddr_in6>()) };
            Some(IpAddr::V6(v6.sin6_addr.s6_addr.into()))
        }
        _ => None,
    }
}

fn prefix_length(mask: IpAddr) -> u8 {
    #[expect(clippy::cast_possible_truncation, reason = "at most 128")]
    match mask {
        IpAddr::V4(mask) => u32::from(mask).leading_ones() as u8,
        IpAddr::V6(mask) => u128::from(mask).leading_ones() as u8,
    }
}

/// Asked of the interface itself: /sys shows those of another namespace.
#[allow(unsafe_code)]
fn mtu(name: &str) -> Option<u32> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // SAFETY: an all-zero ifreq is a valid value of this plain C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let bytes = name.as_bytes();
    if bytes.len() >= request.ifr_name.len() {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = from.cast_signed();
    }
    use std::os::fd::AsRawFd as _;
    // SAFETY: the descriptor is open, the request is a live ifreq with a terminated name.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) };
    // SAFETY: SIOCGIFMTU fills this member of the union on success.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    if result == 0 { u32::try_from(mtu).ok() } else { None }
}

/// The local address from which the system would send to `remote`.
pub fn source_of(remote: SocketAddr) -> Option<IpAddr> {
    let any = if remote.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).ok()?;
    // Connecting a UDP socket sends nothing; it only looks up the route.
    socket.connect(remote).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

/// Pairs of interfaces whose addresses are in one network: traffic of both leaves by one of them.
#[must_use]
pub fn duplicate_subnets(interfaces: &[Interface]) -> Vec<(Interface, Interface)> {
    let mut pairs = Vec::new();
    for (index, one) in interfaces.iter().enumerate() {
        for other in &interfaces[index + 1..] {
            let usable = |interface: &Interface| {
                let is_link_local = match interface.address {
                    IpAddr::V4(v4) => v4.is_link_local(),
                    IpAddr::V6(v6) => v6.is_unicast_link_local(),
                };
                !interface.is_loopback && !is_link_local
            };
            if usable(one) && usable(other) && one.name != other.name && one.reaches(other.address)
            {
                pairs.push((one.clone(), other.clone()));
            }
        }
    }
    pairs
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn interface(name: &str, address: &str, prefix_bits: u8) -> Interface {
        Interface {
            name: name.to_owned(),
            address: address.parse().unwrap(),
            prefix_bits,
            mtu_bytes: Some(1500),
            is_loopback: false,
        }
    }

    #[test]
    fn loopback_is_there_with_its_mtu() {
        let all = list().unwrap();
        let loopback =
            all.iter().find(|interface| interface.address.to_string() == "127.0.0.1").unwrap();
        assert!(loopback.is_loopback);
        assert_eq!((loopback.prefix_bits, loopback.mtu_bytes), (8, Some(65_536)));
        let source = source_of("127.0.0.1:9".parse().unwrap()).unwrap();
        assert_eq!(source, loopback.address);
    }

    #[test]
    fn two_interfaces_in_one_network_are_found() {
        let vmk1 = interface("vmk1", "10.1.0.11", 24);
        let vmk2 = interface("vmk2", "10.1.0.12", 24);
        let vmk3 = interface("vmk3", "10.1.1.13", 24);
        let pairs = duplicate_subnets(&[vmk1.clone(), vmk2.clone(), vmk3]);
        assert_eq!(pairs, [(vmk1, vmk2)]);
        let v6 = [interface("a", "fd00::1", 64), interface("b", "fd00::2", 64)];
        assert_eq!(duplicate_subnets(&v6).len(), 1);
        let link = [interface("a", "fe80::1", 64), interface("b", "fe80::2", 64)];
        assert!(duplicate_subnets(&link).is_empty());
    }
}
