//! A small array in this process, and what the tests ask of it.

use std::net::SocketAddr;

use plimsoll_probe::{
    Workload, client::ClientOptions, command::Request, guard::Permission, host::Program,
    run::Budget,
};
use plimsoll_target::{Backing, Quick, Running, Size, Target};

pub struct Array {
    running: Option<Running>,
    pub iscsi: String,
    pub nfs: String,
}

impl Array {
    pub fn start() -> Self {
        Self::start_at("127.0.0.1")
    }

    pub fn start_at(address: &str) -> Self {
        let any: SocketAddr = format!("{address}:0").parse().unwrap();
        let quick = Quick {
            size: "64MiB".parse::<Size>().unwrap(),
            backing: Backing::Memory,
            iscsi: any,
            nfs: any,
            volumes: 1,
        };
        let running = Target::start(quick.config().unwrap()).unwrap();
        let urls = running.urls();
        let find = |scheme: &str| {
            let served = urls.iter().find(|served| served.url.starts_with(scheme));
            served.map(|served| served.url.clone()).unwrap_or_default()
        };
        Self { iscsi: find("iscsi"), nfs: find("nfs"), running: Some(running) }
    }

    /// Export path of the NFS volume.
    pub fn export(&self) -> String {
        self.nfs.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap()
    }

    /// Serial number of the unit.
    pub fn serial(&self) -> String {
        let datastore = ClientOptions::default().open(&self.iscsi, "unit", 1).unwrap();
        datastore.identity().to_owned()
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().unwrap();
        }
    }
}

/// Half a second of something.
pub fn short(workload: Workload) -> Workload {
    Workload { ramp_seconds: 0.1, seconds: 0.5, depth: 8, ..workload }
}

pub fn request(urls: &[&str], stages: Vec<Workload>, names: &[&str]) -> Request {
    Request {
        urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        stages,
        is_curve: false,
        client: ClientOptions::default(),
        permission: Permission {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            destroy_data: false,
        },
        budget: Budget::default(),
        netns: Vec::new(),
        program: Program::this(),
        no_prefill: false,
    }
}
