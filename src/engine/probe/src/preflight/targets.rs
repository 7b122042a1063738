//! A target's limits and all its paths, and what follows from them.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    time::Duration,
};

use plimsoll_initiator::{
    Completion, IscsiUrl, NfsUrl, Op, OpKind, Sink, Transport, Url,
    iscsi::{Device, discover},
    nfs::Export,
};
use serde::Serialize;

use super::{
    Options, TargetReport, advice,
    advice::{Finding, Severity},
    interfaces::{Interface, network},
    paths::Path,
    size_or,
};
use crate::{Error, Result, run::Target};

/// Commands sent at once to see how many the target's window takes.
const WINDOW_PROBE: u16 = 1024;

/// What a target allows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Limits {
    /// Vendor and product, when told.
    pub product: Option<String>,
    /// Bytes of the unit or export.
    pub capacity_bytes: u64,
    /// Bytes free on the export.
    pub free_bytes: Option<u64>,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Most bytes of one read; 0 when no limit is told.
    pub max_read_bytes: u64,
    /// Most bytes of one write; 0 when no limit is told.
    pub max_write_bytes: u64,
    /// Commands that one session took at once, up to 1,024.
    pub queue_depth_seen: u32,
    /// Whether blocks are allocated when written.
    pub thin: Option<bool>,
    /// NAA identifier.
    pub naa: Option<String>,
    /// Target port groups with their access states (ALUA).
    pub port_groups: Vec<String>,
    /// Keys registered for persistent reservations by others.
    pub reservation_keys: usize,
}

impl Limits {
    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{}{}, blocks of {}, largest read {}, largest write {}",
            self.product.as_ref().map(|product| format!("{product}: ")).unwrap_or_default(),
            size_or(self.capacity_bytes, "size unknown"),
            size_or(u64::from(self.block_bytes), "unknown size"),
            size_or(self.max_read_bytes, "not limited"),
            size_or(self.max_write_bytes, "not limited"),
        )];
        if self.queue_depth_seen > 0 {
            lines.push(format!("one session took {} commands at once", self.queue_depth_seen));
        }
        if !self.port_groups.is_empty() {
            lines.push(format!("port groups: {}", self.port_groups.join("; ")));
        }
        lines
    }
}

/// Looks at a target.
pub fn look(target: &Target, interfaces: &[Interface], options: &Options) -> Result<TargetReport> {
    let failed = |source| Error::Datastore { url: target.shown.clone(), source };
    match Url::parse(&target.url).map_err(failed)? {
        Url::Iscsi(url) => Ok(block(target, &url, interfaces, options)),
        Url::Nfs(url) => Ok(export(target, &url, interfaces, options)),
    }
}

fn empty(target: &Target) -> TargetReport {
    TargetReport {
        url: target.shown.clone(),
        identity: String::new(),
        limits: Limits::default(),
        paths: Vec::new(),
        findings: Vec::new(),
    }
}

fn addresses(host: &str, port: u16) -> Vec<SocketAddr> {
    (host, port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
}

/// An iSCSI unit.
fn block(
    target: &Target,
    url: &IscsiUrl,
    interfaces: &[Interface],
    options: &Options,
) -> TargetReport {
    let mut report = empty(target);
    let over = |transport| move |address| (transport, address);
    let mut portals: Vec<(Transport, SocketAddr)> =
        addresses(&url.host, url.port).into_iter().map(over(url.transport)).collect();
    for portal in &options.client.portals {
        let (transport, portal) = Transport::of_portal(portal);
        let port = if portal.contains(':') { portal.to_owned() } else { format!("{portal}:3260") };
        portals.extend(port.to_socket_addrs().into_iter().flatten().map(over(transport)));
    }
    let client = options.client.options(u32::from(WINDOW_PROBE)).unwrap_or_default();
    // Discovery commonly runs over TCP, on the same portals.
    let records = discover(url.transport, &url.host, url.port, &client)
        .or_else(|_| discover(Transport::Tcp, &url.host, url.port, &client));
    if let Ok(records) = records {
        let own = records.into_iter().filter(|record| record.name == url.target);
        for address in own.flat_map(|record| record.addresses) {
            let found = addresses(&address.host, address.port).into_iter();
            portals.extend(found.map(over(url.transport)));
        }
    }
    portals.sort_by_key(|&(transport, address)| (transport != url.transport, address));
    portals.dedup();
    if portals.is_empty() {
        report.findings.push(Finding::new(
            Severity::Fails,
            "no_address",
            format!("the name {} has no address", url.host),
            advice::reach(&url.host),
        ));
    }
    for (transport, portal) in portals {
        let (host, port) = (portal.ip().to_string(), portal.port());
        let own = IscsiUrl { transport, host, port, ..url.clone() };
        let alone = with_secret(&own);
        let mut path = Path::look(transport, portal, interfaces, options);
        if path.reached {
            match Device::connect(&own, &client) {
                Ok(mut device) => {
                    describe_unit(&mut device, &mut report, &mut path);
                    device.close();
                    path.measure(&alone, options);
                    if report.limits.queue_depth_seen == 0 {
                        report.limits.queue_depth_seen = window(&alone, options);
                    }
                }
                Err(error) if transport == Transport::Iser => path.fail(&error),
                Err(error) => report.findings.push(Finding::new(
                    Severity::Fails,
                    "login",
                    format!("{portal}: {error}"),
                    Vec::new(),
                )),
            }
        }
        report.paths.push(path);
    }
    conclude_paths(&mut report);
    conclude_unit(&mut report);
    report
}

fn with_secret(url: &IscsiUrl) -> String {
    let shown = Url::Iscsi(url.clone()).to_string();
    match &url.chap {
        None => shown,
        Some(chap) => shown.replacen("://", &format!("://{}%{}@", chap.user, chap.secret), 1),
    }
}

fn describe_unit(device: &mut Device, report: &mut TargetReport, path: &mut Path) {
    let facts = device.facts().clone();
    path.access = facts.port_group.map(|group| format!("group {group} {:?}", facts.access));
    if !report.identity.is_empty() {
        return;
    }
    report.identity = facts.serial.clone();
    let limits = &mut report.limits;
    let block = u64::from(facts.block_bytes);
    limits.product = Some(format!("{} {}", facts.vendor.trim(), facts.product.trim()));
    limits.capacity_bytes = facts.blocks.unwrap_or(0) * block;
    limits.block_bytes = facts.block_bytes;
    limits.max_read_bytes = u64::from(facts.max_transfer_blocks) * block;
    limits.max_write_bytes = limits.max_read_bytes;
    limits.thin = Some(facts.is_thin);
    limits.naa = facts.naa.clone();
    limits.reservation_keys = device.reservation_keys().map_or(0, |keys| keys.len());
    if let Ok(groups) = device.target_port_groups() {
        limits.port_groups = groups
            .iter()
            .map(|group| {
                let state = match group.state {
                    0 => "active/optimised",
                    1 => "active/non-optimised",
                    2 => "standby",
                    3 => "unavailable",
                    14 => "offline",
                    15 => "in transition",
                    _ => "of an unknown state",
                };
                format!("{} {state} (ports {:?})", group.group, group.ports)
            })
            .collect();
    }
}

/// Commands that one session takes before it must wait: sent at once, then counted.
fn window(url: &str, options: &Options) -> u32 {
    let client = crate::client::ClientOptions {
        connections: 1,
        portals: Vec::new(),
        ..options.client.clone()
    };
    let Ok(mut datastore) = client.open(url, "target", u32::from(WINDOW_PROBE)) else { return 0 };
    let block = datastore.block_bytes().max(512);
    let mut sink = Count(0);
    for tag in 0..u64::from(WINDOW_PROBE) {
        let op = Op { tag, kind: OpKind::Read, offset: 0, len: block };
        if !datastore.can_submit() || datastore.submit(&op, None).is_err() {
            break;
        }
    }
    let _ = datastore.poll(Some(Duration::ZERO), &mut sink);
    let waiting = datastore.flows().first().map_or(0, |flow| flow.in_flight);
    let seen = waiting + sink.0;
    datastore.close(&mut sink);
    seen
}

struct Count(u32);

impl Sink for Count {
    fn data(&mut self, _tag: u64, _at: u32, _bytes: &[u8]) {}
    fn done(&mut self, _completion: Completion) {
        self.0 += 1;
    }
}

/// An NFS export.
fn export(
    target: &Target,
    url: &NfsUrl,
    interfaces: &[Interface],
    options: &Options,
) -> TargetReport {
    let mut report = empty(target);
    report.identity = url.export.clone();
    let port = url.port.unwrap_or(2049);
    let found = addresses(&url.host, port);
    if found.is_empty() {
        report.findings.push(Finding::new(
            Severity::Fails,
            "no_address",
            format!("the name {} has no address", url.host),
            advice::reach(&url.host),
        ));
    }
    for address in found {
        let alone = NfsUrl { host: address.ip().to_string(), ..url.clone() };
        let mut path = Path::look(Transport::Tcp, address, interfaces, options);
        path.measure(&Url::Nfs(alone.clone()).to_string(), options);
        let is_first = path.reached && report.limits.capacity_bytes == 0;
        report.paths.push(path);
        if is_first && let Err(error) = describe_export(&alone, options, &mut report) {
            report.findings.push(Finding::new(
                Severity::Fails,
                "mount",
                format!("{address}: {error}"),
                vec![format!(
                    "esxcli storage nfs add --host {} --share {} --volume-name LABEL",
                    url.host, url.export
                )],
            ));
        }
    }
    conclude_paths(&mut report);
    if options.client.connections == 1 {
        report.findings.push(Finding::new(
            Severity::Tells,
            "single_connection",
            "one TCP connection carries the whole datastore; more need nconnect or more datastores"
                .to_owned(),
            advice::nfs_connections(),
        ));
    }
    report
}

fn describe_export(url: &NfsUrl, options: &Options, report: &mut TargetReport) -> Result<()> {
    let failed = |source| Error::Datastore { url: report.url.clone(), source };
    let client = options.client.options(1)?;
    let mut export = Export::mount(url, &client).map_err(failed)?;
    let space = export.space().map_err(failed)?;
    let limits = &mut report.limits;
    limits.capacity_bytes = space.total_bytes;
    limits.free_bytes = Some(space.available_bytes);
    limits.block_bytes = 1;
    limits.max_read_bytes = u64::from(export.limits().read_max);
    limits.max_write_bytes = u64::from(export.limits().write_max);
    Ok(())
}

fn conclude_paths(report: &mut TargetReport) {
    for path in &report.paths {
        let remote = path.remote.ip().to_string();
        if !path.reached {
            report.findings.push(Finding::new(
                Severity::Fails,
                "not_reached",
                format!("{}: {}", path.remote, path.error.as_deref().unwrap_or("no answer")),
                advice::reach(&remote),
            ));
            continue;
        }
        let Some(mtu) = &path.mtu else { continue };
        if mtu.passes {
            continue;
        }
        if mtu.proven_payload_bytes == 0 {
            let mut text = format!(
                "{}: neither echo nor UDP errors come back, so its MTU is not proven",
                path.remote
            );
            if path.tcp_mss_bytes > 0 {
                text += &format!("; TCP agreed on segments of {} bytes", path.tcp_mss_bytes);
            }
            report.findings.push(Finding::new(
                Severity::Warns,
                "mtu_unknown",
                text,
                advice::jumbo(&remote),
            ));
            continue;
        }
        let own = path.interface_mtu_bytes.is_some_and(|own| own <= mtu.proven_mtu_bytes);
        let place = match (own, mtu.told_mtu_bytes) {
            (true, _) => {
                format!("the interface {} itself", path.interface.as_deref().unwrap_or("used"))
            }
            (false, Some(told)) => format!("a hop that tells an MTU of {told}"),
            (false, None) => "a hop that drops them silently: look at every switch port".to_owned(),
        };
        let text = format!(
            "{}: {} bytes do not pass unfragmented, {} do (an MTU of {}): {place}",
            path.remote, mtu.wanted_payload_bytes, mtu.proven_payload_bytes, mtu.proven_mtu_bytes
        );
        report.findings.push(Finding::new(Severity::Fails, "mtu", text, advice::jumbo(&remote)));
    }
    shared_networks(report);
    uneven_paths(report);
}

/// Several portals behind one interface are several addresses, but one path.
fn shared_networks(report: &mut TargetReport) {
    let mut by_local: BTreeMap<IpAddr, Vec<SocketAddr>> = BTreeMap::new();
    for path in report.paths.iter().filter(|path| path.reached) {
        if let Some(local) = path.local.filter(|local| !local.is_loopback()) {
            by_local.entry(local).or_default().push(path.remote);
        }
    }
    for (local, remotes) in by_local.iter().filter(|(_, remotes)| remotes.len() > 1) {
        let same = remotes.iter().all(|remote| {
            let bits = if remote.is_ipv4() { 24 } else { 64 };
            network(remote.ip(), bits) == network(remotes[0].ip(), bits)
        });
        let text = format!(
            "{} portals are reached from {local} alone{}: they share one wire",
            remotes.len(),
            if same { " in one subnet" } else { "" }
        );
        report.findings.push(Finding::new(
            Severity::Warns,
            "shared_path",
            text,
            advice::bind_ports(),
        ));
    }
}

fn uneven_paths(report: &mut TargetReport) {
    let rates: Vec<f64> =
        report.paths.iter().map(|path| path.mib_per_s).filter(|rate| *rate > 0.0).collect();
    let (low, high) =
        rates.iter().fold((f64::MAX, 0.0f64), |(low, high), &rate| (low.min(rate), high.max(rate)));
    if rates.len() > 1 && low < high / 2.0 {
        report.findings.push(Finding::new(
            Severity::Warns,
            "uneven_paths",
            format!("the paths carry from {low:.0} to {high:.0} MiB/s: round robin will run at the slowest's pace"),
            Vec::new(),
        ));
    }
}

fn conclude_unit(report: &mut TargetReport) {
    let limits = &report.limits;
    let mut found = Vec::new();
    if report.paths.len() > 1 {
        found.push(Finding::new(
            Severity::Tells,
            "path_policy",
            "with several paths, ESXi changes the path after 1,000 I/Os unless told otherwise"
                .to_owned(),
            advice::round_robin(limits.naa.as_deref()),
        ));
    }
    if limits.max_read_bytes > 128 << 10 {
        found.push(Finding::new(
            Severity::Tells,
            "command_size",
            format!(
                "the unit takes {} at once; ESXi's software initiator splits at 128 KiB by default",
                size_or(limits.max_read_bytes, "any size")
            ),
            advice::max_io(limits.max_read_bytes),
        ));
    }
    if limits.queue_depth_seen > 0 && limits.queue_depth_seen < 128 {
        found.push(Finding::new(
            Severity::Warns,
            "queue_depth",
            format!(
                "one session took {} commands, fewer than ESXi's default of 128: it will see TASK SET FULL",
                limits.queue_depth_seen
            ),
            vec![format!(
                "esxcli system module parameters set --module iscsi_vmk --parameter-string iscsivmk_LunQDepth={}",
                limits.queue_depth_seen
            )],
        ));
    }
    if limits.reservation_keys > 0 {
        found.push(Finding::new(
            Severity::Warns,
            "reserved",
            format!(
                "{} reservation keys are registered: others use this unit",
                limits.reservation_keys
            ),
            Vec::new(),
        ));
    }
    report.findings.extend(found);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::preflight::mtu::{Method, PathMtu};

    fn path(remote: &str, local: &str, payload: u16, rate: f64) -> Path {
        Path {
            transport: "tcp".to_owned(),
            remote: remote.parse().unwrap(),
            local: Some(local.parse().unwrap()),
            interface: Some("vmk1".to_owned()),
            interface_mtu_bytes: Some(9000),
            reached: true,
            error: None,
            connect_us: 100.0,
            tcp_rtt_us: 90,
            tcp_mss_bytes: 8948,
            mtu: Some(PathMtu {
                wanted_payload_bytes: 8972,
                proven_payload_bytes: payload,
                proven_mtu_bytes: u32::from(payload) + 28,
                passes: payload >= 8972,
                method: Method::IcmpEcho,
                told_mtu_bytes: None,
            }),
            mib_per_s: rate,
            access: None,
        }
    }

    fn codes(paths: Vec<Path>) -> Vec<&'static str> {
        let mut report = empty(&Target::new("iscsi://h/iqn.x/0"));
        report.paths = paths;
        conclude_paths(&mut report);
        report.findings.iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn four_good_paths_give_no_findings() {
        let paths =
            (1..=4).map(|n| path(&format!("10.0.{n}.1:3260"), &format!("10.0.{n}.2"), 8972, 110.0));
        assert!(codes(paths.collect()).is_empty());
    }

    #[test]
    fn a_small_mtu_a_shared_wire_and_a_slow_path_are_found() {
        assert_eq!(codes(vec![path("10.0.1.1:3260", "10.0.1.2", 1472, 0.0)]), ["mtu"]);
        let shared = vec![
            path("10.0.1.1:3260", "10.0.1.9", 8972, 0.0),
            path("10.0.1.2:3260", "10.0.1.9", 8972, 0.0),
        ];
        assert_eq!(codes(shared), ["shared_path"]);
        let uneven = vec![
            path("10.0.1.1:3260", "10.0.1.9", 8972, 110.0),
            path("10.0.2.1:3260", "10.0.2.9", 8972, 11.0),
        ];
        assert_eq!(codes(uneven), ["uneven_paths"]);
        let mut lost = path("10.0.3.1:3260", "10.0.3.9", 0, 0.0);
        lost.reached = false;
        assert_eq!(codes(vec![lost]), ["not_reached"]);
    }

    #[test]
    fn secrets_stay_in_the_url_that_is_opened() {
        let Url::Iscsi(url) = Url::parse("iscsi://joe%pass@h:3260/iqn.x/1").unwrap() else {
            unreachable!()
        };
        assert_eq!(with_secret(&url), "iscsi://joe%pass@h:3260/iqn.x/1");
    }
}
