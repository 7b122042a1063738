//! What to type on an ESXi host to fix what was found. Names in capitals are to be filled in.

use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The measurement or the datastore cannot work like that.
    Fails,
    /// It works, with less than what could be had.
    Warns,
    /// Good to know.
    Tells,
}

/// A finding.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// Short name.
    pub code: &'static str,
    /// In words.
    pub text: String,
    /// Lines for an ESXi host.
    pub esxcli: Vec<String>,
}

impl Finding {
    pub(super) fn new(
        severity: Severity,
        code: &'static str,
        text: String,
        esxcli: Vec<String>,
    ) -> Self {
        Self { severity, code, text, esxcli }
    }
}

/// Jumbo frames on switch and VMkernel port, and the test.
pub fn jumbo(remote: &str) -> Vec<String> {
    vec![
        "esxcli network vswitch standard set --vswitch-name vSwitchN --mtu 9000".to_owned(),
        "esxcli network ip interface set --interface-name vmkN --mtu 9000".to_owned(),
        format!("vmkping -I vmkN -d -s 8972 {remote}"),
    ]
}

/// Whether a path is there at all.
pub fn reach(remote: &str) -> Vec<String> {
    vec![
        "esxcli network ip interface ipv4 get".to_owned(),
        "esxcli network nic list".to_owned(),
        format!("vmkping -I vmkN {remote}"),
    ]
}

/// One VMkernel port per path, each bound to the adapter.
pub fn bind_ports() -> Vec<String> {
    vec![
        "esxcli iscsi networkportal list".to_owned(),
        "esxcli iscsi networkportal add --nic vmkN --adapter vmhbaNN".to_owned(),
        "esxcli network vswitch standard portgroup policy failover set --portgroup-name NAME \
         --active-uplinks vmnicN"
            .to_owned(),
        "esxcli storage core adapter rescan --adapter vmhbaNN".to_owned(),
    ]
}

/// Round robin that changes the path with every I/O.
pub fn round_robin(naa: Option<&str>) -> Vec<String> {
    let device =
        naa.map_or("naa.ID".to_owned(), |naa| format!("naa.{}", naa.trim_start_matches("naa.")));
    vec![
        format!("esxcli storage nmp device set --device {device} --psp VMW_PSP_RR"),
        format!(
            "esxcli storage nmp psp roundrobin deviceconfig set --type iops --iops 1 --device {device}"
        ),
    ]
}

/// Larger commands of the software iSCSI initiator.
pub fn max_io(max_transfer_bytes: u64) -> Vec<String> {
    let kib = (max_transfer_bytes / 1024).clamp(128, 512);
    vec![format!(
        "esxcli system settings advanced set --option /ISCSI/MaxIoSizeKB --int-value {kib}"
    )]
}

/// More connections per NFS datastore (8.0 U1 and later).
pub fn nfs_connections() -> Vec<String> {
    vec![
        "esxcli storage nfs param set --volume-name LABEL --connections 4".to_owned(),
        "esxcli system settings advanced list --option /SunRPC/MaxConnPerIP".to_owned(),
    ]
}
