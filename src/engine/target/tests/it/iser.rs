//! Portals that take iSER beside TCP.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_fabric::rdma::Fabric;
use plimsoll_fabric::rdma::soft::Soft;
use plimsoll_target::{Backing, Config, Quick, Target, TargetError};

fn config() -> Config {
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let size = "16MiB".parse().unwrap();
    let quick = Quick { size, backing: Backing::Memory, iscsi: free, nfs: free, volumes: 1 };
    let mut config = quick.config().unwrap();
    config.iscsi.as_mut().unwrap().portals[0].iser = true;
    config
}

#[test]
fn a_portal_with_iser_listens_on_one_address_by_both_ways_and_prints_both_urls() {
    let fabric = Soft::new();
    let running = Target::start_with(config(), Some(Arc::clone(&fabric) as _)).unwrap();
    let [portal] = running.iscsi_portals()[..] else { panic!("one address") };
    let urls: Vec<_> = running.urls().into_iter().map(|served| served.url).collect();
    let with = |scheme: &str| urls.iter().filter(|url| url.starts_with(scheme)).count();
    assert_eq!((with("iscsi://"), with("iser://"), with("nfs://")), (1, 1, 1), "{urls:?}");
    let iscsi = urls.iter().find_map(|url| url.strip_prefix("iscsi://")).unwrap();
    assert_eq!(urls.iter().find_map(|url| url.strip_prefix("iser://")), Some(iscsi));
    assert!(fabric.listen(portal).is_err(), "the address is taken on the fabric");
    assert!(running.statistics().sessions.is_empty());
    running.stop().unwrap();
}

#[test]
fn a_portal_with_iser_where_there_is_no_rdma_is_refused_with_the_way_out() {
    let error = Target::start(config()).unwrap_err();
    assert!(matches!(error, TargetError::Config { .. }));
    let text = error.to_string();
    assert!(text.contains("iser = true") && text.contains("plimsoll doctor"), "{text}");
}
