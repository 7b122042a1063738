//! The two servers over one array: their set-up, their addresses, their end.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_fabric::rdma::Fabric;
use plimsoll_fabric::{Listening, Loops};
use plimsoll_storage::{Array, Blocking, Kind, Volume};
use plimsoll_target_iscsi::{Portal, SessionInfo, TargetSettings, Transport};
use plimsoll_target_nfs::UdpPortmap;
use plimsoll_target_scsi::{Device, Identity, Port, UnitSettings};

use crate::TargetError;
use crate::config::{Config, IscsiConfig, NfsConfig};
use crate::exports::{ExportTable, path};
use crate::listen::{listen, url_address};
use crate::units::Units;

/// Block volumes over iSCSI.
pub(crate) struct Iscsi {
    server: plimsoll_target_iscsi::Server,
    name: String,
    units: Arc<Units>,
    portals: Vec<Portal>,
}

impl Iscsi {
    pub fn start(
        iscsi: &IscsiConfig,
        config: &Config,
        array: &Arc<Array>,
        blocking: &Arc<Blocking>,
        loops: &Loops,
        rdma: Option<&dyn Fabric>,
    ) -> Result<Self, TargetError> {
        let server =
            plimsoll_target_iscsi::Server::new(iscsi.settings(config)?, Arc::clone(blocking));
        let name = iscsi.target_name(config);
        let groups: BTreeSet<u16> = iscsi.portals.iter().map(|portal| portal.group).collect();
        let ports: Vec<Port> =
            groups.into_iter().map(|group| Port { relative: group, group }).collect();
        let identity = Identity {
            vendor: "PLIMSOLL".to_owned(),
            product: "DATASTORE".to_owned(),
            revision: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let device = Device::new(&name, identity, &ports);
        for portal in &iscsi.portals {
            device.set_access_state(portal.group, portal.state.into());
        }
        let units = Arc::new(Units::new(Arc::clone(&device), config.unit_settings()));
        let heard = Arc::clone(&units);
        array.subscribe(move |event| heard.on_event(event));
        for volume in array.volumes() {
            units.add(&volume);
        }
        let access =
            iscsi.access.iter().map(|rule| rule.access(config)).collect::<Result<_, _>>()?;
        let settings = TargetSettings { name: name.clone(), alias: iscsi.alias.clone(), access };
        server.add_target(settings, device)?;
        let mut portals = Vec::new();
        for portal in &iscsi.portals {
            let tcp = server.listen(loops, listen(portal.listen)?, portal.group)?;
            let address = tcp.address();
            portals.push(tcp);
            if portal.iser {
                let Some(fabric) = rdma else {
                    let message = format!(
                        "portal {} has iser = true and there is no RDMA here; `plimsoll doctor` says what is missing",
                        portal.listen
                    );
                    return Err(config.error("iscsi", 0, message));
                };
                let listener = fabric
                    .listen(address)
                    .map_err(|source| TargetError::Rdma { address, source })?;
                portals.push(server.listen_rdma(loops, listener, portal.group));
            }
        }
        Ok(Self { server, name, units, portals })
    }

    /// Where TCP is taken; RDMA is, if at all, on the same addresses.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        let tcp = self.portals.iter().filter(|portal| portal.transport() == Transport::Tcp);
        tcp.map(Portal::address)
    }

    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.server.sessions()
    }

    /// See [`Units::set_settings`].
    pub fn set_unit_settings(&self, settings: BTreeMap<String, UnitSettings>) {
        self.units.set_settings(settings);
    }

    pub fn urls<'a>(&'a self, volume: &'a Volume) -> impl Iterator<Item = String> + 'a {
        volume.lun().into_iter().flat_map(move |lun| {
            let url = move |portal: &Portal| {
                let scheme = match portal.transport() {
                    Transport::Tcp => "iscsi",
                    Transport::Iser => "iser",
                };
                format!("{scheme}://{}/{}/{lun}", url_address(portal.address()), self.name)
            };
            self.portals.iter().map(url)
        })
    }

    /// Stops accepting, asks sessions to log out, and waits for them for as long as the grace lasts.
    pub fn stop(mut self, grace_s: u16) {
        self.portals.clear();
        let deadline = Instant::now() + Duration::from_secs(grace_s.into());
        if self.server.request_logout(None, grace_s) == 0 {
            return;
        }
        while !self.server.sessions().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Volumes of files over NFS.
pub(crate) struct Nfs {
    exports: Arc<ExportTable>,
    listening: Vec<Listening>,
    /// Portmap is served like the rest but is not an address of an export.
    _portmap: Option<(Listening, UdpPortmap)>,
}

impl Nfs {
    pub fn start(
        nfs: &NfsConfig,
        config: &Config,
        array: &Arc<Array>,
        blocking: &Arc<Blocking>,
        loops: &Loops,
    ) -> Result<Self, TargetError> {
        let server = plimsoll_target_nfs::Server::new(nfs.settings(config)?)?;
        let exports = ExportTable::new(server.clone(), Arc::clone(blocking), nfs, config)?;
        let exports = Arc::new(exports);
        let heard = Arc::clone(&exports);
        array.subscribe(move |event| heard.on_event(event));
        for volume in array.volumes() {
            let failed = |source| TargetError::Files { volume: volume.name().to_owned(), source };
            exports.add(&volume).map_err(failed)?;
        }
        let serve = |address: SocketAddr, port: Option<u16>| {
            let failed = |source| TargetError::Listen { address, source };
            loops.serve(listen(address)?, server.service(port)).map_err(failed)
        };
        let mut listening = Vec::new();
        for &address in &nfs.listen {
            listening.push(serve(address, None)?);
        }
        let portmap = match (nfs.portmap, listening.first().map(Listening::address)) {
            (Some(address), Some(service)) => {
                let tcp = serve(address, Some(service.port()))?;
                let socket = UdpSocket::bind(tcp.address());
                let udp = socket.and_then(|socket| UdpPortmap::start(socket, service));
                Some((tcp, udp.map_err(|source| TargetError::Listen { address, source })?))
            }
            _ => None,
        };
        Ok(Self { exports, listening, _portmap: portmap })
    }

    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.listening.iter().map(Listening::address)
    }

    /// See [`ExportTable::set_read_only`].
    pub fn set_read_only(&self, names: BTreeSet<String>) {
        self.exports.set_read_only(names);
    }

    pub fn urls<'a>(&'a self, volume: &'a Volume) -> impl Iterator<Item = String> + 'a {
        let served = self.listening.iter().filter(|_| volume.kind() == Kind::Files);
        served
            .map(|listening| format!("nfs://{}{}", url_address(listening.address()), path(volume)))
    }
}
