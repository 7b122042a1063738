//! Changes run once, whatever clients repeat: the way of a change from its call to its answer.
//!
//! Looked up among the answers kept, executed here or in the pool of threads, held until it is durable, kept
//! and sent.

use std::sync::Arc;
use std::time::Instant;

use plimsoll_fabric::{Io, Remote};
use plimsoll_storage::namespace::FileError;
use plimsoll_wire::nfs3::{Procedure, Status};
use plimsoll_wire::rpc::{AuthSys, Call};

use crate::change::{self, Change, Outcome};
use crate::connection::{Event, NfsConnection, Pooled};
use crate::convert;
use crate::link::Target;
use crate::parked::Answer;
use crate::replies::{Key, Known};
use crate::server::Shared;

impl NfsConnection {
    /// A procedure that changes names or attributes: once, whatever the client repeats.
    pub(crate) fn change(
        &mut self,
        procedure: Procedure,
        change: &Change<'_>,
        xid: u32,
        caller: &AuthSys<'_>,
        message: &[u8],
        io: &mut Io<'_>,
    ) {
        let key = self.shared.replies.key(self.peer, xid, message);
        match self.shared.replies.begin(key, io.now) {
            Known::New => {}
            Known::Running => return,
            Known::Done(reply) => return io.send.bytes(&reply),
        }
        let (first, second) = match self.targets(change) {
            Ok(targets) => targets,
            Err(status) => {
                self.shared.replies.forget(key);
                return io.send.bytes(&change::refusal(procedure, xid, status));
            }
        };
        let caller = first.link.rule.squash.apply(caller);
        let now = self.clock.wall(io.now);
        let work = Work { shared: Arc::clone(&self.shared), key, procedure, xid };
        if !change.may_block(&first) {
            let outcome = change.execute(xid, &caller, &first, second.as_ref(), now);
            if outcome.ticket.is_stable() {
                work.keep(&outcome.record, outcome.retry, io.now);
                return io.send.bytes(&outcome.record);
            }
            self.outstanding.calls += 1;
            return work.answer_when_stable(&first, outcome, self.remote.clone());
        }
        let message: Arc<[u8]> = Arc::from(message);
        let remote = self.remote.clone();
        let namespace = Arc::clone(first.link.export.namespace());
        let job = move || {
            // The arguments were read before, from these very bytes.
            if let Ok((_, mut args)) = Call::parse(&message)
                && let Ok(Some(change)) = Change::parse(procedure, &mut args)
            {
                let outcome = change.execute(xid, &caller, &first, second.as_ref(), now);
                work.answer_when_stable(&first, outcome, remote);
            }
        };
        match namespace.blocking().run(job) {
            Ok(()) => self.outstanding.calls += 1,
            Err(_) => {
                self.shared.replies.forget(key);
                io.send.bytes(&change::refusal(procedure, xid, Status::JUKEBOX));
            }
        }
    }

    fn targets(&mut self, change: &Change<'_>) -> Result<(Target, Option<Target>), Status> {
        let (first, second) = change.handles();
        let first = self.links.find(first, &self.shared.exports)?.clone();
        let second = match second {
            Some(handle) => Some(self.links.find(handle, &self.shared.exports)?.clone()),
            None => None,
        };
        Ok((first, second))
    }
}

/// A change under way.
struct Work {
    shared: Arc<Shared>,
    key: Key,
    procedure: Procedure,
    xid: u32,
}

impl Work {
    fn keep(&self, record: &[u8], retry: bool, now: Instant) {
        if retry {
            self.shared.replies.forget(self.key);
        } else {
            self.shared.replies.finish(self.key, record, now);
        }
    }

    /// Keeps and posts the answer when it may be told; also when the connection is gone meanwhile, so that
    /// the client finds it on its next one.
    fn answer_when_stable(self, target: &Target, outcome: Outcome, remote: Remote<Event>) {
        let Outcome { record, ticket, retry } = outcome;
        let done = move |result: Result<(), FileError>| {
            let head = match result {
                Ok(()) => record,
                Err(error) => change::refusal(self.procedure, self.xid, convert::status(error)),
            };
            self.keep(&head, retry, Instant::now());
            let answer = Answer { head, data: None };
            remote.post(Event::Answer(Pooled { answer, due: None, bytes: 0 }));
        };
        target.link.export.namespace().when_stable(ticket, Box::new(done));
    }
}
