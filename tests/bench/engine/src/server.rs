//! Servers under load, each a process of its own: ours, tgt, nfs-ganesha.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Result;
use crate::cpu::{process_cpu_seconds_of, resident_bytes_of};

/// A server that is ended when dropped.
pub struct Server {
    child: Child,
    /// The port mapper that nfs-ganesha insists on, where none ran.
    helper: Option<Child>,
    /// What it serves.
    pub urls: Vec<String>,
    _stdout: Option<BufReader<ChildStdout>>,
    _folder: Option<TempDir>,
}

impl Server {
    /// CPU seconds it used so far.
    pub fn cpu_seconds(&self) -> f64 {
        process_cpu_seconds_of(self.child.id())
    }

    /// Resident memory, bytes.
    pub fn resident_bytes(&self) -> u64 {
        resident_bytes_of(self.child.id())
    }

    /// The URLs of a scheme.
    pub fn urls_of(&self, scheme: &str) -> Vec<String> {
        self.urls.iter().filter(|url| url.starts_with(scheme)).cloned().collect()
    }

    /// `plimsoll target --quick` with further arguments.
    pub fn ours(size: &str, volumes: usize, further: &[&str]) -> Result<Self> {
        let mut child = Command::new(plimsoll()?)
            .args(["target", "--quick", size, "--volumes", &volumes.to_string()])
            .args(["--iscsi", "127.0.0.1:0", "--nfs", "127.0.0.1:0"])
            .args(further)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut server =
            Self { child, helper: None, urls: Vec::new(), _stdout: None, _folder: None };
        let mut lines = BufReader::new(stdout);
        while server.urls.len() < 2 * volumes {
            let mut line = String::new();
            if lines.read_line(&mut line)? == 0 {
                return Err("plimsoll target ended before it named its volumes".into());
            }
            let line = line.trim();
            if line.starts_with("iscsi://") || line.starts_with("nfs://") {
                server.urls.push(line.to_owned());
            }
        }
        server._stdout = Some(lines);
        Ok(server)
    }

    /// tgt with one LUN of `mib` MiB in shared memory.
    pub fn tgt(mib: u64) -> Result<Self> {
        let folder = tempfile::tempdir_in("/dev/shm")?;
        let image = folder.path().join("lun");
        std::fs::File::create(&image)?.set_len(mib << 20)?;
        fill(&image, mib)?;
        let port = free_port()?;
        let control = (std::process::id() % 30_000 + 1_000).to_string();
        let child = Command::new("tgtd")
            .args(["-f", "-C", &control, "--iscsi", &format!("portal=127.0.0.1:{port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let server = Self {
            child,
            helper: None,
            urls: vec![format!("iscsi://127.0.0.1:{port}/iqn.2026-11.bench:tgt/1")],
            _stdout: None,
            _folder: Some(folder),
        };
        let image = image.to_string_lossy().into_owned();
        let steps: [&[&str]; 3] = [
            &["--op", "new", "--mode", "target", "--tid", "1", "-T", "iqn.2026-11.bench:tgt"],
            &["--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", "1", "-b", &image],
            &["--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL"],
        ];
        for step in steps {
            let began = Instant::now();
            while !Command::new("tgtadm")
                .args(["-C", &control, "--lld", "iscsi"])
                .args(step)
                .stderr(Stdio::null())
                .status()?
                .success()
            {
                if began.elapsed() > Duration::from_secs(10) {
                    return Err(format!("tgtadm {} failed", step.join(" ")).into());
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        Ok(server)
    }

    /// nfs-ganesha with one export of a folder in shared memory. It listens on every address, so it is run in a
    /// network namespace of its own (`./dev bench engine` does).
    pub fn ganesha() -> Result<Self> {
        let folder = tempfile::tempdir_in("/dev/shm")?;
        let export = folder.path().join("export");
        std::fs::create_dir(&export)?;
        let file = export.join("data");
        std::fs::File::create(&file)?;
        fill(&file, 64)?;
        let (nfs, mount) = (free_port()?, free_port()?);
        let configuration = folder.path().join("ganesha.conf");
        std::fs::write(
            &configuration,
            format!(
                "NFS_CORE_PARAM {{ Protocols = 3; NFS_Port = {nfs}; MNT_Port = {mount}; Enable_UDP = false; \
                 Enable_NLM = false; Enable_RQUOTA = false; }}\n\
                 EXPORT_DEFAULTS {{ SecType = sys; Squash = No_Root_Squash; Access_Type = RW; Protocols = 3; \
                 Transports = TCP; }}\n\
                 EXPORT {{ Export_Id = 7; Path = {export:?}; Pseudo = /export; FSAL {{ Name = VFS; }} }}\n"
            ),
        )?;
        let mapper = std::net::TcpStream::connect(("127.0.0.1", 111));
        let helper = match mapper {
            Ok(_) => None,
            Err(_) => {
                std::fs::create_dir_all("/run/rpcbind")?;
                let child = Command::new("rpcbind").arg("-f").stdin(Stdio::null()).spawn()?;
                std::thread::sleep(Duration::from_millis(500));
                Some(child)
            }
        };
        std::fs::create_dir_all("/run/ganesha")?;
        let child = Command::new("ganesha.nfsd")
            .arg("-F")
            .args(["-f".as_ref(), configuration.as_os_str()])
            .args(["-L".as_ref(), folder.path().join("log").as_os_str()])
            .args(["-p".as_ref(), folder.path().join("pid").as_os_str()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let url = format!("nfs://127.0.0.1:{nfs}{}", export.display());
        let server = Self { child, helper, urls: vec![url], _stdout: None, _folder: Some(folder) };
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", nfs)).is_err() {
            if began.elapsed() > Duration::from_secs(30) {
                return Err("nfs-ganesha did not listen within 30 s: does rpcbind run?".into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for child in std::iter::once(&mut self.child).chain(&mut self.helper) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The program beside this one.
pub fn plimsoll() -> Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("plimsoll");
    if beside.is_file() { Ok(beside) } else { Err("plimsoll is not built: run ./dev build".into()) }
}

/// A port that was free a moment ago.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn fill(path: &Path, mib: u64) -> Result<()> {
    use std::io::Write as _;

    let block = vec![0xa5; 1 << 20];
    let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
    for _ in 0..mib {
        file.write_all(&block)?;
    }
    Ok(())
}
