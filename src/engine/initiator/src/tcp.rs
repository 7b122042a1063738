//! What the clients need of TCP beyond reading and writing: addresses, a connect that does not block, the
//! kernel's own counters, and a wait shorter than a millisecond.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use crate::Error;

/// What the kernel counted for one connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Segments sent again since the connection was made.
    pub retransmits: u64,
    /// Smoothed round trip in microseconds.
    pub rtt_us: u32,
}

/// Reads TCP_INFO; zeros when the kernel does not tell.
#[allow(unsafe_code)]
pub(crate) fn info(socket: &impl AsRawFd) -> TcpInfo {
    // SAFETY: tcp_info is plain integers, for which all zeros is a valid value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: both pointers are to live, exclusively borrowed locals, and `len` is the size of `info`; the
    // kernel writes at most `len` bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    if result != 0 {
        return TcpInfo::default();
    }
    TcpInfo { retransmits: u64::from(info.tcpi_total_retrans), rtt_us: info.tcpi_rtt }
}

/// Sets SO_RCVLOWAT: the socket counts as readable when that many bytes are there, or its end.
#[allow(unsafe_code)]
pub(crate) fn set_low_water(socket: &impl AsRawFd, bytes: u32) {
    let value = bytes as libc::c_int;
    // SAFETY: a live int of the size given; the kernel only reads it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result != 0 {
        // Without it the socket is woken more often; nothing else changes.
        tracing::debug!(error = %io::Error::last_os_error(), "SO_RCVLOWAT");
    }
}

/// All addresses of a host.
pub(crate) fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let fail = |source| Error::Resolve { host: host.to_owned(), source };
    let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(fail)?.collect();
    if addresses.is_empty() {
        return Err(fail(io::Error::new(io::ErrorKind::NotFound, "no address")));
    }
    Ok(addresses)
}

/// `host:port` or `[host]:port` or a bare host, resolved.
pub(crate) fn resolve_authority(text: &str, default_port: u16) -> Result<Vec<SocketAddr>, Error> {
    let (host, port) = crate::url::host_port(text)
        .map_err(|reason| Error::Url { url: text.to_owned(), reason })?;
    resolve(&host, port.unwrap_or(default_port))
}

/// Polls for at most `wait` (`None`: for ever). mio rounds up to milliseconds; a shorter wait goes to ppoll on
/// its descriptor first, because an open-loop workload wants to wake on time.
pub(crate) fn poll(poll: &mut Poll, events: &mut Events, wait: Option<Duration>) -> io::Result<()> {
    let result = match wait {
        Some(wait) if !wait.is_zero() && wait < Duration::from_millis(20) => {
            if wait_readable(poll.as_raw_fd(), wait) {
                poll.poll(events, Some(Duration::ZERO))
            } else {
                events.clear();
                Ok(())
            }
        }
        _ => poll.poll(events, wait),
    };
    match result {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            events.clear();
            Ok(())
        }
        other => other,
    }
}

/// Waits until a descriptor is readable; false when `wait` (below a second) ran out or a signal came.
#[allow(unsafe_code)]
fn wait_readable(descriptor: RawFd, wait: Duration) -> bool {
    let mut entry = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    let timeout = libc::timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos() as libc::c_long };
    // SAFETY: one live pollfd, a live timespec, no signal mask.
    unsafe { libc::ppoll(&raw mut entry, 1, &raw const timeout, std::ptr::null()) > 0 }
}

/// The time left until `deadline`, at least zero.
pub(crate) fn until(deadline: Instant, now: Instant) -> Duration {
    deadline.saturating_duration_since(now)
}
