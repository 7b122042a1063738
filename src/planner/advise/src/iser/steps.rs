//! The steps for one host, in order, each with what proves it.
//!
//! Words in capitals are to be filled in. The order matters: the software adapter is emptied before the iSER
//! adapter discovers, or the same unit comes over both; frames are proven before anything logs in.

use super::advice::{Check, Step};
use super::catalog::{DriverSource, Network, Version};
use super::facts::{Host, Nic};
use super::judge::Usable;
use super::settings::{Settings, is_name};

/// Headers of IPv4 and ICMP.
const ICMP_HEADERS: u16 = 28;

/// Names that the steps of one adapter use.
struct Names {
    vmnic: String,
    vswitch: String,
    port_group: String,
    vmkernel: String,
    adapter: String,
    software: String,
    address: String,
    netmask: String,
    portal: String,
    portal_and_port: String,
    vlan: Option<u16>,
    mtu: u16,
    switch_mtu: u16,
}

/// All steps of a host.
pub(super) fn plan(
    host: &Host,
    version: &Version,
    usable: &[Usable<'_>],
    settings: &Settings,
    network: &Network,
) -> Vec<Step> {
    let names: Vec<Names> = usable
        .iter()
        .enumerate()
        .map(|(index, one)| names(host, one.nic, index, usable.len(), settings, network))
        .collect();
    let mut steps = vec![begin()];
    match version.driver {
        DriverSource::Vendor => steps.extend(vendor_driver(version)),
        DriverSource::Inbox => steps.push(inbox_driver(usable)),
    }
    if let Some(first) = names.first() {
        steps.push(empty_software_adapter(first));
    }
    for (one, names) in usable.iter().zip(&names) {
        steps.extend(leave_switch(one.nic));
        steps.push(switch(names));
        steps.push(port_group(names));
        steps.push(vmkernel(names));
        steps.push(frames(names));
    }
    steps.push(iser_adapter(version, names.len()));
    for names in &names {
        steps.push(bind(names));
        steps.push(discover(names));
    }
    steps.push(end());
    steps
}

fn names(
    host: &Host,
    nic: &Nic,
    index: usize,
    count: usize,
    settings: &Settings,
    network: &Network,
) -> Names {
    // With several adapters each has a number of its own, in names and in words to fill in.
    let number = if count > 1 { (index + 1).to_string() } else { String::new() };
    let named = |given: &Option<String>, default: &str| {
        format!("{}{number}", given.as_deref().unwrap_or(default))
    };
    let free =
        (1..).map(|number| format!("vmk{number}")).filter(|name| !host.vmkernels.contains(name));
    let mut free = free.skip(index);
    let vmkernel = match (&settings.vmkernel, host.vmkernels.is_empty()) {
        (Some(name), _) if count == 1 => name.clone(),
        (None, false) => free.next().unwrap_or_else(|| "VMK".to_owned()),
        _ => format!("VMK{number}"),
    };
    let (portal, portal_and_port) = settings.portal();
    Names {
        vmnic: nic
            .device
            .clone()
            .filter(|device| is_name(device))
            .unwrap_or_else(|| format!("VMNIC{number}")),
        vswitch: named(&settings.vswitch, "vSwitch-iSER"),
        port_group: named(&settings.port_group, "iSER"),
        vmkernel,
        adapter: match (&settings.adapter, host.iser_adapters.get(index)) {
            (Some(name), _) if count == 1 => name.clone(),
            (_, Some(there)) if is_name(there) => there.clone(),
            _ => format!("VMHBA_ISER{number}"),
        },
        software: host
            .software_adapter
            .clone()
            .filter(|name| is_name(name))
            .unwrap_or_else(|| "VMHBA_SOFTWARE".to_owned()),
        address: match settings.address {
            Some(address) if count == 1 => address.to_string(),
            _ => format!("ADDRESS{number}"),
        },
        netmask: settings.netmask.map_or_else(|| "NETMASK".to_owned(), |mask| mask.to_string()),
        portal,
        portal_and_port,
        vlan: settings.vlan,
        mtu: network.mtu,
        switch_mtu: network.switch_mtu,
    }
}

fn step(title: &str, why: &str, esxcli: &[&str], powercli: &[&str], checks: Vec<Check>) -> Step {
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    Step {
        title: title.to_owned(),
        why: why.to_owned(),
        esxcli: owned(esxcli),
        powercli: owned(powercli),
        checks,
    }
}

fn check(esxcli: &str, powercli: &str, shows: &str) -> Check {
    Check { esxcli: esxcli.to_owned(), powercli: powercli.to_owned(), shows: shows.to_owned() }
}

fn begin() -> Step {
    step(
        "Take the host out of service",
        "Datastores that come over iSCSI are gone until the last step: no VM may run on them here.",
        &["esxcli system maintenanceMode set --enable true"],
        &[
            "$vmhost = Get-VMHost -Name HOST",
            "$esxcli = Get-EsxCli -VMHost $vmhost -V2",
            "Set-VMHost -VMHost $vmhost -State Maintenance",
        ],
        vec![check(
            "esxcli system maintenanceMode get",
            "$esxcli.system.maintenanceMode.get.Invoke()",
            "Enabled",
        )],
    )
}

fn vendor_driver(version: &Version) -> Vec<Step> {
    let remove: String =
        version.remove.iter().map(|package| format!(" --vibname {package}")).collect();
    let list = version.remove.iter().map(|package| format!("'{package}'")).collect::<Vec<_>>();
    vec![
        step(
            "Remove the older drivers",
            "Only those that are listed; the host starts again.",
            &[
                &format!("esxcli software vib remove{remove}"),
                "esxcli system shutdown reboot --reason \"older RDMA drivers removed\"",
            ],
            &[
                &format!(
                    "$esxcli.software.vib.remove.Invoke(@{{vibname = @({})}})",
                    list.join(", ")
                ),
                "Restart-VMHost -VMHost $vmhost -Confirm:$false",
            ],
            vec![check(
                "esxcli software vib list",
                "$esxcli.software.vib.list.Invoke()",
                &format!("none of {}", version.remove.join(", ")),
            )],
        ),
        step(
            "Install the bundle of the adapter's vendor",
            "BUNDLE is the offline bundle for this version of ESXi and this adapter; the host starts again.",
            &[
                "esxcli software vib install --depot /vmfs/volumes/DATASTORE/BUNDLE.zip",
                "esxcli system shutdown reboot --reason \"iSER driver installed\"",
            ],
            &[
                "$esxcli.software.vib.install.Invoke(@{depot = '/vmfs/volumes/DATASTORE/BUNDLE.zip'})",
                "Restart-VMHost -VMHost $vmhost -Confirm:$false",
            ],
            vec![check(
                "esxcli software vib list",
                "$esxcli.software.vib.list.Invoke()",
                "three packages net-mlx4…, all of one version (for ConnectX-3); for others the packages of their bundle",
            )],
        ),
    ]
}

fn inbox_driver(usable: &[Usable<'_>]) -> Step {
    let mut modules: Vec<&str> = usable.iter().map(|one| one.driver.module.as_str()).collect();
    modules.sort_unstable();
    modules.dedup();
    let uplinks: Vec<&str> = usable.iter().filter_map(|one| one.nic.device.as_deref()).collect();
    let uplinks = if uplinks.is_empty() { "the adapter".to_owned() } else { uplinks.join(" and ") };
    step(
        "Look for the driver and the RDMA device",
        "Nothing is installed: ESXi carries both. A device that is missing means firmware or driver of the adapter.",
        &[],
        &[],
        vec![
            check(
                "esxcli software vib list",
                "$esxcli.software.vib.list.Invoke()",
                &format!("iser and {}", modules.join(" and ")),
            ),
            check(
                "esxcli rdma device list",
                "$esxcli.rdma.device.list.Invoke()",
                &format!("a vmrdma with State Active and Paired Uplink {uplinks}"),
            ),
        ],
    )
}

fn empty_software_adapter(names: &Names) -> Step {
    let Names { software, .. } = names;
    step(
        "Empty the software iSCSI adapter",
        "It has to be there in a new set-up, and to hold nothing, so that iSER alone connects. Repeat each removal \
         for every line that its list shows; lists that are empty need nothing.",
        &[
            "esxcli iscsi software set --enabled true",
            &format!("esxcli iscsi networkportal list --adapter {software}"),
            &format!("esxcli iscsi networkportal remove --adapter {software} --nic BOUND_VMK"),
            &format!("esxcli iscsi adapter discovery sendtarget list --adapter {software}"),
            &format!(
                "esxcli iscsi adapter discovery sendtarget remove --adapter {software} --address ADDRESS:PORT"
            ),
            &format!("esxcli iscsi adapter discovery statictarget list --adapter {software}"),
            &format!(
                "esxcli iscsi adapter discovery statictarget remove --adapter {software} --address ADDRESS:PORT --name IQN"
            ),
            &format!("esxcli storage core adapter rescan --adapter {software}"),
        ],
        &[
            "Get-VMHostStorage -VMHost $vmhost | Set-VMHostStorage -SoftwareIScsiEnabled $true",
            &format!(
                "$esxcli.iscsi.networkportal.list.Invoke(@{{adapter = '{software}'}}) | ForEach-Object {{ \
                 $esxcli.iscsi.networkportal.remove.Invoke(@{{adapter = '{software}'; nic = $_.Vmknic}}) }}"
            ),
            &format!(
                "Get-VMHostHba -VMHost $vmhost -Device {software} | Get-IScsiHbaTarget | \
                 Remove-IScsiHbaTarget -Confirm:$false"
            ),
            "Get-VMHostStorage -VMHost $vmhost -RescanAllHba",
        ],
        vec![
            check(
                &format!("esxcli iscsi networkportal list --adapter {software}"),
                &format!("$esxcli.iscsi.networkportal.list.Invoke(@{{adapter = '{software}'}})"),
                "nothing",
            ),
            check(
                &format!("esxcli iscsi adapter discovery sendtarget list --adapter {software}"),
                &format!(
                    "Get-IScsiHbaTarget -IScsiHba (Get-VMHostHba -VMHost $vmhost -Device {software})"
                ),
                "nothing; `statictarget list` likewise",
            ),
            check(
                &format!("esxcli iscsi session list --adapter {software}"),
                &format!("$esxcli.iscsi.session.list.Invoke(@{{adapter = '{software}'}})"),
                "nothing",
            ),
        ],
    )
}

fn leave_switch(nic: &Nic) -> Option<Step> {
    let (device, switch) = (nic.device.as_deref()?, nic.switch.as_deref()?);
    if !is_name(device) {
        return None;
    }
    if nic.distributed || !is_name(switch) {
        return Some(step(
            &format!("Take {device} out of the switch {switch}"),
            "It is an uplink there. On a distributed switch that is done in vCenter (Manage host networking); \
             what runs over it must have another uplink.",
            &[],
            &[&format!(
                "Get-VMHostNetworkAdapter -VMHost $vmhost -Physical -Name {device} | \
                 Remove-VDSwitchPhysicalNetworkAdapter -Confirm:$false"
            )],
            vec![check(
                "esxcli network vswitch dvs vmware list",
                "$esxcli.network.vswitch.dvs.vmware.list.Invoke()",
                &format!("no Uplinks with {device}"),
            )],
        ));
    }
    let why = if nic.beside.is_empty() {
        format!("It is the only uplink of {switch}: move what runs over it first.")
    } else {
        format!("iSER does not work over teaming, and {switch} keeps {}.", nic.beside.join(", "))
    };
    Some(step(
        &format!("Take {device} out of {switch}"),
        &why,
        &[&format!(
            "esxcli network vswitch standard uplink remove --uplink-name {device} --vswitch-name {switch}"
        )],
        &[&format!(
            "Get-VMHostNetworkAdapter -VMHost $vmhost -Physical -Name {device} | \
             Remove-VirtualSwitchPhysicalNetworkAdapter -Confirm:$false"
        )],
        vec![check(
            &format!("esxcli network vswitch standard list --vswitch-name {switch}"),
            &format!("$esxcli.network.vswitch.standard.list.Invoke(@{{vswitchname = '{switch}'}})"),
            &format!("Uplinks without {device}"),
        )],
    ))
}

fn switch(names: &Names) -> Step {
    let Names { vmnic, vswitch, mtu, .. } = names;
    step(
        &format!("Make a virtual switch for {vmnic} alone"),
        &format!(
            "One RDMA adapter per switch, no teaming. The physical switch carries frames of {} bytes.",
            names.switch_mtu
        ),
        &[
            &format!("esxcli network vswitch standard add --vswitch-name {vswitch}"),
            &format!(
                "esxcli network vswitch standard uplink add --uplink-name {vmnic} --vswitch-name {vswitch}"
            ),
            &format!("esxcli network vswitch standard set --vswitch-name {vswitch} --mtu {mtu}"),
        ],
        &[&format!(
            "$switch = New-VirtualSwitch -VMHost $vmhost -Name {vswitch} -Nic {vmnic} -Mtu {mtu}"
        )],
        vec![check(
            &format!("esxcli network vswitch standard list --vswitch-name {vswitch}"),
            &format!(
                "$esxcli.network.vswitch.standard.list.Invoke(@{{vswitchname = '{vswitch}'}})"
            ),
            &format!("MTU: {mtu} and Uplinks: {vmnic}, nothing else"),
        )],
    )
}

fn port_group(names: &Names) -> Step {
    let Names { vmnic, vswitch, port_group, .. } = names;
    let vlan = names.vlan.map_or_else(|| "VLAN".to_owned(), |vlan| vlan.to_string());
    step(
        &format!("Make the port group {port_group} with one uplink"),
        "VLAN 0 is none.",
        &[
            &format!(
                "esxcli network vswitch standard portgroup add --portgroup-name {port_group} --vswitch-name {vswitch}"
            ),
            &format!(
                "esxcli network vswitch standard portgroup set --portgroup-name {port_group} --vlan-id {vlan}"
            ),
            &format!(
                "esxcli network vswitch standard portgroup policy failover set --portgroup-name {port_group} \
                 --active-uplinks {vmnic}"
            ),
        ],
        &[
            &format!(
                "$group = New-VirtualPortGroup -VirtualSwitch $switch -Name {port_group} -VLanId {vlan}"
            ),
            &format!("$group | Get-NicTeamingPolicy | Set-NicTeamingPolicy -MakeNicActive {vmnic}"),
        ],
        vec![check(
            &format!(
                "esxcli network vswitch standard portgroup policy failover get --portgroup-name {port_group}"
            ),
            "$group | Get-NicTeamingPolicy",
            &format!("Active Adapters: {vmnic}; no standby, no unused"),
        )],
    )
}

fn vmkernel(names: &Names) -> Step {
    let Names { vmkernel, port_group, address, netmask, mtu, .. } = names;
    step(
        &format!("Make the VMkernel port {vmkernel} with a static address"),
        "In the subnet of the array's portal, and no other traffic on it.",
        &[
            &format!(
                "esxcli network ip interface add --interface-name {vmkernel} --portgroup-name {port_group} --mtu {mtu}"
            ),
            &format!(
                "esxcli network ip interface ipv4 set --interface-name {vmkernel} --type static --ipv4 {address} \
                 --netmask {netmask}"
            ),
        ],
        &[&format!(
            "$port = New-VMHostNetworkAdapter -VMHost $vmhost -VirtualSwitch $switch -PortGroup {port_group} \
             -IP {address} -SubnetMask {netmask} -Mtu {mtu}"
        )],
        vec![
            check(
                &format!("esxcli network ip interface ipv4 get --interface-name {vmkernel}"),
                &format!(
                    "$esxcli.network.ip.interface.ipv4.get.Invoke(@{{interfacename = '{vmkernel}'}})"
                ),
                &format!(
                    "{address} with Address Type STATIC (PowerCLI may have given the port another number: $port.Name)"
                ),
            ),
            check(
                "esxcli network ip interface list",
                "$esxcli.network.ip.interface.list.Invoke()",
                &format!("{vmkernel} with MTU: {mtu}"),
            ),
        ],
    )
}

fn frames(names: &Names) -> Step {
    let Names { vmkernel, portal, mtu, .. } = names;
    let payload = mtu.saturating_sub(ICMP_HEADERS);
    step(
        "Prove the path and its frames",
        "Not to go on before both answer: a path that drops large frames logs in and then hangs.",
        &[],
        &[],
        vec![
            check(
                &format!("vmkping -I {vmkernel} {portal}"),
                &format!(
                    "$esxcli.network.diag.ping.Invoke(@{{host = '{portal}'; interface = '{vmkernel}'}}).Summary"
                ),
                "0% packet loss; otherwise cable, VLAN or address",
            ),
            check(
                &format!("vmkping -I {vmkernel} -d -s {payload} {portal}"),
                &format!(
                    "$esxcli.network.diag.ping.Invoke(@{{host = '{portal}'; interface = '{vmkernel}'; df = $true; \
                     size = {payload}}}).Summary"
                ),
                &format!(
                    "0% packet loss ({payload} + {ICMP_HEADERS} = {mtu}); otherwise an element of the path has a smaller MTU"
                ),
            ),
        ],
    )
}

fn iser_adapter(version: &Version, count: usize) -> Step {
    let shows = format!(
        "{} with Driver iser beside the software adapter; its name stands for VMHBA_ISER below",
        if count == 1 { "an adapter" } else { "an adapter for each RDMA device," }
    );
    let checks =
        vec![check("esxcli iscsi adapter list", "$esxcli.iscsi.adapter.list.Invoke()", &shows)];
    match version.driver {
        DriverSource::Inbox => step(
            "Make the iSER adapter",
            "",
            &["esxcli rdma iser add"],
            &["$esxcli.rdma.iser.add.Invoke()"],
            checks,
        ),
        DriverSource::Vendor => step(
            "Look for the iSER adapter",
            "The vendor's driver makes it; `esxcli rdma iser add` is of 6.7 and later (see the contradictions for 6.5).",
            &[],
            &[],
            checks,
        ),
    }
}

fn bind(names: &Names) -> Step {
    let Names { adapter, vmkernel, .. } = names;
    step(
        &format!("Bind {vmkernel} to the iSER adapter"),
        "",
        &[&format!("esxcli iscsi networkportal add --adapter {adapter} --nic {vmkernel}")],
        &[&format!(
            "$esxcli.iscsi.networkportal.add.Invoke(@{{adapter = '{adapter}'; nic = '{vmkernel}'}})"
        )],
        vec![check(
            &format!("esxcli iscsi networkportal list --adapter {adapter}"),
            &format!("$esxcli.iscsi.networkportal.list.Invoke(@{{adapter = '{adapter}'}})"),
            &format!("{vmkernel} with Compliant Status: compliant"),
        )],
    )
}

fn discover(names: &Names) -> Step {
    let Names { adapter, portal, portal_and_port, .. } = names;
    let (address, port) = portal_and_port.rsplit_once(':').unwrap_or((portal, "3260"));
    step(
        "Discover the array over iSER and rescan",
        "",
        &[
            &format!(
                "esxcli iscsi adapter discovery sendtarget add --adapter {adapter} --address {portal_and_port}"
            ),
            &format!("esxcli storage core adapter rescan --adapter {adapter}"),
        ],
        &[
            &format!(
                "New-IScsiHbaTarget -IScsiHba (Get-VMHostHba -VMHost $vmhost -Device {adapter}) -Address {address} \
                 -Port {port} -Type Send"
            ),
            "Get-VMHostStorage -VMHost $vmhost -RescanAllHba -RescanVmfs",
        ],
        vec![
            check(
                &format!("esxcli iscsi session list --adapter {adapter}"),
                &format!("$esxcli.iscsi.session.list.Invoke(@{{adapter = '{adapter}'}})"),
                "a session for each target of the portal",
            ),
            check(
                "esxcli storage core path list",
                "$esxcli.storage.core.path.list.Invoke()",
                &format!(
                    "the units of the array, State: active, each with Adapter: {adapter} and none with the software adapter"
                ),
            ),
        ],
    )
}

fn end() -> Step {
    step(
        "Put the host back into service",
        "Then the next host; compare before and after with `plimsoll probe compare`.",
        &["esxcli system maintenanceMode set --enable false"],
        &["Set-VMHost -VMHost $vmhost -State Connected"],
        vec![check(
            "esxcli system maintenanceMode get",
            "$esxcli.system.maintenanceMode.get.Invoke()",
            "Disabled, and the datastores are mounted (esxcli storage filesystem list)",
        )],
    )
}
