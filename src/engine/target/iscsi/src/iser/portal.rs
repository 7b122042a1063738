//! What accepts the connections of one RDMA portal.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_fabric::Remote;
use plimsoll_fabric::rdma::{Establish, Queues, RdmaService, Served};

use super::connection::IserConnection;
use super::{Plan, SEGMENTS_MAX};
use crate::connection::Event;
use crate::server::Shared;

/// A portal of a portal group.
pub(crate) struct RdmaPortal {
    pub shared: Arc<Shared>,
    pub group: u16,
}

impl RdmaService for RdmaPortal {
    type Connection = IserConnection;

    fn accept(
        &self,
        asks: &Establish,
        peer: SocketAddr,
        local: SocketAddr,
        remote: Remote<Event>,
    ) -> Option<Served<IserConnection>> {
        if !self.shared.admit_login(peer) {
            return None;
        }
        let plan = Plan::new(&self.shared.settings);
        let queues =
            Queues { sends: plan.sends, receives: plan.receives, segments: SEGMENTS_MAX as u32 };
        remote.post(Event::Opened);
        let shared = Arc::clone(&self.shared);
        let connection = IserConnection::new(shared, self.group, (peer, local), asks, remote);
        Some(Served { connection, queues })
    }
}
