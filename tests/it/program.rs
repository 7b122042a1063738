//! Runs the built program as a child process, with its time and peak memory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A run of the program.
#[derive(Debug)]
pub struct Run {
    /// Exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
    /// Peak resident memory, MiB, as last seen before the end.
    pub peak_mib: f64,
    /// Wall time.
    pub took: Duration,
}

impl Run {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| {
            panic!("no JSON on stdout ({error}); status {:?}, stderr: {}", self.status, self.stderr)
        })
    }

    /// A report came: status 0, or 4 when no plan is feasible.
    pub fn made_a_report(&self) -> bool {
        matches!(self.status, Some(0 | 4))
    }
}

/// Runs `plimsoll` with these arguments; ends it after a minute.
pub fn run<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("stdout");
    let err = folder.path().join("stderr");
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .env("RUST_LOG", "trace")
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let mut peak_mib = 0.0;
    let status = loop {
        if let Some(seen) = peak_of(child.id()) {
            peak_mib = seen;
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            break child.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Run {
        status: status.code(),
        stdout: fs::read(&out).unwrap(),
        stderr: String::from_utf8_lossy(&fs::read(&err).unwrap()).into_owned(),
        peak_mib,
        took: began.elapsed(),
    }
}

/// Peak resident memory of a process, MiB; absent once it has ended, and where there is no /proc.
fn peak_of(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1_024.0)
}

/// Runs `plimsoll report FILES --format FORMAT`.
pub fn report(files: &[PathBuf], format: &str) -> Run {
    let mut arguments: Vec<String> = vec!["report".to_owned()];
    arguments.extend(files.iter().map(|file| file.display().to_string()));
    arguments.extend(["--format".to_owned(), format.to_owned()]);
    run(&arguments)
}

/// A folder beside the checkout with published exports, when it is there.
pub fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("PLIMSOLL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let found = folder.join("data/rvtools").is_dir();
    if !found {
        eprintln!("skipped: {} has no published exports", folder.display());
    }
    found.then_some(folder)
}

/// Rows of a table in tests/expected, each as (column, value) pairs.
pub fn expected(name: &str) -> Vec<Vec<(String, String)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split('\t').collect();
    lines
        .map(|line| {
            header
                .iter()
                .zip(line.split('\t'))
                .map(|(column, value)| ((*column).to_owned(), value.to_owned()))
                .collect()
        })
        .collect()
}

/// A value of such a row.
pub fn field<'r>(row: &'r [(String, String)], column: &str) -> &'r str {
    row.iter().find(|(name, _)| name == column).map_or_else(
        || panic!("tests/expected has no column {column}"),
        |(_, value)| value.as_str(),
    )
}
