//! An adapter that is removed under live connections, and comes back: whoever runs this removes it when told
//! `ready`, and adds it again when told `gone`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use plimsoll_fabric::rdma::{Access, ConnectionEvent, Fabric};

use crate::Trouble;
use crate::end::{Door, End, connect};

/// How long the adapter may stay away.
const AWAY: Duration = Duration::from_secs(60);

pub fn pitfall_13_listeners_survive_their_adapter(
    fabric: &dyn Fabric,
    address: IpAddr,
) -> Result<bool, Trouble> {
    let mut named = Door::new(fabric, SocketAddr::new(address, 0))?;
    let mut any = Door::new(fabric, (Ipv4Addr::UNSPECIFIED, 0).into())?;
    let mut ends = Vec::new();
    for _ in 0..2 {
        ends.extend(<[End; 2]>::from(connect(fabric, &mut named, 4096, Access::LOCAL)?));
    }
    // One that is over: its listener keeps the adapter's domain for the next.
    drop(connect(fabric, &mut named, 4096, Access::LOCAL)?);
    println!("ready");
    let mut told = 0;
    for mut end in ends {
        // With both ends on one adapter, the end of one may reach the other before its own removal.
        match end.event()? {
            ConnectionEvent::DeviceRemoved => told += 1,
            ConnectionEvent::Disconnected => {}
            other => return Err(format!("expected the removal, got {other:?}").into()),
        }
    }
    if told == 0 {
        return Err("nobody was told of the removal".into());
    }
    println!(
        "ok {told} of 4 ends were told that their adapter was removed, the others of their peer"
    );
    // A listener tries again only when it is polled, as its thread does when its descriptor tells.
    let _ = named.incoming(Duration::from_millis(100));
    println!("gone");
    let until = Instant::now() + AWAY;
    for (what, door) in [("a named address", &mut named), ("every address", &mut any)] {
        loop {
            let to = SocketAddr::new(address, door.address().port());
            let _ = door.incoming(Duration::from_millis(200));
            match again(fabric, door, to) {
                Ok(()) => break,
                Err(trouble) if Instant::now() > until => return Err(trouble),
                Err(_) => {}
            }
        }
        println!("ok the listener of {what} serves the adapter that came back");
    }
    Ok(true)
}

fn again(fabric: &dyn Fabric, door: &mut Door, to: SocketAddr) -> Result<(), Trouble> {
    let mut client = crate::end::resolve(fabric, to, 4096, Access::LOCAL)?;
    client.endpoint.establish(&crate::end::terms(&[]))?;
    let incoming = door.incoming(Duration::from_secs(2))?;
    let mut server = End::new(incoming.request.open(crate::end::QUEUES)?, 4096)?;
    server.register(Access::LOCAL)?;
    server.receive(1, 0, 64)?;
    server.endpoint.establish(&crate::end::terms(&[]))?;
    client.expect_established()?;
    client.send(2, 0, 64)?;
    server.done(1)?;
    Ok(())
}
