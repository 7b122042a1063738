//! The tabs of an RVTools export and the names they go by.

/// A tab that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tab {
    Info,
    Memory,
    Disk,
    Partition,
    Snapshot,
    Datastore,
    Host,
    Cluster,
    MultiPath,
    Hba,
    Nic,
    VmKernel,
    Switch,
    DvSwitch,
    Port,
    Source,
    MetaData,
    /// Read for their VM names only, for the cross-tab checks.
    Cpu,
    Tools,
    Network,
}

impl Tab {
    /// In the order in which they are read.
    pub(crate) const ALL: [Self; 20] = [
        Self::Info,
        Self::Memory,
        Self::Disk,
        Self::Partition,
        Self::Snapshot,
        Self::Datastore,
        Self::Host,
        Self::Cluster,
        Self::MultiPath,
        Self::Hba,
        Self::Nic,
        Self::VmKernel,
        Self::Switch,
        Self::DvSwitch,
        Self::Port,
        Self::Source,
        Self::MetaData,
        Self::Cpu,
        Self::Tools,
        Self::Network,
    ];

    /// Canonical name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Info => "vInfo",
            Self::Memory => "vMemory",
            Self::Disk => "vDisk",
            Self::Partition => "vPartition",
            Self::Snapshot => "vSnapshot",
            Self::Datastore => "vDatastore",
            Self::Host => "vHost",
            Self::Cluster => "vCluster",
            Self::MultiPath => "vMultiPath",
            Self::Hba => "vHBA",
            Self::Nic => "vNIC",
            Self::VmKernel => "vSC_VMK",
            Self::Switch => "vSwitch",
            Self::DvSwitch => "dvSwitch",
            Self::Port => "vPort",
            Self::Source => "vSource",
            Self::MetaData => "vMetaData",
            Self::Cpu => "vCPU",
            Self::Tools => "vTools",
            Self::Network => "vNetwork",
        }
    }
}

/// Tabs that exist and are not read, with the reason.
const UNREAD: [&str; 11] = [
    "vCD",
    "vUSB",
    "vFloppy",
    "vRP",
    "dvPort",
    "vLicense",
    "vFileInfo",
    "vHealth",
    "vSC",
    "vLicence",
    "vGPU",
];

/// What a sheet or file name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TabName {
    /// A tab that is read; true when the name is a copy such as `vInfo (2)`.
    Read { tab: Tab, copy: bool },
    /// A known tab that is not read.
    Unread(&'static str),
    /// Not the name of a tab.
    Unknown,
}

/// Reads a sheet name: any case, with or without `tab` before it, `(2)` behind it.
pub(crate) fn parse_sheet_name(name: &str) -> TabName {
    let mut key = name.trim().to_lowercase();
    let mut copy = false;
    if let Some(open) = key.rfind('(')
        && key.ends_with(')')
        && key[open + 1..key.len() - 1].chars().all(|c| c.is_ascii_digit())
    {
        key.truncate(open);
        key = key.trim_end().to_owned();
        copy = true;
    }
    let key = key.strip_prefix("tab").unwrap_or(&key);
    let key = if matches!(key, "vsc+vmk" | "vsc vmk" | "vsc-vmk") { "vsc_vmk" } else { key };
    for tab in Tab::ALL {
        if key == tab.name().to_lowercase() {
            return TabName::Read { tab, copy };
        }
    }
    UNREAD
        .iter()
        .find(|unread| key == unread.to_lowercase())
        .map_or(TabName::Unknown, |unread| TabName::Unread(unread))
}

/// Reads a CSV file name such as `10.0.0.1_RVTools_tabvInfo.csv` or `vinfo.csv`.
pub(crate) fn parse_file_name(name: &str) -> TabName {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let lower = stem.to_lowercase();
    let tail = lower.rfind("_tab").map_or(stem, |at| stem.get(at + 1..).unwrap_or(stem));
    match parse_sheet_name(tail) {
        TabName::Unknown => parse_sheet_name(stem),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheet_names_of_all_versions_are_known() {
        let read = |tab| TabName::Read { tab, copy: false };
        assert_eq!(parse_sheet_name("vInfo"), read(Tab::Info));
        assert_eq!(parse_sheet_name("tabvInfo"), read(Tab::Info));
        assert_eq!(parse_sheet_name(" vinfo "), read(Tab::Info));
        assert_eq!(parse_sheet_name("vSC+VMK"), read(Tab::VmKernel));
        assert_eq!(parse_sheet_name("tabvSC_VMK"), read(Tab::VmKernel));
        assert_eq!(parse_sheet_name("vInfo (2)"), TabName::Read { tab: Tab::Info, copy: true });
        assert_eq!(parse_sheet_name("vLicense"), TabName::Unread("vLicense"));
        assert_eq!(parse_sheet_name("Summary"), TabName::Unknown);
        assert_eq!(parse_sheet_name("vInfo (old)"), TabName::Unknown);
    }

    #[test]
    fn file_names_carry_the_tab() {
        let read = |tab| TabName::Read { tab, copy: false };
        assert_eq!(parse_file_name("RVTools_tabvInfo.csv"), read(Tab::Info));
        assert_eq!(parse_file_name("export/10.1.1.1_RVTools_tabvSC_VMK.csv"), read(Tab::VmKernel));
        assert_eq!(parse_file_name("vdisk.CSV"), read(Tab::Disk));
        assert_eq!(parse_file_name("report.csv"), TabName::Unknown);
    }
}
