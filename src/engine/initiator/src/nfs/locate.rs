//! Where a server's MOUNT and NFS programs listen.
//!
//! A URL with a port names one port for both; if MOUNT is not served there, the portmapper is asked for it.
//! A URL without a port leaves both to the portmapper (RFC 1833): GETPORT of version 2 for IPv4, GETADDR of
//! rpcbind for IPv6.

use std::net::{IpAddr, SocketAddr};

use plimsoll_wire::portmap::{self, Mapping, NetworkId, Owner, RpcAddress, UniversalAddress};
use plimsoll_wire::rpc::Credential;

use super::caller::{Caller, Fault, Target, owned};
use crate::{Error, Options};

/// Asks the portmapper of `host` for the TCP port of a program.
pub(super) fn ask(
    host: IpAddr,
    program: u32,
    version: u32,
    options: &Options,
) -> Result<SocketAddr, Error> {
    let portmapper = SocketAddr::new(host, portmap::PORT);
    let mut caller = Caller::new(portmapper, options.connect_timeout, options.op_timeout);
    let found = match host {
        IpAddr::V4(_) => get_port(&mut caller, program, version).map(Some),
        IpAddr::V6(_) => get_address(&mut caller, program, version),
    };
    match found {
        Ok(Some(port)) if port != 0 => Ok(SocketAddr::new(host, port)),
        Ok(_) => Err(caller.refused(format!(
            "program {program} version {version} is not registered with the portmapper"
        ))),
        Err(Fault::NotServed(reason)) => Err(caller.refused(reason)),
        Err(Fault::Failed(error)) => Err(error),
    }
}

fn target(version: u32, what: &'static str) -> Target {
    Target { program: portmap::PROGRAM, version, procedure: portmap::PROC_GETPORT, what }
}

fn get_port(caller: &mut Caller, program: u32, version: u32) -> Result<u16, Fault> {
    let wanted = Mapping { program, version, protocol: portmap::IPPROTO_TCP, port: 0 };
    let target = target(portmap::VERSION_2, "portmap GETPORT");
    let port = caller.call(target, Credential::None, &wanted, owned::<u32>)?;
    u16::try_from(port).map_err(|_| {
        Error::Protocol {
            peer: caller.peer().to_string(),
            reason: format!("portmap GETPORT gave port {port}"),
        }
        .into()
    })
}

fn get_address(caller: &mut Caller, program: u32, version: u32) -> Result<Option<u16>, Fault> {
    let wanted = RpcAddress {
        program,
        version,
        netid: NetworkId(b"tcp6"),
        address: UniversalAddress(b""),
        owner: Owner(b""),
    };
    let mut ask = |rpcbind| {
        let target = target(rpcbind, "rpcbind GETADDR");
        caller.call(target, Credential::None, &wanted, |results| {
            let address: UniversalAddress<'_> = results.value()?;
            Ok(address.parse().map(|address| address.port()))
        })
    };
    match ask(portmap::VERSION_4) {
        Err(Fault::NotServed(_)) => ask(portmap::VERSION_3),
        answer => answer,
    }
}
