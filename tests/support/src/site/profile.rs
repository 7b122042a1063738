//! Kinds of servers a site is mixed from, with plausible sizes.

/// What VMs of one role look like.
pub struct Profile {
    /// Stem of the name.
    pub stem: &'static str,
    /// Share in the mix.
    pub weight: u32,
    /// Guest OS of the configuration file.
    pub os_config: &'static str,
    /// Guest OS by Tools.
    pub os_tools: &'static str,
    /// vCPUs to choose from.
    pub cpus: &'static [u32],
    /// Memory to choose from, GiB.
    pub memory_gib: &'static [u64],
    /// System disk, GiB.
    pub system_gib: u64,
    /// Further disks: smallest and largest size, GiB.
    pub data_gib: &'static [(u64, u64)],
    /// Used share of a disk, percent: low and high.
    pub used_pct: (u64, u64),
    /// Folder.
    pub folder: &'static str,
}

const WINDOWS_2019: &str = "Microsoft Windows Server 2019 (64-bit)";
const WINDOWS_2016: &str = "Microsoft Windows Server 2016 or later (64-bit)";
const WINDOWS_10: &str = "Microsoft Windows 10 (64-bit)";
const RHEL_8: &str = "Red Hat Enterprise Linux 8 (64-bit)";
const UBUNTU: &str = "Ubuntu Linux (64-bit)";
const SUSE: &str = "SUSE Linux Enterprise 15 (64-bit)";
/// The template and appliance OS.
pub const PHOTON: &str = "VMware Photon OS (64-bit)";

/// The mix. Names follow what such servers are commonly called, so that rules on names have
/// something to match.
pub const PROFILES: &[Profile] = &[
    Profile {
        stem: "sql",
        weight: 16,
        os_config: WINDOWS_2019,
        os_tools: WINDOWS_2019,
        cpus: &[4, 8, 8, 16],
        memory_gib: &[32, 64, 64, 128],
        system_gib: 100,
        data_gib: &[(200, 900), (60, 240)],
        used_pct: (45, 80),
        folder: "Databases",
    },
    Profile {
        stem: "ora",
        weight: 4,
        os_config: RHEL_8,
        os_tools: RHEL_8,
        cpus: &[8, 16],
        memory_gib: &[64, 128],
        system_gib: 80,
        data_gib: &[(500, 1_800), (150, 400)],
        used_pct: (55, 85),
        folder: "Databases",
    },
    Profile {
        stem: "pg",
        weight: 6,
        os_config: UBUNTU,
        os_tools: UBUNTU,
        cpus: &[4, 8],
        memory_gib: &[16, 32],
        system_gib: 40,
        data_gib: &[(100, 500)],
        used_pct: (35, 70),
        folder: "Databases",
    },
    Profile {
        stem: "web",
        weight: 34,
        os_config: UBUNTU,
        os_tools: UBUNTU,
        cpus: &[2, 2, 4],
        memory_gib: &[4, 8],
        system_gib: 40,
        data_gib: &[],
        used_pct: (20, 55),
        folder: "Web",
    },
    Profile {
        stem: "app",
        weight: 44,
        os_config: RHEL_8,
        os_tools: RHEL_8,
        cpus: &[2, 4, 4, 8],
        memory_gib: &[8, 16, 16, 32],
        system_gib: 60,
        data_gib: &[(50, 300)],
        used_pct: (30, 65),
        folder: "Applications",
    },
    Profile {
        stem: "appw",
        weight: 24,
        os_config: WINDOWS_2016,
        os_tools: WINDOWS_2016,
        cpus: &[2, 4],
        memory_gib: &[8, 16],
        system_gib: 90,
        data_gib: &[(50, 250)],
        used_pct: (35, 70),
        folder: "Applications",
    },
    Profile {
        stem: "file",
        weight: 6,
        os_config: WINDOWS_2019,
        os_tools: WINDOWS_2019,
        cpus: &[4],
        memory_gib: &[16],
        system_gib: 90,
        data_gib: &[(1_500, 4_000)],
        used_pct: (60, 88),
        folder: "File services",
    },
    Profile {
        stem: "dc",
        weight: 4,
        os_config: WINDOWS_2019,
        os_tools: WINDOWS_2019,
        cpus: &[2],
        memory_gib: &[8],
        system_gib: 80,
        data_gib: &[],
        used_pct: (30, 50),
        folder: "Directory",
    },
    Profile {
        stem: "exch-mbx",
        weight: 3,
        os_config: WINDOWS_2019,
        os_tools: WINDOWS_2019,
        cpus: &[8],
        memory_gib: &[64],
        system_gib: 120,
        data_gib: &[(800, 1_400), (120, 200)],
        used_pct: (50, 75),
        folder: "Mail",
    },
    Profile {
        stem: "vdi",
        weight: 50,
        os_config: WINDOWS_10,
        os_tools: WINDOWS_10,
        cpus: &[2],
        memory_gib: &[4, 8],
        system_gib: 60,
        data_gib: &[],
        used_pct: (40, 60),
        folder: "Desktops",
    },
    Profile {
        stem: "k8s-worker",
        weight: 12,
        os_config: UBUNTU,
        os_tools: UBUNTU,
        cpus: &[8],
        memory_gib: &[32],
        system_gib: 80,
        data_gib: &[(100, 200)],
        used_pct: (30, 60),
        folder: "Containers",
    },
    Profile {
        stem: "hana-bw",
        weight: 1,
        os_config: SUSE,
        os_tools: SUSE,
        cpus: &[32],
        memory_gib: &[384],
        system_gib: 100,
        data_gib: &[(1_200, 1_600), (400, 512)],
        used_pct: (55, 70),
        folder: "Databases",
    },
    Profile {
        stem: "test",
        weight: 18,
        os_config: UBUNTU,
        os_tools: "",
        cpus: &[1, 2],
        memory_gib: &[2, 4],
        system_gib: 30,
        data_gib: &[],
        used_pct: (10, 60),
        folder: "Test",
    },
];
