//! A scripted iSER initiator over a raw endpoint: it sends what a test tells it, sound or not, and keeps what
//! comes back.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_fabric::rdma::soft::{Faults, Soft};
use plimsoll_fabric::rdma::{
    Access, Completion, ConnectionEvent, Domain, Endpoint, Establish, Fabric, Memory, Operation,
    Queues, Region, Status, Work,
};
use plimsoll_wire::iscsi::pdu::{
    Attribute, LoginRequest, LoginResponse, NopOut, ScsiCommand, ScsiResponse, Sequence, Stage,
};
use plimsoll_wire::iscsi::{Bhs, Isid, NO_TAG, Opcode, pdu, text};
use plimsoll_wire::iser::{Header, Message, Tag};
use plimsoll_wire::scsi::LunField;

use crate::array::{Array, Builder, TARGET};
use crate::raw::{Direction, Ended, INITIATOR, Reply, read10, write10};

const SEND_BYTES: usize = 16 << 10;
const SENDS: usize = 512;

/// What can be different about an initiator.
#[derive(Clone)]
pub struct Terms {
    pub private_data: Vec<u8>,
    /// Room for data in each receive.
    pub receive_data: usize,
    pub receives: u32,
    pub responder_resources: u8,
}

impl Default for Terms {
    fn default() -> Self {
        // Neither zero-based addresses nor invalidation, and room as Linux has it.
        Self {
            private_data: vec![0xc0, 0, 0, 0],
            receive_data: 128,
            receives: 160,
            responder_resources: 4,
        }
    }
}

/// A message that came, and the key that it invalidated.
pub struct Came {
    pub reply: Reply,
    pub invalidated: Option<u32>,
}

pub struct Initiator {
    // The endpoint ends before the memory that its work refers to.
    pub endpoint: Box<dyn Endpoint>,
    domain: Arc<Domain>,
    receives: Option<Region>,
    sends: Region,
    sent: usize,
    receive_bytes: usize,
    receive_room: usize,
    inbox: VecDeque<Came>,
    pub closed: bool,
    pub target: Option<String>,
    pub isid: Isid,
    pub cmd_sn: u32,
    pub exp_stat_sn: u32,
    pub max_cmd_sn: u32,
    pub itt: u32,
    /// What the target said when it accepted.
    pub accepted: Establish,
}

/// An array whose first portal takes iSER too, on the address of its TCP portal; immediate data is allowed.
pub fn array(fabric: &Arc<Soft>, change: impl FnOnce(&mut Builder)) -> Array {
    let mut array = Array::with(|builder| {
        builder.settings.iser.parameters.immediate_data = true;
        change(builder);
    });
    array.listen_rdma(&**fabric);
    array
}

pub fn soft(change: impl FnOnce(&mut Faults)) -> Arc<Soft> {
    let mut faults = Faults::default();
    change(&mut faults);
    Soft::with_faults(faults)
}

/// The keys of an initiator like Linux's, with honest lengths.
pub fn keys(receive_data: usize) -> Vec<(&'static str, String)> {
    vec![
        ("InitiatorRecvDataSegmentLength", receive_data.max(512).to_string()),
        ("TargetRecvDataSegmentLength", "8192".to_owned()),
        ("RDMAExtensions", "Yes".to_owned()),
        ("InitialR2T", "No".to_owned()),
        ("ImmediateData", "Yes".to_owned()),
        ("FirstBurstLength", "65536".to_owned()),
    ]
}

impl Initiator {
    /// Connected, not logged in.
    pub fn connect(fabric: &dyn Fabric, to: SocketAddr, terms: &Terms) -> Self {
        Self::try_connect(fabric, to, terms).expect("a connection")
    }

    /// As [`Self::connect`]; the event that came instead.
    pub fn try_connect(
        fabric: &dyn Fabric,
        to: SocketAddr,
        terms: &Terms,
    ) -> Result<Self, ConnectionEvent> {
        let queues = Queues { sends: SENDS as u32, receives: terms.receives + 2, segments: 1 };
        let endpoint = fabric.connect(to, None, queues).unwrap();
        let domain = endpoint.domain().unwrap();
        let block = |len| domain.register(&Memory::allocate(len).unwrap(), Access::LOCAL).unwrap();
        let sends = block(SEND_BYTES * SENDS);
        let receive_bytes = 76 + terms.receive_data.max(8192);
        let mut initiator = Self {
            endpoint,
            receives: None,
            domain: Arc::clone(&domain),
            sends,
            sent: 0,
            receive_bytes,
            receive_room: 76 + terms.receive_data,
            inbox: VecDeque::new(),
            closed: false,
            target: Some(TARGET.to_owned()),
            isid: Isid::random([1, 2, 3], 4),
            cmd_sn: 1,
            exp_stat_sn: 1,
            max_cmd_sn: 0,
            itt: 0,
            accepted: Establish::default(),
        };
        initiator.await_event(|event| matches!(event, ConnectionEvent::Resolved))?;
        // Two receives for the login; the others have only the room that the initiator has.
        let total = receive_bytes * (terms.receives as usize + 2);
        let region = block(total);
        for index in 0..terms.receives as usize + 2 {
            let room = if index < 2 { receive_bytes } else { 76 + terms.receive_data };
            let segment = region.segment(index * receive_bytes, room);
            initiator.endpoint.post_receive(index as u64, segment).unwrap();
        }
        initiator.receives = Some(region);
        initiator.endpoint.flush().unwrap();
        let establish = Establish {
            private_data: terms.private_data.clone(),
            initiator_depth: 1,
            responder_resources: terms.responder_resources,
        };
        initiator.endpoint.establish(&establish).unwrap();
        let event =
            initiator.await_event(|event| matches!(event, ConnectionEvent::Established(_)))?;
        if let ConnectionEvent::Established(terms) = event {
            initiator.accepted = terms;
        }
        Ok(initiator)
    }

    fn await_event(
        &mut self,
        wanted: impl Fn(&ConnectionEvent) -> bool,
    ) -> Result<ConnectionEvent, ConnectionEvent> {
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            let polled = self.endpoint.poll(&mut Vec::new()).unwrap();
            match polled.event {
                Some(event) if wanted(&event) => return Ok(event),
                Some(event) => return Err(event),
                None => std::thread::sleep(Duration::from_micros(50)),
            }
        }
        panic!("no event of the connection");
    }

    /// Logged in with these keys.
    pub fn login(array: &Array, fabric: &dyn Fabric, terms: &Terms) -> Self {
        let mut initiator = Self::connect(fabric, array.address(), terms);
        let keys = keys(terms.receive_data);
        initiator.log_in(&keys);
        initiator.ready();
        initiator
    }

    pub fn log_in(&mut self, keys: &[(&str, String)]) -> Vec<(String, String)> {
        let (response, pairs) = self.try_login(keys);
        assert_eq!((response.status.class, response.status.detail), (0, 0), "{}", response.status);
        assert!(response.transit && response.next_stage == Stage::FullFeature);
        pairs
    }

    pub fn try_login(&mut self, keys: &[(&str, String)]) -> (LoginResponse, Vec<(String, String)>) {
        self.send_login(keys);
        let came = self.receive().expect("a login response");
        assert_eq!(came.opcode(), Opcode::LoginResponse);
        let pairs = text::pairs(&came.data)
            .map(|pair| pair.map(|(key, value)| (key.to_owned(), value.to_owned())))
            .collect::<Result<_, _>>()
            .unwrap();
        (LoginResponse::parse(&came.bhs), pairs)
    }

    pub fn send_login(&mut self, keys: &[(&str, String)]) {
        let mut data = Vec::new();
        text::append(&mut data, "InitiatorName", INITIATOR);
        match &self.target {
            Some(target) => text::append(&mut data, "TargetName", target),
            None => text::append(&mut data, "SessionType", "Discovery"),
        }
        keys.iter().for_each(|(key, value)| text::append(&mut data, key, value));
        let request = LoginRequest {
            transit: true,
            more: false,
            stage: Stage::Operational,
            next_stage: Stage::FullFeature,
            version_max: 0,
            version_min: 0,
            data_len: data.len() as u32,
            isid: self.isid,
            tsih: 0,
            itt: 0,
            cid: 1,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        self.send(&request.build(), &data);
    }

    /// Sends one PDU without tags.
    pub fn send(&mut self, bhs: &Bhs, data: &[u8]) {
        self.send_tagged(Header::default(), bhs, data);
    }

    pub fn send_tagged(&mut self, header: Header, bhs: &Bhs, data: &[u8]) {
        self.send_bytes(&[&header.build()[..], bhs, data].concat());
    }

    /// Sends a message as it is.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        assert!(self.closed || self.try_send(bytes), "the send queue is full");
    }

    /// The same; false when the send queue is full.
    #[allow(unsafe_code)]
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        let offset = self.sent % SENDS * SEND_BYTES;
        self.sent += 1;
        // SAFETY: the soft fabric is done with a send long before 512 others have been made.
        unsafe { self.sends.memory().put(offset, bytes) };
        let segments = [self.sends.segment(offset, bytes.len())];
        let work = Work::Send { id: 1 << 40, segments: &segments, invalidate: None, signal: false };
        self.endpoint.post(&work).is_ok() && self.endpoint.flush().is_ok()
    }

    /// Takes in what has come so far.
    #[allow(unsafe_code)]
    pub fn poll(&mut self) {
        let mut completions = Vec::new();
        let polled = self.endpoint.poll(&mut completions).unwrap();
        for Completion { id, operation, status, len, invalidated } in completions {
            if operation != Operation::Receive {
                continue;
            }
            if status != Status::Success {
                self.closed = true;
                continue;
            }
            let region = self.receives.as_ref().unwrap();
            let offset = id as usize * self.receive_bytes;
            // SAFETY: the receive has completed and is posted again after the copy.
            let bytes = unsafe { region.memory().bytes(offset, len as usize) }.to_vec();
            let room = if id < 2 { self.receive_bytes } else { self.receive_room };
            let segment = region.segment(offset, room);
            self.endpoint.post_receive(id, segment).unwrap();
            let message = Message::split(&bytes, 1 << 20).unwrap();
            assert_eq!(message.header, Header::default(), "a target advertises no tags");
            let end = 76 + message.pdu.data.len() + message.pdu.ahs.len();
            assert_eq!(bytes.len(), end, "pitfall 10: no padding");
            let reply = Reply { bhs: *message.pdu.bhs, data: message.pdu.data.to_vec() };
            self.inbox.push_back(Came { reply, invalidated });
        }
        let _ = self.endpoint.flush();
        if matches!(polled.event, Some(ConnectionEvent::Disconnected)) {
            self.closed = true;
        }
    }

    /// The next message; `None` when the target has closed the connection.
    pub fn came(&mut self) -> Option<Came> {
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            self.poll();
            if let Some(came) = self.inbox.pop_front() {
                self.count(&came.reply);
                return Some(came);
            }
            if self.closed {
                return None;
            }
            assert!(Instant::now() < end, "nothing comes");
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    pub fn receive(&mut self) -> Option<Reply> {
        self.came().map(|came| came.reply)
    }

    /// Whether nothing comes for a while.
    pub fn is_silent(&mut self) -> bool {
        std::thread::sleep(Duration::from_millis(50));
        self.poll();
        self.inbox.is_empty()
    }

    /// The target closes the connection; what it sends before is skipped.
    pub fn expect_closed(&mut self) {
        while self.receive().is_some() {}
    }

    fn count(&mut self, reply: &Reply) {
        let sequence = Sequence::parse(&reply.bhs);
        let opcode = reply.opcode();
        assert!(!matches!(opcode, Opcode::R2t | Opcode::DataIn), "{opcode:?} on iSER");
        if opcode != Opcode::NopIn || pdu::itt(&reply.bhs) != NO_TAG {
            assert_eq!(sequence.stat_sn, self.exp_stat_sn, "StatSN of {opcode:?}");
            self.exp_stat_sn = sequence.stat_sn.wrapping_add(1);
        }
        self.max_cmd_sn = sequence.max_cmd_sn;
    }

    /// Memory that the target may reach, and its tag.
    pub fn buffer(&self, len: usize, access: Access) -> (Region, Tag) {
        let region = self.domain.register(&Memory::allocate(len).unwrap(), access).unwrap();
        let tag = Tag { key: region.keys().remote, address: region.memory().pointer() as u64 };
        (region, tag)
    }

    /// Memory with these bytes, for the target to fetch.
    #[allow(unsafe_code)]
    pub fn source(&self, bytes: &[u8]) -> (Region, Tag) {
        let (region, tag) = self.buffer(bytes.len().max(1), Access::REMOTE_READ);
        // SAFETY: nobody else knows of the memory yet.
        unsafe { region.memory().put(0, bytes) };
        (region, tag)
    }

    pub fn next_itt(&mut self) -> u32 {
        self.itt += 1;
        self.itt
    }

    pub fn command(&mut self, cdb: &[u8], direction: Direction, expected_len: u32) -> ScsiCommand {
        let mut whole = [0; 16];
        whole[..cdb.len()].copy_from_slice(cdb);
        let cmd_sn = self.cmd_sn;
        self.cmd_sn = cmd_sn.wrapping_add(1);
        ScsiCommand {
            immediate: false,
            is_final: true,
            read: direction == Direction::Read,
            write: direction == Direction::Write,
            attribute: Attribute::Simple,
            ahs_len: 0,
            data_len: 0,
            lun: LunField::unit(0),
            itt: self.next_itt(),
            expected_len,
            cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            cdb: whole,
        }
    }

    /// The response to a command.
    pub fn end_of(&mut self, itt: u32) -> Ended {
        self.end_and_key(itt).0
    }

    /// The same, and the key that it invalidated.
    pub fn end_and_key(&mut self, itt: u32) -> (Ended, Option<u32>) {
        let Came { reply, invalidated } = self.came().expect("a response");
        assert_eq!(reply.opcode(), Opcode::ScsiResponse);
        assert_eq!(pdu::itt(&reply.bhs), itt);
        let header = ScsiResponse::parse(&reply.bhs);
        assert_eq!(header.exp_data_sn, 0, "there are no data PDUs");
        let sense = pdu::sense_of(&reply.data);
        let sense = (!sense.is_empty()).then(|| (sense[2], sense[12], sense[13]));
        let residual = header.residual;
        (Ended { status: header.status, sense, data: Vec::new(), residual }, invalidated)
    }

    /// Reads blocks of LUN 0 into fresh memory.
    pub fn read(&mut self, lba: u32, blocks: u16) -> Ended {
        let len = u32::from(blocks) * 512;
        let (region, tag) = self.buffer(len as usize, Access::REMOTE_WRITE);
        let itt = self.send_read(lba, blocks, tag);
        let mut ended = self.end_of(itt);
        ended.data = bytes(&region, len as usize);
        ended
    }

    pub fn send_read(&mut self, lba: u32, blocks: u16, read: Tag) -> u32 {
        let command = self.command(&read10(lba, blocks), Direction::Read, u32::from(blocks) * 512);
        self.send_tagged(Header { read: Some(read), write: None }, &command.build(), &[]);
        command.itt
    }

    /// Writes: so many bytes with the command, the rest for the target to fetch.
    pub fn write(&mut self, lba: u32, data: &[u8], immediate: usize) -> Ended {
        let (region, tag) = self.source(data);
        let itt = self.send_write(lba, data, immediate, tag);
        let ended = self.end_of(itt);
        drop(region);
        ended
    }

    /// `tag` is that of the whole data; what is advertised begins with the solicited part.
    pub fn send_write(&mut self, lba: u32, data: &[u8], immediate: usize, tag: Tag) -> u32 {
        let blocks = (data.len() / 512) as u16;
        let mut command = self.command(&write10(lba, blocks), Direction::Write, data.len() as u32);
        command.data_len = immediate as u32;
        let write = Tag { address: tag.address + immediate as u64, ..tag };
        let write = (immediate < data.len()).then_some(write);
        self.send_tagged(Header { read: None, write }, &command.build(), &data[..immediate]);
        command.itt
    }

    /// TEST UNIT READY until no unit attention is left.
    pub fn ready(&mut self) {
        for _ in 0..8 {
            let command = self.command(&[0; 6], Direction::None, 0);
            self.send(&command.build(), &[]);
            if self.end_of(command.itt).is_good() {
                return;
            }
        }
        panic!("the unit does not become ready");
    }

    pub fn nop(&mut self) -> NopOut {
        NopOut {
            immediate: true,
            data_len: 0,
            lun: LunField::unit(0),
            itt: self.next_itt(),
            ttt: NO_TAG,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        }
    }

    /// A ping and its answer: the session lives.
    pub fn ping(&mut self) {
        let nop = self.nop();
        self.send(&nop.build(), &[]);
        let reply = self.receive().expect("an answer to a ping");
        assert_eq!((reply.opcode(), pdu::itt(&reply.bhs)), (Opcode::NopIn, nop.itt));
    }
}

/// What a region holds.
#[allow(unsafe_code)]
pub fn bytes(region: &Region, len: usize) -> Vec<u8> {
    // SAFETY: the response has come, so nothing is written any more.
    unsafe { region.memory().bytes(0, len) }.to_vec()
}
