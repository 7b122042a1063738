//! The tools that the docs name, and whether the usual ports can be listened on.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use super::{Check, Status};

const TOPIC: &str = "network";

/// Port, what listens there, and what the target does without.
const PORTS: [(u16, &str, &str); 3] = [
    (3260, "iSCSI and iSER", "--iscsi ADDRESS:PORT, or `listen` of a portal"),
    (2049, "NFS", "--nfs ADDRESS:PORT, or `listen` of [nfs]"),
    (111, "port mapper", "clients that give the port need none: leave `portmap` out of [nfs]"),
];

/// Tool, its package, and what it is for.
const TOOLS: [(&str, &str, &str); 3] = [
    ("ip", "iproute2", "interfaces, addresses, namespaces"),
    ("ss", "iproute2", "who listens where, retransmits"),
    ("rdma", "iproute2", "RDMA links, soft RoCE"),
];

pub(super) fn look() -> Vec<Check> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> =
        std::env::split_paths(&path).chain(["/sbin".into(), "/usr/sbin".into()]).collect();
    let tools = TOOLS.into_iter().map(|(tool, package, purpose)| {
        match folders.iter().map(|folder| folder.join(tool)).find(|file| file.is_file()) {
            Some(file) => Check::new(TOPIC, tool, Status::Ok, show(&file)),
            None => Check::new(TOPIC, tool, Status::Warn, format!("missing ({purpose})")).advise(
                format!("Debian: apt-get install {package}; Plimsoll itself works without"),
            ),
        }
    });
    tools.chain(PORTS.into_iter().map(port)).collect()
}

fn show(file: &Path) -> String {
    file.display().to_string()
}

/// Listens for a moment, on loopback alone.
fn port((number, what, otherwise): (u16, &str, &str)) -> Check {
    let name = format!("port {number}");
    match TcpListener::bind((Ipv4Addr::LOCALHOST, number)) {
        Ok(_) => Check::new(TOPIC, name, Status::Ok, format!("free for {what}")),
        Err(error) => {
            let (found, advice) = match error.kind() {
                ErrorKind::AddrInUse => (
                    format!("something listens there already ({what})"),
                    format!("ss -ltnp 'sport = :{number}' says who; or {otherwise}"),
                ),
                ErrorKind::PermissionDenied => (
                    format!("this user may not listen there ({what})"),
                    format!(
                        "sysctl net.ipv4.ip_unprivileged_port_start={number}, or CAP_NET_BIND_SERVICE; or {otherwise}"
                    ),
                ),
                _ => (error.to_string(), otherwise.to_owned()),
            };
            Check::new(TOPIC, name, Status::Warn, found).advise(advice)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_told_with_the_way_out() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let number = taken.local_addr().unwrap().port();
        let check = port((number, "tests", "another port"));
        assert_eq!(check.status, Status::Warn);
        assert!(check.advice.contains(&format!("sport = :{number}")), "{check:?}");
        drop(taken);
        assert_eq!(port((number, "tests", "another port")).status, Status::Ok);
    }
}
