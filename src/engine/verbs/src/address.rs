//! Socket addresses as the C libraries want them, and back.

use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use libc::{AF_INET, AF_INET6, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage};

const _: () = assert!(
    size_of::<sockaddr_in>() <= size_of::<sockaddr_storage>()
        && size_of::<sockaddr_in6>() <= size_of::<sockaddr_storage>()
);

/// An address in the memory of a C structure that takes any family.
pub struct CAddress(sockaddr_storage);

impl CAddress {
    #[allow(unsafe_code)]
    pub fn new(address: SocketAddr) -> Self {
        // SAFETY: zero bytes are a value of this C structure.
        let mut storage: sockaddr_storage = unsafe { zeroed() };
        match address {
            SocketAddr::V4(address) => {
                // SAFETY: as above.
                let mut inner: sockaddr_in = unsafe { zeroed() };
                inner.sin_family = AF_INET as _;
                inner.sin_port = address.port().to_be();
                inner.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
                // SAFETY: the storage is large enough (asserted above) and aligned for every family.
                unsafe { (&raw mut storage).cast::<sockaddr_in>().write(inner) };
            }
            SocketAddr::V6(address) => {
                // SAFETY: as above.
                let mut inner: sockaddr_in6 = unsafe { zeroed() };
                inner.sin6_family = AF_INET6 as _;
                inner.sin6_port = address.port().to_be();
                inner.sin6_flowinfo = address.flowinfo();
                inner.sin6_addr.s6_addr = address.ip().octets();
                inner.sin6_scope_id = address.scope_id();
                // SAFETY: as above.
                unsafe { (&raw mut storage).cast::<sockaddr_in6>().write(inner) };
            }
        }
        Self(storage)
    }

    /// For a call; good as long as `self` is not moved.
    pub fn pointer(&mut self) -> *mut sockaddr {
        (&raw mut self.0).cast()
    }
}

/// The address in a C structure; none when it is of another family, or not set.
#[allow(unsafe_code)]
pub fn read(storage: &sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(storage.ss_family) {
        AF_INET => {
            // SAFETY: the family says that this is the structure, and it fits (asserted above).
            let inner = unsafe { (&raw const *storage).cast::<sockaddr_in>().read() };
            let ip = Ipv4Addr::from(inner.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(inner.sin_port)).into())
        }
        AF_INET6 => {
            // SAFETY: as above.
            let inner = unsafe { (&raw const *storage).cast::<sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(inner.sin6_addr.s6_addr);
            let port = u16::from_be(inner.sin6_port);
            Some(SocketAddrV6::new(ip, port, inner.sin6_flowinfo, inner.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_return_as_they_went() {
        for text in ["10.9.0.1:3260", "0.0.0.0:0", "[fd09::1]:3260", "[fe80::1%7]:860", "[::]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(read(&CAddress::new(address).0), Some(address));
        }
    }

    #[test]
    fn another_family_is_no_address() {
        let mut unset = CAddress::new(([0, 0, 0, 0], 0).into());
        unset.0.ss_family = 27; // AF_IB
        assert_eq!(read(&unset.0), None);
    }
}
