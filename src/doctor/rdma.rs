//! RDMA: in the build, libraries, adapters, ports and the addresses by which connections reach them.

use super::{Check, Status};

const TOPIC: &str = "rdma";

/// The checks, and whether iSER can be used.
#[cfg(not(feature = "rdma"))]
pub(super) fn look() -> (Vec<Check>, bool) {
    let check = Check::new(TOPIC, "build", Status::Warn, "without RDMA: no iser://")
        .advise(crate::rdma::NOT_BUILT_IN);
    (vec![check], false)
}

/// The checks, and whether iSER can be used.
#[cfg(feature = "rdma")]
pub(super) fn look() -> (Vec<Check>, bool) {
    let mut checks = vec![Check::new(TOPIC, "build", Status::Ok, "with RDMA (feature `rdma`)")];
    let adapters = match plimsoll_verbs::inventory() {
        Ok(adapters) => adapters,
        Err(error) => {
            let advice = "Debian: apt-get install libibverbs1 librdmacm1 ibverbs-providers; iSCSI and NFS \
                          work without";
            let check = Check::new(TOPIC, "libraries", Status::Warn, error.to_string());
            checks.push(check.advise(advice));
            return (checks, false);
        }
    };
    checks.push(Check::new(TOPIC, "libraries", Status::Ok, "libibverbs and librdmacm are there"));
    for adapter in &adapters {
        checks.extend(of_adapter(adapter));
    }
    match crate::rdma::fabric() {
        Ok(_) => {
            checks.push(Check::new(TOPIC, "connection manager", Status::Ok, "answers"));
            let usable = adapters
                .iter()
                .flat_map(|adapter| &adapter.ports)
                .any(|port| port.is_active() && !port.gids.is_empty());
            (checks, usable)
        }
        Err(reason) => {
            let check = Check::new(TOPIC, "fabric", Status::Warn, reason);
            checks.push(check.advise("docs/iser.md: set-up of adapters and of soft RoCE"));
            (checks, false)
        }
    }
}

#[cfg(feature = "rdma")]
fn of_adapter(adapter: &plimsoll_verbs::Adapter) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(trouble) = &adapter.trouble {
        let check = Check::new(TOPIC, adapter.name.as_str(), Status::Warn, trouble.as_str());
        checks.push(check.advise("rdma link show; dmesg tells of driver and firmware"));
    }
    for port in &adapter.ports {
        let name = format!("{} port {}", adapter.name, port.number);
        let found = format!("{}, {}, {}", port.state, port.link_layer, port.rate);
        let check = Check::new(TOPIC, name.as_str(), Status::Ok, found);
        checks.push(if port.is_active() {
            check
        } else {
            Check { status: Status::Warn, ..check }
                .advise("bring its network interface up: ip link set DEVICE up")
        });
        let gids: Vec<String> = port
            .gids
            .iter()
            .map(|gid| {
                let on =
                    gid.interface.as_deref().map_or(String::new(), |name| format!(" on {name}"));
                format!("{} {}{on} [{}]", gid.kind, gid.address, gid.index)
            })
            .collect();
        if gids.is_empty() && port.is_active() {
            let check = Check::new(
                TOPIC,
                format!("{name} GIDs"),
                Status::Warn,
                "none: no address leads here",
            );
            checks.push(check.advise("give its network interface an address: ip address add"));
        } else if !gids.is_empty() {
            checks.push(Check::new(TOPIC, format!("{name} GIDs"), Status::Ok, gids.join(", ")));
        }
    }
    checks
}
