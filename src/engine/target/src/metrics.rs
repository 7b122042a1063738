//! The statistics of a target as text for a monitoring system (Prometheus text format 0.0.4).
//!
//! Families stand together, each with its type; labels are the names of volumes, which are few.

use std::fmt::{Display, Write as _};

use plimsoll_remote::{Connection, Status};

use crate::{Statistics, VolumeStatistics};

/// What is told of every remote volume, by family.
type OfRemote = (&'static str, &'static str, fn(&Status) -> f64);

const OF_REMOTE: [OfRemote; 8] = [
    ("remote_connection_seconds", "gauge", |remote| remote.since_s),
    ("remote_switches_total", "counter", |remote| remote.switches as f64),
    ("remote_reconnects_total", "counter", |remote| remote.reconnects as f64),
    ("remote_reissued_total", "counter", |remote| remote.reissued as f64),
    ("remote_queued_operations", "gauge", |remote| remote.queued_operations as f64),
    ("remote_queued_bytes", "gauge", |remote| remote.queued_bytes as f64),
    ("remote_turned_away_total", "counter", |remote| remote.turned_away as f64),
    ("remote_failed_total", "counter", |remote| remote.failed as f64),
];

/// What is told of every volume, by family.
type OfVolume = (&'static str, &'static str, fn(&VolumeStatistics) -> f64);

const OF_VOLUME: [OfVolume; 6] = [
    ("volume_size_bytes", "gauge", |volume| volume.size_bytes as f64),
    ("volume_used_bytes", "gauge", |volume| volume.used_bytes as f64),
    ("volume_reads_total", "counter", |volume| volume.counters.reads as f64),
    ("volume_read_bytes_total", "counter", |volume| volume.counters.read_bytes as f64),
    ("volume_writes_total", "counter", |volume| volume.counters.writes as f64),
    ("volume_written_bytes_total", "counter", |volume| volume.counters.written_bytes as f64),
];

impl Statistics {
    /// The snapshot as metrics in text.
    pub fn metrics(&self) -> String {
        let mut text = Text(String::new());
        text.family("uptime_seconds", "gauge");
        text.sample("uptime_seconds", &[], self.uptime_s);
        text.family("iscsi_sessions", "gauge");
        for transport in ["tcp", "iser"] {
            let of = self.sessions.iter().filter(|session| session.transport == transport);
            text.sample("iscsi_sessions", &[("transport", transport)], of.count());
        }
        for (name, kind, value) in OF_VOLUME {
            text.family(name, kind);
            for volume in &self.volumes {
                text.sample(name, &[("volume", &volume.name)], value(volume));
            }
        }
        let remotes = || {
            self.volumes.iter().filter_map(|volume| Some((&volume.name, volume.remote.as_ref()?)))
        };
        if remotes().next().is_none() {
            return text.0;
        }
        text.family("remote_connection", "gauge");
        for (volume, remote) in remotes() {
            let connection = match remote.connection {
                Connection::Iser => "iser",
                Connection::Tcp => "tcp",
                Connection::None => "none",
                Connection::Refused => "refused",
            };
            let labels =
                [("volume", &**volume), ("connection", connection), ("reason", &remote.reason)];
            text.sample("remote_connection", &labels, 1);
        }
        for (name, kind, value) in OF_REMOTE {
            text.family(name, kind);
            for (volume, remote) in remotes() {
                text.sample(name, &[("volume", volume)], value(remote));
            }
        }
        text.0
    }
}

struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str) {
        let _ = writeln!(self.0, "# TYPE plimsoll_target_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let escaped =
            |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "plimsoll_target_{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_volume_tells_how_it_is_connected_and_why() {
        let remote = Status {
            connection: Connection::Tcp,
            reason: "no route by \"mlx5\"".to_owned(),
            switches: 3,
            ..Status::default()
        };
        let volume = VolumeStatistics {
            name: "far".to_owned(),
            serial: "0123456789abcdef".to_owned(),
            size_bytes: 4096,
            used_bytes: 0,
            limit_mib_per_s: None,
            limit_iops: None,
            counters: Default::default(),
            remote: Some(remote),
        };
        let text = Statistics { volumes: vec![volume], ..Statistics::default() }.metrics();
        for line in [
            "# TYPE plimsoll_target_remote_switches_total counter",
            "plimsoll_target_remote_switches_total{volume=\"far\"} 3",
            "plimsoll_target_volume_size_bytes{volume=\"far\"} 4096",
            "plimsoll_target_remote_connection{volume=\"far\",connection=\"tcp\",reason=\"no route by \\\"mlx5\\\"\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(!Statistics::default().metrics().contains("remote"));
    }
}
