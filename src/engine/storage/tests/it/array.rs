//! Pools and volumes by a provider's rules, online, and across a kill.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_storage::{
    Array, ArrayError, ArraySettings, Event, Kind, Limit, Limits, PoolSettings, Qos, Rules, Tier,
    VolumeSettings,
};

const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

fn tier(name: &str, rate: f64) -> Tier {
    Tier { name: name.to_owned(), mib_per_s_per_tib: rate }
}

fn settings(rules: Rules) -> ArraySettings {
    let tiers = vec![tier("standard", 16.0), tier("premium", 64.0), tier("ultra", 128.0)];
    ArraySettings { tiers, rules, ..ArraySettings::default() }
}

fn pool(name: &str, size_bytes: u64, tier: &str, qos: Qos) -> PoolSettings {
    PoolSettings {
        name: name.to_owned(),
        size_bytes,
        tier: Some(tier.to_owned()),
        qos,
        limit: Limit::default(),
    }
}

fn volume(name: &str, size_bytes: u64) -> VolumeSettings {
    VolumeSettings {
        name: name.to_owned(),
        kind: Kind::Block,
        size_bytes,
        limits: Limits::default(),
        remote: None,
    }
}

fn with_throughput(mut settings: VolumeSettings, mib_per_s: f64) -> VolumeSettings {
    settings.limits.volume.mib_per_s = Some(mib_per_s);
    settings
}

fn rate(array: &Array, volume: &str) -> f64 {
    array.effective_limit(volume).unwrap().mib_per_s.unwrap()
}

#[test]
fn auto_quality_of_service_is_quota_times_the_rate_of_the_tier_and_follows_every_change() {
    let array = Array::memory(settings(Rules::default())).unwrap();
    array.create_pool(pool("p", 4 * TIB, "premium", Qos::Auto)).unwrap();
    array.create_pool(pool("u", 4 * TIB, "ultra", Qos::Auto)).unwrap();
    array.create_volume("p", volume("v", 100 * GIB)).unwrap();
    assert_eq!(rate(&array, "v"), 6.25);
    array.resize_volume("v", TIB).unwrap();
    assert_eq!(rate(&array, "v"), 64.0);
    array.move_volume("v", "u").unwrap();
    assert_eq!(rate(&array, "v"), 128.0);
    array.retier_pool("u", Some("standard")).unwrap();
    assert_eq!(rate(&array, "v"), 16.0);
    assert_eq!(array.pool("u").unwrap().volumes, ["v"]);
    assert_eq!(array.pool("p").unwrap().quota_bytes, 0);
}

#[test]
fn manual_quality_of_service_shares_what_the_pool_gives() {
    let array = Array::memory(settings(Rules::default())).unwrap();
    array.create_pool(pool("m", 2 * TIB, "premium", Qos::Manual)).unwrap();
    let missing = array.create_volume("m", volume("a", GIB)).unwrap_err();
    assert!(matches!(missing, ArrayError::ThroughputMissing { .. }), "{missing}");
    array.create_volume("m", with_throughput(volume("a", GIB), 100.0)).unwrap();
    let error = array.create_volume("m", with_throughput(volume("b", GIB), 29.0)).unwrap_err();
    assert!(matches!(error, ArrayError::NoThroughput { .. }), "{error}");
    array.create_volume("m", with_throughput(volume("b", GIB), 28.0)).unwrap();
    assert!(matches!(array.resize_pool("m", TIB), Err(ArrayError::NoThroughput { .. })));
    assert!(matches!(
        array.retier_pool("m", Some("standard")),
        Err(ArrayError::NoThroughput { .. })
    ));
    let limits = |mib_per_s| with_throughput(volume("a", GIB), mib_per_s).limits;
    array.limit_volume("a", limits(36.0)).unwrap();
    array.resize_pool("m", TIB).unwrap();
    assert!(array.limit_volume("a", limits(37.0)).is_err());
}

#[test]
fn sizes_follow_the_rules_and_errors_say_what_to_do() {
    let rules = Rules {
        pool_min_bytes: TIB,
        pool_step_bytes: TIB,
        volume_min_bytes: 50 * GIB,
        volume_max_bytes: 100 * TIB,
        volumes_per_pool: 2,
        ..Rules::default()
    };
    let array = Array::memory(settings(rules)).unwrap();
    let small = array.create_pool(pool("p", GIB, "premium", Qos::Auto)).unwrap_err();
    assert!(matches!(small, ArrayError::SizeOutOfRange { .. }), "{small}");
    let step = array.create_pool(pool("p", TIB + GIB, "premium", Qos::Auto)).unwrap_err();
    assert!(matches!(step, ArrayError::SizeStep { .. }), "{step}");
    array.create_pool(pool("p", 2 * TIB, "premium", Qos::Auto)).unwrap();
    assert!(array.create_volume("p", volume("v", GIB)).is_err());
    array.create_volume("p", volume("v", TIB)).unwrap();
    let full = array.create_volume("p", volume("w", TIB + GIB)).unwrap_err();
    assert!(full.to_string().contains("grow the pool first"), "{full}");
    assert!(matches!(array.resize_pool("p", 0), Err(ArrayError::SizeOutOfRange { .. })));
    array.create_volume("p", volume("w", TIB)).unwrap();
    assert!(matches!(array.resize_pool("p", TIB), Err(ArrayError::PoolTooSmall { .. })));
    array.resize_pool("p", 3 * TIB).unwrap();
    let many = array.create_volume("p", volume("x", TIB)).unwrap_err();
    assert!(matches!(many, ArrayError::TooManyVolumes { .. }), "{many}");
    for name in ["", "A", "../x", "a/b", ".hidden", "-x", &"a".repeat(65)] {
        let error = array.create_volume("p", volume(name, TIB)).unwrap_err();
        assert!(matches!(error, ArrayError::BadName { .. }), "{name}: {error}");
    }
    assert!(matches!(array.delete_pool("p"), Err(ArrayError::PoolNotEmpty { .. })));
    assert!(matches!(
        array.create_pool(pool("q", TIB, "gold", Qos::Auto)),
        Err(ArrayError::NotFound { what: "tier", .. })
    ));
}

#[test]
fn shrinking_stops_at_what_is_used_and_at_the_last_data() {
    let array = Array::memory(settings(Rules::default())).unwrap();
    array.create_pool(pool("p", GIB, "premium", Qos::Auto)).unwrap();
    let v = array.create_volume("p", volume("v", 64 << 20)).unwrap();
    v.store().write(0, &vec![1; 8 << 20]).unwrap();
    v.store().write(40 << 20, &[1; 4096]).unwrap();
    assert!(matches!(array.resize_volume("v", 4 << 20), Err(ArrayError::BelowUsed { .. })));
    match array.resize_volume("v", 16 << 20) {
        Err(ArrayError::DataBeyondEnd { at, .. }) => assert_eq!(at, 40 << 20),
        other => panic!("{other:?}"),
    }
    v.store().unmap(40 << 20, 4096).unwrap();
    array.resize_volume("v", 16 << 20).unwrap();
    assert_eq!((v.size_bytes(), array.pool("p").unwrap().used_bytes), (16 << 20, 8 << 20));
    assert!(v.store().write(16 << 20, &[1]).is_err());
    assert!(matches!(array.resize_pool("p", 9 << 20), Err(ArrayError::PoolTooSmall { .. })));
}

#[test]
fn throughput_falls_only_after_the_cool_down() {
    let time = Arc::new(AtomicU64::new(1_000_000));
    let clock = Arc::clone(&time);
    let rules = Rules { decrease_cooldown_s: 86_400, ..Rules::default() };
    let array = Array::memory(ArraySettings {
        clock: Arc::new(move || clock.load(Ordering::Relaxed)),
        ..settings(rules)
    })
    .unwrap();
    for tier in ["standard", "premium", "ultra"] {
        array.create_pool(pool(tier, TIB, tier, Qos::Auto)).unwrap();
    }
    array.create_volume("premium", volume("v", GIB)).unwrap();
    array.move_volume("v", "standard").unwrap();
    array.move_volume("v", "ultra").unwrap();
    time.fetch_add(86_399, Ordering::Relaxed);
    match array.move_volume("v", "premium") {
        Err(ArrayError::CoolDown { seconds, .. }) => assert_eq!(seconds, 1),
        other => panic!("{other:?}"),
    }
    assert!(array.retier_pool("ultra", Some("premium")).is_err(), "by the pool neither");
    time.fetch_add(1, Ordering::Relaxed);
    array.move_volume("v", "premium").unwrap();
}

#[test]
fn subscribers_hear_of_every_change_and_of_thresholds_in_both_directions() {
    let rules = Rules { overcommit: 4.0, thresholds_pct: vec![50, 75], ..Rules::default() };
    let array = Array::memory(settings(rules)).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    array.subscribe(move |event| {
        ears.lock().unwrap().push(match event {
            Event::VolumeCreated { volume } => format!("created {}", volume.name()),
            Event::VolumeResized { volume, before_bytes } => {
                format!("resized {} {} -> {}", volume.name(), before_bytes, volume.size_bytes())
            }
            Event::VolumeLimitsChanged { volume } => format!("limits {}", volume.name()),
            Event::VolumeDeleted { volume } => {
                assert!(volume.is_deleted());
                format!("deleted {}", volume.name())
            }
            Event::PoolThreshold { percent, above, volumes, .. } => {
                format!("threshold {percent} {above} of {}", volumes.len())
            }
            _ => unreachable!(),
        });
    });
    let mib = 1 << 20;
    array.create_pool(pool("p", 4 * mib, "premium", Qos::Auto)).unwrap();
    let a = array.create_volume("p", volume("a", 8 * mib)).unwrap();
    array.create_volume("p", volume("b", 8 * mib)).unwrap();
    array.check_thresholds();
    a.store().write(0, &vec![1; 3 << 20]).unwrap();
    array.check_thresholds();
    array.check_thresholds();
    assert!(a.store().write(3 * mib, &vec![1; 2 << 20]).unwrap_err().is_no_space(), "thin pool");
    a.store().unmap(0, 3 * mib).unwrap();
    array.check_thresholds();
    array.resize_volume("a", 7 * mib).unwrap();
    array.retier_pool("p", Some("ultra")).unwrap();
    array.delete_volume("a").unwrap();
    drop(a);
    assert_eq!(array.pool("p").unwrap().used_bytes, 0);
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "created a",
            "created b",
            "threshold 50 true of 2",
            "threshold 75 true of 2",
            "threshold 50 false of 2",
            "threshold 75 false of 2",
            "resized a 8388608 -> 7340032",
            "limits a",
            "limits b",
            "deleted a",
        ]
    );
}

fn open(folder: &Path) -> Arc<Array> {
    Array::open(folder, settings(Rules::default())).unwrap()
}

#[test]
fn everything_comes_back_and_two_targets_cannot_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let array = open(folder.path());
    array.create_pool(pool("p", TIB, "premium", Qos::Auto)).unwrap();
    array.create_pool(pool("o", TIB, "ultra", Qos::Auto)).unwrap();
    let z = array.create_volume("p", volume("z", GIB)).unwrap();
    array.create_volume("p", VolumeSettings { kind: Kind::Files, ..volume("a", GIB) }).unwrap();
    array.create_volume("p", volume("gone", GIB)).unwrap();
    array.delete_volume("gone").unwrap();
    array.resize_volume("z", 2 * GIB).unwrap();
    array.move_volume("z", "o").unwrap();
    z.store().write(2 * GIB - 512, &[7; 512]).unwrap();
    z.save_reservations(Some(b"keys")).unwrap();
    let second = Array::open(folder.path(), settings(Rules::default())).unwrap_err();
    assert!(matches!(second, ArrayError::InUse { .. }), "{second}");
    let serial = z.serial().to_owned();
    drop((z, array));

    let orphan = folder.path().join("volumes/0123456789abcdef.data");
    std::fs::write(&orphan, b"of a creation that was cut off").unwrap();
    let array = open(folder.path());
    assert!(!orphan.exists());
    let names: Vec<_> = array.volumes().iter().map(|v| v.name().to_owned()).collect();
    assert_eq!(names, ["z", "a"]);
    assert_eq!(array.pools()[1].volumes, ["z"]);
    let z = array.volume("z").unwrap();
    assert_eq!((z.serial(), z.size_bytes()), (serial.as_str(), 2 * GIB));
    assert_eq!((z.lun(), array.volume("a").unwrap().lun()), (Some(0), None));
    let luns = ["x", "y"].map(|name| array.create_volume("p", volume(name, GIB)).unwrap().lun());
    assert_eq!(luns, [Some(1), Some(2)]);
    array.delete_volume("x").unwrap();
    assert_eq!(array.create_volume("p", volume("w", GIB)).unwrap().lun(), Some(1));
    assert_eq!(z.saved_reservations().unwrap(), b"keys");
    assert_eq!(array.pool("o").unwrap().used_bytes, 4096);
    let mut tail = [0; 512];
    z.store().read_blocking(2 * GIB - 512, &mut tail).unwrap();
    assert_eq!(tail, [7; 512]);
    z.save_reservations(None).unwrap();
    assert_eq!(z.saved_reservations(), None);
}

#[test]
fn a_volume_whose_data_is_missing_is_told_and_not_served_empty() {
    let folder = tempfile::tempdir().unwrap();
    let array = open(folder.path());
    array.create_pool(pool("p", TIB, "premium", Qos::Auto)).unwrap();
    let serial = array.create_volume("p", volume("v", GIB)).unwrap().serial().to_owned();
    drop(array);
    let path = folder.path().join(format!("volumes/{serial}.data"));
    std::fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    let error = Array::open(folder.path(), settings(Rules::default())).unwrap_err();
    assert!(error.to_string().contains("the data of volume v is missing"), "{error}");
    std::fs::rename(folder.path().join("elsewhere"), &path).unwrap();
    open(folder.path());
}
