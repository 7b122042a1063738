//! `plimsoll advise`: what to type on ESXi hosts, in which order, with the check after each step.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Parser, Subcommand, ValueEnum};
use plimsoll_advise::iser::{self, Host, Nic, Settings};
use plimsoll_ingest::Input;

use super::{Outcome, deliver, talk};

/// Arguments of `plimsoll advise`.
#[derive(Debug, Parser)]
pub struct Args {
    #[command(subcommand)]
    about: About,
}

#[derive(Debug, Subcommand)]
enum About {
    /// iSCSI over RDMA: which hosts can do it, why others cannot, the steps and their checks.
    Iser(Box<IserArgs>),
}

#[derive(Debug, Parser)]
struct IserArgs {
    /// Exports of the hosts (tabs vHost, vNIC, vHBA, vSC_VMK): xlsx, xls, csv, a zip or a folder.
    #[arg(required_unless_present = "esxi", conflicts_with = "esxi")]
    files: Vec<PathBuf>,
    /// By hand: version of ESXi, such as 6.7 or 7.0.3.
    #[arg(long, value_name = "VERSION", requires = "nic", help_heading = "One host by hand")]
    esxi: Option<String>,
    /// Its adapters: drivers or models, such as nmlx5_core or ConnectX-4.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "One host by hand")]
    nic: Vec<String>,
    /// Their names on the host, in the same order.
    #[arg(long, value_name = "VMNIC", value_delimiter = ',', help_heading = "One host by hand")]
    vmnic: Vec<String>,
    /// Its name.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "the host",
        help_heading = "One host by hand"
    )]
    host: String,
    /// Portal of the array: an address, or address and port.
    #[arg(long, value_name = "ADDRESS", help_heading = "What the steps hold")]
    portal: Option<String>,
    /// Static address of the VMkernel port.
    #[arg(long, value_name = "ADDRESS", help_heading = "What the steps hold")]
    address: Option<Ipv4Addr>,
    /// Its network mask.
    #[arg(long, value_name = "MASK", help_heading = "What the steps hold")]
    netmask: Option<Ipv4Addr>,
    /// VLAN of the port group.
    #[arg(long, value_name = "ID", help_heading = "What the steps hold")]
    vlan: Option<u16>,
    /// Virtual switch to make.
    #[arg(long, value_name = "NAME", help_heading = "What the steps hold")]
    vswitch: Option<String>,
    /// Port group to make.
    #[arg(long, value_name = "NAME", help_heading = "What the steps hold")]
    port_group: Option<String>,
    /// VMkernel port to make.
    #[arg(long, value_name = "VMK", help_heading = "What the steps hold")]
    vmkernel: Option<String>,
    /// The iSER adapter, once it is known.
    #[arg(long, value_name = "VMHBA", help_heading = "What the steps hold")]
    adapter: Option<String>,
    /// Format.
    #[arg(long, value_enum, default_value_t = AdviceFormat::Text)]
    format: AdviceFormat,
    /// Where to write it; `-` or nothing for stdout.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AdviceFormat {
    Text,
    Markdown,
    Json,
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let About::Iser(args) = &args.about;
    let settings = Settings {
        portal: args.portal.clone(),
        address: args.address,
        netmask: args.netmask,
        vlan: args.vlan,
        vswitch: args.vswitch.clone(),
        port_group: args.port_group.clone(),
        vmkernel: args.vmkernel.clone(),
        adapter: args.adapter.clone(),
    };
    let advice = match &args.esxi {
        Some(version) => iser::advise(&[by_hand(args, version)?], &settings).map_err(Into::into),
        None => {
            let inputs = args.files.iter().map(Input::from_path).collect();
            plimsoll_planner::advise_iser(inputs, &settings, &Default::default(), &mut |_| true)
        }
    };
    let advice = match advice {
        Ok(advice) => advice,
        Err(error) => {
            talk(&format!("plimsoll: {error}"));
            return Ok(Outcome::Refused);
        }
    };
    let text = match args.format {
        AdviceFormat::Text => advice.text(),
        AdviceFormat::Markdown => advice.markdown(),
        AdviceFormat::Json => format!("{}\n", serde_json::to_string_pretty(&advice)?),
    };
    deliver(text.as_bytes(), args.output.as_deref())?;
    Ok(Outcome::Done)
}

fn by_hand(args: &IserArgs, version: &str) -> anyhow::Result<Host> {
    if !args.vmnic.is_empty() && args.vmnic.len() != args.nic.len() {
        bail!("{} adapters (--nic) and {} names (--vmnic)", args.nic.len(), args.vmnic.len());
    }
    let names = args.vmnic.iter().map(Some).chain(std::iter::repeat(None));
    let nics = args.nic.iter().zip(names).map(|(adapter, device)| Nic {
        device: device.cloned(),
        adapter: adapter.clone(),
        ..Nic::default()
    });
    Ok(Host {
        name: args.host.clone(),
        version: Some(version.to_owned()),
        nics: Some(nics.collect()),
        ..Host::default()
    })
}
