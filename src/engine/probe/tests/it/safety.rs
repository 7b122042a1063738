//! Nothing is written that was not named, nothing that looks used, and nothing is left behind.

use plimsoll_initiator::{Options, Url, iscsi::Device, nfs::Export};
use plimsoll_probe::{
    Error, Workload,
    command::execute,
    guard::{read_at, workspace},
};

use crate::arrays::{Array, request, short};

/// The file that a quick target makes in each export.
const READY_MADE: &str = "probe.dat";

fn writes() -> Vec<Workload> {
    vec![short(Workload::simple(8192, 50.0, 100.0))]
}

fn names_on(array: &Array) -> Vec<String> {
    let Url::Nfs(url) = Url::parse(&array.nfs).unwrap() else { unreachable!() };
    let mut export = Export::mount(&url, &Options::default()).unwrap();
    let root = export.root();
    let entries = export.list(&root).unwrap();
    let names = entries.into_iter().map(|entry| String::from_utf8(entry.name).unwrap());
    // A quick target serves a file to read from the start.
    names.filter(|name| name != READY_MADE).collect()
}

#[test]
fn a_unit_is_written_only_when_its_serial_is_named() {
    let array = Array::start();
    let read_only = execute(
        &request(&[&array.iscsi], vec![short(Workload::simple(8192, 100.0, 100.0))], &[]),
        &mut |_| true,
    )
    .unwrap();
    assert!(read_only.total.ios > 0);
    let refused =
        execute(&request(&[&array.iscsi], writes(), &["other"]), &mut |_| true).unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
    let serial = array.serial();
    assert!(refused.to_string().contains(&format!("--allow-write {serial}")), "{refused}");
    let set = execute(&request(&[&array.iscsi], writes(), &[&serial]), &mut |_| true).unwrap();
    assert!(set.total.write.ios > 0 && set.total.errors == 0, "{:?}", set.warnings);
    assert_eq!(set.results[0].identity, serial);
}

#[test]
fn a_unit_with_a_partition_table_is_refused() {
    let array = Array::start();
    let serial = array.serial();
    let Url::Iscsi(url) = Url::parse(&array.iscsi).unwrap() else { unreachable!() };
    let mut device = Device::connect(&url, &Options::default()).unwrap();
    let mut sector = vec![0u8; 512];
    sector[..8].copy_from_slice(b"EFI PART");
    // WRITE(10) of LBA 1.
    let mut cdb = [0u8; 16];
    (cdb[0], cdb[5], cdb[8]) = (0x2a, 1, 1);
    device
        .command("WRITE(10)", cdb, 0, Some(plimsoll_initiator::Payload::from_vec(sector)))
        .unwrap();
    device.close();
    let refused =
        execute(&request(&[&array.iscsi], writes(), &[&serial]), &mut |_| true).unwrap_err();
    assert!(refused.to_string().contains("a GPT partition table"), "{refused}");
    let mut forced = request(&[&array.iscsi], writes(), &[&serial]);
    forced.permission.destroy_data = true;
    assert!(execute(&forced, &mut |_| true).unwrap().total.write.ios > 0);
}

#[test]
fn a_unit_with_registered_keys_is_refused() {
    let array = Array::start();
    let serial = array.serial();
    let Url::Iscsi(url) = Url::parse(&array.iscsi).unwrap() else { unreachable!() };
    let mut device = Device::connect(&url, &Options::default()).unwrap();
    // PERSISTENT RESERVE OUT, REGISTER, service action key 0x1122.
    let mut cdb = [0u8; 16];
    (cdb[0], cdb[8]) = (0x5f, 24);
    let mut list = vec![0u8; 24];
    list[14..16].copy_from_slice(&[0x11, 0x22]);
    let list = plimsoll_initiator::Payload::from_vec(list);
    device.command("PERSISTENT RESERVE OUT", cdb, 0, Some(list)).unwrap();
    let refused =
        execute(&request(&[&array.iscsi], writes(), &[&serial]), &mut |_| true).unwrap_err();
    assert!(refused.to_string().contains("0x0000000000001122"), "{refused}");
    device.close();
}

#[test]
fn work_on_an_export_stays_in_its_own_directory_and_goes() {
    let array = Array::start();
    let export = array.export();
    let refused = execute(&request(&[&array.nfs], writes(), &[]), &mut |_| true).unwrap_err();
    assert!(matches!(refused, Error::WriteRefused { .. }), "{refused}");
    let mut stage = writes();
    stage[0].working_set_bytes = Some(8 << 20);
    let mut seen = Vec::new();
    let set = execute(&request(&[&array.nfs], stage, &[&export]), &mut |_| {
        seen = names_on(&array);
        true
    })
    .unwrap();
    assert!(set.total.ios > 0 && set.total.errors == 0, "{:?}", set.warnings);
    assert_eq!(set.results[0].capacity_bytes, 8 << 20);
    assert_eq!(seen.len(), 1);
    assert!(seen[0].starts_with(workspace::DIRECTORY_PREFIX), "{seen:?}");
    // The file was filled before it was read.
    assert!(set.results[0].empty_reads_pct < 1.0, "{}", set.results[0].empty_reads_pct);
    assert!(names_on(&array).is_empty());
}

#[test]
fn an_empty_export_is_told_with_the_way_out() {
    let array = Array::start();
    let reads = vec![short(Workload::simple(8192, 100.0, 100.0))];
    let ready_made = execute(&request(&[&array.nfs], reads.clone(), &[]), &mut |_| true).unwrap();
    assert!(ready_made.total.ios > 0);
    let Url::Nfs(url) = Url::parse(&array.nfs).unwrap() else { unreachable!() };
    let mut export = Export::mount(&url, &Options::default()).unwrap();
    let root = export.root();
    export.remove(&root, READY_MADE.as_bytes()).unwrap();
    let refused = execute(&request(&[&array.nfs], reads.clone(), &[]), &mut |_| true)
        .map(|set| set.total.ios)
        .unwrap_err();
    let wanted = format!("--allow-write {}", array.export());
    assert!(refused.is_refusal() && refused.to_string().contains(&wanted), "{refused}");
    // Named, the probe makes and fills a file, and reads it.
    let mut reads = reads;
    reads[0].working_set_bytes = Some(4 << 20);
    let set = execute(&request(&[&array.nfs], reads, &[&array.export()]), &mut |_| true).unwrap();
    assert!(set.total.read.ios > 0 && set.total.write.ios == 0);
    assert!(set.results[0].empty_reads_pct < 1.0);
}

#[test]
fn a_budget_counts_what_is_written_before() {
    let array = Array::start();
    let mut stage = writes();
    stage[0].working_set_bytes = Some(16 << 20);
    let mut small = request(&[&array.nfs], stage, &[&array.export()]);
    small.budget.bytes = Some(4 << 20);
    let set = execute(&small, &mut |_| true).unwrap();
    assert_eq!(set.stopped.unwrap().guard, "bytes");
    assert_eq!(set.total.ios, 0);
    assert!(names_on(&array).is_empty());
}

#[test]
fn a_file_that_leaves_no_head_room_is_refused() {
    let array = Array::start();
    let mut stage = writes();
    stage[0].working_set_bytes = Some(60 << 20);
    let refused =
        execute(&request(&[&array.nfs], stage, &[&array.export()]), &mut |_| true).unwrap_err();
    assert!(refused.to_string().contains("does not fit"), "{refused}");
    assert!(names_on(&array).is_empty());
}

#[test]
fn what_a_crash_leaves_is_cleaned_and_nothing_else() {
    let array = Array::start();
    let options = Options::default();
    let space =
        workspace::Workspace::make(&array.nfs, "nfs", &options, Some(1 << 20), 10.0).unwrap();
    let directory = space.directory().to_owned();
    // A crash: nobody removes it.
    std::mem::forget(space);
    let Url::Nfs(url) = Url::parse(&array.nfs).unwrap() else { unreachable!() };
    let mut export = Export::mount(&url, &options).unwrap();
    let root = export.root();
    export.make_dir(&root, b"vm1", 0o755).unwrap();
    export.make_dir(&root, b".plimsoll-probe-empty", 0o755).unwrap();
    let dir = export.make_dir(&root, b".plimsoll-probe-foreign", 0o755).unwrap();
    export.create_exclusive(&dir.handle, b"somebody.vmdk", [7; 8]).unwrap();

    // The process that made it (this one) lives: it may still be going on.
    let kept = workspace::clean(&array.nfs, "nfs", &options, false).unwrap();
    assert!(kept.iter().any(|found| found.directory == directory && !found.removed), "{kept:?}");
    assert!(names_on(&array).contains(&directory));
    let cleaned = workspace::clean(&array.nfs, "nfs", &options, true).unwrap();
    let find = |name: &str| cleaned.iter().find(|found| found.directory == name);
    assert!(find(&directory).unwrap().removed, "{cleaned:?}");
    assert!(!find(".plimsoll-probe-foreign").unwrap().removed);
    let mut left = names_on(&array);
    left.sort();
    assert_eq!(left, [".plimsoll-probe-foreign", "vm1"]);
}

#[test]
fn stamped_blocks_survive_both_protocols() {
    let array = Array::start();
    let stage = Workload {
        integrity: true,
        prefill: true,
        workers: 2,
        working_set_bytes: Some(4 << 20),
        ..short(Workload::simple(8192, 50.0, 100.0))
    };
    let serial = array.serial();
    let set = execute(
        &request(&[&array.iscsi, &array.nfs], vec![stage], &[&serial, &array.export()]),
        &mut |_| true,
    )
    .unwrap();
    assert!(set.stopped.is_none(), "{:?} {:?}", set.stopped, set.results[0].corrupt_examples);
    assert_eq!(set.results.len(), 2);
    for result in &set.results {
        assert!(result.figures.read.ios > 0 && result.figures.errors == 0, "{}", result.url);
        assert_eq!(result.unstamped_bytes, 0, "{}", result.url);
    }
    // What was written is on the unit: its first block carries a stamp.
    let mut unit = plimsoll_initiator::open(&array.iscsi, &Options::default()).unwrap();
    let block = read_at("unit", &mut *unit, 0, 4096).unwrap();
    assert_eq!(plimsoll_probe::generate::inspect(&block).unwrap().unwrap().offset, 0);
}
