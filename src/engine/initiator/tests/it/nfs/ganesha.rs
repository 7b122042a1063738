//! nfs-ganesha as the judge: its export is a folder of this machine, so that data is compared on both sides.
//!
//! These tests start and kill the server themselves, and need the portmapper's port: `tests/judges/nfs-ganesha`
//! runs them in a network of their own. Anywhere else they say that they are skipped.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use plimsoll_initiator::nfs::{CreateHow, Export, NfsOptions, Stability, Status};
use plimsoll_initiator::{Error, NfsUrl, Options, Outcome, Url};
use tempfile::TempDir;

use super::server::expected;
use super::{Client, options};

const PORT: u16 = 22_049;
/// Name of the file under test; the root of the export is the folder it lies in.
const FILE: &str = "disk-flat.vmdk";

struct Ganesha {
    folder: TempDir,
    child: Child,
}

impl Ganesha {
    /// None, with a note, outside of the judge's script.
    #[expect(clippy::print_stdout, reason = "tells that the test was skipped")]
    fn start(test: &str) -> Option<Self> {
        if std::env::var_os("PLIMSOLL_JUDGE_GANESHA").is_none() {
            println!("skipped: {test} runs in tests/judges/nfs-ganesha");
            return None;
        }
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("export")).unwrap();
        let configuration = format!(
            "NFS_CORE_PARAM {{ Protocols = 3; NFS_Port = {PORT}; MNT_Port = {}; Enable_UDP = false; \
             Enable_NLM = false; Enable_RQUOTA = false; }}\n\
             EXPORT_DEFAULTS {{ SecType = sys; Squash = No_Root_Squash; Access_Type = RW; Protocols = 3; \
             Transports = TCP; }}\n\
             EXPORT {{ Export_Id = 7; Path = {export:?}; Pseudo = /export; FSAL {{ Name = VFS; }} }}\n\
             LOG {{ Default_Log_Level = EVENT; }}\n",
            PORT + 1,
            export = folder.path().join("export"),
        );
        std::fs::write(folder.path().join("ganesha.conf"), configuration).unwrap();
        let child = spawn(folder.path());
        Some(Self { folder, child })
    }

    fn path(&self) -> String {
        self.folder.path().join("export").to_str().unwrap().to_owned()
    }

    fn url(&self) -> String {
        format!("nfs://127.0.0.1:{PORT}{}", self.path())
    }

    fn nfs_url(&self) -> NfsUrl {
        let Url::Nfs(url) = Url::parse(&self.url()).unwrap() else { unreachable!() };
        url
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = spawn(self.folder.path());
    }

    /// A file of so many bytes of the pattern.
    fn make_file(&self, size: usize) {
        std::fs::write(self.folder.path().join("export").join(FILE), expected(0, size)).unwrap();
    }

    fn file(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("export").join(FILE)).unwrap()
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(folder: &Path) -> Child {
    let child = Command::new("ganesha.nfsd")
        .arg("-F")
        .args(["-L".as_ref(), folder.join("log").as_os_str()])
        .args(["-f".as_ref(), folder.join("ganesha.conf").as_os_str()])
        .args(["-p".as_ref(), folder.join("pid").as_os_str()])
        .spawn()
        .unwrap();
    let start = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", PORT + 1)).is_err() {
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(start.elapsed() < Duration::from_secs(20), "nfs-ganesha does not start: {log}");
        std::thread::sleep(Duration::from_millis(100));
    }
    child
}

fn status<T: std::fmt::Debug>(result: Result<T, Error>) -> Status {
    match result {
        Err(Error::Command { outcome: Outcome::Nfs(status), .. }) => Status(status),
        other => panic!("a status was expected: {other:?}"),
    }
}

#[test]
fn set_up_and_clean_up_calls() {
    let Some(server) = Ganesha::start("set_up_and_clean_up_calls") else { return };
    // By the portmapper alone, and with MOUNT on another port than the URL's.
    let without_port = NfsUrl { port: None, ..server.nfs_url() };
    let by_portmap = Export::mount(&without_port, &options()).unwrap();
    assert_eq!(by_portmap.server().port(), PORT);
    by_portmap.unmount().unwrap();
    let mut export = Export::mount(&server.nfs_url(), &options()).unwrap();
    assert!(export.limits().read_max >= 65_536);
    let space = export.space().unwrap();
    assert!(space.total_bytes > space.available_bytes && space.available_bytes > 0);

    let root = export.root();
    let dir = export.make_dir(&root, b"work", 0o755).unwrap().handle;
    assert_eq!(status(export.make_dir(&root, b"work", 0o755)), Status::EXISTS);
    let file = export.create_exclusive(&dir, b"x", [7; 8]).unwrap();
    let same = export.create_exclusive(&dir, b"x", [7; 8]).unwrap();
    assert_eq!(same.attributes.fileid, file.attributes.fileid);
    assert_eq!(status(export.create_exclusive(&dir, b"x", [8; 8])), Status::EXISTS);
    export.set_size(&file.handle, 3 << 20).unwrap();
    assert_eq!(export.attributes(&file.handle).unwrap().size_bytes, 3 << 20);
    let data = expected(11, 2_500_000);
    export.write(&file.handle, 1000, &data).unwrap();
    let mut back = Vec::new();
    while back.len() < data.len() {
        let (piece, eof) = export.read(&file.handle, 1000 + back.len() as u64, 1_000_000).unwrap();
        assert!(!eof || back.len() + piece.len() >= data.len());
        back.extend_from_slice(&piece);
    }
    assert!(back[..data.len()] == data);
    let first = export.commit(&file.handle).unwrap();
    assert_eq!(first, export.commit(&file.handle).unwrap());

    export.rename((&dir, b"x"), (&dir, b"y")).unwrap();
    assert!(export.lookup(&dir, b"x").unwrap().is_none());
    assert_eq!(export.walk("work/y").unwrap().unwrap().attributes.size_bytes, 3 << 20);
    let deeper = NfsUrl { export: format!("{}/work/y", server.path()), ..server.nfs_url() };
    let mut deeper = Export::mount(&deeper, &options()).unwrap();
    let (handle, path) = (deeper.root(), deeper.path().to_owned());
    assert_eq!(deeper.attributes(&handle).unwrap().size_bytes, 3 << 20);
    assert!(server.path().starts_with(&path) || path.starts_with(&server.path()));
    for n in 0..700 {
        let name = format!("a file with a rather long name, number {n}");
        export.create(&dir, name.as_bytes(), CreateHow::Guarded(Default::default())).unwrap();
    }
    let entries = export.list(&dir).unwrap();
    assert_eq!(entries.len(), 701);
    assert_eq!(export.largest_file(&dir).unwrap().unwrap().0, b"y");
    assert_eq!(status(export.remove_dir(&root, b"work")), Status::NOT_EMPTY);
    for entry in entries {
        export.remove(&dir, &entry.name).unwrap();
    }
    export.remove_dir(&root, b"work").unwrap();
    assert!(export.list(&root).unwrap().is_empty());
    let missing = NfsUrl { export: "/not/exported".to_owned(), ..server.nfs_url() };
    let refused = Export::mount(&missing, &options()).err().unwrap();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
}

#[test]
fn data_compared_over_1_4_and_16_flows() {
    let Some(server) = Ganesha::start("data_compared_over_1_4_and_16_flows") else { return };
    const SIZE: usize = 16 << 20;
    server.make_file(SIZE);
    let mut wanted = expected(0, SIZE);
    for connections in [1, 4, 16] {
        for (stability, len) in [
            (Stability::Unstable, 8_192),
            (Stability::Unstable, 700_001),
            (Stability::FileSync, 65_536),
        ] {
            let nfs = NfsOptions { stability, commit_bytes: 1 << 20, ..NfsOptions::default() };
            let mut client =
                Client::open(&server.url(), &Options { connections, nfs, ..options() });
            assert_eq!(client.datastore.capacity_bytes(), SIZE as u64);
            // Writes that do not overlap, then reads of everything, through the server and beside it.
            for n in 0..(SIZE / len / 2) {
                let at = n * 2 * len;
                let data = expected((at + usize::from(connections) * 1_000_003) as u64, len);
                client.write(at as u64, &data);
                wanted[at..at + len].copy_from_slice(&data);
            }
            client.finish();
            client.flush();
            client.finish();
            let tags: Vec<(u64, usize)> = (0..SIZE / len)
                .map(|n| (client.read((n * len) as u64, len as u32), n * len))
                .collect();
            client.finish();
            client.all_done();
            for (tag, at) in tags {
                assert!(client.seen.data[&tag] == wanted[at..at + len], "{len} bytes at {at}");
            }
            assert!(server.file() == wanted);
            let flows = client.datastore.flows();
            assert_eq!(flows.len(), usize::from(connections));
            assert!(flows.iter().all(|flow| flow.reads > 0), "{flows:?}");
            assert_eq!(client.sum(|flow| flow.verifier_changes + flow.reconnects), 0);
        }
    }
}

#[test]
fn killed_and_started_again_under_load() {
    let Some(mut server) = Ganesha::start("killed_and_started_again_under_load") else { return };
    const SIZE: usize = 32 << 20;
    const LEN: usize = 16_384;
    server.make_file(SIZE);
    let mut wanted = expected(0, SIZE);
    let nfs = NfsOptions { commit_bytes: 4 << 20, ..NfsOptions::default() };
    let options =
        Options { connections: 4, path_timeout: Duration::from_secs(60), nfs, ..options() };
    let mut client = Client::open(&server.url(), &options);
    for (round, slots) in (0..3_u64).zip([0, SIZE / 3, SIZE / 2]) {
        for n in 0..400 {
            let at = (slots + n * LEN) / LEN * LEN;
            let data = expected(round * 77_777 + n as u64, LEN);
            client.write(at as u64, &data);
            wanted[at..at + LEN].copy_from_slice(&data);
            // Some are answered, some under way, some waiting when the server dies.
            if client.datastore.in_flight() > 64 {
                client.datastore.poll(None, &mut client.seen).unwrap();
            }
            if n == 250 {
                server.kill();
                // Its write verifier is the time of its start in seconds: the next start must not share it.
                std::thread::sleep(Duration::from_millis(1_100));
                server.start_again();
            }
        }
        client.finish();
        client.flush();
        client.finish();
        client.all_done();
        assert!(server.file() == wanted, "round {round}");
    }
    assert!(client.sum(|flow| flow.verifier_changes) >= 1, "{:?}", client.datastore.flows());
    assert!(client.sum(|flow| flow.reconnects) >= 4);
    assert!(client.sum(|flow| flow.reissued) >= 1);
    // What lies there was written by this client alone.
    let file = std::fs::File::open(Path::new(&server.path()).join(FILE)).unwrap();
    let mut last = vec![0; LEN];
    file.read_exact_at(&mut last, (SIZE - LEN) as u64).unwrap();
    assert!(last == wanted[SIZE - LEN..]);
}
