//! Child processes with their wall time and peak memory.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// What one run took.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// Wall time, seconds.
    pub seconds: f64,
    /// Peak resident memory, MiB.
    pub peak_mib: f64,
}

/// The built program, which stands beside this one.
pub fn plimsoll() -> Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("plimsoll");
    if beside.is_file() {
        Ok(beside)
    } else {
        Err(format!("{} is not built: run ./dev build", beside.display()).into())
    }
}

/// Python with openpyxl and pandas, named by `PLIMSOLL_PYTHON`.
pub fn python() -> Option<PathBuf> {
    std::env::var_os("PLIMSOLL_PYTHON").map(PathBuf::from).filter(|path| path.is_file())
}

/// Runs a program and fails when its status is not among those accepted.
pub fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A], accepted: &[i32]) -> Result<Took> {
    let folder = tempfile::tempdir()?;
    let errors = folder.path().join("stderr");
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&errors)?)
        .spawn()?;
    let mut peak_mib = 0.0_f64;
    let status = loop {
        peak_mib = peak_mib.max(peak_of(child.id()).unwrap_or(0.0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        // Long runs need no fine clock, short ones do.
        let wait = if began.elapsed() < Duration::from_secs(1) { 1 } else { 5 };
        std::thread::sleep(Duration::from_millis(wait));
    };
    let took = Took { seconds: began.elapsed().as_secs_f64(), peak_mib };
    if status.code().is_some_and(|code| accepted.contains(&code)) {
        Ok(took)
    } else {
        let told = fs::read_to_string(&errors).unwrap_or_default();
        Err(format!("{} ended with {status}: {}", program.display(), told.trim()).into())
    }
}

/// One command to measure.
pub struct Measured<'m> {
    /// Program.
    pub program: &'m Path,
    /// Arguments.
    pub arguments: &'m [&'m str],
    /// Statuses that count as done.
    pub accepted: &'m [i32],
}

/// The medians by time of several runs of each command, in turn: what else the machine does then
/// bears on all of them alike.
pub fn medians<const COMMANDS: usize>(
    times: usize,
    commands: [Measured<'_>; COMMANDS],
) -> Result<[Took; COMMANDS]> {
    let mut runs: [Vec<Took>; COMMANDS] = std::array::from_fn(|_| Vec::new());
    for _ in 0..times {
        for (command, taken) in commands.iter().zip(&mut runs) {
            taken.push(run(command.program, command.arguments, command.accepted)?);
        }
    }
    Ok(runs.map(|mut taken| {
        taken.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        taken[times / 2]
    }))
}

/// Peak resident memory of a process, MiB.
fn peak_of(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1_024.0)
}
