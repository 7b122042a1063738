//! The coordinator's side of a worker process.

use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use super::{HERE, Order, Word};
use crate::{
    client::ClientOptions,
    measure::{Event, Link, Seat},
    run::Host,
};

/// Patience with a process that was told to stop.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a worker process is started.
#[derive(Debug, Clone)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments; it must end up in [`super::work`].
    pub arguments: Vec<String>,
    /// Variables set for it.
    pub variables: Vec<(String, String)>,
}

impl Program {
    /// This executable with `probe worker`.
    #[must_use]
    pub fn this() -> Self {
        let path = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("plimsoll"));
        Self {
            path,
            arguments: vec!["probe".to_owned(), "worker".to_owned()],
            variables: Vec::new(),
        }
    }
}

/// A worker process, in a network namespace or beside this one.
#[derive(Debug)]
pub struct ProcessHost {
    name: String,
    netns: Option<String>,
    program: Program,
    places: Vec<(String, ClientOptions)>,
}

impl ProcessHost {
    /// A process in the namespace `netns`, or [`HERE`]. `places` are all targets.
    #[must_use]
    pub fn new(netns: &str, program: &Program, places: &[(String, ClientOptions)]) -> Self {
        Self {
            name: netns.to_owned(),
            netns: (netns != HERE).then(|| netns.to_owned()),
            program: program.clone(),
            places: places.to_vec(),
        }
    }

    fn start(&self) -> std::io::Result<Child> {
        Command::new(&self.program.path)
            .args(&self.program.arguments)
            .envs(self.program.variables.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
    }
}

impl Host for ProcessHost {
    fn name(&self) -> &str {
        &self.name
    }

    fn serve(&self, seats: Vec<Seat>, link: &Link) {
        let ids: Vec<usize> = seats.iter().map(|seat| seat.id).collect();
        let mut ended = vec![false; ids.len()];
        let fail = |ended: &[bool], what: &str| {
            for (id, _) in ids.iter().zip(ended).filter(|(_, ended)| !**ended) {
                link.tell(Event::Failed { id: *id, error: format!("host {}: {what}", self.name) });
            }
        };
        let mut child = match self.start() {
            Ok(child) => child,
            Err(error) => {
                let what = format!("{} cannot be started: {error}", self.program.path.display());
                return fail(&ended, &what);
            }
        };
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return fail(&ended, "its process has no pipes");
        };
        let order = Order::Prepare {
            netns: self.netns.clone(),
            places: self.places.clone(),
            seats,
            budget_bytes: link.budget_left(),
        };
        if let Err(error) = send(&mut input, &order) {
            return fail(&ended, &format!("its process does not listen: {error}"));
        }
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let over = &over;
            scope.spawn(move || pass_orders(input, link, over));
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                // Anything else on its output is not for us.
                let Some(word) = parse(&line) else { continue };
                if let Some(place) = ids.iter().position(|id| *id == word.id()) {
                    ended[place] |= matches!(word, Event::End { .. } | Event::Failed { .. });
                    link.tell(word);
                }
                if ended.iter().all(|ended| *ended) {
                    break;
                }
            }
            over.store(true, Ordering::Relaxed);
            link.gate.close();
        });
        let until = Instant::now() + PATIENCE;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
            }
        };
        let what = status
            .map_or("its process hung".to_owned(), |status| format!("its process ended: {status}"));
        fail(&ended, &what);
    }
}

/// Passes on the start and the stop.
fn pass_orders(mut input: ChildStdin, link: &Link, over: &AtomicBool) {
    if let Some(start) = link.gate.wait() {
        let left = start.saturating_duration_since(Instant::now());
        let in_nanos = u64::try_from(left.as_nanos()).unwrap_or(0);
        // A process that does not listen any more is noticed by its silence.
        let _ = send(&mut input, &Order::Go { in_nanos });
        while !link.stopped() && !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let _ = send(&mut input, &Order::Stop);
}

fn send(input: &mut ChildStdin, order: &Order) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(order)?;
    line.push(b'\n');
    input.write_all(&line)?;
    input.flush()
}

/// An event, if the line holds one; test harnesses may put words before it.
fn parse(line: &str) -> Option<Event> {
    let at = line.find("{\"plimsoll_probe\"")?;
    serde_json::from_str::<Word>(&line[at..]).ok().map(|word| word.plimsoll_probe)
}
