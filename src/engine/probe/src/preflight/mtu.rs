//! Proof that a path carries large packets: echo requests that must not be fragmented, the test of
//! `vmkping -d -s 8972`.
//!
//! A reply proves both directions. Where echo is not answered (or not allowed to this user), a UDP packet to
//! a port that is most likely closed is sent the same way: the "port unreachable" that comes back proves
//! that it arrived whole. The MSS of a TCP connection is a second opinion, from what both ends believe.

use std::{
    io,
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr},
    os::fd::AsRawFd,
    time::{Duration, Instant},
};

use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};

/// Patience with one packet.
const PATIENCE: Duration = Duration::from_millis(400);
/// Packets sent before silence counts.
const TRIES: u32 = 2;
/// A port on which nobody listens, most likely (that of traceroute).
const CLOSED_PORT: u16 = 33_434;
/// Smallest payload tried: every path carries 576 bytes.
const LEAST_PAYLOAD: u16 = 548;

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Arrived.
    Arrived,
    /// Larger than the interface it was to leave by, or than a hop whose word came back: its MTU if told.
    TooBig(Option<u32>),
    /// No word.
    Silent,
    /// The host cannot be reached at all.
    Unreachable,
    /// This user may not send it.
    NotAllowed,
}

/// How the proof was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Echo and its reply: both directions.
    IcmpEcho,
    /// UDP and "port unreachable": towards the target.
    Udp,
    /// Nothing came back, whatever the size.
    None,
}

/// What is known of the MTU of a path.
#[derive(Debug, Clone, Serialize)]
pub struct PathMtu {
    /// Payload asked for.
    pub wanted_payload_bytes: u16,
    /// Largest payload that arrived unfragmented; 0 when nothing is known.
    pub proven_payload_bytes: u16,
    /// The same as an MTU: with the headers of IP and ICMP or UDP.
    pub proven_mtu_bytes: u32,
    /// Whether the payload asked for arrived.
    pub passes: bool,
    /// How that was found.
    pub method: Method,
    /// MTU that a hop or the own interface told when it refused.
    pub told_mtu_bytes: Option<u32>,
}

/// Bytes of IP and ICMP (or UDP) headers.
#[must_use]
pub fn header_bytes(address: IpAddr) -> u32 {
    if address.is_ipv4() { 28 } else { 48 }
}

/// Finds the largest payload, up to the one asked for, that arrives unfragmented.
#[must_use]
pub fn measure(remote: IpAddr, wanted: u16) -> PathMtu {
    let mut told = None;
    for method in [Method::IcmpEcho, Method::Udp] {
        let send = if method == Method::IcmpEcho { echo } else { udp };
        let mut arrives = |payload: u16| {
            for _ in 0..TRIES {
                match send(remote, payload) {
                    Fate::Arrived => return true,
                    Fate::TooBig(mtu) => {
                        told = mtu.or(told);
                        return false;
                    }
                    Fate::Silent => {}
                    Fate::Unreachable | Fate::NotAllowed => return false,
                }
            }
            false
        };
        if arrives(wanted) {
            return known(remote, wanted, wanted, method, told);
        }
        let least = LEAST_PAYLOAD.min(wanted);
        if !arrives(least) {
            continue;
        }
        let (mut low, mut high) = (least, wanted);
        // The usual sizes first: they settle most paths in two steps.
        for usual in [1472u16, 8972, 8000, 4444] {
            let usual = usual.saturating_sub(if remote.is_ipv4() { 0 } else { 20 });
            if usual > low && usual < high {
                if arrives(usual) {
                    low = usual;
                } else {
                    high = usual;
                }
                if usual + 1 < high && low == usual && !arrives(usual + 1) {
                    high = usual + 1;
                }
            }
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if arrives(middle) { low = middle } else { high = middle }
        }
        return known(remote, wanted, low, method, told);
    }
    known(remote, wanted, 0, Method::None, told)
}

fn known(remote: IpAddr, wanted: u16, proven: u16, method: Method, told: Option<u32>) -> PathMtu {
    PathMtu {
        wanted_payload_bytes: wanted,
        proven_payload_bytes: proven,
        proven_mtu_bytes: if proven == 0 { 0 } else { u32::from(proven) + header_bytes(remote) },
        passes: proven >= wanted,
        method,
        told_mtu_bytes: told,
    }
}

/// Sets "do not fragment", without believing what was learned of the path before.
#[allow(unsafe_code)]
fn forbid_fragments(socket: &Socket, remote: IpAddr) -> io::Result<()> {
    let (level, option, value) = match remote {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
    };
    set_option(socket, level, option, value)?;
    // Errors that come back are to be read, not only to end the next call.
    let (level, option) = match remote {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVERR),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
    };
    set_option(socket, level, option, 1)
}

#[allow(unsafe_code)]
fn set_option(socket: &Socket, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the descriptor is open; the pointer is to a live int of the length given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// One echo request with this many bytes of payload.
fn echo(remote: IpAddr, payload: u16) -> Fate {
    let (domain, protocol, request, reply) = match remote {
        IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4, 8u8, 0u8),
        IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6, 128, 129),
    };
    // A datagram socket needs no privilege where the system allows it; a raw one needs it everywhere.
    let (socket, raw) = match Socket::new(domain, Type::DGRAM, Some(protocol)) {
        Ok(socket) => (socket, false),
        Err(_) => match Socket::new(domain, Type::RAW, Some(protocol)) {
            Ok(socket) => (socket, true),
            Err(_) => return Fate::NotAllowed,
        },
    };
    let set_up = forbid_fragments(&socket, remote)
        .and_then(|()| socket.connect(&SocketAddr::new(remote, 0).into()))
        .and_then(|()| socket.set_read_timeout(Some(PATIENCE)));
    if let Err(error) = set_up {
        return fate_of(&error, &socket);
    }
    let sequence = payload ^ 0x5a5a;
    let mut packet = vec![0u8; 8 + usize::from(payload)];
    packet[0] = request;
    packet[4..6].copy_from_slice(&0x504cu16.to_be_bytes());
    packet[6..8].copy_from_slice(&sequence.to_be_bytes());
    packet[8..].iter_mut().zip(0u8..).for_each(|(byte, value)| *byte = value);
    if raw && remote.is_ipv4() {
        let sum = checksum(&packet);
        packet[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    if let Err(error) = socket.send(&packet) {
        return fate_of(&error, &socket);
    }
    let until = Instant::now() + PATIENCE;
    let mut buffer = vec![MaybeUninit::uninit(); 66_000];
    while Instant::now() < until {
        match socket.recv(&mut buffer) {
            Ok(count) => {
                let bytes = initialised(&buffer[..count]);
                // A raw IPv4 socket delivers the IP header as well.
                let skip = if raw && remote.is_ipv4() { usize::from(bytes[0] & 15) * 4 } else { 0 };
                let message = bytes.get(skip..).unwrap_or_default();
                let is_reply = message.first() == Some(&reply)
                    && message.get(6..8) == Some(&sequence.to_be_bytes())
                    && message.len() == packet.len();
                if is_reply {
                    return Fate::Arrived;
                }
            }
            Err(error) => match fate_of(&error, &socket) {
                Fate::Silent => return Fate::Silent,
                fate => return fate,
            },
        }
    }
    Fate::Silent
}

/// One UDP packet to a closed port.
fn udp(remote: IpAddr, payload: u16) -> Fate {
    let domain = if remote.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let Ok(socket) = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)) else {
        return Fate::NotAllowed;
    };
    let set_up = forbid_fragments(&socket, remote)
        .and_then(|()| socket.connect(&SocketAddr::new(remote, CLOSED_PORT).into()))
        .and_then(|()| socket.set_read_timeout(Some(PATIENCE)));
    if let Err(error) = set_up {
        return fate_of(&error, &socket);
    }
    if let Err(error) = socket.send(&vec![0x50; usize::from(payload)]) {
        return fate_of(&error, &socket);
    }
    let mut buffer = [MaybeUninit::uninit(); 64];
    match socket.recv(&mut buffer) {
        // Somebody listens there after all: it arrived.
        Ok(_) => Fate::Arrived,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Fate::Arrived,
        Err(error) => fate_of(&error, &socket),
    }
}

fn fate_of(error: &io::Error, socket: &Socket) -> Fate {
    match error.raw_os_error() {
        Some(libc::EMSGSIZE) => Fate::TooBig(told_mtu(socket)),
        Some(libc::EAGAIN) => Fate::Silent,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EADDRNOTAVAIL) => Fate::Unreachable,
        Some(libc::EPERM | libc::EACCES) => Fate::NotAllowed,
        _ => Fate::Silent,
    }
}

/// The MTU that a hop, or the own interface, wants: from the socket's queue of errors.
#[allow(unsafe_code)]
fn told_mtu(socket: &Socket) -> Option<u32> {
    let mut control = [0u64; 64];
    let mut data = [0u8; 128];
    let mut iovec = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    // SAFETY: an all-zero msghdr is a valid value of this plain C structure.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut iovec;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: every pointer of the message is to a live local of the length given.
    let count = unsafe {
        libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)
    };
    if count < 0 {
        return None;
    }
    // SAFETY: the message was filled by recvmsg; its control buffer is live and aligned for cmsghdr.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !header.is_null() {
        // SAFETY: not null, so a control header within the buffer.
        let kind = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        if kind == (libc::IPPROTO_IP, libc::IP_RECVERR)
            || kind == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
        {
            // SAFETY: the data of such a header is a sock_extended_err; it may be unaligned.
            let error: libc::sock_extended_err =
                unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(header).cast()) };
            if error.ee_errno == libc::EMSGSIZE as u32 && error.ee_info > 0 {
                return Some(error.ee_info);
            }
        }
        // SAFETY: header and message are as above.
        header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
    }
    None
}

#[allow(unsafe_code)]
fn initialised(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: the caller passes only what a receive has filled; the layout is that of u8.
    unsafe { &*(std::ptr::from_ref(bytes) as *const [u8]) }
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    #[expect(clippy::cast_possible_truncation, reason = "folded to 16 bits")]
    let folded = sum as u16;
    !folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff]), 0x00ff);
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "a note for whoever reads the log")]
    fn loopback_carries_jumbo_frames() {
        for address in ["127.0.0.1", "::1"] {
            let Ok(remote) = address.parse::<IpAddr>() else { continue };
            let mtu = measure(remote, 8952);
            if mtu.method == Method::None {
                println!("skipped: neither echo nor UDP errors come back from {address}");
                continue;
            }
            assert!(mtu.passes, "{mtu:?}");
            assert_eq!(mtu.proven_mtu_bytes, 8952 + header_bytes(remote));
        }
    }

    #[test]
    fn larger_than_the_interface_is_told() {
        // 65,536 on loopback: no IPv4 packet is larger than 65,535, so this cannot pass.
        let fate = udp(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 65_515);
        assert!(matches!(fate, Fate::TooBig(_)), "{fate:?}");
    }
}
