//! Serves one memory LUN over two portals, for trying the target with other people's clients:
//! `cargo run --release --example memory -- 256 23260 23261` (MiB, ports of portal groups 1 and 2).
#![allow(clippy::print_stdout)]

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_fabric::Loops;
use plimsoll_storage::{Blocking, Kind, Limits, Volume, VolumeSettings};
use plimsoll_target_iscsi::{Server, Settings, TargetSettings};
use plimsoll_target_scsi::{Device, Identity, LogicalUnit, Port, UnitSettings};

const NAME: &str = "iqn.2026-11.example.plimsoll:memory";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| {
        arguments.get(at).map_or(Ok(default), |argument| argument.parse::<u64>())
    };
    let size_bytes = number(0, 256)? << 20;
    let spin = Duration::from_micros(number(3, 0)?);
    let loops = Loops::start(2, spin, "io")?;
    let blocking = Arc::new(Blocking::start(2, 1024)?);
    let identity = Identity {
        vendor: "PLIMSOLL".to_owned(),
        product: "MEMORY".to_owned(),
        revision: "1".to_owned(),
    };
    let ports = [Port { relative: 1, group: 1 }, Port { relative: 2, group: 2 }];
    let device = Device::new(NAME, identity, &ports);
    let volume = VolumeSettings {
        name: "memory".to_owned(),
        kind: Kind::Block,
        size_bytes,
        limits: Limits::default(),
    };
    let volume = Volume::memory(volume, "0123456789abcdef");
    device.map(0, LogicalUnit::new(volume, UnitSettings::default()));
    let server = Server::new(Settings::default(), blocking);
    server.add_target(TargetSettings { name: NAME.to_owned(), ..Default::default() }, device)?;
    let mut portals = Vec::new();
    for (group, at) in [(1, 1), (2, 2)] {
        let port = u16::try_from(number(at, 23_259 + u64::from(group))?)?;
        let portal = server.listen(&loops, TcpListener::bind(("127.0.0.1", port))?, group)?;
        println!("iscsi://{}/{NAME}/0", portal.address());
        portals.push(portal);
    }
    loop {
        std::thread::park();
    }
}
