//! iSER over the fabric in process: against a scripted target, and against the target of this project.

mod faults;
mod ours;
mod pitfalls;
mod raw;
mod transfers;

use std::sync::Arc;

use plimsoll_fabric::rdma::soft::{Faults, Soft};
use plimsoll_fabric::rdma::{Fabric, Memory};
use plimsoll_initiator::{Datastore, Op, OpKind, Options, Payload, RdmaCounters, open};

use super::{Ledger, Load};
use raw::{Act, Raw, Setting};

const MIX: Load = Load { operations: 400, depth: 16, writes: 40, max_blocks: 48, seconds: 30 };

/// A network of its own, so that tests do not meet.
fn fabric() -> Arc<dyn Fabric> {
    Soft::new()
}

/// Options with short patience.
fn options(fabric: &Arc<dyn Fabric>) -> Options {
    Options { rdma: Some(Arc::clone(fabric)), ..super::options() }
}

fn opened(setting: Setting) -> (Raw, Box<dyn Datastore>, Ledger) {
    opened_on(&fabric(), setting)
}

fn opened_on(fabric: &Arc<dyn Fabric>, setting: Setting) -> (Raw, Box<dyn Datastore>, Ledger) {
    let raw = Raw::start(fabric, setting);
    let store = open(&raw.url(), &options(fabric)).expect("open");
    let ledger = Ledger::new(raw.content());
    (raw, store, ledger)
}

fn counters(store: &dyn Datastore) -> RdmaCounters {
    store.flows()[0].rdma.expect("a flow over RDMA counts")
}

/// A payload that RDMA can reach without a copy.
fn reachable(len: usize, fill: u8) -> Payload {
    let memory = Memory::allocate(len).unwrap();
    // SAFETY: nobody else has the block yet.
    #[allow(unsafe_code)]
    unsafe {
        memory.put(0, &vec![fill; len]);
    }
    Payload::from_memory(&memory, 0, len)
}

fn op(tag: u64, kind: OpKind, offset: u64, len: u32) -> Op {
    Op { tag, kind, offset, len }
}
