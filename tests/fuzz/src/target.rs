//! A whole target in this process, for targets of fuzzing that speak to it as a client does.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use plimsoll_target::{Backing, Quick, Running, Target};

/// The target, started once: its iSCSI portal, its NFS server, the name of an export.
pub fn target() -> &'static (Running, SocketAddr, SocketAddr, String) {
    static TARGET: OnceLock<(Running, SocketAddr, SocketAddr, String)> = OnceLock::new();
    TARGET.get_or_init(|| {
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        let quick = Quick {
            size: "16MiB".parse().expect("a size"),
            backing: Backing::Memory,
            iscsi: free,
            nfs: free,
            volumes: 1,
        };
        let running = quick.config().and_then(Target::start).expect("a target on free ports");
        let url = running.urls().pop().expect("an export").url;
        let export = url.rsplit('/').next().unwrap_or_default().to_owned();
        let (iscsi, nfs) = (running.iscsi_portals()[0], running.nfs_addresses()[0]);
        (running, iscsi, nfs, format!("/{export}"))
    })
}

/// A connection with the patience of a client.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the target listens");
    stream.set_nodelay(true).expect("a TCP option");
    stream.set_read_timeout(Some(Duration::from_secs(9))).expect("a socket option");
    stream
}

/// Says that nothing more is sent, and reads until the target closes as well, which it must.
pub fn hang_up(mut stream: TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = [0; 16 << 10];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("the target keeps a connection that was closed");
            }
            Err(_) => return,
        }
    }
}

/// Sends; false when the target has closed.
pub fn send(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    stream.write_all(bytes).is_ok()
}
