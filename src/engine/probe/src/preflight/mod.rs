//! Before a measurement, or before a datastore is put to use: is every path reached, does it carry jumbo
//! frames, are the networks apart, how far away is the target, what does each path carry, and what are the
//! target's limits.

mod advice;
pub(crate) mod interfaces;
mod mtu;
mod paths;
mod targets;

pub use advice::{Finding, Severity};
pub use interfaces::Interface;
pub use mtu::{Method, PathMtu, measure as measure_mtu};
pub use paths::Path;
pub use targets::Limits;

use std::fmt::Write as _;

use serde::Serialize;

use crate::{
    Error, Result,
    client::ClientOptions,
    host::{HERE, netns},
    output::Format,
    run::Target,
    text::show_bytes,
};

/// 9,000 bytes less the headers of IPv4 and ICMP.
pub const JUMBO_PAYLOAD_BYTES: u16 = 8972;

/// What to check.
#[derive(Debug, Clone)]
pub struct Options {
    /// How to connect.
    pub client: ClientOptions,
    /// Payload that must pass unfragmented.
    pub payload_bytes: u16,
    /// Seconds of reading per path; 0 for none.
    pub seconds: f64,
    /// Network namespace to look from.
    pub netns: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Version of this document.
    pub schema_version: u32,
    /// Whether nothing fails.
    pub passed: bool,
    /// Datastores.
    pub targets: Vec<TargetReport>,
    /// Findings about this host.
    pub findings: Vec<Finding>,
}

/// A datastore.
#[derive(Debug, Clone, Serialize)]
pub struct TargetReport {
    /// Its URL, without secrets.
    pub url: String,
    /// Serial number or export path.
    pub identity: String,
    /// What it allows.
    pub limits: Limits,
    /// Its paths.
    pub paths: Vec<Path>,
    /// Findings about it.
    pub findings: Vec<Finding>,
}

/// Checks all URLs.
pub fn check(urls: &[String], options: &Options) -> Result<Report> {
    let (urls, inner) = (urls.to_vec(), options.clone());
    match options.netns.as_deref() {
        None | Some(HERE) => look(&urls, &inner),
        Some(name) => netns::within(name, move || look(&urls, &inner)),
    }
}

fn look(urls: &[String], options: &Options) -> Result<Report> {
    let interfaces = interfaces::list()?;
    let mut findings = Vec::new();
    for (one, other) in interfaces::duplicate_subnets(&interfaces) {
        findings.push(Finding::new(
            Severity::Warns,
            "duplicate_subnet",
            format!(
                "{} ({}) and {} ({}) are in one subnet: traffic of both leaves by one of them, so give each \
                 path a subnet or bind the sessions to the interfaces",
                one.name, one.address, other.name, other.address
            ),
            advice::bind_ports(),
        ));
    }
    let mut targets = Vec::new();
    for url in urls {
        targets.push(targets::look(&Target::new(url), &interfaces, options)?);
    }
    let fails =
        |findings: &[Finding]| findings.iter().any(|finding| finding.severity == Severity::Fails);
    let passed = !fails(&findings) && !targets.iter().any(|target| fails(&target.findings));
    Ok(Report { schema_version: 1, passed, targets, findings })
}

impl Report {
    /// As text or JSON.
    pub fn render(&self, format: Format) -> Result<String> {
        match format {
            Format::Text => Ok(self.text()),
            Format::Json => serde_json::to_string_pretty(self)
                .map(|text| text + "\n")
                .map_err(|error| Error::Run(format!("report as JSON: {error}"))),
            _ => Err(Error::Text {
                text: format!("{format:?}"),
                wanted: "text or json for a pre-flight",
            }),
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        for target in &self.targets {
            let _ = writeln!(out, "{} ({})", target.url, target.identity);
            for line in target.limits.lines() {
                let _ = writeln!(out, "  {line}");
            }
            for path in &target.paths {
                let _ = writeln!(out, "  {}", path.line());
            }
            show(&mut out, &target.findings);
        }
        if !self.findings.is_empty() {
            let _ = writeln!(out, "this host");
            show(&mut out, &self.findings);
        }
        let _ = writeln!(out, "{}", if self.passed { "passed" } else { "failed" });
        out
    }
}

fn show(out: &mut String, findings: &[Finding]) {
    for finding in findings {
        let mark = match finding.severity {
            Severity::Fails => "FAILS",
            Severity::Warns => "warns",
            Severity::Tells => "note",
        };
        let _ = writeln!(out, "  {mark} {}: {}", finding.code, finding.text);
        for line in &finding.esxcli {
            let _ = writeln!(out, "        {line}");
        }
    }
}

/// A size in text, or what stands for a missing one.
fn size_or(bytes: u64, missing: &str) -> String {
    if bytes == 0 { missing.to_owned() } else { show_bytes(bytes) }
}
