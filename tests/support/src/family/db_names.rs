//! Internal column names of `-DBColumnNames`.

/// Names seen in the field that are not simply the tab's name and the header run together.
const SEEN: &[(&str, &str, &str)] = &[
    ("vInfo", "VM", "vInfoVMName"),
    ("vInfo", "SRM Placeholder", "vInfoSRMPlaceHolder"),
    ("vInfo", "Disks", "vInfoNumVirtualDisks"),
    ("vInfo", "Provisioned MiB", "vInfoProvisioned"),
    ("vInfo", "In Use MiB", "vInfoInUse"),
    ("vInfo", "Unshared MiB", "vInfoUnshared"),
    ("vInfo", "Total disk capacity MiB", "vInfoTotalDiskCapacityMiB"),
    ("vInfo", "HW version", "VInfoVersion"),
    ("vInfo", "Datacenter", "vInfoDataCenter"),
    ("vInfo", "OS according to the configuration file", "vInfoOS"),
    ("vInfo", "OS according to the VMware Tools", "vInfoOSTools"),
    ("vInfo", "DNS Name", "vInfoGuestHostName"),
    ("vInfo", "VM UUID", "vInfoUUID"),
    ("vInfo", "Annotation", "vInfoNotes"),
    ("vInfo", "Creation date", "vInfoCreateDate"),
    ("vInfo", "Resource pool", "vInfoResourcepool"),
    ("vHost", "Host", "vHostName"),
    ("vHost", "CPU Model", "vHostCpuModel"),
    ("vHost", "Speed", "vHostCpuMhz"),
    ("vHost", "# CPU", "vHostNumCpu"),
    ("vHost", "Cores per CPU", "vHostCoresPerCPU"),
    ("vHost", "# Cores", "vHostNumCpuCores"),
    ("vHost", "CPU usage %", "vHostOverallCpuUsage"),
    ("vHost", "# Memory", "vHostMemorySize"),
    ("vHost", "Memory usage %", "vHostOverallMemoryUsage"),
    ("vHost", "# VMs total", "vHostVMsTotal"),
    ("vHost", "ESX Version", "vHostFullName"),
    ("vHost", "# NICs", "vHostNumNics"),
    ("vHost", "# HBAs", "vHostNumHBAs"),
    ("vDisk", "VM", "vDiskVMName"),
    ("vDisk", "Disk", "vDiskName"),
    ("vDisk", "Disk Key", "vDiskKey"),
    ("vDisk", "Disk Mode", "vDiskMode"),
    ("vPartition", "VM", "vPartitionVMName"),
    ("vDatastore", "Capacity MiB", "vDatastoreCapacity"),
    ("vDatastore", "Provisioned MiB", "vDatastoreProvisioned"),
    ("vDatastore", "In Use MiB", "vDatastoreInUse"),
    ("vDatastore", "Free MiB", "vDatastoreFreeSpace"),
    ("vDatastore", "# VMs total", "vDatastoreVMsTotal"),
    // Not seen anywhere; without a name of its own it would be that of `Hosts`.
    ("vDatastore", "# Hosts", "vDatastoreNumHosts"),
    ("vMemory", "VM", "vMemoryVMName"),
    ("vSnapshot", "VM", "vSnapshotVMName"),
    ("vNetwork", "VM", "vNetworkVMName"),
    ("vNIC", "Host", "vNicHostName"),
];

/// The internal name of a column: as seen, else the tab and the letters and digits of the header.
pub(super) fn db_name(tab: &str, header: &str) -> String {
    if let Some((.., name)) = SEEN.iter().find(|(of, known, _)| *of == tab && *known == header) {
        return (*name).to_owned();
    }
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    format!("{}{}", letters(tab), letters(header))
}
