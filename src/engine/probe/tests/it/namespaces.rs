//! Hosts in network namespaces joined by veth pairs: load from each, and path MTUs that differ.
//!
//! Needs root and `ip`; says so and passes otherwise.

use std::process::Command;

use plimsoll_probe::{
    Workload,
    client::ClientOptions,
    command::execute,
    preflight::{self, JUMBO_PAYLOAD_BYTES},
};

use crate::{
    arrays::{Array, request, short},
    hosts::with_hosts,
};

/// A namespace with one wire to this one; gone when dropped.
struct Namespace {
    name: String,
    here: String,
    /// Address of this end.
    address: String,
}

fn ip(arguments: &str) -> bool {
    let run = Command::new("ip").args(arguments.split(' ')).output();
    run.is_ok_and(|output| output.status.success())
}

impl Namespace {
    /// `number` makes names and addresses unique within the machine.
    fn make(number: u8) -> Option<Self> {
        let name = format!("plprobe{number}");
        let (here, there) = (format!("plh{number}"), format!("plt{number}"));
        let address = format!("10.203.{number}.1");
        ip(&format!("netns del {name}"));
        ip(&format!("link del {here}"));
        if !ip(&format!("netns add {name}")) {
            println!("skipped: network namespaces need root and ip");
            return None;
        }
        let namespace = Self { name: name.clone(), here: here.clone(), address: address.clone() };
        let made = ip(&format!("link add {here} type veth peer name {there} netns {name}"))
            && ip(&format!("addr add {address}/24 dev {here}"))
            && ip(&format!("link set {here} up mtu 9000"))
            && ip(&format!("-n {name} addr add 10.203.{number}.2/24 dev {there}"))
            && ip(&format!("-n {name} link set {there} up mtu 9000"));
        if !made {
            println!("skipped: no veth pairs here");
            return None;
        }
        Some(namespace)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&format!("netns del {}", self.name));
        ip(&format!("link del {}", self.here));
    }
}

#[test]
fn hosts_in_namespaces_drive_one_target() {
    let (Some(one), Some(_other)) = (Namespace::make(71), Namespace::make(72)) else { return };
    let array = Array::start_at(&one.address);
    // The second host reaches the first one's address over its own wire.
    assert!(ip("-n plprobe72 route add 10.203.71.0/24 via 10.203.72.1"));
    let workload = Workload { seconds: 1.0, ..short(Workload::simple(8192, 100.0, 100.0)) };
    let mut both =
        with_hosts(request(&[&array.iscsi], vec![workload], &[]), &["plprobe71", "plprobe72"]);
    both.client.connections = 2;
    let set = execute(&both, &mut |_| true).unwrap();
    let flows = &set.results[0].flows;
    assert_eq!(set.hosts, ["plprobe71", "plprobe72"]);
    assert_eq!(flows.len(), 4);
    for network in ["10.203.71.2", "10.203.72.2"] {
        let ios: u64 =
            flows.iter().filter(|flow| flow.name.contains(network)).map(|flow| flow.ios).sum();
        assert!(ios > 0, "{network}: {flows:?}");
    }
    // Writing is checked from inside of the namespace as well.
    let writes = vec![short(Workload::simple(8192, 0.0, 100.0))];
    let refused = with_hosts(request(&[&array.iscsi], writes, &[]), &["plprobe71"]);
    assert!(execute(&refused, &mut |_| true).unwrap_err().is_refusal());
}

#[test]
fn the_size_that_fits_is_told() {
    let Some(wire) = Namespace::make(73) else { return };
    let array = Array::start_at(&wire.address);
    let look = || {
        let options = preflight::Options {
            client: ClientOptions::default(),
            payload_bytes: JUMBO_PAYLOAD_BYTES,
            seconds: 0.0,
            netns: Some(wire.name.clone()),
        };
        preflight::check(std::slice::from_ref(&array.iscsi), &options).unwrap()
    };
    let report = look();
    assert!(report.passed, "{:?}", report.targets[0].findings);
    let path = &report.targets[0].paths[0];
    assert_eq!((path.interface.as_deref(), path.interface_mtu_bytes), (Some("plt73"), Some(9000)));
    assert_eq!(path.tcp_mss_bytes, 8948);

    // The own interface is too small.
    assert!(ip("-n plprobe73 link set plt73 mtu 1500"));
    let report = look();
    let path = &report.targets[0].paths[0];
    assert_eq!(path.mtu.as_ref().unwrap().proven_payload_bytes, 1472);
    let finding = report.targets[0].findings.iter().find(|finding| finding.code == "mtu").unwrap();
    assert!(!report.passed && finding.text.contains("plt73"), "{finding:?}");

    // The other end is too small: packets vanish without a word (it takes a VLAN tag more than its MTU).
    assert!(ip("-n plprobe73 link set plt73 mtu 9000") && ip("link set plh73 mtu 4000"));
    let report = look();
    let proven = report.targets[0].paths[0].mtu.as_ref().unwrap().proven_mtu_bytes;
    assert!((4000..=4004).contains(&proven), "{proven}");
    let finding = report.targets[0].findings.iter().find(|finding| finding.code == "mtu").unwrap();
    assert!(finding.esxcli.iter().any(|line| line.starts_with("vmkping")), "{finding:?}");
}
