//! A running target: addresses, online changes, restart, and what `iscsi-ls` and `iscsi-inq` see.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use plimsoll_target::{Backing, Config, Quick, Running, Size, Target};

const MIB: u64 = 1 << 20;

fn quick(backing: Backing, volumes: u32) -> Config {
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let size = Size(64 * MIB);
    Quick { size, backing, iscsi: free, nfs: free, volumes }.config().unwrap()
}

/// Runs a tool of a distribution; `None`, with a note, when it is not installed.
fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(name).args(arguments).output() {
        Ok(output) => Some(format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => {
            println!("skipped: {name}: {error}");
            None
        }
    }
}

/// The URL of an export as libnfs wants it: version 3, both services on the one port.
fn nfs_url(running: &Running, export: &str) -> String {
    let address = running.nfs_addresses()[0];
    let (host, port) = (address.ip(), address.port());
    format!("nfs://{host}/{export}?version=3&nfsport={port}&mountport={port}")
}

fn url<'a>(running: &'a Running, urls: &'a mut Vec<String>, scheme: &str) -> &'a str {
    *urls = running.urls().into_iter().map(|served| served.url).collect();
    urls.iter().find(|url| url.starts_with(scheme)).unwrap()
}

#[test]
fn quick_serves_each_volume_under_a_url_that_others_clients_can_use() {
    let running = Target::start(quick(Backing::Memory, 2)).unwrap();
    let mut urls = Vec::new();
    let first = url(&running, &mut urls, "iscsi://").to_owned();
    let portal = running.iscsi_portals()[0];
    assert_eq!(first, format!("iscsi://{portal}/iqn.2026-11.org.plimsoll:quick/0"));
    if let Some(list) = tool("iscsi-ls", &["-s", &format!("iscsi://{portal}")]) {
        assert!(list.contains("Lun:0") && list.contains("Lun:1"), "{list}");
        assert!(list.contains("Size:63M") || list.contains("Size:64M"), "{list}");
    }
    if let Some(inquiry) = tool("iscsi-inq", &[&first]) {
        assert!(inquiry.contains("PLIMSOLL"), "{inquiry}");
    }
    let nfs = url(&running, &mut urls, "nfs://").to_owned();
    assert_eq!(nfs, format!("nfs://{}/export0", running.nfs_addresses()[0]));
    if let Some(list) = tool("nfs-ls", &[&nfs_url(&running, "export0")]) {
        assert!(!list.contains("Failed"), "{list}");
    }
    let statistics = running.statistics();
    assert_eq!(statistics.volumes.len(), 4);
    assert_eq!(running.urls().len(), 4);
    running.stop().unwrap();
    assert!(TcpStream::connect(portal).is_err(), "nobody listens after the stop");
}

#[test]
fn volumes_come_and_grow_while_they_are_served() {
    let running = Target::start(quick(Backing::Memory, 1)).unwrap();
    let mut urls = Vec::new();
    let first = url(&running, &mut urls, "iscsi://").to_owned();
    running.array().resize_volume("lun0", 128 * MIB).unwrap();
    if let Some(capacity) = tool("iscsi-readcapacity16", &[&first]) {
        assert!(capacity.contains("262143"), "128 MiB are 262,144 blocks: {capacity}");
    }
    let settings = plimsoll_storage::VolumeSettings {
        name: "more".to_owned(),
        kind: plimsoll_storage::Kind::Block,
        size_bytes: 8 * MIB,
        limits: plimsoll_storage::Limits::default(),
        remote: None,
    };
    running.array().create_volume("quick", settings).unwrap();
    let second = first.trim_end_matches('0').to_owned() + "1";
    assert!(running.urls().iter().any(|served| served.url == second));
    if let Some(capacity) = tool("iscsi-readcapacity16", &[&second]) {
        assert!(capacity.contains("16383"), "{capacity}");
    }
    running.array().delete_volume("more").unwrap();
    if let Some(capacity) = tool("iscsi-readcapacity16", &[&second]) {
        assert!(!capacity.contains("16383"), "{capacity}");
    }
    running.stop().unwrap();
}

#[test]
fn a_folder_brings_volumes_data_and_serials_back() {
    let folder = tempfile::tempdir().unwrap();
    let start =
        |volumes| Target::start(quick(Backing::Dir(folder.path().join("data")), volumes)).unwrap();
    let running = start(2);
    let before = running.urls();
    let volume = running.array().volume("lun1").unwrap();
    volume.store().write(MIB, b"kept").unwrap();
    drop(volume);
    running.stop().unwrap();
    let running = start(1);
    let serials = |served: &[plimsoll_target::Served]| {
        served.iter().map(|served| served.serial.clone()).collect::<Vec<_>>()
    };
    assert_eq!(serials(&running.urls()), serials(&before), "what is not asked for is served on");
    let mut kept = [0; 4];
    running.array().volume("lun1").unwrap().store().read_blocking(MIB, &mut kept).unwrap();
    assert_eq!(&kept, b"kept");
    let second = Target::start(quick(Backing::Dir(folder.path().join("data")), 1)).unwrap_err();
    assert!(second.to_string().contains("in use by another target"), "{second}");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let running = Target::start(quick(Backing::Memory, 1)).unwrap();
    let mut config = quick(Backing::Memory, 1);
    config.iscsi.as_mut().unwrap().portals[0].listen = running.iscsi_portals()[0];
    let error = Target::start(config).unwrap_err().to_string();
    assert!(error.contains(&running.iscsi_portals()[0].to_string()), "{error}");
}

#[test]
fn files_are_kept_in_a_folder_and_exports_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join("local");
    std::fs::write(&local, vec![b'x'; 3 * MIB as usize]).unwrap();
    let local = local.to_str().unwrap();
    let back = folder.path().join("back");
    let start = || Target::start(quick(Backing::Dir(folder.path().join("data")), 1)).unwrap();
    let running = start();
    let there =
        |running: &Running| nfs_url(running, "export0").replacen("/export0?", "/export0/file?", 1);
    let Some(_) = tool("nfs-cp", &[local, &there(&running)]) else { return };
    let used = running.statistics().volumes[1].used_bytes;
    assert!(used >= 3 * MIB, "{used}");
    running.stop().unwrap();

    let running = start();
    tool("nfs-cp", &[&there(&running), back.to_str().unwrap()]).unwrap();
    assert!(std::fs::read(&back).unwrap() == std::fs::read(local).unwrap());
    let used = running.statistics().volumes[1].used_bytes;
    assert!(used >= 3 * MIB, "{used}");
    running.array().delete_volume("export0").unwrap();
    let gone = tool("nfs-ls", &[&nfs_url(&running, "export0")]).unwrap();
    assert!(gone.contains("NOENT") || gone.contains("denied") || gone.contains("ACC"), "{gone}");
    running.stop().unwrap();
    assert_eq!(std::fs::read_dir(folder.path().join("data/exports")).unwrap().count(), 0);
}

fn load(path: &Path, text: &str) -> Config {
    std::fs::write(path, text).unwrap();
    Config::load(path).unwrap()
}

#[test]
fn a_configuration_that_is_read_again_changes_what_changed_in_it_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("target.toml");
    let text = |size: &str, second: &str, port: &str| {
        format!(
            "[[pools]]\nname = \"p\"\nsize = \"1GiB\"\n\
             [[volumes]]\nname = \"a\"\npool = \"p\"\nserve = \"iscsi\"\nsize = \"{size}\"\n\
             [[volumes]]\nname = \"b\"\npool = \"p\"\nserve = \"iscsi\"\nsize = \"64MiB\"\n{second}\
             [iscsi]\nportals = [{{ listen = \"{port}\" }}]\n"
        )
    };
    let free = "127.0.0.1:0";
    let running = Target::start(load(&path, &text("64MiB", "", free))).unwrap();
    let size = |name: &str| running.array().volume(name).unwrap().size_bytes();
    // Somebody (or an alert) grew b meanwhile; the file says nothing new about it.
    running.array().resize_volume("b", 96 * MIB).unwrap();
    running.apply(&load(&path, &text("128MiB", "", free))).unwrap();
    assert_eq!((size("a"), size("b")), (128 * MIB, 96 * MIB));
    running.apply(&load(&path, &text("128MiB", "limit = { iops = 500 }\n", free))).unwrap();
    assert_eq!(running.array().effective_limit("b").unwrap().iops, Some(500.0));
    assert_eq!(size("b"), 64 * MIB, "its entry changed, so the file decides");
    let other = load(&path, &text("128MiB", "", "127.0.0.1:1"));
    let error = running.apply(&other).unwrap_err().to_string();
    assert!(error.contains("[iscsi]") && error.contains("restart"), "{error}");
    let refused = running.apply(&load(&path, &text("2GiB", "limit = { iops = 500 }\n", free)));
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("line 4: [volumes]") && error.contains("grow the pool"), "{error}");
}

/// Commands per second that `iscsi-perf` reaches, as often as there are flows, for two seconds.
fn perf(url: &str, flows: usize) -> Option<f64> {
    let children: Vec<_> = (0..flows)
        .map(|_| {
            Command::new("iscsi-perf")
                .args(["-b", "16", "-m", "32", "-r", "-t", "2", url])
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::null())
                .spawn()
        })
        .collect::<Result<_, _>>()
        .ok()?;
    let rates = children.into_iter().map(|child| {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = text.rsplit("iops average ").next().unwrap();
        last.split(' ').next().unwrap().parse::<f64>().unwrap_or_else(|_| panic!("{text}"))
    });
    Some(rates.sum())
}

#[test]
fn flows_add_up_until_the_volume_is_full_as_another_initiator_measures_it() {
    let mut config = quick(Backing::Memory, 1);
    config.limits.flow.iops = Some(2000.0);
    config.limits.flow.burst_ms = Some(50);
    config.volumes[0].limit.iops = Some(5000.0);
    config.volumes[0].limit.burst_ms = Some(50);
    let running = Target::start(config).unwrap();
    let mut urls = Vec::new();
    let url = url(&running, &mut urls, "iscsi://").to_owned();
    for (flows, expected) in [(1, 2000.0), (2, 4000.0), (4, 5000.0)] {
        let Some(rate) = perf(&url, flows) else {
            println!("skipped: iscsi-perf is not installed");
            return;
        };
        assert!((rate / expected - 1.0).abs() < 0.1, "{flows} flows: {rate} of {expected}");
    }
    assert!(running.statistics().volumes[0].counters.delayed > 1000);
    running.stop().unwrap();
}

#[test]
fn access_lists_and_chap_of_a_configuration_hold() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "correcthorse1\n").unwrap();
    let text = r#"
[[pools]]
name = "p"
size = "1GiB"
[[volumes]]
name = "unit"
pool = "p"
serve = "iscsi"
size = "64MiB"
[[volumes]]
name = "open"
pool = "p"
serve = "nfs"
size = "64MiB"
[[volumes]]
name = "fixed"
pool = "p"
serve = "nfs"
size = "64MiB"
read_only = true
[[volumes]]
name = "closed"
pool = "p"
serve = "nfs"
size = "64MiB"
[iscsi]
portals = [{ listen = "127.0.0.1:0" }, { listen = "127.0.0.1:0", group = 2 }]
access = [{ networks = ["127.0.0.0/8"], chap = { users = [{ name = "host", secret_file = "secret" }] } }]
[nfs]
listen = ["127.0.0.1:0"]
access = [
    { volumes = ["open", "fixed"], networks = ["127.0.0.0/8"] },
    { networks = ["192.0.2.0/24"] },
]
"#;
    let running = Target::start(load(&folder.path().join("target.toml"), text)).unwrap();
    let portals = running.iscsi_portals();
    assert_eq!(running.urls().len(), 2 + 3, "two portals, three exports");
    for portal in portals {
        let url = |user: &str| format!("iscsi://{user}{portal}/iqn.2026-11.org.plimsoll:array/0");
        let inquire = |user: &str| tool("iscsi-inq", &[&url(user)]);
        let Some(right) = inquire("host%correcthorse1@") else { break };
        assert!(right.contains("PLIMSOLL"), "{right}");
        for wrong in ["host%wrongsecret12@", "else%correcthorse1@", ""] {
            let told = inquire(wrong).unwrap();
            assert!(!told.contains("PLIMSOLL"), "{wrong}: {told}");
        }
    }
    let local = folder.path().join("local");
    std::fs::write(&local, "some bytes").unwrap();
    for (export, allowed) in [("open", true), ("fixed", false), ("closed", false)] {
        let there = nfs_url(&running, export).replacen('?', "/file?", 1);
        let Some(told) = tool("nfs-cp", &[local.to_str().unwrap(), &there]) else { break };
        let used = |served: &plimsoll_target::VolumeStatistics| {
            served.name == export && served.used_bytes > 0
        };
        assert_eq!(running.statistics().volumes.iter().any(used), allowed, "{export}: {told}");
    }
    running.stop().unwrap();
}
