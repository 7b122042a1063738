//! Which RDMA adapters this machine has: their ports, and the GIDs by which connections reach them.

use std::ffi::CStr;
use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

use ibverbs_sys::{IBV_GID_TYPE_IB, IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2};
use plimsoll_fabric::rdma::RdmaError;

use crate::library::Libraries;

/// An adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// As the kernel calls it: `mlx5_0`, `rxe0`.
    pub name: String,
    /// Its ports.
    pub ports: Vec<Port>,
    /// Why its GIDs are not known, if they are not.
    pub trouble: Option<String>,
}

/// A port of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// From 1.
    pub number: u32,
    /// `ACTIVE` when it can be used, else such as `DOWN`.
    pub state: String,
    /// `Ethernet` (RoCE, iWARP) or `InfiniBand`.
    pub link_layer: String,
    /// As the kernel tells it: `100 Gb/sec (4X EDR)`.
    pub rate: String,
    /// Where connections reach it.
    pub gids: Vec<Gid>,
}

impl Port {
    /// Whether connections can be made.
    pub fn is_active(&self) -> bool {
        self.state == "ACTIVE"
    }
}

/// An address of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gid {
    /// Its place in the port's table.
    pub index: u32,
    /// What kind of packets it stands for.
    pub kind: GidKind,
    /// For RoCE an address of the network interface.
    pub address: IpAddr,
    /// The network interface, for RoCE.
    pub interface: Option<String>,
}

/// Kinds of GIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GidKind {
    /// InfiniBand, or what the kernel calls none of the others.
    InfiniBand,
    /// RoCE in Ethernet frames of its own, not routable.
    RoceV1,
    /// RoCE in UDP, routable.
    RoceV2,
}

impl fmt::Display for GidKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InfiniBand => "InfiniBand",
            Self::RoceV1 => "RoCE v1",
            Self::RoceV2 => "RoCE v2",
        })
    }
}

/// The adapters of this machine; none is no error.
pub fn inventory() -> Result<Vec<Adapter>, RdmaError> {
    Libraries::get()?;
    let devices = match ibverbs::devices() {
        Ok(devices) => devices,
        // The kernel has no RDMA, or none of its modules is loaded.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => return Ok(Vec::new()),
        Err(source) => {
            return Err(RdmaError::Call { call: "ibv_get_device_list".into(), source });
        }
    };
    Ok(devices.iter().map(|device| adapter(&device)).collect())
}

fn adapter(device: &ibverbs::Device<'_>) -> Adapter {
    let name = device.name().map(CStr::to_string_lossy).unwrap_or_default().into_owned();
    let mut ports = ports(&Path::new("/sys/class/infiniband").join(&name));
    let mut trouble = None;
    // An adapter is opened by its first port, which must be up for that.
    if ports.iter().any(|port| port.number == 1 && port.is_active()) {
        match device.open() {
            Ok(context) => {
                for entry in context.gid_table() {
                    let port = ports.iter_mut().find(|port| port.number == entry.port_num);
                    if let (Some(port), Some(gid)) = (port, gid(entry)) {
                        port.gids.push(gid);
                    }
                }
            }
            Err(error) => trouble = Some(error.to_string()),
        }
    } else {
        trouble = Some("its first port is not active".to_owned());
    }
    Adapter { name, ports, trouble }
}

/// The ports as the kernel shows them below an adapter's folder, also of one that is down.
fn ports(folder: &Path) -> Vec<Port> {
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let Ok(entries) = fs::read_dir(folder.join("ports")) else {
        return Vec::new();
    };
    let mut ports: Vec<Port> = entries
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            let state = read(entry.path().join("state"));
            Some(Port {
                number,
                // `4: ACTIVE`
                state: state.split_once(": ").map_or(&*state, |(_, name)| name).to_owned(),
                link_layer: read(entry.path().join("link_layer")),
                rate: read(entry.path().join("rate")),
                gids: Vec::new(),
            })
        })
        .collect();
    ports.sort_by_key(|port| port.number);
    ports
}

fn gid(entry: &ibverbs::GidEntry) -> Option<Gid> {
    let kind = match entry.gid_type {
        IBV_GID_TYPE_IB => GidKind::InfiniBand,
        IBV_GID_TYPE_ROCE_V1 => GidKind::RoceV1,
        IBV_GID_TYPE_ROCE_V2 => GidKind::RoceV2,
        _ => return None,
    };
    let bits = u128::from(entry.gid.subnet_prefix()) << 64 | u128::from(entry.gid.interface_id());
    let address = Ipv6Addr::from(bits);
    let address = address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4);
    Some(Gid { index: entry.gid_index, kind, address, interface: interface(entry.ndev_ifindex) })
}

/// The name of a network interface by its number.
#[allow(unsafe_code)]
fn interface(index: u32) -> Option<String> {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the length that the call asks for.
    let found = unsafe { libc::if_indextoname(index, name.as_mut_ptr()) };
    if index == 0 || found.is_null() {
        return None;
    }
    // SAFETY: on success the buffer holds a name that ends with a zero.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    name.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_as_the_kernel_shows_them() {
        let folder = tempfile::tempdir().unwrap();
        for (port, state) in [("2", "1: DOWN\n"), ("1", "4: ACTIVE\n")] {
            let port = folder.path().join("ports").join(port);
            fs::create_dir_all(&port).unwrap();
            fs::write(port.join("state"), state).unwrap();
            fs::write(port.join("link_layer"), "Ethernet\n").unwrap();
            fs::write(port.join("rate"), "100 Gb/sec (4X EDR)\n").unwrap();
        }
        let ports = ports(folder.path());
        assert_eq!(ports.iter().map(|port| port.number).collect::<Vec<_>>(), [1, 2]);
        assert!(ports[0].is_active() && !ports[1].is_active());
        assert_eq!(ports[1].state, "DOWN");
        assert_eq!((&*ports[0].link_layer, &*ports[0].rate), ("Ethernet", "100 Gb/sec (4X EDR)"));
    }

    #[test]
    fn the_loopback_interface_has_its_name() {
        assert_eq!(interface(1).as_deref(), Some("lo"));
        assert_eq!(interface(0), None);
    }
}
