//! Exports of other tools, told by the names of their sheets and columns.
//!
//! Some reuse RVTools' sheet names (Nutanix Collector), so they are looked for first: read as
//! RVTools, every VM of theirs would have no CPU and no memory.

use crate::error::{Error, ErrorCode};
use crate::headers::normalise;

/// Another tool's export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// What it is.
    pub(crate) name: &'static str,
    /// What it was recognised by.
    pub(crate) by: &'static str,
}

impl Foreign {
    /// The refusal.
    pub(crate) fn error(self, file: &str) -> Error {
        Error::new(
            ErrorCode::OtherSource,
            file,
            format!("{} (recognised by {})", self.name, self.by),
            "an RVTools export (xlsx, xls, or CSV files)",
            "send an RVTools export of the same vCenter; reading this source is a later step",
        )
    }
}

/// Looks at the sheet names, and through `peek` at the first texts of a sheet.
pub(crate) fn workbook(
    sheets: &[String],
    mut peek: impl FnMut(usize) -> Vec<String>,
) -> Option<Foreign> {
    let names: Vec<String> = sheets.iter().map(|name| normalise(name)).collect();
    let has = |name: &str| names.iter().any(|found| found == name);
    let mut first_texts = |name: &str| -> Vec<String> {
        let at = names.iter().position(|found| found == name);
        at.map(|at| peek(at).iter().map(|t| normalise(t)).collect()).unwrap_or_default()
    };
    let found = |name, by| Some(Foreign { name, by });
    if has("vmlist") && has("vhosts") {
        return found("a Nutanix Collector workbook", "its sheets vmList and vHosts");
    }
    if has("metadata") && first_texts("metadata").iter().any(|t| t.starts_with("collector version"))
    {
        return found("a Nutanix Collector workbook", "Collector Version in its sheet Metadata");
    }
    // Nutanix Collector without its own sheets: the same names as RVTools, other headers.
    if has("vinfo") {
        let texts = first_texts("vinfo");
        if texts.iter().any(|t| t == "sizing enabled") && texts.iter().any(|t| t == "vm name") {
            return found(
                "a Nutanix Collector workbook",
                "VM Name and Sizing Enabled in its sheet vInfo",
            );
        }
    }
    if has("esx performance") || has("vm performance") {
        return found("a Live Optics workbook", "its sheets ESX Performance and VM Performance");
    }
    if has("details") && first_texts("details").iter().any(|t| t == "project id") {
        return found("a Live Optics workbook", "Project ID in its sheet Details");
    }
    if has("esx hosts") && (has("host devices") || has("vm disks")) {
        return found("a Live Optics workbook", "its sheets ESX Hosts and Host Devices");
    }
    if has("all_assessed_machines") || has("assessment_summary") {
        return found("an Azure Migrate assessment", "its sheet All_Assessed_Machines");
    }
    if names.iter().any(|name| name.contains("cloudphysics")) {
        return found("a CloudPhysics export", "the names of its sheets");
    }
    // A CSV of another tool saved as a workbook has one sheet of any name.
    if sheets.len() == 1 {
        let texts = peek(0);
        return columns(texts.iter().map(String::as_str));
    }
    None
}

/// Looks at the head of a text file.
pub(crate) fn text(head: &str) -> Option<Foreign> {
    let lines = head.lines().take(8);
    let mut cells: Vec<&str> = Vec::new();
    for line in lines {
        cells.extend(line.split([',', ';', '\t']).map(|cell| cell.trim().trim_matches('"')));
    }
    columns(cells.into_iter())
}

fn columns<'a>(cells: impl Iterator<Item = &'a str>) -> Option<Foreign> {
    let cells: Vec<String> = cells.map(normalise).collect();
    let has = |name: &str| cells.iter().any(|cell| cell == name);
    let starts = |start: &str| cells.iter().any(|cell| cell.starts_with(start));
    let found = |name, by| Some(Foreign { name, by });
    if starts("(pdh-csv") {
        return found("an esxtop batch file", "its first cell (PDH-CSV 4.0)");
    }
    if has("sizing enabled") && has("vm name") {
        return found("a Nutanix Collector file", "its columns VM Name and Sizing Enabled");
    }
    if has("collector version") {
        return found("a Nutanix Collector file", "Collector Version");
    }
    if has("vm io classification") || (has("vm name") && has("mob id")) {
        return found("a Live Optics file", "its columns VM Name and MOB ID");
    }
    let metric =
        |cell: &String| cell.split('|').filter(|part| !part.trim().is_empty()).count() >= 2;
    if has("interval breakdown") || cells.iter().filter(|cell| metric(cell)).count() >= 2 {
        return found("an Aria Operations view", "its columns of the form Object|Group|Metric");
    }
    if starts("disk 1 size") || starts("disk 1 read ops") || starts("*server name") {
        return found(
            "an Azure Migrate import template",
            "its columns Disk 1 size and Disk 1 read ops",
        );
    }
    if has("metricid") && has("timestamp") {
        return found("PowerCLI Get-Stat output", "its columns MetricId and Timestamp");
    }
    if starts("iopsreadmax") || starts("iopstotalavg") {
        return found("a PowerCLI disk report", "its columns IOPSReadMax and IOPSTotalAvg");
    }
    if starts("cloudphysics") {
        return found("a CloudPhysics export", "its own name in the file");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheets(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn other_tools_are_recognised_by_their_sheets() {
        let none = |_| Vec::new();
        let nutanix = sheets(&["vInfo", "vmList", "vHosts", "vDisk"]);
        assert!(workbook(&nutanix, none).is_some_and(|f| f.name.contains("Nutanix")));
        let marked = sheets(&["Metadata", "vInfo"]);
        let peek = |at| {
            sheets(if at == 0 { &["Collector Version", "7.1"] } else { &["VM", "Powerstate"] })
        };
        assert!(workbook(&marked, peek).is_some_and(|f| f.name.contains("Nutanix")));
        let optics = sheets(&["Details", "ESX Hosts", "ESX Performance", "VM Performance"]);
        assert!(workbook(&optics, none).is_some_and(|f| f.name.contains("Live Optics")));
        assert_eq!(workbook(&sheets(&["vInfo", "vDisk", "vMetaData"]), none), None);
    }

    #[test]
    fn other_tools_are_recognised_by_their_columns() {
        for (head, name) in [
            ("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\esx\\Physical Cpu\"", "esxtop"),
            ("\"Entity\",\"MetricId\",\"Timestamp\",\"Unit\",\"Value\"", "PowerCLI"),
            (
                "#TYPE x\r\nVM;Datastore;Start;Finish;IOPSWriteMax;IOPSWriteAvg;IOPSReadMax",
                "PowerCLI",
            ),
            ("Name,Virtual Disk|Read IOPS|Avg,Virtual Disk|Write IOPS|Avg", "Aria"),
            ("*Server name,Disk 1 size (In GB),Disk 1 read ops (Operations per second)", "Azure"),
            ("VM Name,MOB ID,Host,Peak IOPS", "Live Optics"),
        ] {
            assert!(text(head).is_some_and(|f| f.name.contains(name)), "{head}");
        }
        assert_eq!(text("VM,Powerstate,Template,Annotation\nx,poweredOn,False,a|b\n"), None);
    }
}
