//! kill -9 in the middle of operations: what was acknowledged is there, and the array opens.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll_storage::{
    Array, ArraySettings, Kind, Limit, Limits, PoolSettings, Qos, VolumeSettings,
};

const FOLDER: &str = "PLIMSOLL_TEST_KILL_FOLDER";
const MIB: u64 = 1 << 20;

/// What the killed process runs: operations without end, each told on stdout once it returned.
#[test]
fn child_of_the_kill_test() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let array = Array::open(folder.as_ref(), ArraySettings::default()).unwrap();
    if array.pools().is_empty() {
        let name = "p".to_owned();
        let limit = Limit::default();
        let size_bytes = 1 << 40;
        let pool = PoolSettings { name, size_bytes, tier: None, qos: Qos::Auto, limit };
        array.create_pool(pool).unwrap();
    }
    let mut out = std::io::stdout();
    let last =
        array.volumes().iter().map(|volume| volume.name()[1..].parse::<usize>().unwrap()).max();
    // A volume after the last one may have been deleted already.
    let start = last.map_or(0, |last| last + 2);
    for index in start.. {
        let name = format!("v{index}");
        let kind = if index % 3 == 2 { Kind::Files } else { Kind::Block };
        let limits = Limits::default();
        let settings = VolumeSettings { name, kind, size_bytes: MIB, limits, remote: None };
        let volume = array.create_volume("p", settings).unwrap();
        writeln!(out, "@ {} {}", volume.name(), MIB).unwrap();
        for size in [4 * MIB, 2 * MIB] {
            array.resize_volume(volume.name(), size).unwrap();
            writeln!(out, "@ {} {size}", volume.name()).unwrap();
        }
        if kind == Kind::Block {
            volume.store().write(2 * MIB - 512, &[index as u8; 512]).unwrap();
            volume.save_reservations(Some(&[index as u8])).unwrap();
        }
        if index % 5 == 4 {
            array.delete_volume(volume.name()).unwrap();
            writeln!(out, "@ {} 0", volume.name()).unwrap();
        }
    }
}

#[test]
fn acknowledged_operations_survive_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeMap::new();
    for round in 0..6 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["kill::child_of_the_kill_test", "--exact", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(150 + 37 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let before = acknowledged.len();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            // The test harness prints its own line before the first of ours.
            if let Some((_, told)) = line.split_once("@ ") {
                let (name, size) = told.split_once(' ').unwrap();
                acknowledged.insert(name.to_owned(), size.parse::<u64>().unwrap());
            }
        }
        assert!(acknowledged.len() > before, "round {round} did nothing");
        let array = Array::open(folder.path(), ArraySettings::default()).unwrap();
        for (name, &size) in &acknowledged {
            match array.volume(name) {
                Ok(volume) => {
                    let next = match size {
                        MIB => 4 * MIB,
                        _ => 2 * MIB,
                    };
                    let actual = volume.size_bytes();
                    assert!(actual == size || actual == next, "{name}: {actual}, told {size}");
                }
                // The deletion may have been done without being told.
                Err(_) => assert!(size == 0 || size == 2 * MIB, "{name} of {size} is gone"),
            }
        }
        let files = std::fs::read_dir(folder.path().join("volumes")).unwrap().count();
        let blocks = array.volumes().iter().filter(|v| v.kind() == Kind::Block).count();
        assert_eq!(files, blocks, "no file without a volume");
    }
}
