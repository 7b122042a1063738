//! A server process that is killed while clients work loses nothing that it acknowledged as stable.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_wire::nfs3::{
    CommitArgs, CommitResult, CreateHow, DirOp, FileHandle, Name, Procedure, RenameArgs, Stability,
    Status,
};

use crate::client::{Bytes, Client, Setup, parse, start};

const FOLDER: &str = "PLIMSOLL_TEST_NFS_FOLDER";

/// Not a test of its own: the body of the server process below.
#[test]
fn server_process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let running = start(Setup { folder: Some(Path::new(&folder)), ..Setup::default() });
    println!("address {}", running.address);
    loop {
        std::thread::park();
    }
}

struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start(folder: &Path) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), folder)
    }

    /// A process whose files may grow to `blocks` of 512 bytes: beyond, the host's file system fails.
    fn start_limited(folder: &Path, blocks: u32) -> Self {
        let mut shell = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script]).arg(std::env::current_exe().unwrap());
        Self::spawn(shell, folder)
    }

    fn spawn(mut command: Command, folder: &Path) -> Self {
        let mut child = command
            .args(["--exact", "crash::server_process", "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .map(Result::unwrap)
            .find_map(|line| line.split_once("address ").map(|(_, address)| address.to_owned()))
            .unwrap();
        Self { child, address: address.parse().unwrap() }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the worker was told before the server died.
#[derive(Default)]
struct Acknowledged {
    /// Handle, name and bytes of each file, whose data was stable.
    files: Vec<(Bytes, String, Vec<u8>)>,
    removed: Vec<String>,
}

fn block(number: usize) -> Vec<u8> {
    (0..20_000 + number).map(|at| (at * 7 + number) as u8).collect()
}

/// Creates, writes, commits, renames and removes until the connection breaks.
fn work(address: SocketAddr, prefix: &str) -> Acknowledged {
    let mut told = Acknowledged::default();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut client = Client::connect(address);
        let root = client.root();
        for number in 0.. {
            let name = format!("{prefix}-{number}");
            let file = client.file(&root, name.as_bytes());
            let data = block(number);
            if number % 2 == 0 {
                client.write(&file, 0, &data, Stability::FileSync).unwrap();
            } else {
                client.write(&file, 0, &data, Stability::Unstable).unwrap();
                let args = CommitArgs { file: FileHandle(&file), offset: 0, count: 0 };
                parse::<CommitResult>(&client.nfs(Procedure::Commit, &args)).unwrap();
            }
            match number % 3 {
                0 => told.files.push((file, name, data)),
                1 => {
                    let renamed = format!("{name}-renamed");
                    let at = |name| DirOp { dir: FileHandle(&root), name: Name(name) };
                    let args = RenameArgs { from: at(name.as_bytes()), to: at(renamed.as_bytes()) };
                    client.nfs(Procedure::Rename, &args);
                    told.files.push((file, renamed, data));
                }
                _ => {
                    client.remove(&root, name.as_bytes()).unwrap();
                    told.removed.push(name);
                }
            }
        }
    }));
    assert!(result.is_err(), "only the end of the server ends the work");
    told
}

#[test]
fn kill_9_under_load_loses_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    std::panic::set_hook(Box::new(|_| ()));
    let mut all = Vec::new();
    for round in 0..3 {
        let mut process = Process::start(folder.path());
        let workers: Vec<_> = (0..3)
            .map(|worker| {
                let address = process.address;
                std::thread::spawn(move || work(address, &format!("r{round}w{worker}")))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(700));
        process.kill();
        all.extend(workers.into_iter().map(|worker| worker.join().unwrap()));
    }
    let _ = std::panic::take_hook();
    let process = Process::start(folder.path());
    let mut client = Client::connect(process.address);
    let root = client.root();
    let mut files = 0;
    for told in &all {
        for (handle, name, data) in &told.files {
            let (found, attributes) = client.lookup(&root, name.as_bytes()).unwrap();
            assert_eq!(&found, handle, "{name} has another handle");
            assert_eq!(attributes.size_bytes, data.len() as u64, "{name}");
            assert!(client.read(handle, 0, 1 << 20).unwrap() == (data.clone(), true), "{name}");
            files += 1;
        }
        for name in &told.removed {
            assert!(client.lookup(&root, name.as_bytes()).is_err(), "{name} is back");
        }
    }
    assert!(files > 10, "the server was killed under load: {files} files");
    println!("{files} files survived 3 kills");
}

#[test]
fn a_failing_disk_is_told_and_what_was_acknowledged_before_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start_limited(folder.path(), 4096);
    let mut client = Client::connect(process.address);
    let root = client.root();
    let kept = client.file(&root, b"kept");
    client.write(&kept, 0, b"stable", Stability::FileSync).unwrap();
    // Data beyond what the host takes.
    let failed = client.write(&kept, 100 << 20, b"x", Stability::FileSync).unwrap_err();
    assert_eq!(failed, Status::IO);
    assert_eq!(client.attributes(&kept).unwrap().size_bytes, 6);
    // Names beyond what the host takes: the metadata is a file, too.
    let mut acknowledged = Vec::new();
    let failed = loop {
        let name = format!("{:0>250}", acknowledged.len());
        match client.create(&root, name.as_bytes(), CreateHow::Guarded(Default::default())) {
            Ok(handle) => acknowledged.push((name, handle)),
            Err(status) => break status,
        }
        assert!(acknowledged.len() < 100_000, "the limit is not felt");
    };
    assert_eq!(failed, Status::IO);
    // Memory is ahead of the disk now: nothing more is changed, reading goes on.
    let later = client.create(&root, b"later", CreateHow::Guarded(Default::default()));
    assert_eq!(later.unwrap_err(), Status::IO);
    assert_eq!(client.remove(&root, b"kept").unwrap_err(), Status::IO);
    let write = client.write(&kept, 0, b"x", Stability::FileSync);
    assert_eq!(write.unwrap_err(), Status::IO);
    let args = CommitArgs { file: FileHandle(&kept), offset: 0, count: 0 };
    let results = client.nfs(Procedure::Commit, &args);
    assert_eq!(parse::<CommitResult>(&results).unwrap_err().status, Status::IO);
    assert_eq!(client.read(&kept, 0, 10).unwrap().0, b"stable");
    drop(process);

    let process = Process::start(folder.path());
    let mut client = Client::connect(process.address);
    assert_eq!(client.read(&kept, 0, 10).unwrap(), (b"stable".to_vec(), true));
    assert!(acknowledged.len() > 100, "{}", acknowledged.len());
    for (name, handle) in &acknowledged {
        assert_eq!(&client.lookup(&root, name.as_bytes()).unwrap().0, handle);
    }
    assert_eq!(client.lookup(&root, b"later").unwrap_err(), Status::NOT_FOUND);
    client.file(&root, b"later");
}
