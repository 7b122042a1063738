//! RVTools version families: which columns each writes, in what order, under which labels.
//!
//! Facts come from measured exports and from the change notes of the manual; where a version's
//! exact list is unknown the nearest known one stands in.

mod columns;
mod db_names;

use columns::{
    ADDED_IN_41, ADDED_IN_46, ADDED_IN_47, DIRECTORIES_40, INFO_40, MB_LISTS, NETWORKS_40,
};

use crate::tabs;

/// A family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// 3.8: legacy xls with `tab` before each sheet name, `vCenter UUID`, no `Consumed MB`.
    V38,
    /// 3.9: the first xlsx; `VI SDK Server`.
    V39,
    /// 3.10: measured; blanks are a single space, dates are text, enumerations numbers.
    V310,
    /// 4.0: MB labels, dates as dates.
    V40,
    /// 4.1.2 to 4.4: MiB labels.
    V41,
    /// 4.6.
    V46,
    /// 4.7: measured.
    V47,
    /// 4.7 with `-DBColumnNames`.
    DbNames,
}

/// Where the value of a column comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Position in the widest family's row.
    Index(usize),
    /// Custom attribute of the VM.
    Attribute(usize),
    /// Always this text.
    Constant(String),
}

/// A column as a family writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Header.
    pub label: String,
    /// Value.
    pub source: Source,
}

impl Family {
    /// Name on the command line.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "3.8" => Self::V38,
            "3.9" => Self::V39,
            "3.10" => Self::V310,
            "4.0" => Self::V40,
            "4.1" => Self::V41,
            "4.6" => Self::V46,
            "4.7" => Self::V47,
            "db" => Self::DbNames,
            _ => return None,
        })
    }

    /// Version text of vMetaData.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::V38 => "3.8.5",
            Self::V39 => "3.9.5",
            Self::V310 => "3.10.4",
            Self::V40 => "4.0.7",
            Self::V41 => "4.1.4",
            Self::V46 => "4.6.1.0",
            Self::V47 | Self::DbNames => "4.7.1.4",
        }
    }

    /// Labels say MB and KB where MiB and KiB are meant.
    #[must_use]
    pub fn says_mb(self) -> bool {
        self <= Self::V40
    }

    /// `VM UUID` holds the SMBIOS UUID.
    #[must_use]
    pub fn smbios_as_uuid(self) -> bool {
        self <= Self::V41
    }

    /// Blanks are a single space, dates are text, enumerations are numbers.
    #[must_use]
    pub fn old_values(self) -> bool {
        self <= Self::V310
    }

    /// vPartition has a column for the space consumed.
    #[must_use]
    pub fn has_partition_consumed(self) -> bool {
        self >= Self::V39
    }

    /// Sheet name of a tab.
    #[must_use]
    pub fn sheet_name(self, tab: &str) -> String {
        if self == Self::V38 { format!("tab{tab}") } else { tab.to_owned() }
    }

    /// Whether this family has the tab.
    #[must_use]
    pub fn has_tab(self, tab: &str) -> bool {
        match tab {
            "vSource" => self > Self::V41,
            "vUSB" | "vFileInfo" => self > Self::V40,
            "vMetaData" => self >= Self::V310,
            "vLicense" => self >= Self::V39,
            _ => true,
        }
    }

    /// Columns of a tab with the custom attributes in their place; `None` when there is no tab.
    #[must_use]
    pub fn columns(self, tab: &str, vm_attributes: &[String]) -> Option<Vec<Column>> {
        if !self.has_tab(tab) {
            return None;
        }
        let widest = tabs::headers(tab)?;
        let kept: Vec<&str> = if self.says_mb()
            && let Some((_, list)) = MB_LISTS.iter().find(|(name, _)| *name == tab)
        {
            self.mb_list(tab, list)
        } else {
            widest.clone()
        };
        let mut columns: Vec<Column> = kept
            .into_iter()
            .filter(|header| self.has_column(tab, header))
            .filter_map(|header| {
                let index = widest.iter().position(|known| *known == header)?;
                Some(Column { label: self.label(tab, header), source: Source::Index(index) })
            })
            .collect();
        if widest.contains(&"Annotation") {
            // Custom attributes stand between Annotation and Datacenter.
            let place = columns
                .iter()
                .rposition(|column| column.source == index_of(&widest, "Datacenter"))
                .unwrap_or(columns.len());
            columns.splice(
                place..place,
                vm_attributes.iter().enumerate().map(|(index, name)| Column {
                    label: name.clone(),
                    source: Source::Attribute(index),
                }),
            );
        }
        Some(columns)
    }

    fn mb_list(self, tab: &str, list: &'static [&'static str]) -> Vec<&'static str> {
        let mut list = list.to_vec();
        if self == Self::V40 && tab == "vInfo" {
            for (before, added) in
                [("CPUs", INFO_40), ("Num Monitors", NETWORKS_40), ("Annotation", DIRECTORIES_40)]
            {
                if let Some(place) = list.iter().position(|header| *header == before) {
                    list.splice(place..place, added.iter().copied());
                }
            }
        }
        list
    }

    fn has_column(self, tab: &str, header: &str) -> bool {
        let listed = |list: &[(&str, &[&str])]| {
            list.iter()
                .any(|(name, headers)| (*name == tab || *name == "*") && headers.contains(&header))
        };
        if listed(ADDED_IN_47) && self < Self::V47
            || listed(ADDED_IN_46) && self < Self::V46
            || listed(ADDED_IN_41) && self < Self::V41
        {
            return false;
        }
        match (tab, header) {
            ("vPartition", "Consumed MiB") => self.has_partition_consumed(),
            (_, "VI SDK Server") => self > Self::V38,
            ("vDatastore", "Cluster name" | "Cluster capacity MiB" | "Cluster free space MiB") => {
                self >= Self::V310
            }
            _ => true,
        }
    }

    fn label(self, tab: &str, header: &str) -> String {
        match (self, tab, header) {
            (Self::DbNames, ..) => db_names::db_name(tab, header),
            (Self::V38, _, "VI SDK UUID") => "vCenter UUID".to_owned(),
            (Self::V38 | Self::V39, _, "EnableUUID") => "disk.EnableUUID".to_owned(),
            (_, "vPartition", "Free %") if self.old_values() => "Free % ".to_owned(),
            _ if self.says_mb() => header.replace("MiB", "MB").replace("KiB", "KB"),
            _ => header.to_owned(),
        }
    }
}

fn index_of(widest: &[&str], header: &str) -> Source {
    Source::Index(widest.iter().position(|known| *known == header).unwrap_or(usize::MAX))
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "tests")]
mod tests {
    use super::Family;
    use crate::tabs;

    fn count(family: Family, tab: &str) -> usize {
        family.columns(tab, &[]).map_or(0, |columns| columns.len())
    }

    /// Column counts measured on real exports.
    #[test]
    fn widths_match_measured_exports() {
        for (tab, columns) in [
            ("vInfo", 90),
            ("vDisk", 40),
            ("vPartition", 22),
            ("vDatastore", 30),
            ("vMultiPath", 35),
            ("vHost", 71),
            ("vHBA", 13),
            ("vNIC", 14),
            ("vSC_VMK", 15),
            ("vCluster", 35),
            ("vSnapshot", 21),
            ("vMetaData", 4),
            ("vSource", 14),
            ("vCPU", 29),
            ("vMemory", 33),
            ("vNetwork", 27),
            ("vCD", 20),
            ("vUSB", 25),
            ("vTools", 29),
            ("vRP", 49),
            ("vSwitch", 23),
            ("vPort", 22),
            ("dvSwitch", 30),
            ("dvPort", 41),
            ("vLicense", 10),
            ("vFileInfo", 8),
            ("vHealth", 5),
        ] {
            assert_eq!(count(Family::V47, tab), columns, "{tab}");
        }
        assert_eq!(count(Family::V46, "vMultiPath"), 33);
        assert_eq!(count(Family::V310, "vDisk"), 34, "35 with one custom attribute");
        assert_eq!(count(Family::V310, "vPartition"), 15, "16 with one custom attribute");
        assert_eq!(count(Family::V40, "vDatastore"), 28);
        assert_eq!(
            count(Family::V40, "vInfo"),
            69,
            "70 with the checksum, which later versions dropped"
        );
        assert_eq!(count(Family::V40, "vSource"), 0);
    }

    #[test]
    fn every_tab_has_unique_headers() {
        for tab in tabs::TABS {
            let mut headers = tabs::headers(tab).expect("a tab of the list");
            let before = headers.len();
            headers.sort_unstable();
            headers.dedup();
            assert_eq!(headers.len(), before, "{tab}");
        }
    }

    #[test]
    fn old_families_say_mb_and_keep_the_trailing_space() {
        let labels: Vec<String> = Family::V310
            .columns("vPartition", &["Last Backup".to_owned()])
            .expect("has the tab")
            .into_iter()
            .map(|column| column.label)
            .collect();
        assert_eq!(
            labels[4..10],
            ["Capacity MB", "Consumed MB", "Free MB", "Free % ", "Annotation", "Last Backup"]
        );
    }
}
