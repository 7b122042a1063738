//! Advice as text for a terminal and as Markdown for a change request.

use std::fmt::Write as _;

use super::advice::{Advice, Group, Step, Verdict};
use super::catalog::{Gain, Published, Results};

/// Names of hosts in a line before the rest is counted.
const NAMES_SHOWN: usize = 12;

impl Verdict {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NeedsDriver => "after a driver",
            Self::Unsure => "to be found out",
            Self::Cannot => "cannot",
        }
    }
}

impl Advice {
    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "iSER on ESXi: {}", self.sum());
        for group in &self.groups {
            let _ = writeln!(out, "\n{}: {}", group.verdict.words(), names(group));
            for reason in &group.reasons {
                let _ = writeln!(out, "  - {reason}");
            }
        }
        let _ = writeln!(out, "\nWhat must be so");
        for one in &self.requirements {
            let _ = writeln!(out, "  - {} [{}]", one.what, one.source);
        }
        for group in self.groups.iter().filter(|group| !group.steps.is_empty()) {
            let _ = writeln!(out, "\nSteps for {}", names(group));
            for (index, step) in group.steps.iter().enumerate() {
                text_step(&mut out, index + 1, step);
            }
        }
        let _ = writeln!(out, "\nWhere the sources contradict each other");
        for one in &self.contradictions {
            let _ = writeln!(out, "  {}", one.about);
            for statement in &one.statements {
                let mark = if statement.in_force { "followed" } else { "not followed" };
                let _ = writeln!(
                    out,
                    "  - {mark}: {} [{}, {}]",
                    statement.says, statement.source, statement.date
                );
            }
        }
        let _ = writeln!(
            out,
            "\nWhat others measured [{}, {}]",
            self.published.source, self.published.date
        );
        let _ = writeln!(out, "  {}", self.published.setting);
        for one in &self.published.results {
            let _ = writeln!(out, "  - {}", one.line());
        }
        out
    }

    /// For a change request.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "# iSER on ESXi\n\n{}\n", self.sum());
        let _ = writeln!(out, "| hosts | verdict | why |\n|---|---|---|");
        for group in &self.groups {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                cell(&names(group)),
                group.verdict.words(),
                cell(&group.reasons.join("; "))
            );
        }
        let _ = writeln!(out, "\n## What must be so\n");
        for one in &self.requirements {
            let _ = writeln!(out, "- {} ({})", one.what, one.source);
        }
        for group in self.groups.iter().filter(|group| !group.steps.is_empty()) {
            let _ = writeln!(out, "\n## Steps for {}", names(group));
            for (index, step) in group.steps.iter().enumerate() {
                markdown_step(&mut out, index + 1, step);
            }
        }
        let _ = writeln!(out, "\n## Where the sources contradict each other\n");
        let _ = writeln!(
            out,
            "| question | statement | source | date | followed |\n|---|---|---|---|---|"
        );
        for one in &self.contradictions {
            for statement in &one.statements {
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {} | {} |",
                    cell(&one.about),
                    cell(&statement.says),
                    cell(&statement.source),
                    statement.date,
                    if statement.in_force { "yes" } else { "no" }
                );
            }
        }
        let published = &self.published;
        let _ = writeln!(
            out,
            "\n## What others measured\n\n{} ({}): {}\n",
            published.source, published.date, published.setting
        );
        for one in &published.results {
            let _ = writeln!(out, "- {}", one.line());
        }
        out
    }

    fn sum(&self) -> String {
        let count = |verdict| -> usize {
            let of = self.groups.iter().filter(|group| group.verdict == verdict);
            of.map(|group| group.hosts.len()).sum()
        };
        format!(
            "{} of {} ready, {} after a driver, {} to be found out, {} cannot",
            self.ready,
            if self.hosts == 1 { "1 host".to_owned() } else { format!("{} hosts", self.hosts) },
            count(Verdict::NeedsDriver),
            count(Verdict::Unsure),
            count(Verdict::Cannot),
        )
    }
}

impl Results {
    /// What they say against themselves, each in a sentence.
    #[must_use]
    pub fn contradictions(&self) -> Vec<String> {
        let contradicted =
            |result: &&Published| result.gain_pct.iter().any(|gain| result.is_contradicted(gain));
        let sentence = |result: &Published| {
            let gain = |gain: &Gain| format!("{:+} % by the {}", gain.pct, gain.place);
            let gains: Vec<String> = result.gain_pct.iter().map(gain).collect();
            format!("{}: {}; {}", result.id, gains.join(", "), result.note)
        };
        self.results.iter().filter(contradicted).map(sentence).collect()
    }
}

impl Published {
    fn is_contradicted(&self, gain: &Gain) -> bool {
        let against = |other: &Gain| other.quantity == gain.quantity && other.pct != gain.pct;
        self.gain_pct.iter().any(against)
    }

    /// In one line; contradictory gains are shown as such.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = format!("{} {}, {}: ", self.id, self.system, self.load);
        let mut parts = Vec::new();
        if let Some(iops) = self.iser_iops {
            parts.push(format!("{iops:.0} IOPS over iSER"));
        }
        if let Some([before, after]) = self.latency_ms {
            parts.push(format!("latency {before} -> {after} ms"));
        }
        for gain in &self.gain_pct {
            let place = if self.is_contradicted(gain) {
                format!(" by the {}", gain.place)
            } else {
                String::new()
            };
            parts.push(format!("{} {:+} %{place}", gain.quantity, gain.pct));
        }
        line.push_str(&parts.join(", "));
        if !self.note.is_empty() {
            let _ = write!(line, " ({})", self.note);
        }
        line
    }
}

fn names(group: &Group) -> String {
    let shown = group.hosts.iter().take(NAMES_SHOWN).map(String::as_str).collect::<Vec<_>>();
    let rest = group.hosts.len().saturating_sub(NAMES_SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn text_step(out: &mut String, number: usize, step: &Step) {
    let _ = writeln!(out, "\n  {number}. {}", step.title);
    if !step.why.is_empty() {
        let _ = writeln!(out, "     {}", step.why);
    }
    for (name, lines) in [("esxcli", &step.esxcli), ("PowerCLI", &step.powercli)] {
        if !lines.is_empty() {
            let _ = writeln!(out, "     {name}:");
        }
        for line in lines {
            let _ = writeln!(out, "       {line}");
        }
    }
    for check in &step.checks {
        let _ = writeln!(out, "     check: {}\n            {}", check.esxcli, check.powercli);
        let _ = writeln!(out, "     shows: {}", check.shows);
    }
}

fn markdown_step(out: &mut String, number: usize, step: &Step) {
    let _ = writeln!(out, "\n### {number}. {}", step.title);
    if !step.why.is_empty() {
        let _ = writeln!(out, "\n{}", step.why);
    }
    for (language, lines) in [("sh", &step.esxcli), ("powershell", &step.powercli)] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n```{language}\n{}\n```", lines.join("\n"));
        }
    }
    for check in &step.checks {
        let _ = writeln!(out, "\nCheck: `{}` or `{}`", check.esxcli, check.powercli);
        let _ = writeln!(out, "must show: {}", check.shows);
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
