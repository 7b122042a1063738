//! A scripted initiator: it sends what a test tells it, sound or not, and shows what comes back.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use plimsoll_wire::iscsi::pdu::{
    Attribute, DataIn, DataOut, LoginRequest, LoginResponse, NopOut, R2t, ScsiCommand,
    ScsiResponse, Stage,
};
use plimsoll_wire::iscsi::{
    Bhs, Digests, Isid, NO_TAG, Opcode, Pdu, frame, frame_length, pdu, text,
};
use plimsoll_wire::scsi::LunField;

use crate::array::TARGET;

pub const INITIATOR: &str = "iqn.2026-11.example.host:one";

/// A PDU that came back.
#[derive(Debug)]
pub struct Reply {
    pub bhs: Bhs,
    pub data: Vec<u8>,
}

impl Reply {
    pub fn opcode(&self) -> Opcode {
        Opcode::of(&self.bhs).expect("an opcode of the RFC")
    }
}

/// How a SCSI command ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub status: u8,
    /// Sense key, code and qualifier.
    pub sense: Option<(u8, u8, u8)>,
    pub data: Vec<u8>,
    pub residual: pdu::Residual,
}

impl Ended {
    pub fn is_good(&self) -> bool {
        self.status == 0
    }
}

pub struct Raw {
    pub stream: TcpStream,
    pub digests: Digests,
    pub isid: Isid,
    pub initiator: String,
    pub target: Option<String>,
    pub cmd_sn: u32,
    pub exp_stat_sn: u32,
    pub itt: u32,
    /// Numbers of the last PDU that carried them.
    pub exp_cmd_sn: u32,
    pub max_cmd_sn: u32,
    pub tsih: u16,
}

impl Raw {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        Self {
            stream,
            digests: Digests::default(),
            isid: Isid::random([1, 2, 3], 4),
            initiator: INITIATOR.to_owned(),
            target: Some(TARGET.to_owned()),
            cmd_sn: 1,
            exp_stat_sn: 1,
            itt: 0,
            exp_cmd_sn: 0,
            max_cmd_sn: 0,
            tsih: 0,
        }
    }

    /// Logged in with the parameters given as keys, in one request.
    pub fn login(address: SocketAddr, keys: &[(&str, &str)]) -> Self {
        let mut raw = Self::connect(address);
        raw.log_in(keys);
        raw
    }

    pub fn discovery(address: SocketAddr) -> Self {
        let mut raw = Self::connect(address);
        raw.target = None;
        raw.log_in(&[]);
        raw
    }

    pub fn log_in(&mut self, keys: &[(&str, &str)]) {
        let (response, _) = self.try_login(keys);
        assert_eq!((response.status.class, response.status.detail), (0, 0), "{}", response.status);
        assert!(response.transit && response.next_stage == Stage::FullFeature);
        assert_ne!(response.tsih, 0);
        let on = |key| keys.iter().any(|(name, value)| *name == key && *value == "CRC32C");
        self.digests = Digests { header: on("HeaderDigest"), data: on("DataDigest") };
    }

    /// The names of a first login request.
    pub fn names(&self) -> Vec<u8> {
        let mut names = Vec::new();
        text::append(&mut names, "InitiatorName", &self.initiator);
        match &self.target {
            Some(target) => text::append(&mut names, "TargetName", target),
            None => text::append(&mut names, "SessionType", "Discovery"),
        }
        names
    }

    /// One operational request that asks for the full feature phase.
    pub fn try_login(&mut self, keys: &[(&str, &str)]) -> (LoginResponse, Vec<(String, String)>) {
        let mut data = self.names();
        keys.iter().for_each(|(key, value)| text::append(&mut data, key, value));
        let request = self.login_request(Stage::Operational, Some(Stage::FullFeature));
        self.exchange_login(request, &data)
    }

    pub fn login_request(&self, stage: Stage, next: Option<Stage>) -> LoginRequest {
        LoginRequest {
            transit: next.is_some(),
            more: false,
            stage,
            next_stage: next.unwrap_or(Stage::Security),
            version_max: 0,
            version_min: 0,
            data_len: 0,
            isid: self.isid,
            tsih: self.tsih,
            itt: 0,
            cid: 1,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        }
    }

    pub fn exchange_login(
        &mut self,
        mut request: LoginRequest,
        data: &[u8],
    ) -> (LoginResponse, Vec<(String, String)>) {
        request.data_len = data.len() as u32;
        self.send(&request.build(), data);
        let reply = self.receive().expect("a login response");
        assert_eq!(reply.opcode(), Opcode::LoginResponse);
        let response = LoginResponse::parse(&reply.bhs);
        assert_eq!(response.itt, request.itt);
        let pairs = text::pairs(&reply.data)
            .map(|pair| pair.map(|(key, value)| (key.to_owned(), value.to_owned())))
            .collect::<Result<_, _>>()
            .unwrap();
        (response, pairs)
    }

    /// Sends one PDU with the digests of the connection.
    pub fn send(&mut self, bhs: &Bhs, data: &[u8]) {
        let mut out = Vec::new();
        frame::append(&mut out, bhs, &[], data, self.digests);
        self.stream.write_all(&out).unwrap();
    }

    /// Sends bytes as they are; the peer may have closed meanwhile.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// The next PDU; `None` when the target has closed the connection. Keeps StatSN and the window.
    pub fn receive(&mut self) -> Option<Reply> {
        let mut bytes = vec![0; 48];
        if !self.fill(&mut bytes) {
            return None;
        }
        let length = frame_length(&bytes, self.digests, 1 << 24).unwrap().unwrap();
        bytes.resize(length, 0);
        assert!(self.fill(&mut bytes[48..]), "closed in the middle of a PDU");
        let pdu = Pdu::split(&bytes, self.digests).expect("sound digests");
        assert!(pdu.data_is_sound, "data digest of {:02x?}", pdu.bhs);
        let reply = Reply { bhs: *pdu.bhs, data: pdu.data.to_vec() };
        self.count(&reply);
        Some(reply)
    }

    /// Every status takes the next StatSN; everything else shows it (section 4.2.2.2).
    fn count(&mut self, reply: &Reply) {
        let sequence = pdu::Sequence::parse(&reply.bhs);
        let uses_up = match reply.opcode() {
            Opcode::R2t => false,
            Opcode::DataIn => DataIn::parse(&reply.bhs).status.is_some(),
            Opcode::NopIn => pdu::itt(&reply.bhs) != NO_TAG,
            _ => true,
        };
        if uses_up {
            assert_eq!(sequence.stat_sn, self.exp_stat_sn, "StatSN of {:?}", reply.opcode());
            self.exp_stat_sn = sequence.stat_sn.wrapping_add(1);
        }
        self.exp_cmd_sn = sequence.exp_cmd_sn;
        self.max_cmd_sn = sequence.max_cmd_sn;
        if reply.opcode() == Opcode::LoginResponse {
            let response = LoginResponse::parse(&reply.bhs);
            if response.status.class == 0 && response.transit {
                self.tsih = response.tsih;
            }
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> bool {
        let mut at = 0;
        while at < buffer.len() {
            match self.stream.read(&mut buffer[at..]) {
                Ok(0) => {
                    assert_eq!(at, 0, "closed in the middle of a PDU");
                    return false;
                }
                Ok(count) => at += count,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return false,
                Err(error) => panic!("nothing comes: {error}"),
            }
        }
        true
    }

    /// Whether nothing comes for a while.
    pub fn is_silent(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let result = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        matches!(result, Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }

    /// The target closes the connection; what it sends before is skipped.
    pub fn expect_closed(&mut self) {
        while self.receive().is_some() {}
    }

    pub fn next_itt(&mut self) -> u32 {
        self.itt += 1;
        self.itt
    }

    /// A command for LUN 0 in the right order.
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

    /// Sends a command with immediate data.
    pub fn send_command(&mut self, mut command: ScsiCommand, immediate: &[u8]) -> u32 {
        command.data_len = immediate.len() as u32;
        self.send(&command.build(), immediate);
        command.itt
    }

    /// Gathers the data and the status of a command that takes nothing (more) from here.
    pub fn end_of(&mut self, itt: u32) -> Ended {
        let mut data = Vec::new();
        loop {
            let reply = self.receive().expect("the end of a command");
            assert_eq!(pdu::itt(&reply.bhs), itt, "{:?}", reply.opcode());
            match reply.opcode() {
                Opcode::DataIn => {
                    let header = DataIn::parse(&reply.bhs);
                    assert_eq!(header.buffer_offset as usize, data.len());
                    data.extend_from_slice(&reply.data);
                    if let Some(status) = header.status {
                        let residual = header.residual;
                        return Ended { status, sense: None, data, residual };
                    }
                }
                Opcode::ScsiResponse => {
                    let header = ScsiResponse::parse(&reply.bhs);
                    let sense = pdu::sense_of(&reply.data);
                    let sense = (!sense.is_empty()).then(|| (sense[2], sense[12], sense[13]));
                    let residual = header.residual;
                    return Ended { status: header.status, sense, data, residual };
                }
                other => panic!("{other:?} instead of the end of a command"),
            }
        }
    }

    /// The next PDU is an R2T for that task.
    pub fn r2t(&mut self, itt: u32) -> R2t {
        let reply = self.receive().expect("an R2T");
        assert_eq!(reply.opcode(), Opcode::R2t, "{:?}", reply.bhs);
        let r2t = R2t::parse(&reply.bhs);
        assert_eq!(r2t.itt, itt);
        r2t
    }

    /// Answers an R2T from the whole data of a command, in PDUs of at most `segment` bytes.
    pub fn answer(&mut self, r2t: &R2t, whole: &[u8], segment: usize) {
        let start = r2t.buffer_offset as usize;
        let wanted = &whole[start..start + r2t.desired_len as usize];
        let count = wanted.len().div_ceil(segment);
        for (index, piece) in wanted.chunks(segment).enumerate() {
            let data = DataOut {
                is_final: index + 1 == count,
                data_len: piece.len() as u32,
                lun: r2t.lun,
                itt: r2t.itt,
                ttt: r2t.ttt,
                exp_stat_sn: self.exp_stat_sn,
                data_sn: index as u32,
                buffer_offset: r2t.buffer_offset + (index * segment) as u32,
            };
            self.send(&data.build(), piece);
        }
    }

    /// Reads `blocks` blocks of 512 bytes at `lba` of LUN 0.
    pub fn read(&mut self, lba: u32, blocks: u16) -> Ended {
        let command = self.command(&read10(lba, blocks), Direction::Read, u32::from(blocks) * 512);
        let itt = self.send_command(command, &[]);
        self.end_of(itt)
    }

    /// Writes with immediate data alone.
    pub fn write(&mut self, lba: u32, data: &[u8]) -> Ended {
        let blocks = (data.len() / 512) as u16;
        let command = self.command(&write10(lba, blocks), Direction::Write, data.len() as u32);
        let itt = self.send_command(command, data);
        self.end_of(itt)
    }

    /// TEST UNIT READY until no unit attention is left.
    pub fn ready(&mut self) {
        for _ in 0..8 {
            let command = self.command(&[0; 6], Direction::None, 0);
            let itt = self.send_command(command, &[]);
            if self.end_of(itt).is_good() {
                return;
            }
        }
        panic!("the unit does not become ready");
    }

    pub fn nop(&mut self, immediate: bool) -> NopOut {
        let cmd_sn = self.cmd_sn;
        if !immediate {
            self.cmd_sn = cmd_sn.wrapping_add(1);
        }
        NopOut {
            immediate,
            data_len: 0,
            lun: LunField::unit(0),
            itt: self.next_itt(),
            ttt: NO_TAG,
            cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        }
    }

    /// A ping and its answer: the session lives and everything sent before has been looked at.
    pub fn ping(&mut self) {
        let nop = self.nop(true);
        self.send(&nop.build(), &[]);
        let reply = self.receive().expect("an answer to a ping");
        assert_eq!((reply.opcode(), pdu::itt(&reply.bhs)), (Opcode::NopIn, nop.itt));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    None,
    Read,
    Write,
}

pub fn read10(lba: u32, blocks: u16) -> [u8; 10] {
    ten(0x28, lba, blocks)
}

pub fn write10(lba: u32, blocks: u16) -> [u8; 10] {
    ten(0x2a, lba, blocks)
}

fn ten(opcode: u8, lba: u32, blocks: u16) -> [u8; 10] {
    let [a, b, c, d] = lba.to_be_bytes();
    let [high, low] = blocks.to_be_bytes();
    [opcode, 0, a, b, c, d, 0, high, low, 0]
}

/// Bytes that differ from place to place.
pub fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 9) as u8 ^ seed).collect()
}
