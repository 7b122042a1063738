//! Judges hosts and puts those with the same advice together.

use super::advice::{Advice, Group, Requirement, SCHEMA_VERSION, Verdict};
use super::catalog::{Catalog, Driver, DriverSource, Rdma, Version};
use super::facts::{Host, Nic};
use super::settings::{SettingError, Settings};
use super::steps;

/// An adapter that can be used, with what the catalogue knows of it.
pub(super) struct Usable<'a> {
    pub nic: &'a Nic,
    pub driver: &'a Driver,
}

/// Judges every host.
///
/// # Errors
/// A setting that cannot be.
pub fn advise(hosts: &[Host], settings: &Settings) -> Result<Advice, SettingError> {
    settings.check()?;
    let catalog = Catalog::built_in();
    let mut groups: Vec<Group> = Vec::new();
    for host in hosts {
        let one = judge(catalog, host, settings);
        let same = groups.iter_mut().find(|group| {
            (group.verdict, &group.reasons, &group.steps) == (one.verdict, &one.reasons, &one.steps)
        });
        match same {
            Some(group) => group.hosts.extend(one.hosts),
            None => groups.push(one),
        }
    }
    groups.sort_by_key(|group| group.verdict);
    let of = |verdict| groups.iter().filter(move |group| group.verdict == verdict);
    Ok(Advice {
        schema_version: SCHEMA_VERSION,
        hosts: hosts.len(),
        ready: of(Verdict::Ready).map(|group| group.hosts.len()).sum(),
        groups,
        requirements: requirements(catalog),
        contradictions: catalog.contradictions().to_vec(),
        published: catalog.results().clone(),
    })
}

fn judge(catalog: &Catalog, host: &Host, settings: &Settings) -> Group {
    let group =
        |verdict, reasons, steps| Group { hosts: vec![host.name.clone()], verdict, reasons, steps };
    let Some(version) = host.version.as_deref() else {
        let reason = "its version of ESXi is not known".to_owned();
        return group(Verdict::Unsure, vec![reason], Vec::new());
    };
    let Some(row) = catalog.version(version) else {
        let reason = format!("ESXi {version} is older than any with iSER (5.5 is the first)");
        return group(Verdict::Cannot, vec![reason], Vec::new());
    };
    let Some(nics) = &host.nics else {
        let reason = "nothing is known of its adapters (tab vNIC)".to_owned();
        return group(Verdict::Unsure, vec![reason], Vec::new());
    };
    let known: Vec<Usable<'_>> = nics
        .iter()
        .filter_map(|nic| Some(Usable { nic, driver: catalog.adapter(&nic.adapter)? }))
        .collect();
    if known.is_empty() {
        return group(Verdict::Cannot, vec![no_adapter(nics)], Vec::new());
    }
    let (usable, gone): (Vec<_>, Vec<_>) =
        known.into_iter().partition(|one| one.driver.carried_by(version) != Some(false));
    let mut reasons: Vec<String> = gone.iter().map(|one| is_gone(one, version)).collect();
    if usable.is_empty() {
        return group(Verdict::Cannot, reasons, Vec::new());
    }
    let (verdict, more) = ability(catalog, version, row, &usable);
    reasons.extend(more);
    if !host.iser_adapters.is_empty() {
        let there = host.iser_adapters.join(", ");
        reasons.push(format!(
            "an iSER adapter is there already ({there}): compare its settings with the steps"
        ));
    }
    let plan = steps::plan(host, row, &usable, settings, catalog.network());
    group(verdict, reasons, plan)
}

fn ability(
    catalog: &Catalog,
    version: &str,
    row: &Version,
    usable: &[Usable<'_>],
) -> (Verdict, Vec<String>) {
    let mut reasons = Vec::new();
    let mut verdict = Verdict::Ready;
    for one in usable {
        reasons.push(format!("{} ({}) does RDMA", label(one.nic), one.driver.family));
    }
    if usable.iter().all(|one| one.driver.rdma == Rdma::Some) {
        verdict = Verdict::Unsure;
        reasons.pop();
        reasons.push(format!(
            "{} may do RDMA or not: its driver serves {}; `esxcli rdma device list` tells",
            label(usable[0].nic),
            usable[0].driver.family
        ));
    }
    match row.driver {
        DriverSource::Vendor => {
            verdict = verdict.max(Verdict::NeedsDriver);
            let note = if row.note.is_empty() { String::new() } else { format!("; {}", row.note) };
            reasons.push(format!(
                "ESXi {version} needs the driver bundle of the adapter's vendor ({}, {}){note}",
                row.source, row.date
            ));
        }
        DriverSource::Inbox => {
            reasons.push(format!("ESXi {version} carries iSER ({}, {})", row.source, row.date));
            for one in usable.iter().filter(|one| one.driver.carried_by(version).is_none()) {
                verdict = verdict.max(Verdict::NeedsDriver);
                reasons.push(format!(
                    "{} was not seen in ESXi {version}: the bundle of the adapter's vendor brings it",
                    one.driver.module
                ));
            }
        }
    }
    if let Some(last) = catalog.not_looked_at(version) {
        verdict = Verdict::Unsure;
        reasons.push(format!(
            "ESXi {version} was not looked at; {} is in {} ({}): read the release notes for its removal first",
            last.package, last.source, last.date
        ));
    }
    (verdict, reasons)
}

fn label(nic: &Nic) -> String {
    match &nic.device {
        Some(device) => format!("{device}, {}", nic.adapter),
        None => nic.adapter.clone(),
    }
}

fn no_adapter(nics: &[Nic]) -> String {
    if nics.is_empty() {
        return "it has no adapter".to_owned();
    }
    let mut drivers: Vec<&str> = nics.iter().map(|nic| nic.adapter.as_str()).collect();
    drivers.sort_unstable();
    drivers.dedup();
    format!("none of its adapters does RDMA (drivers: {})", drivers.join(", "))
}

fn is_gone(one: &Usable<'_>, version: &str) -> String {
    format!(
        "{} ({}) has no driver in ESXi {version}: {} is gone from {} on ({}, {})",
        label(one.nic),
        one.driver.family,
        one.driver.module,
        one.driver.gone_from().unwrap_or_default(),
        one.driver.source,
        one.driver.date
    )
}

fn requirements(catalog: &Catalog) -> Vec<Requirement> {
    let network = catalog.network();
    let paper = "iSER for QNAP NAS with VMware ESXi (2026-11-30)";
    let vmware = "VMware documentation of 6.7, 7.0 and 8.0 (2026-11-30)";
    let of = |what: String, source: &str| Requirement { what, source: source.to_owned() };
    vec![
        of("an adapter that does iSER at both ends, and a switch that carries it or a direct cable".to_owned(), paper),
        of("a subnet for iSER alone, with static addresses at both ends".to_owned(), paper),
        of(
            format!(
                "MTU {} at the array, on virtual switch and VMkernel port; {} on the physical switch",
                network.mtu, network.switch_mtu
            ),
            &format!("{} ({})", network.source, network.date),
        ),
        of("no teaming: one RDMA adapter is the only uplink of its virtual switch".to_owned(), vmware),
        of("a VMkernel port for iSER alone, bound to the iSER adapter of its own RDMA adapter".to_owned(), vmware),
        of(
            "the software iSCSI adapter without port bindings, dynamic and static discovery, so that iSER alone connects".to_owned(),
            paper,
        ),
        of(
            "for RoCE: a network that drops next to nothing (priority flow control or ECN), by the guides of switch and adapter".to_owned(),
            "common knowledge; no source of ours states it",
        ),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::advice::Step;
    use super::*;

    fn host(name: &str, version: &str, nics: &[(&str, &str)]) -> Host {
        let nic = |(device, adapter): &(&str, &str)| Nic {
            device: Some((*device).to_owned()),
            adapter: (*adapter).to_owned(),
            ..Nic::default()
        };
        Host {
            name: name.to_owned(),
            version: Some(version.to_owned()),
            nics: Some(nics.iter().map(nic).collect()),
            ..Host::default()
        }
    }

    fn one(host: &Host) -> Group {
        advise(std::slice::from_ref(host), &Settings::default()).unwrap().groups.remove(0)
    }

    fn place(steps: &[Step], line: &str) -> usize {
        let has = |step: &Step| step.esxcli.iter().any(|command| command.contains(line));
        steps.iter().position(has).unwrap_or_else(|| panic!("no step with {line}"))
    }

    #[test]
    fn a_native_host_is_ready_and_its_steps_are_in_order() {
        let group = one(&host("esx-1", "6.7.0", &[("vmnic0", "ixgben"), ("vmnic4", "nmlx5_core")]));
        assert_eq!(group.verdict, Verdict::Ready);
        let order = [
            "maintenanceMode set --enable true",
            "networkportal remove",
            "vswitch standard add",
            "failover set",
            "ip interface add",
            "rdma iser add",
            "networkportal add",
            "sendtarget add",
            "maintenanceMode set --enable false",
        ];
        let places: Vec<usize> = order.iter().map(|line| place(&group.steps, line)).collect();
        assert!(places.is_sorted(), "{places:?}");
        assert!(group.steps.iter().all(|step| !step.checks.is_empty()), "each step has its check");
        // The frames are proven after the port is there and before anything is discovered.
        let frames = group
            .steps
            .iter()
            .position(|step| step.checks.iter().any(|check| check.esxcli.contains("-d -s 8972")));
        let frames = frames.unwrap();
        assert!(places[4] < frames && frames < places[5], "{frames} {places:?}");
    }

    #[test]
    fn an_older_host_changes_its_drivers_first() {
        let group = one(&host("esx-1", "6.0.0", &[("vmnic4", "nmlx4_en")]));
        assert_eq!(group.verdict, Verdict::NeedsDriver);
        let remove = place(&group.steps, "vib remove");
        let install = place(&group.steps, "vib install");
        assert!(remove < install);
        assert!(group.steps[remove].esxcli[0].contains("--vibname nmlx4-core"));
        assert!(
            group
                .steps
                .iter()
                .all(|step| step.esxcli.iter().all(|line| !line.contains("rdma iser")))
        );
    }

    #[test]
    fn version_6_5_shows_what_the_sources_say_against_each_other() {
        let advice =
            advise(&[host("esx-1", "6.5.0", &[("vmnic4", "nmlx4_en")])], &Settings::default())
                .unwrap();
        assert!(
            advice.groups[0].reasons.iter().any(|reason| reason.contains("esxcli rdma iser add"))
        );
        let text = advice.text();
        assert!(text.contains("not followed: no driver is needed from 6.5 on"), "{text}");
        assert!(text.contains("iops +60 % by the heading, iops +80 % by the text"), "{text}");
    }

    #[test]
    fn hosts_that_cannot_are_named_with_the_reason() {
        let plain = one(&host("plain", "8.0.2", &[("vmnic0", "ixgben")]));
        assert_eq!(plain.verdict, Verdict::Cannot);
        assert_eq!(plain.reasons, ["none of its adapters does RDMA (drivers: ixgben)"]);
        assert!(plain.steps.is_empty());
        let gone = one(&host("gone", "8.0.2", &[("vmnic4", "nmlx4_en")]));
        assert_eq!(gone.verdict, Verdict::Cannot);
        assert!(gone.reasons[0].contains("nmlx4-rdma is gone from 8.0 on"), "{:?}", gone.reasons);
        assert_eq!(one(&host("old", "5.1.0", &[("vmnic4", "nmlx4_en")])).verdict, Verdict::Cannot);
    }

    #[test]
    fn what_is_not_known_is_to_be_found_out() {
        let maybe = one(&host("maybe", "8.0.2", &[("vmnic4", "i40en")]));
        assert_eq!(maybe.verdict, Verdict::Unsure);
        assert!(maybe.reasons[0].contains("X722"), "{:?}", maybe.reasons);
        let later = one(&host("later", "9.0.1", &[("vmnic4", "nmlx5_core")]));
        assert_eq!(later.verdict, Verdict::Unsure);
        let nothing = Host { name: "nothing".to_owned(), ..Host::default() };
        assert_eq!(one(&nothing).verdict, Verdict::Unsure);
    }

    #[test]
    fn hosts_with_the_same_steps_stand_together() {
        let nics = [("vmnic4", "nmlx5_core")];
        let hosts = [host("a", "7.0.3", &nics), host("b", "7.0.3", &nics), host("c", "7.0.3", &[])];
        let advice = advise(&hosts, &Settings::default()).unwrap();
        assert_eq!((advice.hosts, advice.ready), (3, 2));
        assert_eq!(advice.groups[0].hosts, ["a", "b"]);
        assert_eq!(advice.groups[1].verdict, Verdict::Cannot);
    }

    #[test]
    fn what_is_given_stands_in_the_steps() {
        let settings = Settings {
            portal: Some("10.10.1.2".to_owned()),
            address: "10.10.1.11".parse().ok(),
            netmask: "255.255.255.0".parse().ok(),
            vmkernel: Some("vmk3".to_owned()),
            vlan: Some(110),
            ..Settings::default()
        };
        let advice = advise(&[host("a", "7.0.3", &[("vmnic4", "nmlx5_core")])], &settings).unwrap();
        for text in [advice.text(), advice.markdown()] {
            assert!(text.contains("vmkping -I vmk3 -d -s 8972 10.10.1.2"), "{text}");
            assert!(text.contains("--ipv4 10.10.1.11 --netmask 255.255.255.0"));
            assert!(text.contains("--vlan-id 110"));
            assert!(text.contains("sendtarget add --adapter VMHBA_ISER --address 10.10.1.2:3260"));
        }
        serde_json::to_string(&advice).unwrap();
    }

    #[test]
    fn an_uplink_beside_others_leaves_its_switch() {
        let mut teamed = host("a", "7.0.3", &[("vmnic4", "nmlx5_core")]);
        let nic = &mut teamed.nics.as_mut().unwrap()[0];
        (nic.switch, nic.beside) = (Some("vSwitch1".to_owned()), vec!["vmnic5".to_owned()]);
        let group = one(&teamed);
        let remove =
            place(&group.steps, "uplink remove --uplink-name vmnic4 --vswitch-name vSwitch1");
        assert!(remove < place(&group.steps, "uplink add --uplink-name vmnic4"));
    }

    #[test]
    fn two_adapters_have_switches_and_ports_of_their_own() {
        let mut two = host("a", "7.0.3", &[("vmnic4", "nmlx5_core"), ("vmnic5", "nmlx5_core")]);
        two.vmkernels = ["vmk0".to_owned(), "vmk2".to_owned()].into();
        let group = one(&two);
        for line in [
            "--vswitch-name vSwitch-iSER1",
            "--vswitch-name vSwitch-iSER2",
            "--interface-name vmk1 --portgroup-name iSER1",
            "--interface-name vmk3 --portgroup-name iSER2",
            "--adapter VMHBA_ISER2 --nic vmk3",
        ] {
            place(&group.steps, line);
        }
    }

    #[test]
    fn names_of_an_export_that_could_not_stand_in_a_command_are_left_out() {
        let odd = one(&host("a", "7.0.3", &[("vmnic4; reboot", "nmlx5_core")]));
        let lines = odd.steps.iter().flat_map(|step| &step.esxcli);
        assert!(lines.clone().all(|line| !line.contains("; reboot")));
        assert!(lines.clone().any(|line| line.contains("--uplink-name VMNIC")));
    }
}
