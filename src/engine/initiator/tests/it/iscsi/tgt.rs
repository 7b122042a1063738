//! Against tgt, when it is installed: data compared both ways, CHAP one way and mutual, discovery, loss and
//! return of the whole target.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use plimsoll_initiator::{Chap, Error, Outcome, Policy, Url, iscsi};

use super::*;

const PLAIN: &str = "iqn.2026-01.test:plain";
const CHAP: &str = "iqn.2026-01.test:chap";
const MEGABYTES: u64 = 16;

/// A tgtd of its own port and control socket, ended by its process id.
struct Tgt {
    child: Option<Child>,
    port: u16,
    control: u16,
    folder: tempdir::Folder,
}

/// A folder that goes with its owner.
mod tempdir {
    pub struct Folder(pub std::path::PathBuf);

    impl Folder {
        pub fn new(name: &str) -> Self {
            let base = if std::path::Path::new("/dev/shm").is_dir() {
                "/dev/shm".into()
            } else {
                std::env::temp_dir()
            };
            let path = base.join(format!("plimsoll-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn installed(tool: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(tool).is_file())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Tgt {
    /// None, with a note, when tgt is not installed.
    fn start(name: &str) -> Option<Self> {
        let judged = std::env::var_os("PLIMSOLL_JUDGE_TGT").is_some();
        let usable = is_root() && installed("tgtd") && installed("tgtadm");
        if !judged && !usable {
            println!("skipped: tgt is not installed, or this is not root");
            return None;
        }
        let folder = tempdir::Folder::new(name);
        let data: Vec<u8> = (0..(MEGABYTES << 20) as usize).map(content).collect();
        std::fs::write(folder.0.join("lun"), data).unwrap();
        // Control sockets are numbered below 32768; taken from the port, two hardly meet.
        let port = free_port();
        let mut tgt = Self { child: None, port, control: port / 2, folder };
        tgt.run();
        Some(tgt)
    }

    fn image(&self) -> PathBuf {
        self.folder.0.join("lun")
    }

    fn run(&mut self) {
        let portal = format!("portal=127.0.0.1:{}", self.port);
        let child = Command::new("tgtd")
            .args(["-f", "-C", &self.control.to_string(), "--iscsi", &portal])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.child = Some(child);
        let end = Instant::now() + Duration::from_secs(10);
        while !self.try_admin("--op show --mode sys") {
            assert!(Instant::now() < end, "tgtd does not come up");
            std::thread::sleep(Duration::from_millis(50));
        }
        let image = self.image();
        self.admin("--op new --mode account --user joe --password secret-of-joe");
        self.admin("--op new --mode account --user target --password secret-of-target");
        for (id, name) in [(1, PLAIN), (2, CHAP)] {
            self.admin(&format!("--op new --mode target --tid {id} -T {name}"));
            self.admin(&format!(
                "--op new --mode logicalunit --tid {id} --lun 1 -b {}",
                image.display()
            ));
        }
        self.admin("--op bind --mode account --tid 2 --user joe");
        self.admin("--op bind --mode account --tid 2 --user target --outgoing");
        for id in [1, 2] {
            self.admin(&format!("--op bind --mode target --tid {id} -I ALL"));
        }
    }

    fn try_admin(&self, arguments: &str) -> bool {
        let control = self.control.to_string();
        let status = Command::new("tgtadm")
            .args(["-C", &control, "--lld", "iscsi"])
            .args(arguments.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    }

    fn admin(&self, arguments: &str) {
        assert!(self.try_admin(arguments), "tgtadm {arguments}");
    }

    /// Ends it without any good-bye.
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn url(&self, target: &str) -> String {
        format!("iscsi://127.0.0.1:{}/{target}/1", self.port)
    }

    fn ledger(&self) -> Ledger {
        Ledger::new(std::fs::read(self.image()).unwrap())
    }
}

impl Drop for Tgt {
    fn drop(&mut self) {
        self.kill();
        for end in ["", ".lock"] {
            let _ = std::fs::remove_file(format!("/var/run/tgtd/socket.{}{end}", self.control));
        }
    }
}

fn content(at: usize) -> u8 {
    ((at / 512) as u8).wrapping_mul(13).wrapping_add(at as u8)
}

const MIX: Load = Load { operations: 4000, depth: 32, writes: 40, max_blocks: 256, seconds: 60 };

#[test]
fn data_both_ways_at_depth_32_is_the_same_in_the_image() {
    let Some(tgt) = Tgt::start("tgt-data") else { return };
    let mut ledger = tgt.ledger();
    let mut store = open(&tgt.url(PLAIN), &options()).unwrap();
    assert_eq!(store.capacity_bytes(), MEGABYTES << 20);
    run(&mut *store, &mut ledger, &MIX);
    assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize);
    let flush = Op { tag: 1 << 40, kind: OpKind::Flush, offset: 0, len: 0 };
    submit(&mut *store, &mut ledger, &flush, 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&(1 << 40)], Outcome::Done);
    store.close(&mut ledger);
    assert!(std::fs::read(tgt.image()).unwrap() == ledger.content, "the image differs");
}

#[test]
fn many_sessions_share_the_work() {
    let Some(tgt) = Tgt::start("tgt-sessions") else { return };
    let mut ledger = tgt.ledger();
    let many = Options { connections: 4, policy: Policy::RoundRobinIops(1), ..options() };
    let mut store = open(&tgt.url(PLAIN), &many).unwrap();
    run(&mut *store, &mut ledger, &MIX);
    assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize);
    assert!(store.flows().iter().all(|flow| flow.reads > 300), "{:?}", store.flows());
    store.close(&mut ledger);
}

#[test]
fn rfc7143_12_1_3_chap_one_way_and_mutual() {
    let Some(tgt) = Tgt::start("tgt-chap") else { return };
    let chap =
        |user: &str, secret: &str| Some(Chap { user: user.to_owned(), secret: secret.to_owned() });
    let joe = chap("joe", "secret-of-joe");
    let url = tgt.url(CHAP);
    let login = |chap: Option<Chap>, mutual_chap: Option<Chap>| {
        open(&url, &Options { chap, mutual_chap, ..options() }).map(|store| store.capacity_bytes())
    };
    assert_eq!(login(joe.clone(), None).unwrap(), MEGABYTES << 20);
    assert_eq!(login(joe.clone(), chap("target", "secret-of-target")).unwrap(), MEGABYTES << 20);
    let in_url = url.replace("iscsi://", "iscsi://joe%secret-of-joe@");
    assert!(open(&in_url, &options()).is_ok());
    let fails = |result: Result<u64, Error>| {
        assert!(matches!(result, Err(Error::Authentication { .. })), "{result:?}");
    };
    fails(login(None, None));
    fails(login(chap("joe", "wrong-secret"), None));
    fails(login(chap("jim", "secret-of-joe"), None));
    fails(login(joe.clone(), chap("target", "another-secret")));
    fails(login(joe, chap("other", "secret-of-target")));
}

#[test]
fn rfc7143_appendix_c_discovery_finds_both_targets() {
    let Some(tgt) = Tgt::start("tgt-discovery") else { return };
    let mut found =
        iscsi::discover(plimsoll_initiator::Transport::Tcp, "127.0.0.1", tgt.port, &options())
            .unwrap();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(found.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), [CHAP, PLAIN]);
    assert_eq!(found[0].addresses[0].port, tgt.port);
}

#[test]
fn the_helpers_tell_what_tgt_is() {
    let Some(tgt) = Tgt::start("tgt-device") else { return };
    let Url::Iscsi(url) = Url::parse(&tgt.url(PLAIN)).unwrap() else { unreachable!() };
    let mut device = iscsi::Device::connect(&url, &options()).unwrap();
    assert_eq!(device.facts().vendor, "IET");
    assert_eq!(device.facts().blocks, Some(MEGABYTES << 11));
    assert_eq!(device.read_capacity().unwrap().block_bytes, 512);
    assert!(!device.facts().serial.is_empty());
    assert!(device.facts().naa.is_some());
    assert_eq!(device.report_luns().unwrap(), [0, 1]);
    assert!(!device.inquiry().unwrap().is_empty());
    assert!(!device.mode_page(0x08).unwrap().0.is_empty());
    assert_eq!(device.reservation_keys().unwrap(), [0_u64; 0]);
    assert_eq!(device.reservation().unwrap(), None);
    device.test_unit_ready().unwrap();
    let (first, last) = device.read_ends(8192).unwrap();
    let size = (MEGABYTES << 20) as usize;
    assert_eq!(first, (0..8192).map(content).collect::<Vec<_>>());
    assert_eq!(last, (size - 8192..size).map(content).collect::<Vec<_>>());
    assert!(matches!(device.vpd(0xc7), Err(Error::Command { .. })));
    device.close();
}

#[test]
fn a_killed_and_restarted_target_loses_and_doubles_nothing() {
    let Some(mut tgt) = Tgt::start("tgt-restart") else { return };
    let mut ledger = tgt.ledger();
    let patient = Options { op_timeout: Duration::from_secs(20), ..options() };
    let many = Options { connections: 2, policy: Policy::LeastQueueDepth, ..patient };
    let mut store = open(&tgt.url(PLAIN), &many).unwrap();
    run_with(&mut *store, &mut ledger, &MIX, &mut |number, _| {
        if number == 1000 || number == 2500 {
            tgt.kill();
            tgt.run();
        }
    });
    assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize);
    assert!(std::fs::read(tgt.image()).unwrap() == ledger.content, "the image differs");
    let flows = store.flows();
    assert!(flows.iter().all(|flow| flow.reconnects == 2), "{flows:?}");
    assert!(flows.iter().map(|flow| flow.reissued).sum::<u64>() > 0);
    let moved: u64 = flows.iter().map(|flow| flow.reads + flow.writes).sum();
    assert_eq!(moved, MIX.operations);
    store.close(&mut ledger);
}
