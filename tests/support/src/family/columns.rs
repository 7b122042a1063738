//! Column lists and the versions that brought columns in.

/// Tabs whose "MB" lists were measured on 3.10, under their later names.
pub(super) const MB_LISTS: &[(&str, &[&str])] = &[
    (
        "vInfo",
        &[
            "VM",
            "Powerstate",
            "Template",
            "Config status",
            "DNS Name",
            "CPUs",
            "Latency Sensitivity",
            "Memory",
            "NICs",
            "Disks",
            "EnableUUID",
            "CBT",
            "Num Monitors",
            "Video Ram KiB",
            "Resource pool",
            "Folder",
            "vApp",
            "DAS protection",
            "FT State",
            "FT Latency",
            "FT Bandwidth",
            "FT Sec. Latency",
            "Provisioned MiB",
            "In Use MiB",
            "Unshared MiB",
            "HA Restart Priority",
            "HA Isolation Response",
            "HA VM Monitoring",
            "Cluster rule(s)",
            "Cluster rule name(s)",
            "Boot Required",
            "Boot delay",
            "Boot retry delay",
            "Boot retry enabled",
            "Boot BIOS setup",
            "Firmware",
            "HW version",
            "HW upgrade status",
            "HW upgrade policy",
            "HW target",
            "Path",
            "Annotation",
            "Datacenter",
            "Cluster",
            "Host",
            "OS according to the configuration file",
            "OS according to the VMware Tools",
            "VM ID",
            "VM UUID",
            "VI SDK Server type",
            "VI SDK API Version",
            "VI SDK Server",
            "VI SDK UUID",
        ],
    ),
    (
        "vDisk",
        &[
            "VM",
            "Powerstate",
            "Template",
            "Disk",
            "Capacity MiB",
            "Raw",
            "Disk Mode",
            "Thin",
            "Eagerly Scrub",
            "Split",
            "Write Through",
            "Level",
            "Shares",
            "Reservation",
            "Limit",
            "Controller",
            "Label",
            "SCSI Unit #",
            "Unit #",
            "Shared Bus",
            "Path",
            "Raw LUN ID",
            "Raw Comp. Mode",
            "Annotation",
            "Datacenter",
            "Cluster",
            "Host",
            "Folder",
            "OS according to the configuration file",
            "OS according to the VMware Tools",
            "VM ID",
            "VM UUID",
            "VI SDK Server",
            "VI SDK UUID",
        ],
    ),
    (
        "vPartition",
        &[
            "VM",
            "Powerstate",
            "Template",
            "Disk",
            "Capacity MiB",
            "Consumed MiB",
            "Free MiB",
            "Free %",
            "Annotation",
            "Datacenter",
            "Cluster",
            "Host",
            "OS according to the configuration file",
            "OS according to the VMware Tools",
            "VM ID",
        ],
    ),
];

/// What vInfo of 4.0 has besides the columns of 3.10, before `CPUs`.
pub(super) const INFO_40: &[&str] = &[
    "Connection state",
    "Guest state",
    "Heartbeat",
    "Consolidation Needed",
    "PowerOn",
    "Suspend time",
    "Creation date",
    "Change Version",
];

/// What vInfo of 4.0 has besides, before `Num Monitors`.
pub(super) const NETWORKS_40: &[&str] =
    &["Primary IP Address", "Network #1", "Network #2", "Network #3", "Network #4"];

/// What vInfo of 4.0 has besides, before `Annotation`.
pub(super) const DIRECTORIES_40: &[&str] =
    &["Log directory", "Snapshot directory", "Suspend directory"];

/// Columns that 4.1.2 brought; `*` is any tab.
pub(super) const ADDED_IN_41: &[(&str, &[&str])] = &[
    ("*", &["SRM Placeholder", "Internal Sort Column"]),
    ("vPartition", &["Disk Key"]),
    ("vDatastore", &["# VMs total", "Object ID"]),
    (
        "vHost",
        &[
            "Compliance Check State",
            "in Quarantine Mode",
            "# VMs total",
            "BIOS Vendor",
            "UUID",
            "Certificate Issuer",
            "Certificate Start Date",
            "Certificate Expiry Date",
            "Certificate Status",
            "Certificate Subject",
        ],
    ),
    ("vCluster", &["Cluster Settings", "com.vmware.vcenter.cluster.edrs.upgradeHostAdded"]),
];

/// Columns that 4.4.1 to 4.6.1 brought.
pub(super) const ADDED_IN_46: &[(&str, &[&str])] = &[
    (
        "vInfo",
        &[
            "Suspended To Memory",
            "Suspend Interval",
            "Total disk capacity MiB",
            "Fixed Passthru HotPlug",
            "min Required EVC Mode Key",
            "Op Notification Timeout",
            "Folder ID",
            "FT Role",
            "Vm Failover In Progress",
            "Reboot PowerOff",
            "EFI Secure boot",
            "Customization Info",
            "Guest Detailed Data",
            "SMBIOS UUID",
        ],
    ),
    ("vDisk", &["Disk UUID", "Sharing mode"]),
    ("vHost", &["Memory Tiering Type"]),
];

/// Columns that 4.7 brought.
pub(super) const ADDED_IN_47: &[(&str, &[&str])] = &[("vMultiPath", &["Queue depth", "Serial #"])];
