//! A server with one or more memory LUNs, for one test.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_fabric::Loops;
use plimsoll_fabric::rdma::Fabric;
use plimsoll_storage::{Blocking, Kind, Limit, Limits, Volume, VolumeSettings};
use plimsoll_target_iscsi::{Access, Portal, Server, Settings, TargetSettings};
use plimsoll_target_scsi::{Device, Identity, LogicalUnit, Port, UnitSettings};

/// iSCSI name of the target.
pub const TARGET: &str = "iqn.2026-11.example.plimsoll:test";
/// Size of LUN 0 and of LUN 1.
pub const LUN_BYTES: u64 = 16 << 20;

/// A running server. Fields drop in order: portals, then the threads.
pub struct Array {
    pub portals: Vec<Portal>,
    pub server: Server,
    blocking: Arc<Blocking>,
    loops: Loops,
}

#[derive(Default)]
pub struct Builder {
    pub settings: Settings,
    pub access: Vec<Access>,
    pub limit: Limit,
}

pub fn device(name: &str) -> Arc<Device> {
    let identity = Identity {
        vendor: "PLIMSOLL".to_owned(),
        product: "TEST".to_owned(),
        revision: "1".to_owned(),
    };
    Device::new(name, identity, &[Port { relative: 1, group: 1 }, Port { relative: 2, group: 2 }])
}

impl Builder {
    pub fn start(self) -> Array {
        let loops = Loops::start(2, Duration::ZERO, "test-io").unwrap();
        let blocking = Arc::new(Blocking::start(2, 256).unwrap());
        let device = device(TARGET);
        let volume = |name: &str, serial: &str, volume: Limit| {
            let settings = VolumeSettings {
                name: name.to_owned(),
                kind: Kind::Block,
                size_bytes: LUN_BYTES,
                limits: Limits { volume, ..Limits::default() },
                remote: None,
            };
            Volume::memory(settings, serial)
        };
        let first = volume("first", "00000000000000a1", self.limit);
        let second = volume("second", "00000000000000a2", Limit::default());
        device.map(0, LogicalUnit::new(first, UnitSettings::default()));
        device.map(1, LogicalUnit::new(second, UnitSettings::default()));
        let server = Server::new(self.settings, Arc::clone(&blocking));
        let target = TargetSettings {
            name: TARGET.to_owned(),
            alias: Some("a test".to_owned()),
            access: self.access,
        };
        server.add_target(target, device).unwrap();
        let portals = [1, 2]
            .map(|group| {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                server.listen(&loops, listener, group).unwrap()
            })
            .into();
        Array { portals, server, blocking, loops }
    }
}

impl Array {
    pub fn start() -> Self {
        Builder::default().start()
    }

    pub fn with(change: impl FnOnce(&mut Builder)) -> Self {
        let mut builder = Builder::default();
        change(&mut builder);
        builder.start()
    }

    /// Takes RDMA on the address of the first portal too.
    pub fn listen_rdma(&mut self, fabric: &dyn Fabric) {
        self.listen_rdma_on(fabric, self.address());
    }

    pub fn listen_rdma_on(&mut self, fabric: &dyn Fabric, address: SocketAddr) {
        let listener = fabric.listen(address).unwrap();
        self.portals.push(self.server.listen_rdma(&self.loops, listener, 1));
    }

    /// The portal of group 1.
    pub fn address(&self) -> SocketAddr {
        self.portals[0].address()
    }

    /// Jobs waiting in the pool.
    pub fn blocking(&self) -> &Arc<Blocking> {
        &self.blocking
    }

    /// Sessions, once there are `count` of them.
    pub fn await_sessions(&self, count: usize) {
        await_that(&format!("{count} sessions"), || self.server.sessions().len() == count);
    }
}

/// Waits up to five seconds for something to become true.
pub fn await_that(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while !is_true() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
