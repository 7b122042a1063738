//! The worker process: reads orders, runs its workers, writes events.

use std::{
    io::{BufRead, Write},
    sync::mpsc::channel,
    time::{Duration, Instant},
};

use super::{Order, Word, netns};
use crate::{
    Error, Result,
    client::{ClientOptions, Rdma},
    measure::{Event, Link, Seat},
    run::{Host, Local, Target},
};

/// Serves one run over `input` and `output`; this is `plimsoll probe worker`.
pub fn work(
    mut input: impl BufRead + Send,
    mut output: impl Write + Send,
    rdma: &Rdma,
) -> Result<()> {
    let Order::Prepare { netns, places, seats, budget_bytes } = read(&mut input)? else {
        return Err(Error::Run("a worker process must be told what to do first".to_owned()));
    };
    if let Some(name) = &netns
        && let Err(error) = netns::enter(name)
    {
        for seat in &seats {
            write(&mut output, Event::Failed { id: seat.id, error: error.to_string() })?;
        }
        return Ok(());
    }
    let (events, inbox) = channel();
    let link = Link::new(events, budget_bytes);
    let open = |seat: &Seat| {
        let (url, client) = places
            .get(seat.target)
            .ok_or_else(|| Error::Run(format!("there is no target {}", seat.target)))?;
        let client = ClientOptions { rdma: rdma.clone(), ..client.clone() };
        client.open(url, &Target::new(url).shown, seat.workload.depth)
    };
    let local = Local::new(&open);
    let mut left = seats.len();
    std::thread::scope(|scope| {
        let link = &link;
        let local = &local;
        scope.spawn(move || local.serve(seats, link));
        // Orders come until the coordinator closes the pipe; a lost coordinator is an order to stop.
        scope.spawn(move || obey(&mut input, link));
        let mut outcome = Ok(());
        while left > 0 {
            let Ok(event) = inbox.recv() else { break };
            left -= usize::from(matches!(event, Event::End { .. } | Event::Failed { .. }));
            outcome = write(&mut output, event);
            if outcome.is_err() {
                break;
            }
        }
        link.stop();
        if outcome.is_err() { outcome } else { Ok(()) }
    })
}

fn obey(input: &mut impl BufRead, link: &Link) {
    loop {
        match read(input) {
            Ok(Order::Go { in_nanos }) => {
                link.gate.open(Instant::now() + Duration::from_nanos(in_nanos));
            }
            Ok(Order::Stop) | Err(_) => {
                link.stop();
                return;
            }
            Ok(Order::Prepare { .. }) => {}
        }
    }
}

fn read(input: &mut impl BufRead) -> Result<Order> {
    let mut line = String::new();
    let count = input
        .read_line(&mut line)
        .map_err(|source| Error::System { call: "read an order", source })?;
    if count == 0 {
        return Err(Error::Run("the coordinator went away".to_owned()));
    }
    serde_json::from_str(&line)
        .map_err(|error| Error::Run(format!("an order cannot be read: {error}")))
}

fn write(output: &mut impl Write, event: Event) -> Result<()> {
    let mut line = serde_json::to_vec(&Word { plimsoll_probe: event })
        .map_err(|error| Error::Run(format!("an event as JSON: {error}")))?;
    line.push(b'\n');
    output
        .write_all(&line)
        .and_then(|()| output.flush())
        .map_err(|source| Error::System { call: "tell an event", source })
}
