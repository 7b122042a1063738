//! Threads of the server.

use serde::Deserialize;

/// `[server]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// I/O threads; 0 takes as many as there are cores.
    pub threads: usize,
    /// How long an idle thread polls before it sleeps, in microseconds: lower latency at queue depth 1 for a
    /// whole core a thread.
    pub spin_us: u64,
    /// Threads for what may wait: cold reads, flushes, metadata.
    pub blocking_threads: usize,
    /// Jobs that may wait for such a thread; beyond it initiators are told to come again.
    pub blocking_queue: usize,
    /// How long sessions are given to log out when the target stops.
    pub stop_grace_s: u16,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            threads: 0,
            spin_us: 0,
            blocking_threads: 8,
            blocking_queue: 16_384,
            stop_grace_s: 2,
        }
    }
}

impl ServerConfig {
    pub(crate) fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            threads => threads,
        }
    }
}
