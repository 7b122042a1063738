//! One path to a target: reached, how far, how wide.

use std::{
    net::{IpAddr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use plimsoll_initiator::Transport;
use serde::Serialize;

use super::{
    Options,
    interfaces::{self, Interface},
    mtu::{self, PathMtu},
};
use crate::{client::ClientOptions, run::run, workload::Workload};

/// Patience with one connection.
const PATIENCE: Duration = Duration::from_secs(3);
/// Connections made to measure the round trip.
const ROUNDS: usize = 5;

/// A path.
#[derive(Debug, Clone, Serialize)]
pub struct Path {
    /// What it runs over: `tcp` or `iser`.
    pub transport: String,
    /// Remote end.
    pub remote: SocketAddr,
    /// Local address it leaves from.
    pub local: Option<IpAddr>,
    /// Interface it leaves by.
    pub interface: Option<String>,
    /// MTU of that interface.
    pub interface_mtu_bytes: Option<u32>,
    /// Whether a connection was made.
    pub reached: bool,
    /// Why not.
    pub error: Option<String>,
    /// Time of a TCP connection's first round trip, median.
    pub connect_us: f64,
    /// TCP's own round trip time.
    pub tcp_rtt_us: u32,
    /// What both ends agreed to send in a segment.
    pub tcp_mss_bytes: u32,
    /// The proof of the MTU.
    pub mtu: Option<PathMtu>,
    /// MiB a second of a short sequential read over this path alone; 0 when not measured.
    pub mib_per_s: f64,
    /// Access state (ALUA), when the target tells.
    pub access: Option<String>,
}

impl Path {
    /// Looks at the way to `remote` and connects. A connection over RDMA is left to the login.
    pub(super) fn look(
        transport: Transport,
        remote: SocketAddr,
        interfaces: &[Interface],
        options: &Options,
    ) -> Self {
        let local = interfaces::source_of(remote);
        let interface = interfaces.iter().find(|interface| Some(interface.address) == local);
        let mut path = Self {
            transport: transport.to_string(),
            remote,
            local,
            interface: interface.map(|interface| interface.name.clone()),
            interface_mtu_bytes: interface.and_then(|interface| interface.mtu_bytes),
            reached: false,
            error: None,
            connect_us: 0.0,
            tcp_rtt_us: 0,
            tcp_mss_bytes: 0,
            mtu: None,
            mib_per_s: 0.0,
            access: None,
        };
        match transport {
            Transport::Tcp => path.connect(),
            Transport::Iser => path.reached = true,
        }
        if path.reached {
            path.mtu = Some(mtu::measure(remote.ip(), options.payload_bytes));
        }
        path
    }

    /// Reads for a while over a path that was reached; `url` leads over it alone.
    pub(super) fn measure(&mut self, url: &str, options: &Options) {
        if self.reached && options.seconds > 0.0 {
            self.mib_per_s = throughput(url, &options.client, options.seconds);
        }
    }

    /// It turned out that there is no connection to be had.
    pub(super) fn fail(&mut self, error: &dyn std::fmt::Display) {
        self.reached = false;
        self.error = Some(error.to_string());
    }

    fn connect(&mut self) {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            match TcpStream::connect_timeout(&self.remote, PATIENCE) {
                Ok(stream) => {
                    times.push(begin.elapsed().as_secs_f64() * 1e6);
                    self.reached = true;
                    if let Some((rtt_us, mss)) = tcp_info(&stream) {
                        (self.tcp_rtt_us, self.tcp_mss_bytes) = (rtt_us, mss);
                    }
                }
                Err(error) => {
                    self.error = Some(error.to_string());
                    if !self.reached {
                        return;
                    }
                }
            }
        }
        times.sort_by(f64::total_cmp);
        self.connect_us = times.get(times.len() / 2).copied().unwrap_or(0.0);
    }

    /// One line.
    pub(super) fn line(&self) -> String {
        let from = match (&self.interface, self.local) {
            (Some(name), Some(local)) => format!("{name} ({local})"),
            (None, Some(local)) => local.to_string(),
            _ => "nowhere".to_owned(),
        };
        let mut line = format!("path {from} -> {}: ", self.remote);
        if !self.reached {
            line += &format!("not reached: {}", self.error.as_deref().unwrap_or("no answer"));
            return line;
        }
        line += &if self.tcp_mss_bytes > 0 {
            format!("round trip {:.0} µs, MSS {}", self.connect_us, self.tcp_mss_bytes)
        } else {
            format!("over {}", self.transport)
        };
        if let Some(mtu) = &self.mtu {
            line += &match mtu.method {
                mtu::Method::None => ", MTU not provable (no echo, no errors come back)".to_owned(),
                _ if mtu.passes => {
                    format!(", {} bytes pass unfragmented", mtu.wanted_payload_bytes)
                }
                _ => format!(
                    ", only {} of {} bytes pass unfragmented (MTU {})",
                    mtu.proven_payload_bytes, mtu.wanted_payload_bytes, mtu.proven_mtu_bytes
                ),
            };
        }
        if self.mib_per_s > 0.0 {
            line += &format!(", {:.0} MiB/s", self.mib_per_s);
        }
        if let Some(access) = &self.access {
            line += &format!(", {access}");
        }
        line
    }
}

/// Round trip in microseconds and segment size, from TCP itself.
#[allow(unsafe_code)]
fn tcp_info(stream: &TcpStream) -> Option<(u32, u32)> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: an all-zero tcp_info is a valid value of this plain C structure.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open; the buffer is live and of the length given.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    (result == 0).then_some((info.tcpi_rtt, info.tcpi_snd_mss))
}

/// A short sequential read over one connection.
fn throughput(url: &str, client: &ClientOptions, seconds: f64) -> f64 {
    let alone = ClientOptions { connections: 1, portals: Vec::new(), ..client.clone() };
    let workload =
        Workload { depth: 16, ramp_seconds: 0.2, seconds, ..Workload::simple(65_536, 100.0, 0.0) };
    let open = |_| alone.open(url, "path", workload.depth);
    run(&workload, &open).map_or(0.0, |set| set.total.mib_per_s)
}
