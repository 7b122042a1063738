//! The queues of one connection: a queue pair, one completion queue for both of its halves, and the channel that
//! tells that something completed.
//!
//! Work is collected and handed over as one list: one call, one doorbell. How many work requests of the send
//! queue are outstanding is known from the signalled ones: they complete in order, each for those before it.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::RawFd;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use ibverbs_sys::{
    ibv_comp_channel, ibv_context_ops, ibv_cq, ibv_device_attr, ibv_port_attr, ibv_qp, ibv_qp_attr,
    ibv_qp_attr_mask, ibv_qp_cap, ibv_qp_init_attr, ibv_qp_type, ibv_recv_wr, ibv_send_flags,
    ibv_send_wr, ibv_sge, ibv_wc, ibv_wc_flags, ibv_wc_opcode, ibv_wc_status, ibv_wr_opcode,
};
use plimsoll_fabric::rdma::{
    COMPLETIONS_A_POLL, Completion, Counters, Limits, Operation, Queues, RdmaError, Segment,
    Status, Work,
};

use crate::cm::{Id, not_blocking};
use crate::library::{Libraries, failed};
use crate::pd::Pd;

/// Events of a completion queue are acknowledged this many at a time: it takes a lock.
const ACKNOWLEDGE_EVERY: u32 = 64;
/// A peer that finds no receive posted tries again after 0.64 ms (the code of table 46 of the InfiniBand
/// specification); what the connection manager sets is 655 ms.
const RNR_TIMER: u8 = 12;

/// What the adapter of an id can do.
#[allow(unsafe_code)]
pub fn limits(id: &Id) -> Result<(Limits, Depths), RdmaError> {
    let verbs = &id.libraries().verbs;
    let mut device = ibv_device_attr::default();
    // SAFETY: the id keeps its adapter open; the result goes to a live structure.
    let code = unsafe { (verbs.ibv_query_device)(id.context(), &raw mut device) };
    if code != 0 {
        return Err(failed("ibv_query_device", code));
    }
    let mut port = ibv_port_attr::default();
    // SAFETY: as above. The function fills the older, shorter part of the structure.
    let code = unsafe { (verbs.ibv_query_port)(id.context(), id.port(), (&raw mut port).cast()) };
    if code != 0 {
        return Err(failed("ibv_query_port", code));
    }
    let depth = |reads: c_int| reads.clamp(0, c_int::from(u8::MAX)) as u8;
    let limits = Limits {
        segments: device.max_sge.min(device.max_sge_rd).max(1) as u32,
        reads_outstanding: depth(device.max_qp_init_rd_atom),
        reads_answered: depth(device.max_qp_rd_atom),
        message_bytes: port.max_msg_sz,
    };
    let depths =
        Depths { queue: device.max_qp_wr.max(0) as u32, completions: device.max_cqe.max(0) as u32 };
    Ok((limits, depths))
}

/// How deep an adapter's queues can be.
#[derive(Clone, Copy)]
pub struct Depths {
    queue: u32,
    completions: u32,
}

/// Work requests of a send queue that are not known to be complete.
#[derive(Default)]
pub struct Outstanding {
    depth: u32,
    count: u32,
    /// How many each signalled one stands for, oldest first.
    signalled: VecDeque<u32>,
    since_signalled: u32,
}

impl Outstanding {
    fn new(depth: u32) -> Self {
        Self { depth, ..Self::default() }
    }

    fn posted(&mut self, signal: bool) -> Result<(), RdmaError> {
        if self.count >= self.depth {
            return Err(RdmaError::QueueFull { queue: "send", depth: self.depth });
        }
        self.count += 1;
        self.since_signalled += 1;
        if signal {
            self.signalled.push_back(self.since_signalled);
            self.since_signalled = 0;
        }
        Ok(())
    }

    fn completed(&mut self) {
        self.count -= self.signalled.pop_front().unwrap_or(0);
    }
}

/// The queues.
pub struct QueuePair {
    qp: NonNull<ibv_qp>,
    cq: NonNull<ibv_cq>,
    channel: NonNull<ibv_comp_channel>,
    libraries: &'static Libraries,
    limits: Limits,
    work: Vec<ibv_send_wr>,
    segments: Vec<ibv_sge>,
    receives: Vec<ibv_recv_wr>,
    receive_segments: Vec<ibv_sge>,
    outstanding: Outstanding,
    receives_posted: u32,
    receives_depth: u32,
    unacknowledged: u32,
    armed: bool,
    /// Keeps the queue pair's number and the adapter.
    id: Arc<Id>,
    _pd: Arc<Pd>,
}

// SAFETY: verbs let any thread use the queues, and the pointers inside of `work` and `receives` are set anew
// before each use.
#[allow(unsafe_code)]
unsafe impl Send for QueuePair {}

/// Ends half-made queues.
struct Undo<F: FnMut()>(F);

impl<F: FnMut()> Drop for Undo<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl QueuePair {
    /// Queues for an id that has found its adapter.
    #[allow(unsafe_code)]
    pub fn new(id: &Arc<Id>, pd: &Arc<Pd>, queues: Queues) -> Result<Self, RdmaError> {
        let libraries = id.libraries();
        let verbs = &libraries.verbs;
        let (mut limits, depths) = limits(id)?;
        limits.segments = limits.segments.min(queues.segments.max(1));
        let (sends, receives) = (queues.sends.max(1), queues.receives.max(1));
        let entries = sends.saturating_add(receives);
        for (queue, asked, depth) in [
            ("send", sends, depths.queue),
            ("receive", receives, depths.queue),
            ("completion", entries, depths.completions),
        ] {
            if asked > depth {
                return Err(RdmaError::QueueFull { queue, depth });
            }
        }
        // SAFETY: the id keeps its adapter open.
        let channel = unsafe { (verbs.ibv_create_comp_channel)(id.context()) };
        let channel = NonNull::new(channel).ok_or_else(|| failed("ibv_create_comp_channel", 0))?;
        // SAFETY: the channel was just made, and nothing else refers to it when this runs.
        let undo_channel =
            Undo(|| unsafe { _ = (verbs.ibv_destroy_comp_channel)(channel.as_ptr()) });
        // SAFETY: the channel was just made.
        not_blocking(unsafe { channel.as_ref().fd })?;
        // SAFETY: the adapter is open, and the channel is of it.
        let cq = unsafe {
            let entries = entries as c_int;
            (verbs.ibv_create_cq)(id.context(), entries, null_mut(), channel.as_ptr(), 0)
        };
        let cq = NonNull::new(cq).ok_or_else(|| failed("ibv_create_cq", 0))?;
        // SAFETY: the queue was just made, and nothing else refers to it when this runs.
        let undo_cq = Undo(|| unsafe { _ = (verbs.ibv_destroy_cq)(cq.as_ptr()) });
        let mut attributes = ibv_qp_init_attr {
            send_cq: cq.as_ptr(),
            recv_cq: cq.as_ptr(),
            cap: ibv_qp_cap {
                max_send_wr: sends,
                max_recv_wr: receives,
                max_send_sge: limits.segments,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: ibv_qp_type::IBV_QPT_RC,
            ..ibv_qp_init_attr::default()
        };
        // SAFETY: the id has found its adapter, and domain and queues are of that adapter.
        let code = unsafe {
            (libraries.cm.rdma_create_qp)(id.pointer(), pd.pointer(), &raw mut attributes)
        };
        // SAFETY: the id lives.
        let qp = NonNull::new(unsafe { (*id.pointer()).qp });
        let Some(qp) = qp.filter(|_| code == 0) else {
            return Err(failed("rdma_create_qp", 0));
        };
        std::mem::forget(undo_cq);
        std::mem::forget(undo_channel);
        Ok(Self {
            qp,
            cq,
            channel,
            libraries,
            limits,
            work: Vec::new(),
            segments: Vec::new(),
            receives: Vec::new(),
            receive_segments: Vec::new(),
            outstanding: Outstanding::new(sends),
            receives_posted: 0,
            receives_depth: receives,
            unacknowledged: 0,
            armed: false,
            id: Arc::clone(id),
            _pd: Arc::clone(pd),
        })
    }

    /// What the adapter can do for this connection.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Readable when something completed after [`Self::poll`] had found nothing.
    #[allow(unsafe_code)]
    pub fn descriptor(&self) -> RawFd {
        // SAFETY: the channel lives until `self` is dropped.
        unsafe { self.channel.as_ref().fd }
    }

    /// Has the peer try again soon when it finds no receive posted. The queues are connected.
    #[allow(unsafe_code)]
    pub fn set_receiver_not_ready_timer(&mut self) {
        // SAFETY: zero bytes are a value of this C structure; fields that the mask does not name are unused.
        let mut attributes: ibv_qp_attr = unsafe { zeroed() };
        attributes.min_rnr_timer = RNR_TIMER;
        let mask = ibv_qp_attr_mask::IBV_QP_MIN_RNR_TIMER.0 as c_int;
        // SAFETY: the queue pair lives until `self` is dropped.
        let code = unsafe {
            (self.libraries.verbs.ibv_modify_qp)(self.qp.as_ptr(), &raw mut attributes, mask)
        };
        if code != 0 {
            tracing::debug!(code, "the receiver-not-ready timer stays as it is");
        }
    }

    /// Collects a receive.
    pub fn post_receive(&mut self, id: u64, into: Segment) -> Result<(), RdmaError> {
        if self.receives_posted >= self.receives_depth {
            return Err(RdmaError::QueueFull { queue: "receive", depth: self.receives_depth });
        }
        self.receives_posted += 1;
        self.receive_segments.push(sge(&into));
        self.receives.push(ibv_recv_wr { wr_id: id, num_sge: 1, ..ibv_recv_wr::default() });
        Ok(())
    }

    /// Collects work of the send queue.
    #[allow(unsafe_code)]
    pub fn post(&mut self, work: &Work<'_>, counters: &mut Counters) -> Result<(), RdmaError> {
        let (id, segments, signal) = match *work {
            Work::Send { id, segments, signal, .. } | Work::Write { id, segments, signal, .. } => {
                (id, segments, signal)
            }
            Work::Read { id, segments, .. } => (id, segments, true),
        };
        if segments.len() > self.limits.segments as usize {
            return Err(RdmaError::BadWork("it has more segments than the adapter takes"));
        }
        let bytes: u64 = segments.iter().map(|segment| u64::from(segment.len)).sum();
        if bytes > u64::from(self.limits.message_bytes) {
            return Err(RdmaError::BadWork("it is longer than the adapter's messages"));
        }
        self.outstanding.posted(signal)?;
        // SAFETY: zero bytes are a value of this C structure.
        let mut request: ibv_send_wr = unsafe { zeroed() };
        request.wr_id = id;
        request.num_sge = segments.len() as c_int;
        if signal {
            request.send_flags = ibv_send_flags::IBV_SEND_SIGNALED.0;
            counters.signalled += 1;
        }
        match *work {
            Work::Send { invalidate, .. } => {
                counters.sends += 1;
                request.opcode = ibv_wr_opcode::IBV_WR_SEND;
                if let Some(key) = invalidate {
                    request.opcode = ibv_wr_opcode::IBV_WR_SEND_WITH_INV;
                    request.__bindgen_anon_1.invalidate_rkey = key;
                }
            }
            Work::Write { remote, .. } => {
                counters.writes += 1;
                request.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE;
                request.wr.rdma.remote_addr = remote.address;
                request.wr.rdma.rkey = remote.key;
            }
            Work::Read { remote, .. } => {
                counters.reads += 1;
                request.opcode = ibv_wr_opcode::IBV_WR_RDMA_READ;
                request.wr.rdma.remote_addr = remote.address;
                request.wr.rdma.rkey = remote.key;
            }
        }
        self.segments.extend(segments.iter().map(sge));
        self.work.push(request);
        Ok(())
    }

    /// Hands over what was collected.
    #[allow(unsafe_code)]
    pub fn flush(&mut self, counters: &mut Counters) -> Result<(), RdmaError> {
        if !self.receives.is_empty() {
            let mut segment = self.receive_segments.as_mut_ptr();
            let mut next = null_mut();
            // SAFETY: there is one segment for each receive, in the same order.
            segment = unsafe { segment.add(self.receives.len()) };
            for work in self.receives.iter_mut().rev() {
                // SAFETY: as above: this walks back over them.
                segment = unsafe { segment.sub(1) };
                work.sg_list = segment;
                work.next = next;
                next = work;
            }
            let mut bad = null_mut();
            // SAFETY: the list and its segments live for the call, which copies them.
            let code = unsafe {
                match self.operations().post_recv {
                    Some(post) => post(self.qp.as_ptr(), next, &raw mut bad),
                    None => libc::ENOSYS,
                }
            };
            self.receives.clear();
            self.receive_segments.clear();
            if code != 0 {
                return Err(failed("ibv_post_recv", code));
            }
            counters.doorbells += 1;
        }
        if !self.work.is_empty() {
            let mut next = null_mut();
            let segments = self.segments.len();
            // SAFETY: one past the last is within what a pointer may be.
            let mut segment = unsafe { self.segments.as_mut_ptr().add(segments) };
            for work in self.work.iter_mut().rev() {
                // SAFETY: `segments` holds those of all work, in order: this walks back over them.
                segment = unsafe { segment.sub(work.num_sge as usize) };
                work.sg_list = segment;
                work.next = next;
                next = work;
            }
            let mut bad = null_mut();
            // SAFETY: the list and its segments live for the call, which copies them. Memory that the segments
            // name is registered; should it not be, the adapter refuses the work.
            let code = unsafe {
                match self.operations().post_send {
                    Some(post) => post(self.qp.as_ptr(), next, &raw mut bad),
                    None => libc::ENOSYS,
                }
            };
            self.work.clear();
            self.segments.clear();
            if code != 0 {
                return Err(failed("ibv_post_send", code));
            }
            counters.doorbells += 1;
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    fn operations(&self) -> &ibv_context_ops {
        // SAFETY: the queue pair lives, and the adapter that it is of is open; the table does not change.
        unsafe { &(*self.qp.as_ref().context).ops }
    }

    /// Appends completions, and says how many. Before it says none, it has emptied and armed the channel, and
    /// looked once more.
    pub fn poll(
        &mut self,
        completions: &mut Vec<Completion>,
        counters: &mut Counters,
    ) -> Result<usize, RdmaError> {
        let found = self.take(completions, counters)?;
        if found > 0 {
            return Ok(found);
        }
        if self.armed && self.take_event()? {
            self.armed = false;
            counters.wake_ups += 1;
        }
        if self.armed {
            return Ok(0);
        }
        self.arm()?;
        self.take(completions, counters)
    }

    #[allow(unsafe_code)]
    fn take(
        &mut self,
        completions: &mut Vec<Completion>,
        counters: &mut Counters,
    ) -> Result<usize, RdmaError> {
        let mut taken: [MaybeUninit<ibv_wc>; COMPLETIONS_A_POLL] =
            [const { MaybeUninit::uninit() }; COMPLETIONS_A_POLL];
        // SAFETY: the queue lives, and there is room for as many as are asked for.
        let count = unsafe {
            match self.operations().poll_cq {
                Some(poll) => {
                    poll(self.cq.as_ptr(), COMPLETIONS_A_POLL as c_int, taken.as_mut_ptr().cast())
                }
                None => -libc::ENOSYS,
            }
        };
        if count < 0 {
            return Err(failed("ibv_poll_cq", -count));
        }
        for done in &taken[..count as usize] {
            // SAFETY: the call has filled as many as it returned.
            let done = completion(unsafe { done.assume_init_ref() });
            if done.status == Status::Success {
                match done.operation {
                    Operation::Receive => {
                        self.receives_posted = self.receives_posted.saturating_sub(1);
                        counters.receives += 1;
                    }
                    _ => {
                        self.outstanding.completed();
                        counters.send_completions += 1;
                    }
                }
            }
            completions.push(done);
        }
        Ok(count as usize)
    }

    /// Whether the channel has told that something completed.
    #[allow(unsafe_code)]
    fn take_event(&mut self) -> Result<bool, RdmaError> {
        let (mut cq, mut about) = (null_mut(), null_mut());
        // SAFETY: the channel lives, and the results go to live pointers.
        let code = unsafe {
            (self.libraries.verbs.ibv_get_cq_event)(
                self.channel.as_ptr(),
                &raw mut cq,
                &raw mut about,
            )
        };
        if code != 0 {
            let error = std::io::Error::last_os_error();
            return match error.kind() {
                std::io::ErrorKind::WouldBlock => Ok(false),
                _ => Err(RdmaError::Call { call: "ibv_get_cq_event".into(), source: error }),
            };
        }
        self.unacknowledged += 1;
        if self.unacknowledged == ACKNOWLEDGE_EVERY {
            self.acknowledge();
        }
        Ok(true)
    }

    #[allow(unsafe_code)]
    fn acknowledge(&mut self) {
        let count = std::mem::take(&mut self.unacknowledged);
        // SAFETY: the queue lives; as many events were taken since the last call.
        unsafe { (self.libraries.verbs.ibv_ack_cq_events)(self.cq.as_ptr(), count) };
    }

    #[allow(unsafe_code)]
    fn arm(&mut self) -> Result<(), RdmaError> {
        // SAFETY: the queue lives.
        let code = unsafe {
            match self.operations().req_notify_cq {
                Some(arm) => arm(self.cq.as_ptr(), 0),
                None => libc::ENOSYS,
            }
        };
        if code != 0 {
            return Err(failed("ibv_req_notify_cq", code));
        }
        self.armed = true;
        Ok(())
    }
}

impl Drop for QueuePair {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        self.acknowledge();
        // SAFETY: each is ended once, users before what they use; every event was acknowledged, so nothing
        // waits. The domain and the id, which these are of, are fields and go later.
        unsafe {
            (self.libraries.cm.rdma_destroy_qp)(self.id.pointer());
            (self.libraries.verbs.ibv_destroy_cq)(self.cq.as_ptr());
            (self.libraries.verbs.ibv_destroy_comp_channel)(self.channel.as_ptr());
        }
    }
}

fn sge(segment: &Segment) -> ibv_sge {
    ibv_sge { addr: segment.address, length: segment.len, lkey: segment.key }
}

fn completion(done: &ibv_wc) -> Completion {
    let operation = match done.opcode() {
        ibv_wc_opcode::IBV_WC_SEND => Operation::Send,
        ibv_wc_opcode::IBV_WC_RDMA_WRITE => Operation::Write,
        ibv_wc_opcode::IBV_WC_RDMA_READ => Operation::Read,
        _ => Operation::Receive,
    };
    let status = match done.error() {
        None => Status::Success,
        Some((status, _)) => match status {
            ibv_wc_status::IBV_WC_WR_FLUSH_ERR => Status::Flushed,
            ibv_wc_status::IBV_WC_LOC_LEN_ERR => Status::LocalLength,
            ibv_wc_status::IBV_WC_LOC_PROT_ERR => Status::LocalProtection,
            ibv_wc_status::IBV_WC_REM_ACCESS_ERR => Status::RemoteAccess,
            ibv_wc_status::IBV_WC_REM_INV_REQ_ERR => Status::RemoteInvalidRequest,
            ibv_wc_status::IBV_WC_RETRY_EXC_ERR => Status::RetryExceeded,
            ibv_wc_status::IBV_WC_RNR_RETRY_EXC_ERR => Status::ReceiverNotReady,
            other => Status::Other(other),
        },
    };
    let invalidated = done.is_valid()
        && operation == Operation::Receive
        && (done.wc_flags & ibv_wc_flags::IBV_WC_WITH_INV).0 != 0;
    Completion {
        id: done.wr_id(),
        operation,
        status,
        len: if status == Status::Success { done.len() as u32 } else { 0 },
        invalidated: invalidated.then_some(done.imm_data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signalled_request_completes_those_before_it() {
        let mut outstanding = Outstanding::new(4);
        for signal in [false, false, true, false] {
            outstanding.posted(signal).unwrap();
        }
        assert!(matches!(
            outstanding.posted(true),
            Err(RdmaError::QueueFull { queue: "send", depth: 4 })
        ));
        outstanding.completed();
        assert_eq!(outstanding.count, 1);
        for signal in [true, true, false] {
            outstanding.posted(signal).unwrap();
        }
        outstanding.completed();
        assert_eq!(outstanding.count, 2);
        outstanding.completed();
        assert_eq!(outstanding.count, 1);
    }

    #[test]
    fn completions_of_errors_carry_no_length_and_no_key() {
        let mut done = ibv_wc::default();
        done.wc_flags = ibv_wc_flags::IBV_WC_WITH_INV;
        let done = completion(&done);
        assert_eq!((done.len, done.invalidated), (0, None));
        assert!(matches!(done.status, Status::Other(_)));
    }
}
