//! Task management while RDMA is under way (RFC 7145 section 7.3.11): the answer comes when nothing of the
//! aborted task touches memory any more. The reads of the target are held back here by a wrapped endpoint.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use plimsoll_fabric::rdma::soft::Soft;
use plimsoll_fabric::rdma::{
    Completion, Counters, Domain, Endpoint, Establish, Fabric, Incoming, Limits, Listener, Polled,
    Queues, RdmaError, RemoteAddress, Request, Segment, Work,
};
use plimsoll_wire::iscsi::pdu::{TaskFunction, TaskRequest, TaskResponse, TaskResult};
use plimsoll_wire::iscsi::{Isid, NO_TAG, Opcode};
use plimsoll_wire::scsi::LunField;

use super::initiator::{Initiator, Terms, keys, soft};
use crate::array::{Array, await_that};
use crate::raw::{Raw, pattern};

/// A soft fabric whose accepting ends hold their RDMA reads back while told to.
#[derive(Debug)]
struct Holding {
    soft: Arc<Soft>,
    hold: Arc<AtomicBool>,
    held: Arc<AtomicUsize>,
}

struct HoldingListener(Box<dyn Listener>, Arc<AtomicBool>, Arc<AtomicUsize>);
struct HoldingRequest(Box<dyn Request>, Arc<AtomicBool>, Arc<AtomicUsize>);

struct HoldingEndpoint {
    inner: Box<dyn Endpoint>,
    hold: Arc<AtomicBool>,
    held: Arc<AtomicUsize>,
    reads: VecDeque<(u64, Vec<Segment>, RemoteAddress)>,
}

impl Holding {
    fn new() -> Self {
        Self { soft: soft(|_| {}), hold: Arc::default(), held: Arc::default() }
    }

    fn hold(&self, hold: bool) {
        self.hold.store(hold, Ordering::SeqCst);
    }

    /// Waits until the target has posted so many reads that are held.
    fn await_held(&self, count: usize) {
        await_that("reads", || self.held.load(Ordering::SeqCst) == count);
    }
}

impl Fabric for Holding {
    fn name(&self) -> &'static str {
        "holding"
    }

    fn listen(&self, address: SocketAddr) -> Result<Box<dyn Listener>, RdmaError> {
        let inner = self.soft.listen(address)?;
        Ok(Box::new(HoldingListener(inner, Arc::clone(&self.hold), Arc::clone(&self.held))))
    }

    fn connect(
        &self,
        to: SocketAddr,
        from: Option<IpAddr>,
        queues: Queues,
    ) -> Result<Box<dyn Endpoint>, RdmaError> {
        self.soft.connect(to, from, queues)
    }
}

impl Listener for HoldingListener {
    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    fn descriptor(&self) -> RawFd {
        self.0.descriptor()
    }

    fn poll(&mut self) -> Result<Option<Incoming>, RdmaError> {
        Ok(self.0.poll()?.map(|incoming| {
            let request =
                HoldingRequest(incoming.request, Arc::clone(&self.1), Arc::clone(&self.2));
            Incoming { request: Box::new(request), ..incoming }
        }))
    }
}

impl Request for HoldingRequest {
    fn open(self: Box<Self>, queues: Queues) -> Result<Box<dyn Endpoint>, RdmaError> {
        let inner = self.0.open(queues)?;
        let reads = VecDeque::new();
        Ok(Box::new(HoldingEndpoint { inner, hold: self.1, held: self.2, reads }))
    }

    fn reject(self: Box<Self>, private_data: &[u8]) -> Result<(), RdmaError> {
        self.0.reject(private_data)
    }
}

impl HoldingEndpoint {
    fn release(&mut self) -> Result<(), RdmaError> {
        while !self.hold.load(Ordering::SeqCst)
            && let Some((id, segments, remote)) = self.reads.pop_front()
        {
            self.inner.post(&Work::Read { id, segments: &segments, remote })?;
            self.held.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

impl Endpoint for HoldingEndpoint {
    fn descriptor(&self) -> RawFd {
        self.inner.descriptor()
    }

    fn peer(&self) -> SocketAddr {
        self.inner.peer()
    }

    fn local(&self) -> Option<SocketAddr> {
        self.inner.local()
    }

    fn domain(&self) -> Result<Arc<Domain>, RdmaError> {
        self.inner.domain()
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn establish(&mut self, terms: &Establish) -> Result<(), RdmaError> {
        self.inner.establish(terms)
    }

    fn post_receive(&mut self, id: u64, into: Segment) -> Result<(), RdmaError> {
        self.inner.post_receive(id, into)
    }

    fn post(&mut self, work: &Work<'_>) -> Result<(), RdmaError> {
        match *work {
            Work::Read { id, segments, remote } => {
                self.reads.push_back((id, segments.to_vec(), remote));
                self.held.fetch_add(1, Ordering::SeqCst);
                self.release()
            }
            _ => self.inner.post(work),
        }
    }

    fn flush(&mut self) -> Result<(), RdmaError> {
        self.release()?;
        self.inner.flush()
    }

    fn poll(&mut self, completions: &mut Vec<Completion>) -> Result<Polled, RdmaError> {
        self.inner.poll(completions)
    }

    fn disconnect(&mut self) {
        self.inner.disconnect();
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }
}

fn array(fabric: &Holding) -> Array {
    let mut array = Array::start();
    array.listen_rdma(fabric);
    array
}

fn task_request(initiator: &mut Initiator, function: TaskFunction, referenced: u32) -> u32 {
    let request = TaskRequest {
        immediate: true,
        function,
        lun: LunField::unit(0),
        itt: initiator.next_itt(),
        referenced_itt: referenced,
        cmd_sn: initiator.cmd_sn,
        exp_stat_sn: initiator.exp_stat_sn,
        ref_cmd_sn: initiator.cmd_sn - 1,
        exp_data_sn: 0,
    };
    initiator.send(&request.build(), &[]);
    request.itt
}

fn answer(initiator: &mut Initiator, itt: u32) -> TaskResult {
    let reply = initiator.receive().expect("a task response");
    assert_eq!(reply.opcode(), Opcode::TaskResponse);
    let response = TaskResponse::parse(&reply.bhs);
    assert_eq!(response.itt, itt);
    response.result
}

#[test]
fn rfc7145_7_3_11_the_answer_to_abort_task_waits_for_reads_under_way() {
    for function in [TaskFunction::AbortTask, TaskFunction::AbortTaskSet] {
        let fabric = Holding::new();
        let array = array(&fabric);
        let mut initiator = Initiator::login(&array, &fabric, &Terms::default());
        fabric.hold(true);
        let data = pattern(1 << 20, 1);
        let (_region, tag) = initiator.source(&data);
        let write = initiator.send_write(0, &data, 0, tag);
        fabric.await_held(4);
        let abort = task_request(&mut initiator, function, write);
        assert!(initiator.is_silent(), "the task still fetches");
        fabric.hold(false);
        // Any message wakes the endpoint.
        let nop = initiator.nop();
        initiator.send(&nop.build(), &[]);
        assert_eq!(initiator.receive().expect("an echo").opcode(), Opcode::NopIn);
        assert_eq!(answer(&mut initiator, abort), TaskResult::Complete);
        assert!(initiator.is_silent(), "an aborted task has no response");
        initiator.ready();
        assert_eq!(array.server.sessions()[0].stats.outstanding, 0);
    }
}

#[test]
fn rfc7145_7_3_11_an_aborted_write_asks_for_no_more_data() {
    let fabric = Holding::new();
    let array = array(&fabric);
    let mut initiator = Initiator::login(&array, &fabric, &Terms::default());
    fabric.hold(true);
    let data = pattern(4 << 20, 1);
    let (_region, tag) = initiator.source(&data);
    let write = initiator.send_write(0, &data, 0, tag);
    fabric.await_held(4);
    let abort = task_request(&mut initiator, TaskFunction::AbortTask, write);
    assert!(initiator.is_silent());
    fabric.hold(false);
    let nop = initiator.nop();
    initiator.send(&nop.build(), &[]);
    initiator.receive().expect("an echo");
    assert_eq!(answer(&mut initiator, abort), TaskResult::Complete);
    let reads = array.server.sessions()[0].rdma.unwrap().reads;
    assert_eq!(reads, 4, "of 16 that the whole write would take");
}

#[test]
fn rfc7143_11_5_a_reset_by_another_session_waits_for_reads_of_this_one() {
    let fabric = Holding::new();
    let array = array(&fabric);
    let mut initiator = Initiator::login(&array, &fabric, &Terms::default());
    let mut other = Raw::connect(array.address());
    other.isid = Isid::random([7, 7, 7], 7);
    other.log_in(&[]);
    other.ready();
    fabric.hold(true);
    let data = pattern(65_536, 1);
    let (_region, tag) = initiator.source(&data);
    initiator.send_write(0, &data, 0, tag);
    fabric.await_held(1);
    let request = TaskRequest {
        immediate: true,
        function: TaskFunction::LogicalUnitReset,
        lun: LunField::unit(0),
        itt: other.next_itt(),
        referenced_itt: NO_TAG,
        cmd_sn: other.cmd_sn,
        exp_stat_sn: other.exp_stat_sn,
        ref_cmd_sn: 0,
        exp_data_sn: 0,
    };
    other.send(&request.build(), &[]);
    assert!(other.is_silent(), "a read into the unit is under way");
    fabric.hold(false);
    initiator.ping();
    let reply = other.receive().expect("a task response");
    assert_eq!(TaskResponse::parse(&reply.bhs).result, TaskResult::Complete);
}

#[test]
fn a_session_that_ends_with_reads_under_way_takes_nothing_else_along() {
    let fabric = Holding::new();
    let array = array(&fabric);
    let mut initiator = Initiator::login(&array, &fabric, &Terms::default());
    fabric.hold(true);
    let data = pattern(1 << 20, 1);
    let (_region, tag) = initiator.source(&data);
    initiator.send_write(0, &data, 0, tag);
    fabric.await_held(4);
    drop(initiator);
    array.await_sessions(0);
    fabric.hold(false);
    let mut next = Initiator::connect(&fabric, array.address(), &Terms::default());
    next.log_in(&keys(512));
    next.ready();
    assert!(next.write(0, &data, 0).is_good());
    assert_eq!(next.read(0, 2048).data, data);
}
