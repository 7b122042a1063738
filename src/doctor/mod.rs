//! What this machine can do for Plimsoll: `plimsoll doctor`.
//!
//! One file a topic; each looks and never changes anything. A check that cannot look says so: nothing here
//! fails as a whole. `fail` is kept for what stops the engine on TCP; what only lacks speed or a protocol warns.

mod clock;
mod limits;
mod network;
mod rdma;

use std::fmt::Write as _;

use serde::Serialize;

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the tool.
    pub tool_version: String,
    /// Whether nothing failed.
    pub usable: bool,
    /// Whether iSER can be used.
    pub rdma: bool,
    /// The checks, by topic.
    pub checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Topic: `rdma`, `limits`, `network`, `clock`.
    pub topic: &'static str,
    /// What was looked at.
    pub name: String,
    /// How it is.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// What to do; empty when there is nothing.
    pub advice: String,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Something is slower or missing, the rest works.
    Warn,
    /// It cannot work like that.
    Fail,
}

impl Check {
    fn new(
        topic: &'static str,
        name: impl Into<String>,
        status: Status,
        found: impl Into<String>,
    ) -> Self {
        Self { topic, name: name.into(), status, found: found.into(), advice: String::new() }
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

/// Looks at everything.
#[must_use]
pub fn examine() -> Report {
    let (mut checks, rdma) = rdma::look();
    checks.extend(limits::look(rdma));
    checks.extend(network::look());
    checks.extend(clock::look());
    Report {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        usable: checks.iter().all(|check| check.status != Status::Fail),
        rdma,
        checks,
    }
}

impl Report {
    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut topic = "";
        for check in &self.checks {
            if check.topic != topic {
                topic = check.topic;
                // Writing to a String cannot fail.
                let _ = writeln!(out, "{topic}");
            }
            let mark = match check.status {
                Status::Ok => "ok  ",
                Status::Warn => "warn",
                Status::Fail => "FAIL",
            };
            let _ = writeln!(out, "  {mark}  {}: {}", check.name, check.found);
            if !check.advice.is_empty() {
                let _ = writeln!(out, "        -> {}", check.advice);
            }
        }
        let protocols = if self.rdma { "iSCSI, NFS and iSER" } else { "iSCSI and NFS, no iSER" };
        let verdict = if self.usable { "usable" } else { "not usable" };
        let _ = writeln!(out, "{verdict}: {protocols}");
        out
    }
}

/// A capability of this process (capabilities(7)), by its number; `None` when the system does not tell.
fn has_capability(number: u32) -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let bits = u64::from_str_radix(bits.trim(), 16).ok()?;
    Some(bits >> number & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_is_looked_at_and_nothing_panics() {
        let report = examine();
        for topic in ["rdma", "limits", "network", "clock"] {
            assert!(report.checks.iter().any(|check| check.topic == topic), "{topic}");
        }
        // Whatever is not as it should be comes with what to do.
        for check in &report.checks {
            assert_eq!(check.status == Status::Ok, check.advice.is_empty(), "{check:?}");
        }
        assert!(report.text().ends_with(if report.rdma { "iSER\n" } else { "no iSER\n" }));
    }

    #[test]
    fn one_failure_makes_it_unusable() {
        let mut report = examine();
        report.checks.push(Check::new("clock", "a clock", Status::Fail, "stands still"));
        report.usable = report.checks.iter().all(|check| check.status != Status::Fail);
        assert!(report.text().contains("FAIL  a clock: stands still"));
        assert!(report.text().contains("not usable"));
    }
}
