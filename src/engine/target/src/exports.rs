//! The exports of the NFS server: one per volume of files, kept in step with the array.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_storage::namespace::{
    Credential, FileError, How, OpenError, SetAttributes, Timestamp,
};
use plimsoll_storage::{Blocking, Event, Kind, Namespace, Volume};
use plimsoll_target_nfs::{Access, Export, Network, Rule, Server, Squash};

use crate::config::{Config, ExportRule, NfsConfig};
use crate::{Size, TargetError};

/// Makes exports of volumes of files and takes them away.
pub(crate) struct ExportTable {
    server: Server,
    blocking: Arc<Blocking>,
    rules: Vec<ParsedRule>,
    read_only: Mutex<BTreeSet<String>>,
    probe_files: BTreeMap<String, Size>,
}

/// Name of the file that a probe finds in an export.
const PROBE_FILE: &[u8] = b"probe.dat";

/// An entry of `nfs.access`, its networks understood.
struct ParsedRule {
    volumes: Vec<String>,
    rules: Vec<Rule>,
}

impl ExportTable {
    pub fn new(
        server: Server,
        blocking: Arc<Blocking>,
        nfs: &NfsConfig,
        config: &Config,
    ) -> Result<Self, TargetError> {
        let rules = nfs.access.iter().map(|rule| ParsedRule::new(rule, config));
        let probe_files = config
            .volumes
            .iter()
            .filter_map(|volume| Some((volume.name.clone(), volume.probe_file?)));
        Ok(Self {
            probe_files: probe_files.collect(),
            server,
            blocking,
            rules: rules.collect::<Result<_, _>>()?,
            read_only: Mutex::new(config.read_only_exports()),
        })
    }

    /// Replaces the names of the volumes that refuse writes, for volumes that are created from now on.
    pub fn set_read_only(&self, read_only: BTreeSet<String>) {
        *self.read_only.lock().unwrap_or_else(PoisonError::into_inner) = read_only;
    }

    /// Begins to serve a volume, if it is one of files.
    pub fn add(&self, volume: &Arc<Volume>) -> Result<(), OpenError> {
        if volume.kind() != Kind::Files {
            return Ok(());
        }
        let (space, blocking) = (Arc::clone(volume.space()), Arc::clone(&self.blocking));
        let namespace = match volume.folder() {
            Some(folder) => Namespace::open(folder, space, blocking)?,
            None => Namespace::memory(space, blocking)?,
        };
        if let Some(size) = self.probe_files.get(volume.name())
            && let Err(error) = make_probe_file(&namespace, *size)
        {
            tracing::warn!(volume = volume.name(), %error, "the file for probes cannot be made");
        }
        let access = self.access(volume.name());
        self.server.export(Export::new(path(volume), Arc::clone(volume), namespace, access));
        Ok(())
    }

    /// Passes an event of the array on to clients.
    pub fn on_event(&self, event: &Event) {
        match event {
            Event::VolumeCreated { volume } => {
                if let Err(error) = self.add(volume) {
                    tracing::error!(volume = volume.name(), %error, "the new volume cannot be exported");
                }
            }
            Event::VolumeDeleted { volume } if volume.kind() == Kind::Files => {
                self.server.unexport(&path(volume));
            }
            _ => {}
        }
    }

    fn access(&self, volume: &str) -> Access {
        let names = self.read_only.lock().unwrap_or_else(PoisonError::into_inner);
        let read_only = names.contains(volume);
        drop(names);
        let open = ParsedRule { volumes: Vec::new(), rules: everywhere().map(Rule::full).to_vec() };
        let rules = if self.rules.is_empty() { std::slice::from_ref(&open) } else { &self.rules };
        let about = rules
            .iter()
            .filter(|rule| rule.volumes.is_empty() || rule.volumes.iter().any(|v| v == volume));
        let rules = about.flat_map(|rule| &rule.rules);
        Access::new(
            rules.map(|&rule| Rule { read_only: rule.read_only || read_only, ..rule }).collect(),
        )
    }
}

impl ParsedRule {
    fn new(rule: &ExportRule, config: &Config) -> Result<Self, TargetError> {
        let parse = |text: &String| {
            text.parse::<Network>().map_err(|error| config.error("nfs", 0, error.to_string()))
        };
        let mut networks = rule.networks.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        if networks.is_empty() {
            networks = everywhere().to_vec();
        }
        let squash = if rule.squash_root { Squash::Root } else { Squash::Nobody };
        let rules = networks
            .into_iter()
            .map(|network| Rule { network, read_only: rule.read_only, squash })
            .collect();
        Ok(Self { volumes: rule.volumes.clone(), rules })
    }
}

/// A sparse file for probes, unless the export has anything in it.
fn make_probe_file(namespace: &Namespace, size: Size) -> Result<(), FileError> {
    let root = namespace.root();
    let mut empty = true;
    namespace.list(&Credential::ROOT, root, 0, &mut |item| {
        empty = matches!(item.name, b"." | b"..");
        empty
    })?;
    if !empty {
        return Ok(());
    }
    let set = SetAttributes { size: Some(size.bytes()), ..SetAttributes::default() };
    let made = namespace.create(
        &Credential::ROOT,
        root,
        PROBE_FILE,
        How::Guarded(set),
        Timestamp::now(),
    )?;
    namespace.wait_stable(made.ticket)
}

/// All addresses of both families.
fn everywhere() -> [Network; 2] {
    [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)].map(Network::all_like)
}

/// The path that clients mount.
pub(crate) fn path(volume: &Volume) -> String {
    format!("/{}", volume.name())
}
