//! The soft fabric against the rules of an adapter.
#![allow(unsafe_code)]

use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::Arc;

use plimsoll_fabric::rdma::soft::{Faults, Soft};
use plimsoll_fabric::rdma::{
    Access, Completion, ConnectionEvent, Endpoint, Establish, Fabric, Memory, Operation, Queues,
    RdmaError, Region, RemoteAddress, Status, Work,
};
use proptest::prelude::*;

const QUEUES: Queues = Queues { sends: 64, receives: 64, segments: 16 };
const BLOCK: usize = 65_536;

struct End {
    endpoint: Box<dyn Endpoint>,
    region: Region,
    completions: Vec<Completion>,
    events: Vec<ConnectionEvent>,
}

impl End {
    fn new(endpoint: Box<dyn Endpoint>, access: Access) -> Self {
        let memory = Memory::allocate(BLOCK).unwrap();
        let region = endpoint.domain().unwrap().register(&memory, access).unwrap();
        Self { endpoint, region, completions: Vec::new(), events: Vec::new() }
    }

    fn poll(&mut self) {
        loop {
            let polled = self.endpoint.poll(&mut self.completions).unwrap();
            self.events.extend(polled.event);
            if !polled.again {
                return;
            }
        }
    }

    fn receive(&mut self, id: u64, offset: usize, len: usize) {
        let segment = self.region.segment(offset, len);
        self.endpoint.post_receive(id, segment).unwrap();
        self.endpoint.flush().unwrap();
    }

    fn send(&mut self, id: u64, offset: usize, len: usize, invalidate: Option<u32>) {
        let segments = [self.region.segment(offset, len)];
        let work = Work::Send { id, segments: &segments, invalidate, signal: true };
        self.endpoint.post(&work).unwrap();
        self.endpoint.flush().unwrap();
    }

    fn remote(&self, offset: usize) -> RemoteAddress {
        let address = self.region.memory().pointer() as u64 + offset as u64;
        RemoteAddress { address, key: self.region.keys().remote }
    }

    fn write(&mut self, id: u64, offset: usize, len: usize, remote: RemoteAddress) {
        let segments = [self.region.segment(offset, len)];
        self.endpoint.post(&Work::Write { id, segments: &segments, remote, signal: true }).unwrap();
        self.endpoint.flush().unwrap();
    }

    fn read(&mut self, id: u64, offset: usize, len: usize, remote: RemoteAddress) {
        let segments = [self.region.segment(offset, len)];
        self.endpoint.post(&Work::Read { id, segments: &segments, remote }).unwrap();
        self.endpoint.flush().unwrap();
    }

    fn fill(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: the test has no work on these bytes.
        unsafe { self.region.memory().put(offset, bytes) }
    }

    fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        // SAFETY: as above.
        unsafe { self.region.memory().bytes(offset, len).to_vec() }
    }

    /// What was completed since this was last asked.
    fn done(&mut self) -> Vec<(u64, Status)> {
        self.poll();
        self.completions.drain(..).map(|completion| (completion.id, completion.status)).collect()
    }
}

fn terms(private_data: &[u8]) -> Establish {
    Establish { private_data: private_data.to_vec(), initiator_depth: 4, responder_resources: 200 }
}

fn connect(soft: &Arc<Soft>, access: [Access; 2]) -> (End, End) {
    let mut listener = soft.listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let mut near = End::new(soft.connect(listener.address(), None, QUEUES).unwrap(), access[0]);
    near.poll();
    assert_eq!(near.events.pop(), Some(ConnectionEvent::Resolved));
    near.endpoint.establish(&terms(b"hello")).unwrap();
    let incoming = listener.poll().unwrap().unwrap();
    assert_eq!(incoming.asks.private_data.len(), 56, "padded");
    assert!(incoming.asks.private_data.starts_with(b"hello\0"));
    let mut far = End::new(incoming.request.open(QUEUES).unwrap(), access[1]);
    far.endpoint.establish(&terms(b"welcome")).unwrap();
    near.poll();
    let Some(ConnectionEvent::Established(heard)) = near.events.pop() else { panic!("not up") };
    assert!(heard.private_data.starts_with(b"welcome\0"));
    let most = near.endpoint.limits().reads_answered;
    let clamped = (4.min(most), 200.min(most));
    assert_eq!((heard.initiator_depth, heard.responder_resources), clamped, "clamped");
    far.poll();
    (near, far)
}

fn pair() -> (End, End) {
    connect(&Soft::new(), [Access::REMOTE_WRITE, Access::REMOTE_WRITE])
}

#[test]
fn nobody_listens_and_refusals_are_told() {
    let soft = Soft::new();
    let to = SocketAddr::from(([127, 0, 0, 1], 3260));
    let mut lonely = soft.connect(to, None, QUEUES).unwrap();
    lonely.establish(&Establish::default()).unwrap();
    let mut events = Vec::new();
    for _ in 0..3 {
        events.extend(lonely.poll(&mut Vec::new()).unwrap().event);
    }
    assert!(matches!(&events[..], [ConnectionEvent::Resolved, ConnectionEvent::Rejected { .. }]));
    let mut listener = soft.listen(to).unwrap();
    assert!(soft.listen(to).is_err(), "the address is taken");
    let mut refused = soft.connect(to, None, QUEUES).unwrap();
    refused.establish(&Establish::default()).unwrap();
    listener.poll().unwrap().unwrap().request.reject(b"no").unwrap();
    events.clear();
    for _ in 0..3 {
        events.extend(refused.poll(&mut Vec::new()).unwrap().event);
    }
    assert!(matches!(&events[1],
        ConnectionEvent::Rejected { private_data, .. } if private_data == b"no"));
}

#[test]
fn a_listener_that_goes_after_it_was_found_refuses() {
    let soft = Soft::new();
    let to = SocketAddr::from(([127, 0, 0, 1], 3260));
    let listener = soft.listen(to).unwrap();
    let mut late = soft.connect(to, None, QUEUES).unwrap();
    drop(listener);
    late.establish(&Establish::default()).unwrap();
    let mut events = Vec::new();
    for _ in 0..3 {
        events.extend(late.poll(&mut Vec::new()).unwrap().event);
    }
    assert!(matches!(&events[1], ConnectionEvent::Rejected { .. }));
}

#[test]
fn messages_go_to_receives_in_order_and_wait_for_them() {
    let (mut near, mut far) = pair();
    near.fill(0, b"first second");
    near.send(1, 0, 5, None);
    near.send(2, 6, 6, None);
    assert_eq!(near.done(), [], "nobody has posted a receive");
    far.receive(7, 100, 10);
    assert_eq!(far.done(), [(7, Status::Success)]);
    assert_eq!(near.done(), [(1, Status::Success)]);
    far.receive(8, 200, 6);
    far.poll();
    let completion = far.completions.pop().unwrap();
    assert_eq!((completion.id, completion.len), (8, 6));
    assert_eq!(completion.operation, Operation::Receive);
    assert_eq!(far.bytes(100, 10), b"first\0\0\0\0\0");
    assert_eq!(far.bytes(200, 6), b"second");
}

#[test]
fn a_message_longer_than_its_receive_breaks_both_ends() {
    let (mut near, mut far) = pair();
    far.receive(7, 0, 10);
    far.receive(8, 10, 10);
    near.receive(9, 0, 10);
    near.send(1, 0, 11, None);
    assert_eq!(far.done(), [(7, Status::LocalLength), (8, Status::Flushed)]);
    assert_eq!(near.done(), [(1, Status::RemoteInvalidRequest), (9, Status::Flushed)]);
    assert_eq!(near.events, [ConnectionEvent::Disconnected]);
    near.send(2, 0, 1, None);
    assert_eq!(near.done(), [(2, Status::Flushed)], "later work is flushed");
}

#[test]
fn keys_rights_and_bounds_are_checked_at_both_ends() {
    let both = [Access::REMOTE_WRITE, Access::REMOTE_READ];
    let (mut near, far) = connect(&Soft::new(), both);
    far.fill(0, b"readable");
    let there = far.remote(0);
    near.read(1, 100, 8, there);
    assert_eq!(near.done(), [(1, Status::Success)]);
    assert_eq!(near.bytes(100, 8), b"readable");
    near.write(2, 0, 1, there);
    assert_eq!(near.done(), [(2, Status::RemoteAccess)], "it may only be read");

    type Bad = fn(&mut End, &mut End);
    let local: Bad = |near, far| {
        let remote = far.remote(0);
        let mut segment = near.region.segment(0, 16);
        segment.len = BLOCK as u32 + 1;
        near.endpoint.post(&Work::Read { id: 3, segments: &[segment], remote }).unwrap();
        near.endpoint.flush().unwrap();
    };
    let beyond: Bad = |near, far| near.read(3, 0, 8, far.remote(BLOCK - 7));
    let stale: Bad = |near, far| {
        let mut remote = far.remote(0);
        remote.key ^= 1;
        near.read(3, 0, 8, remote);
    };
    for (bad, status) in [
        (local, Status::LocalProtection),
        (beyond, Status::RemoteAccess),
        (stale, Status::RemoteAccess),
    ] {
        let (mut near, mut far) = connect(&Soft::new(), both);
        bad(&mut near, &mut far);
        assert_eq!(near.done(), [(3, status)]);
        far.poll();
        assert_eq!(far.events.last(), Some(&ConnectionEvent::Disconnected));
    }
}

#[test]
fn a_region_that_was_dropped_is_out_of_reach() {
    let (mut near, far) = pair();
    let memory = Memory::allocate(4096).unwrap();
    let region = far.endpoint.domain().unwrap().register(&memory, Access::REMOTE_WRITE).unwrap();
    let remote = RemoteAddress { address: memory.pointer() as u64, key: region.keys().remote };
    near.write(1, 0, 16, remote);
    assert_eq!(near.done(), [(1, Status::Success)]);
    drop(region);
    near.write(2, 0, 16, remote);
    assert_eq!(near.done(), [(2, Status::RemoteAccess)]);
}

#[test]
fn memory_that_is_dropped_takes_its_cached_registrations_along() {
    let (mut near, far) = pair();
    let domain = far.endpoint.domain().unwrap();
    let memory = Memory::allocate(4096).unwrap();
    let keys = domain.keys(&memory, Access::REMOTE_WRITE).unwrap();
    assert_eq!(domain.keys(&memory, Access::REMOTE_WRITE).unwrap(), keys, "registered once");
    let remote = RemoteAddress { address: memory.pointer() as u64, key: keys.remote };
    drop(memory);
    near.write(1, 0, 16, remote);
    assert_eq!(near.done(), [(1, Status::RemoteAccess)]);
}

#[test]
fn invalidation_reaches_only_keys_that_allow_it_and_once() {
    let faults = Faults { invalidatable: true, ..Faults::default() };
    let soft = Soft::with_faults(faults);
    let (mut near, mut far) = connect(&soft, [Access::REMOTE_WRITE, Access::LOCAL]);
    let key = near.region.keys().remote;
    let there = near.remote(0);
    far.write(1, 0, 8, there);
    near.receive(5, 0, 64);
    far.send(2, 0, 8, Some(key));
    near.poll();
    assert_eq!(near.completions.pop().unwrap().invalidated, Some(key));
    assert_eq!(far.done(), [(1, Status::Success), (2, Status::Success)]);
    far.write(3, 0, 8, there);
    assert_eq!(far.done(), [(3, Status::RemoteAccess)], "the key is invalid now");

    let (mut near, mut far) = pair();
    let key = near.region.keys().remote;
    near.receive(5, 0, 64);
    far.send(2, 0, 8, Some(key));
    assert_eq!(far.done(), [(2, Status::RemoteAccess)], "a plain region cannot be invalidated");
}

#[test]
fn the_first_message_may_come_before_the_connection_is_told() {
    let soft = Soft::with_faults(Faults { late_established: true, ..Faults::default() });
    let (mut near, mut far) = connect(&soft, [Access::LOCAL, Access::LOCAL]);
    assert_eq!(far.events, []);
    far.receive(1, 0, 8);
    near.send(2, 0, 8, None);
    let polled = far.endpoint.poll(&mut far.completions).unwrap();
    assert_eq!(far.completions.len(), 1);
    assert!(matches!(polled.event, Some(ConnectionEvent::Established(_))));
}

#[test]
fn a_sender_without_patience_fails_when_nothing_is_posted() {
    let soft = Soft::with_faults(Faults { rnr_fails: true, ..Faults::default() });
    let (mut near, _far) = connect(&soft, [Access::LOCAL, Access::LOCAL]);
    near.send(1, 0, 8, None);
    assert_eq!(near.done(), [(1, Status::ReceiverNotReady)]);
}

#[test]
fn queues_are_bounded() {
    let (mut near, _far) = pair();
    let segments = [near.region.segment(0, 8)];
    for id in 0..64 {
        let work = Work::Send { id, segments: &segments, invalidate: None, signal: false };
        near.endpoint.post(&work).unwrap();
    }
    let work = Work::Send { id: 64, segments: &segments, invalidate: None, signal: false };
    let full = near.endpoint.post(&work);
    assert!(matches!(full, Err(RdmaError::QueueFull { queue: "send", .. })));
    let many = [segments[0]; 17];
    let work = Work::Send { id: 0, segments: &many, invalidate: None, signal: false };
    assert!(matches!(near.endpoint.post(&work), Err(RdmaError::BadWork(_))));
}

#[test]
fn a_queue_is_free_again_only_once_a_completion_says_so() {
    let (mut near, mut far) = pair();
    let segments = [near.region.segment(0, 8)];
    let work = |id, signal| Work::Write { id, segments: &segments, remote: far.remote(0), signal };
    for id in 0..64 {
        near.endpoint.post(&work(id, id == 40)).unwrap();
    }
    near.endpoint.flush().unwrap();
    assert!(near.endpoint.post(&work(64, true)).is_err(), "nothing was polled");
    assert_eq!(near.done(), [(40, Status::Success)]);
    for id in 0..41 {
        near.endpoint.post(&work(id, false)).unwrap();
    }
    assert!(
        near.endpoint.post(&work(41, false)).is_err(),
        "those after the signalled one still count"
    );
    far.poll();
}

#[test]
fn delayed_reads_stay_within_the_limit_and_complete_in_order() {
    for seed in 0..50 {
        let faults = Faults { delay: true, reads: 2, reorder: Some(seed), ..Faults::default() };
        let (mut near, mut far) =
            connect(&Soft::with_faults(faults), [Access::LOCAL, Access::REMOTE_READ]);
        for id in 0..8 {
            far.fill(1000 * id as usize, &[id as u8 + 1; 100]);
            near.read(id, 4096 + 100 * id as usize, 100, far.remote(1000 * id as usize));
        }
        near.send(8, 0, 8, None);
        let expected: Vec<_> = (0..9).map(|id| (id, Status::Success)).collect();
        let memory = Memory::allocate(4096).unwrap();
        let region = far.endpoint.domain().unwrap().register(&memory, Access::LOCAL).unwrap();
        far.endpoint.post_receive(9, region.segment(0, 8)).unwrap();
        far.endpoint.flush().unwrap();
        assert_eq!(near.done(), expected);
        assert_eq!(far.done(), [(9, Status::Success)]);
        for id in 0..8_usize {
            assert_eq!(near.bytes(4096 + 100 * id, 100), [id as u8 + 1; 100]);
        }
    }
}

#[test]
fn an_end_that_may_have_no_read_outstanding_cannot_read() {
    let faults = Faults { reads: 0, ..Faults::default() };
    let (mut near, far) = connect(&Soft::with_faults(faults), [Access::LOCAL, Access::REMOTE_READ]);
    near.read(1, 0, 8, far.remote(0));
    assert_eq!(near.done(), [(1, Status::Other(2))]);
}

#[test]
fn a_stale_key_is_refused_and_a_bad_local_key_costs_the_peer_no_receive() {
    let soft = Soft::new();
    let (near, mut far) = connect(&soft, [Access::REMOTE_WRITE, Access::LOCAL]);
    soft.stale_keys();
    far.write(1, 0, 8, near.remote(0));
    assert_eq!(far.done(), [(1, Status::RemoteAccess)]);

    let (mut near, mut far) = pair();
    far.receive(7, 0, 64);
    let mut segment = near.region.segment(0, 8);
    segment.key ^= 1;
    let work = Work::Send { id: 1, segments: &[segment], invalidate: None, signal: true };
    near.endpoint.post(&work).unwrap();
    near.endpoint.flush().unwrap();
    assert_eq!(near.done(), [(1, Status::LocalProtection)]);
    assert_eq!(far.done(), [(7, Status::Flushed)], "not lost");
}

#[test]
fn an_end_that_is_dropped_undecided_rejects() {
    let soft = Soft::new();
    let mut listener = soft.listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let mut near = soft.connect(listener.address(), None, QUEUES).unwrap();
    near.establish(&Establish::default()).unwrap();
    drop(listener.poll().unwrap().unwrap().request.open(QUEUES).unwrap());
    near.poll(&mut Vec::new()).unwrap();
    let event = near.poll(&mut Vec::new()).unwrap().event;
    assert!(matches!(event, Some(ConnectionEvent::Rejected { .. })), "{event:?}");
}

#[test]
fn removal_is_told_and_a_dropped_end_disconnects_the_other() {
    let soft = Soft::new();
    let (mut near, mut far) = connect(&soft, [Access::LOCAL, Access::LOCAL]);
    assert_eq!(soft.connections(), 1);
    soft.remove_device();
    near.poll();
    far.poll();
    assert_eq!(near.events[0], ConnectionEvent::DeviceRemoved);
    assert_eq!(near.events[1], ConnectionEvent::Disconnected);
    let mut nowhere = soft.connect(far.endpoint.peer(), None, QUEUES).unwrap();
    let event = nowhere.poll(&mut Vec::new()).unwrap().event;
    assert!(matches!(event, Some(ConnectionEvent::Failed(_))));
    soft.restore_device();
    let (near, mut far) = connect(&soft, [Access::LOCAL, Access::LOCAL]);
    far.receive(1, 0, 8);
    drop(near);
    assert_eq!(far.done(), [(1, Status::Flushed)]);
    assert_eq!(far.events.last(), Some(&ConnectionEvent::Disconnected));
}

fn wait(descriptor: RawFd) {
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one live entry.
    let ready = unsafe { libc::poll(&raw mut poll, 1, 10_000) };
    assert_eq!(ready, 1, "a wake-up was lost");
}

/// Two threads hand one message back and forth, asleep in between.
#[test]
fn no_wake_up_is_lost() {
    const ROUNDS: u64 = 50_000;
    let (mut near, mut far) = pair();
    let round = |end: &mut End, id: u64, starts: bool| {
        end.receive(id, 0, 8);
        if starts {
            end.send(1 << 32, 64, 8, None);
        }
        loop {
            end.poll();
            let received = end
                .completions
                .drain(..)
                .filter(|completion| completion.operation == Operation::Receive)
                .count();
            if received > 0 {
                break;
            }
            wait(end.endpoint.descriptor());
        }
        if !starts {
            end.send(1 << 32, 64, 8, None);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| (0..ROUNDS).for_each(|id| round(&mut far, id, false)));
        scope.spawn(|| (0..ROUNDS).for_each(|id| round(&mut near, id, true)));
    });
    assert!(near.endpoint.counters().wake_ups <= 2 * ROUNDS + 2);
}

#[derive(Debug, Clone)]
enum Step {
    Receive,
    Send(u16),
    Write(u16),
    Read(u16),
    Poll,
    Break,
}

fn step() -> impl Strategy<Value = (bool, Step)> {
    let step = prop_oneof![
        4 => Just(Step::Receive),
        4 => (1_u16..900).prop_map(Step::Send),
        3 => (1_u16..900).prop_map(Step::Write),
        3 => (1_u16..900).prop_map(Step::Read),
        3 => Just(Step::Poll),
        1 => Just(Step::Break),
    ];
    (any::<bool>(), step)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every work request and every receive completes exactly once, each queue in its order, data is where it
    /// belongs, whatever is interleaved and wherever the connection breaks.
    #[test]
    fn every_work_completes_once_and_in_order(
        steps in proptest::collection::vec(step(), 1..60),
        seed in proptest::option::of(any::<u64>()),
        works_left in proptest::option::of(0_u64..40),
        receive_bytes in proptest::option::of(800_u32..900),
        delay: bool,
        reads in 1_u8..4,
    ) {
        let faults = Faults { reorder: seed, works_left, receive_bytes, delay, reads, ..Faults::default() };
        let soft = Soft::with_faults(faults);
        let all = Access { local_write: true, remote_read: true, remote_write: true };
        let (near, far) = connect(&soft, [all, all]);
        let mut ends = [near, far];
        // Ids posted to each end's two queues; how many sends are matched; what each receive shall hold.
        let mut receives: [Vec<u64>; 2] = Default::default();
        let mut works: [Vec<u64>; 2] = Default::default();
        let mut messages: [Vec<u16>; 2] = Default::default();
        let mut seen: [[Vec<Completion>; 2]; 2] = Default::default();
        for (id, (side, step)) in (1_u64..).zip(steps) {
            let side = usize::from(side);
            let there = ends[1 - side].remote(8192);
            match step {
                Step::Receive if receives[side].len() < 8 => {
                    ends[side].receive(id, 1024 * receives[side].len(), 1000);
                    receives[side].push(id);
                }
                Step::Send(len) => {
                    ends[side].fill(16_384, &id.to_le_bytes());
                    ends[side].send(id, 16_384, usize::from(len), None);
                    works[side].push(id);
                    messages[side].push(len);
                }
                Step::Write(len) => {
                    ends[side].write(id, 20_000, usize::from(len), there);
                    works[side].push(id);
                }
                Step::Read(len) => {
                    ends[side].read(id, 30_000, usize::from(len), there);
                    works[side].push(id);
                }
                Step::Break if id % 3 == 0 => ends[side].endpoint.disconnect(),
                _ => {
                    let end = &mut ends[side];
                    end.endpoint.poll(&mut end.completions).unwrap();
                }
            }
        }
        for end in &mut ends {
            end.endpoint.disconnect();
        }
        for (side, end) in ends.iter_mut().enumerate() {
            end.poll();
            for completion in end.completions.drain(..) {
                let receive = usize::from(receives[side].contains(&completion.id));
                seen[side][receive].push(completion);
            }
        }
        for side in [0, 1] {
            let ids = |list: &[Completion]| list.iter().map(|one| one.id).collect::<Vec<_>>();
            prop_assert_eq!(ids(&seen[side][1]), receives[side].clone());
            prop_assert_eq!(ids(&seen[side][0]), works[side].clone());
            let arrived: Vec<u32> = seen[side][1].iter()
                .filter(|one| one.status == Status::Success).map(|one| one.len).collect();
            let sent = messages[1 - side].iter().map(|&len| u32::from(len));
            prop_assert!(sent.take(arrived.len()).eq(arrived.iter().copied()), "in order");
            let failed = seen[side][0].iter().position(|one| one.status != Status::Success);
            let after = failed.map_or(&[][..], |at| &seen[side][0][at..]);
            prop_assert!(after.iter().all(|one| one.status != Status::Success), "nothing after a failure");
        }
    }
}
