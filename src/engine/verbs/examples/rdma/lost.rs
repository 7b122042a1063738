//! A peer that is lost without a word: whoever runs this takes the link down when told `ready`.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use plimsoll_fabric::rdma::{Access, ConnectionEvent, Fabric, Status};

use crate::Trouble;
use crate::end::{Door, connect};

/// Default path time-outs would take half a minute and more.
const SOON: Duration = Duration::from_secs(12);

pub fn pitfall_15_a_lost_peer_is_noticed_in_seconds(
    fabric: &dyn Fabric,
    address: IpAddr,
) -> Result<bool, Trouble> {
    let mut door = Door::new(fabric, SocketAddr::new(address, 0))?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    server.receive(1, 0, 64)?;
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let began = Instant::now();
    client.send(2, 0, 64)?;
    let done = client.completion()?;
    let took = began.elapsed();
    // An adapter whose link is up would tell of exceeded retries, soft RoCE of its own trouble at once.
    if matches!(done.status, Status::Success | Status::Flushed) || took > SOON {
        return Err(format!("{done:?} after {took:?}").into());
    }
    println!("ok a lost peer was noticed after {:.1} s: {:?}", took.as_secs_f32(), done.status);
    client.endpoint.disconnect();
    drop(client);
    // Nothing reaches the other end either: it is for its owner to end it.
    server.endpoint.disconnect();
    match server.event()? {
        ConnectionEvent::Disconnected => Ok(true),
        other => Err(format!("{other:?}").into()),
    }
}
