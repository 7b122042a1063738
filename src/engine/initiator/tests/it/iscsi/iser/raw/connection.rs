//! One connection of the raw target: its endpoint, the login, and everything that is no SCSI command.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use plimsoll_fabric::rdma::{
    Access, Completion, ConnectionEvent, Domain, Endpoint, Establish, Incoming, Memory, Operation,
    Queues, Region, RemoteAddress, Segment, Status, Work,
};
use plimsoll_wire::iscsi::negotiate::{IserParameters, Negotiator, Parameters, Role, Wishes};
use plimsoll_wire::iscsi::pdu::{
    LoginRequest, LoginResponse, LoginStatus, LogoutRequest, LogoutResponse, LogoutResult, NopIn,
    NopOut, Opcode, ScsiCommand, Sequence, Stage, TaskRequest, TaskResponse, TaskResult,
    TextRequest, TextResponse,
};
use plimsoll_wire::iscsi::{Bhs, Isid, NO_TAG, serial, text};
use plimsoll_wire::iser::{Header, MESSAGE_MIN, Message, Tag};
use plimsoll_wire::scsi::LunField;

use super::super::super::fake::NAME;
use super::{Act, Shared};

/// Why a connection ends.
pub struct Over;
pub type Done = Result<(), Over>;

const RECEIVE_EACH: usize = MESSAGE_MIN + 8192;
const SEND_EACH: usize = MESSAGE_MIN + 8192;
const SENDS: u64 = 512;

/// A write whose data is being fetched, or that waits for its turn.
pub struct Fetch {
    pub command: ScsiCommand,
    pub tag: Tag,
    pub segment: Segment,
    pub act: Act,
}

pub struct Connection {
    pub endpoint: Box<dyn Endpoint>,
    pub shared: Arc<Shared>,
    pub receives: Region,
    pub sends: Region,
    pub store: Region,
    pub domain: Arc<Domain>,
    pub sent: u64,
    pub negotiator: Negotiator,
    pub full_feature: bool,
    pub isid: Isid,
    /// Number of its login.
    pub login: u64,
    pub discovery: bool,
    pub stat_sn: u32,
    pub exp_cmd_sn: u32,
    pub max_cmd_sn: u32,
    /// RDMA reads that the initiator answers at a time.
    pub reads_max: usize,
    pub fetching: HashMap<u64, Fetch>,
    pub waiting: VecDeque<Fetch>,
    /// Where commands without an answer read to.
    pub forgotten: HashMap<u32, (Tag, u32)>,
    /// An answer with its number, to be overtaken.
    pub overtaken: Option<Vec<u8>>,
    /// Answers held back.
    pub later: Vec<(ScsiCommand, Header)>,
    pub stalled: bool,
    /// What is left of an answer to a text request.
    pub text: Vec<u8>,
    pub first_keys: bool,
    /// Immediate requests that this side has not answered.
    pub began: Instant,
}

impl Connection {
    pub fn accept(incoming: Incoming, shared: &Arc<Shared>) -> Option<Self> {
        shared.asks.lock().unwrap().push(incoming.asks.clone());
        let take = |count: &AtomicU64| {
            count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
        };
        if take(&shared.rejects) {
            incoming.request.reject(&[]).unwrap();
            return None;
        }
        let setting = shared.setting;
        let receives_count = setting.window + 32;
        let queues = Queues { sends: SENDS as u32 * 2, receives: receives_count, segments: 1 };
        let mut endpoint = incoming.request.open(queues).ok()?;
        let domain = endpoint.domain().ok()?;
        let region =
            |bytes| domain.register(&Memory::allocate(bytes).unwrap(), Access::LOCAL).unwrap();
        let receives = region(receives_count as usize * RECEIVE_EACH);
        for id in 0..receives_count {
            let segment = receives.segment(id as usize * RECEIVE_EACH, RECEIVE_EACH);
            endpoint.post_receive(id.into(), segment).unwrap();
        }
        endpoint.flush().unwrap();
        let store = domain.register(&shared.store, Access::LOCAL).unwrap();
        let terms = Establish {
            private_data: shared.private_data.lock().unwrap().clone(),
            initiator_depth: incoming.asks.responder_resources,
            responder_resources: 0,
        };
        endpoint.establish(&terms).ok()?;
        let parameters = Parameters {
            max_recv_data_segment_bytes: 8192,
            peer_max_recv_data_segment_bytes: 8192,
            immediate_data: setting.immediate_data,
            max_burst_bytes: 1 << 20,
            iser: IserParameters {
                role: Some(Role::Target),
                max_unexpected_pdus: setting.unexpected,
                ..IserParameters::default()
            },
            ..Parameters::default()
        };
        Some(Self {
            sends: region(SENDS as usize * SEND_EACH),
            endpoint,
            shared: Arc::clone(shared),
            receives,
            store,
            domain,
            sent: 0,
            negotiator: Negotiator::new(Wishes { parameters, ..Wishes::default() }),
            full_feature: false,
            isid: Isid::default(),
            login: 0,
            discovery: false,
            stat_sn: 1,
            exp_cmd_sn: 1,
            max_cmd_sn: 1,
            reads_max: incoming.asks.responder_resources.max(1).into(),
            fetching: HashMap::new(),
            waiting: VecDeque::new(),
            forgotten: HashMap::new(),
            overtaken: None,
            later: Vec::new(),
            stalled: false,
            text: Vec::new(),
            first_keys: true,
            began: Instant::now(),
        })
    }

    /// One poll; true when it found something.
    pub fn turn(&mut self) -> Result<bool, Over> {
        // A newer session of the same name has taken the place of this one (RFC 7143 section 6.3.5).
        let newest = self.shared.sessions.lock().unwrap().get(&self.isid).copied();
        if self.full_feature && newest != Some(self.login) {
            return Err(Over);
        }
        let mut completions = Vec::new();
        let polled = self.endpoint.poll(&mut completions).map_err(|_| Over)?;
        for completion in &completions {
            self.on_completion(completion)?;
        }
        // The first message may come before the connection is established.
        match polled.event {
            None | Some(ConnectionEvent::Established(_)) => {}
            Some(_) => return Err(Over),
        }
        if self.later.len() > 3 || (completions.is_empty() && !self.later.is_empty()) {
            for (command, header) in std::mem::take(&mut self.later).into_iter().rev() {
                self.answer(&command, &header, &[], Act::Serve)?;
            }
        }
        if completions.is_empty()
            && let Some(message) = self.overtaken.take()
        {
            self.send_bytes(&message, None)?;
        }
        self.endpoint.flush().map_err(|_| Over)?;
        Ok(!completions.is_empty() || polled.again)
    }

    pub fn on_completion(&mut self, completion: &Completion) -> Done {
        if completion.status != Status::Success {
            return Err(Over);
        }
        match completion.operation {
            Operation::Receive => {
                let at = completion.id as usize * RECEIVE_EACH;
                // SAFETY: the receive has completed.
                #[allow(unsafe_code)]
                let bytes =
                    unsafe { self.receives.memory().bytes(at, completion.len as usize).to_vec() };
                let segment = self.receives.segment(at, RECEIVE_EACH);
                self.endpoint.post_receive(completion.id, segment).map_err(|_| Over)?;
                let Message { header, pdu } = Message::split(&bytes, 8192).unwrap();
                assert_eq!(
                    bytes.len(),
                    MESSAGE_MIN + pdu.data.len(),
                    "pitfall 10: data is not padded"
                );
                if self.stalled {
                    return Ok(());
                }
                let data = pdu.data.to_vec();
                self.on_pdu(&header, pdu.bhs, &data)
            }
            Operation::Read => {
                let fetch = self.fetching.remove(&completion.id).unwrap();
                self.fetch_next()?;
                self.respond(&fetch.command, 0, &[], fetch.act, &Header::default())
            }
            _ => Ok(()),
        }
    }

    pub fn sequence_now(&self) -> Sequence {
        Sequence {
            stat_sn: self.stat_sn,
            exp_cmd_sn: self.exp_cmd_sn,
            max_cmd_sn: self.exp_cmd_sn.wrapping_add(self.shared.setting.window).wrapping_sub(1),
        }
    }

    pub fn sequence(&mut self) -> Sequence {
        let sequence = self.sequence_now();
        self.stat_sn = self.stat_sn.wrapping_add(1);
        self.max_cmd_sn = sequence.max_cmd_sn;
        sequence
    }

    pub fn send(&mut self, bhs: &Bhs, data: &[u8]) -> Done {
        let mut message = Header::default().build().to_vec();
        message.extend_from_slice(bhs);
        message.extend_from_slice(data);
        self.send_bytes(&message, None)
    }

    pub fn send_bytes(&mut self, message: &[u8], invalidate: Option<u32>) -> Done {
        let at = (self.sent % SENDS) as usize * SEND_EACH;
        let id = self.sent;
        self.sent += 1;
        // SAFETY: the ring is so large that the send which used this buffer last was over long ago.
        #[allow(unsafe_code)]
        unsafe {
            self.sends.memory().put(at, message);
        }
        let segments = [self.sends.segment(at, message.len())];
        let work = Work::Send { id, segments: &segments, invalidate, signal: id % 16 == 15 };
        self.endpoint.post(&work).map_err(|_| Over)
    }

    pub fn on_pdu(&mut self, header: &Header, bhs: &Bhs, data: &[u8]) -> Done {
        match Opcode::of(bhs) {
            Some(Opcode::LoginRequest) if !self.full_feature => self.log_in(bhs, data),
            Some(Opcode::ScsiCommand) => {
                let command = ScsiCommand::parse(bhs);
                assert_eq!(command.cmd_sn, self.exp_cmd_sn, "commands come in order");
                assert!(
                    serial::less_or_equal(command.cmd_sn, self.max_cmd_sn),
                    "outside the window"
                );
                self.exp_cmd_sn = self.exp_cmd_sn.wrapping_add(1);
                self.command(&command, header, data)
            }
            Some(Opcode::NopOut) => {
                let header = NopOut::parse(bhs);
                if header.itt == NO_TAG {
                    self.shared.pongs.fetch_add(1, Ordering::SeqCst);
                    return Ok(());
                }
                self.shared.pings.fetch_add(1, Ordering::SeqCst);
                let reply = NopIn {
                    data_len: 0,
                    lun: header.lun,
                    itt: header.itt,
                    ttt: NO_TAG,
                    sequence: self.sequence(),
                };
                self.send(&reply.build(), &[])
            }
            Some(Opcode::TaskRequest) => {
                self.shared.aborts.fetch_add(1, Ordering::SeqCst);
                let TaskRequest { itt, referenced_itt, .. } = TaskRequest::parse(bhs);
                if let Some((tag, len)) = self.forgotten.remove(&referenced_itt) {
                    let memory = Memory::allocate(len as usize).unwrap();
                    let region = self.domain.register(&memory, Access::LOCAL).unwrap();
                    let remote = RemoteAddress { address: tag.address, key: tag.key };
                    let segments = [region.segment(0, len as usize)];
                    let work = Work::Write { id: 0, segments: &segments, remote, signal: false };
                    self.endpoint.post(&work).map_err(|_| Over)?;
                    std::mem::forget(region);
                }
                let sequence = self.sequence();
                let reply = TaskResponse { result: TaskResult::Complete, itt, sequence };
                self.send(&reply.build(), &[])
            }
            Some(Opcode::TextRequest) => self.on_text(&TextRequest::parse(bhs)),
            Some(Opcode::LogoutRequest) => {
                let reply = LogoutResponse {
                    result: LogoutResult::Closed,
                    itt: LogoutRequest::parse(bhs).itt,
                    sequence: self.sequence(),
                    time2wait: 0,
                    time2retain: 0,
                };
                self.send(&reply.build(), &[])
            }
            other => panic!("the initiator sent {other:?} after {:?}", self.began.elapsed()),
        }
    }

    pub fn log_in(&mut self, bhs: &Bhs, data: &[u8]) -> Done {
        let request = LoginRequest::parse(bhs);
        let broken = self
            .shared
            .breaks
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if broken.is_ok() {
            return Err(Over);
        }
        let mut answer = Vec::new();
        if std::mem::take(&mut self.first_keys) {
            text::append(&mut answer, "AuthMethod", "None");
            text::append(&mut answer, "TargetPortalGroupTag", "1");
        }
        for (key, value) in text::pairs(data).map(Result::unwrap) {
            self.shared.keys.lock().unwrap().push((key.to_owned(), value.to_owned()));
            self.discovery |= (key, value) == ("SessionType", "Discovery");
            if request.stage == Stage::Operational
                && let Some(result) = self.negotiator.receive(key, value).unwrap()
            {
                text::append(&mut answer, key, &result);
            }
        }
        let reply = LoginResponse {
            transit: request.transit,
            more: false,
            stage: request.stage,
            next_stage: request.next_stage,
            version_max: 0,
            version_active: 0,
            data_len: answer.len() as u32,
            isid: request.isid,
            tsih: 7,
            itt: request.itt,
            sequence: self.sequence(),
            status: LoginStatus::SUCCESS,
        };
        self.send(&reply.build(), &answer)?;
        if request.transit && request.next_stage == Stage::FullFeature {
            self.full_feature = true;
            self.login = self.shared.logins.fetch_add(1, Ordering::SeqCst);
            self.isid = request.isid;
            self.shared.sessions.lock().unwrap().insert(request.isid, self.login);
            if !self.discovery {
                // Says something at once: whoever posts receives only now has lost it (pitfall 4).
                for ttt in 0..4 {
                    self.ping(ttt)?;
                }
            }
        }
        Ok(())
    }

    pub fn ping(&mut self, ttt: u32) -> Done {
        let header = NopIn {
            data_len: 0,
            lun: LunField::unit(0),
            itt: NO_TAG,
            ttt,
            sequence: self.sequence_now(),
        };
        self.send(&header.build(), &[])
    }

    /// SendTargets, in pieces.
    pub fn on_text(&mut self, request: &TextRequest) -> Done {
        self.exp_cmd_sn = self.exp_cmd_sn.wrapping_add(1);
        if request.ttt == NO_TAG {
            for index in 0..self.shared.setting.targets {
                text::append(&mut self.text, "TargetName", &format!("{NAME}.{index}"));
                text::append(&mut self.text, "TargetAddress", "127.0.0.1:3260,1");
            }
        }
        let count = self.text.len().min(self.shared.setting.text_bytes);
        let piece: Vec<u8> = self.text.drain(..count).collect();
        let is_final = self.text.is_empty();
        let reply = TextResponse {
            is_final,
            more: !is_final,
            data_len: piece.len() as u32,
            lun: LunField::unit(0),
            itt: request.itt,
            ttt: if is_final { NO_TAG } else { 5 },
            sequence: self.sequence(),
        };
        self.send(&reply.build(), &piece)
    }
}
