//! Pre-flight against the array on loopback, and against an address where nobody is.

use plimsoll_probe::{
    client::ClientOptions,
    output::Format,
    preflight::{JUMBO_PAYLOAD_BYTES, Options, Severity, check},
};

use crate::arrays::Array;

fn options() -> Options {
    Options {
        client: ClientOptions::default(),
        payload_bytes: JUMBO_PAYLOAD_BYTES,
        seconds: 0.3,
        netns: None,
    }
}

#[test]
fn an_iscsi_target_is_described() {
    let array = Array::start();
    let report = check(std::slice::from_ref(&array.iscsi), &options()).unwrap();
    println!("{}", report.render(Format::Text).unwrap());
    assert!(report.passed);
    let target = &report.targets[0];
    assert_eq!(target.identity, array.serial());
    assert_eq!(target.limits.capacity_bytes, 64 << 20);
    assert_eq!(target.limits.block_bytes, 512);
    assert!(target.limits.queue_depth_seen >= 32, "{:?}", target.limits);
    let path = &target.paths[0];
    assert!(path.reached && path.connect_us > 0.0 && path.tcp_mss_bytes > 1000);
    assert!(path.mib_per_s > 10.0, "{path:?}");
    assert!(path.mtu.as_ref().unwrap().passes, "{path:?}");
}

#[test]
fn an_export_is_described() {
    let array = Array::start();
    let report = check(std::slice::from_ref(&array.nfs), &options()).unwrap();
    assert!(report.passed, "{}", report.render(Format::Text).unwrap());
    let limits = &report.targets[0].limits;
    assert!(limits.capacity_bytes > 0 && limits.max_read_bytes >= 65_536, "{limits:?}");
    assert!(limits.free_bytes.unwrap() <= limits.capacity_bytes);
}

#[test]
fn nobody_there_fails_with_what_to_type() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let report = check(&[format!("iscsi://127.0.0.1:{port}/iqn.x/0")], &options()).unwrap();
    assert!(!report.passed);
    let finding = &report.targets[0].findings[0];
    assert_eq!((finding.severity, finding.code), (Severity::Fails, "not_reached"));
    assert!(finding.esxcli.iter().any(|line| line.starts_with("vmkping")));
    let json: serde_json::Value =
        serde_json::from_str(&report.render(Format::Json).unwrap()).unwrap();
    assert_eq!(json["passed"], false);
}
