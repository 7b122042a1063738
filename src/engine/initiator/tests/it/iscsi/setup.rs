//! What the helpers tell of a unit.

use plimsoll_initiator::{Url, iscsi};

use super::fake::{Fake, Setting, pattern};
use super::*;

#[test]
fn a_device_tells_identity_size_and_limits() {
    let fake = Fake::start(Setting { max_transfer: 64 << 10, ..Setting::default() });
    let Url::Iscsi(url) = Url::parse(&fake.url()).unwrap() else { unreachable!() };
    let mut device = iscsi::Device::connect(&url, &options()).unwrap();
    let facts = device.facts().clone();
    assert_eq!((facts.vendor.as_str(), facts.product.as_str()), ("TEST", "FAKE"));
    assert_eq!(facts.serial, "FAKE0001");
    assert_eq!(facts.naa.as_deref(), Some("600102030405060708090a0b0c0d0e0f"));
    assert_eq!((facts.blocks, facts.block_bytes), (Some(16384), 512));
    assert_eq!(facts.max_transfer_blocks, 128);
    assert_eq!(facts.port_group, Some(1));
    let (first, last) = device.read_ends(4096).unwrap();
    let expected = |from: usize| (from..from + 4096).map(pattern).collect::<Vec<_>>();
    assert_eq!((first, last), (expected(0), expected((8 << 20) - 4096)));
    device.test_unit_ready().unwrap();
    assert_eq!(device.target_port_groups().unwrap().len(), 1);
    assert!(device.report_luns().is_err(), "the fake has no REPORT LUNS, and that is told");
    device.close();
}
