//! Listening sockets with a queue that a whole cluster's reconnect fits in.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::TargetError;

/// Connections that may wait to be accepted; the kernel caps it by net.core.somaxconn.
const BACKLOG: i32 = 4096;

pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, TargetError> {
    let open = || -> io::Result<TcpListener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    open().map_err(|source| TargetError::Listen { address, source })
}

/// The host of a URL for an address that is listened on; "all addresses" is told as loopback.
pub(crate) fn url_address(address: SocketAddr) -> SocketAddr {
    let ip = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        other => other.ip(),
    };
    SocketAddr::new(ip, address.port())
}
