//! A remote volume points at a target that has the bytes, never at another remote volume or at itself.

use std::time::{Duration, Instant};

use plimsoll_remote::{Connection, Engine, RemoteError};
use plimsoll_target::{Config, Target};

use crate::support::{free_port, settings, start, start_remote, url};

#[test]
fn a_remote_volume_behind_a_remote_volume_is_refused() {
    let far = start(0, None, None);
    let near = start_remote(0, &url(&far), "", None);
    let text = format!(
        r#"
        [iscsi]
        portals = [{{ listen = "127.0.0.1:0" }}]
        [[pools]]
        name = "p"
        size = "64MiB"
        [[volumes]]
        name = "chained"
        pool = "p"
        serve = "iscsi"
        remote = {{ url = "{}", prefer = "tcp" }}
        "#,
        url(&near)
    );
    let error = Target::start(Config::parse(&text, None).unwrap()).unwrap_err().to_string();
    assert!(error.contains("is itself a remote volume"), "{error}");
    assert!(error.contains("chained"), "{error}");
}

#[test]
fn a_remote_volume_that_points_at_its_own_target_is_refused() {
    let port = free_port();
    let own = format!("iscsi://127.0.0.1:{port}/iqn.2026-11.org.plimsoll:array/0");
    let near = start_remote(port, &own, "", Some("4MiB"));
    assert_eq!(url(&near), own);
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let status = near.statistics().volumes[0].remote.clone().unwrap();
        if status.connection == Connection::Refused {
            assert!(status.reason.contains("remote volume") || status.reason.contains("loop"));
            break;
        }
        assert!(Instant::now() < deadline, "{status:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_new_remote_volume_needs_its_target_once() {
    let url = format!("iscsi://127.0.0.1:{}/iqn.2026-11.org.plimsoll:array/0", free_port());
    let quick =
        plimsoll_remote::Settings { connect_timeout: Duration::from_millis(200), ..settings(&url) };
    let error = Engine::start(quick, None, |_, _| None).unwrap_err();
    assert!(matches!(error, RemoteError::Unreachable { .. }), "{error}");
    for bad in ["nfs://h/x", "iscsi://h/", "h/iqn.x/0"] {
        assert!(matches!(
            Engine::start(settings(bad), None, |_, _| None),
            Err(RemoteError::Url { .. })
        ));
    }
}
