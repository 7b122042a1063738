//! The advice as data: what `--format json` and the API return.

use serde::Serialize;

use super::catalog::{Contradiction, Results};

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// Advice for all hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// How many hosts there are.
    pub hosts: usize,
    /// Of these, ready as they are.
    pub ready: usize,
    /// Hosts with the same verdict and steps.
    pub groups: Vec<Group>,
    /// What the network must be like, whatever the hosts.
    pub requirements: Vec<Requirement>,
    /// What sources say against each other.
    pub contradictions: Vec<Contradiction>,
    /// What others measured.
    pub published: Results,
}

/// Hosts with the same verdict and steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Their names, in the order of the input.
    pub hosts: Vec<String>,
    /// Whether they can do iSER.
    pub verdict: Verdict,
    /// Why, each a sentence without its dot.
    pub reasons: Vec<String>,
    /// What to do, in order; empty when they cannot.
    pub steps: Vec<Step>,
}

/// Whether a host can do iSER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// ESXi carries all it needs.
    Ready,
    /// After a driver of the adapter's vendor is installed.
    NeedsDriver,
    /// Something has to be found out first.
    Unsure,
    /// Not as it is.
    Cannot,
}

/// Something that must be so beside the hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// What.
    pub what: String,
    /// Who says so, with the date; or that nobody does.
    pub source: String,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// In a few words.
    pub title: String,
    /// Why, or what to heed; may be empty.
    pub why: String,
    /// Lines for the host's shell.
    pub esxcli: Vec<String>,
    /// Lines for PowerCLI; the first step sets their variables.
    pub powercli: Vec<String>,
    /// What proves it; not to go on before.
    pub checks: Vec<Check>,
}

/// What proves a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Line for the host's shell.
    pub esxcli: String,
    /// The same for PowerCLI.
    pub powercli: String,
    /// What it must show.
    pub shows: String,
}
