//! A small iSCSI target in a thread per connection, with a script that may misbehave at any command.
//!
//! It keeps its blocks in memory behind a lock, shared by all portals, so that what an initiator wrote can be
//! looked at whatever became of its connections.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_wire::iscsi::pdu::{
    Async, AsyncEvent, DataIn, DataOut, LoginRequest, LoginResponse, LoginStatus, LogoutRequest,
    LogoutResponse, LogoutResult, NopIn, NopOut, Opcode, R2t, Residual, ScsiCommand, ScsiResponse,
    Sequence, Stage, TaskRequest, TaskResponse, TaskResult, sense_segment,
};
use plimsoll_wire::iscsi::{BHS_LEN, Bhs, Digests, Isid, NO_TAG, Pdu, frame, serial, text};
use plimsoll_wire::scsi::{Additional, LunField, Sense, SenseKey};

pub const BLOCK: usize = 512;
pub const NAME: &str = "iqn.2026-01.test:fake";

/// What a target does with one SCSI command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// Its duty.
    Serve,
    /// Ends with this status and no data.
    Status(u8),
    /// Ends with CHECK CONDITION and this sense key, code and qualifier.
    Check(SenseKey, u8, u8),
    /// Closes the connection without an answer.
    Close,
    /// Serves, but the answer (or its data) is cut in the middle and the connection closed.
    Truncate,
    /// No answer, and none to a NOP-Out or a task management request from now on.
    Stall,
    /// No answer to this command; ABORT TASK works.
    Forget,
    /// Serves with a StatSN that skips one.
    WrongStatSn,
    /// Serves under a tag that nobody gave.
    WrongTag,
    /// Sends twice what was asked for.
    TooMuch,
    /// A header that announces 16 MiB - 1 of data.
    Oversized,
    /// Data-In whose buffer offset is beyond its place.
    WrongOffset,
    /// GOOD status after half of the data, with the residual told.
    Short,
    /// Answers the same command twice.
    Twice,
    /// An R2T for bytes beyond the end of the write.
    WildR2t,
    /// Asks for a logout by an asynchronous message, then serves.
    AskLogout,
    /// Says that it drops the session, and does.
    Drop,
    /// A ping of the target before the answer; the pong is awaited.
    Ping,
    /// An opcode that no target has.
    Garbage,
    /// A flipped bit in the data, which the data digest shows.
    WrongDigest,
}

/// How the login goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoginAct {
    Serve,
    /// Never agrees to go on.
    Loop,
    /// Text that never ends (C bit).
    Endless,
    /// Refuses with class and detail.
    Refuse(LoginStatus),
    /// Sends the initiator to itself for ever.
    MovedToSelf,
    /// Accepts the connection and says nothing.
    Silence,
    /// Header that announces 16 MiB - 1 of text.
    Oversized,
    /// Answers with a wrong stage.
    WrongStage,
}

pub type Script = dyn Fn(&ScsiCommand, u64) -> Act + Send + Sync;

/// State that all portals of a fake target share.
pub struct Shared {
    pub blocks: Mutex<Vec<u8>>,
    pub naa: Mutex<Vec<u8>>,
    script: Mutex<Arc<Script>>,
    pub login: Mutex<LoginAct>,
    /// Commands seen, over all connections.
    commands: AtomicU64,
    /// Logins that got through.
    pub logins: AtomicUsize,
    pub aborts: AtomicUsize,
    pub pongs: AtomicUsize,
    pub isids: Mutex<Vec<Isid>>,
    /// Immediate and unsolicited data, R2T, and the window are set by these.
    pub first_burst: u32,
    pub immediate: bool,
    pub initial_r2t: bool,
    pub window: u32,
    /// Most bytes that one READ or WRITE may have, told in VPD page B0.
    pub max_transfer: u32,
    pub digests: bool,
    pub longest: AtomicU64,
}

pub struct Fake {
    pub shared: Arc<Shared>,
    pub portals: Vec<Portal>,
}

/// One listening address with a group of its own.
pub struct Portal {
    pub address: SocketAddr,
    pub open: Arc<AtomicBool>,
    /// ALUA state of this portal's group.
    pub state: Arc<AtomicU64>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Portal {
    /// Cuts all connections and refuses new ones until [`Self::restore`].
    pub fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        for socket in self.connections.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    pub fn restore(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

pub struct Setting {
    pub megabytes: usize,
    pub portals: usize,
    pub first_burst: u32,
    pub immediate: bool,
    pub initial_r2t: bool,
    pub window: u32,
    pub max_transfer: u32,
    /// CRC32C for header and data once the login is over.
    pub digests: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            megabytes: 8,
            portals: 1,
            first_burst: 64 << 10,
            immediate: true,
            initial_r2t: true,
            window: 64,
            max_transfer: 0,
            digests: false,
        }
    }
}

impl Fake {
    pub fn start(setting: Setting) -> Self {
        let blocks = (0..setting.megabytes << 20).map(pattern).collect();
        let shared = Arc::new(Shared {
            blocks: Mutex::new(blocks),
            naa: Mutex::new(vec![0x60, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
            script: Mutex::new(Arc::new(|_, _| Act::Serve)),
            login: Mutex::new(LoginAct::Serve),
            commands: AtomicU64::new(0),
            logins: AtomicUsize::new(0),
            aborts: AtomicUsize::new(0),
            pongs: AtomicUsize::new(0),
            isids: Mutex::default(),
            first_burst: setting.first_burst,
            immediate: setting.immediate,
            initial_r2t: setting.initial_r2t,
            window: setting.window,
            max_transfer: setting.max_transfer,
            digests: setting.digests,
            longest: AtomicU64::new(0),
        });
        let portals = (0..setting.portals)
            .map(|index| Portal::listen(Arc::clone(&shared), index as u16 + 1))
            .collect();
        Self { shared, portals }
    }

    /// From now on the script decides for reads, writes and flushes; `u64` counts them from 0.
    pub fn set_script(&self, script: impl Fn(&ScsiCommand, u64) -> Act + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Arc::new(script);
        self.shared.commands.store(0, Ordering::SeqCst);
    }

    pub fn url(&self) -> String {
        format!("iscsi://{}/{NAME}/0", self.portals[0].address)
    }
}

/// What byte `at` of a fresh unit is.
pub fn pattern(at: usize) -> u8 {
    let block = at / BLOCK;
    (block as u8).wrapping_mul(31).wrapping_add((block >> 8) as u8).wrapping_add(at as u8)
}

impl Portal {
    fn listen(shared: Arc<Shared>, group: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let portal = Self {
            address,
            open: Arc::new(AtomicBool::new(true)),
            state: Arc::default(),
            connections: Arc::default(),
        };
        let (open, state) = (Arc::clone(&portal.open), Arc::clone(&portal.state));
        let connections = Arc::clone(&portal.connections);
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                if !open.load(Ordering::SeqCst) {
                    continue;
                }
                socket.set_nodelay(true).unwrap();
                connections.lock().unwrap().push(socket.try_clone().unwrap());
                let (shared, state) = (Arc::clone(&shared), Arc::clone(&state));
                std::thread::spawn(move || {
                    let mut connection = Connection {
                        socket,
                        shared,
                        state,
                        group,
                        stat_sn: 1,
                        exp_cmd_sn: 1,
                        max_cmd_sn: 1,
                        digests: Digests::default(),
                        stalled: false,
                    };
                    let _ = connection.run();
                    let _ = connection.socket.shutdown(Shutdown::Both);
                });
            }
        });
        portal
    }
}

type Done = std::io::Result<()>;

fn closed() -> std::io::Error {
    std::io::ErrorKind::ConnectionAborted.into()
}

struct Connection {
    socket: TcpStream,
    shared: Arc<Shared>,
    state: Arc<AtomicU64>,
    group: u16,
    stat_sn: u32,
    exp_cmd_sn: u32,
    max_cmd_sn: u32,
    digests: Digests,
    stalled: bool,
}

impl Connection {
    fn receive(&mut self) -> std::io::Result<(Bhs, Vec<u8>)> {
        let mut bhs = [0; BHS_LEN];
        self.socket.read_exact(&mut bhs)?;
        let length = frame::frame_length(&bhs, self.digests, 1 << 20).unwrap().unwrap();
        let mut whole = bhs.to_vec();
        whole.resize(length, 0);
        self.socket.read_exact(&mut whole[BHS_LEN..])?;
        let pdu = Pdu::split(&whole, self.digests).expect("the header digest matches");
        assert!(pdu.data_is_sound, "the data digest matches");
        Ok((bhs, pdu.data.to_vec()))
    }

    fn send(&mut self, bhs: &Bhs, data: &[u8]) -> Done {
        let mut out = Vec::new();
        frame::append(&mut out, bhs, &[], data, self.digests);
        self.socket.write_all(&out)
    }

    /// The numbers of an answer with status.
    fn sequence(&mut self) -> Sequence {
        let sequence = Sequence {
            stat_sn: self.stat_sn,
            exp_cmd_sn: self.exp_cmd_sn,
            max_cmd_sn: self.exp_cmd_sn.wrapping_add(self.shared.window).wrapping_sub(1),
        };
        self.stat_sn = self.stat_sn.wrapping_add(1);
        self.max_cmd_sn = sequence.max_cmd_sn;
        sequence
    }

    fn run(&mut self) -> Done {
        self.log_in()?;
        self.digests = Digests { header: self.shared.digests, data: self.shared.digests };
        self.shared.logins.fetch_add(1, Ordering::SeqCst);
        loop {
            let (bhs, data) = self.receive()?;
            match Opcode::of(&bhs) {
                Some(Opcode::ScsiCommand) => {
                    let command = ScsiCommand::parse(&bhs);
                    self.take_cmd_sn(&command);
                    self.command(&command, data)?;
                }
                Some(Opcode::NopOut) => self.nop(&bhs)?,
                Some(Opcode::TaskRequest) if !self.stalled => {
                    self.shared.aborts.fetch_add(1, Ordering::SeqCst);
                    let itt = TaskRequest::parse(&bhs).itt;
                    let sequence = self.sequence();
                    let reply = TaskResponse { result: TaskResult::Complete, itt, sequence };
                    self.send(&reply.build(), &[])?;
                }
                Some(Opcode::LogoutRequest) => {
                    let reply = LogoutResponse {
                        result: LogoutResult::Closed,
                        itt: LogoutRequest::parse(&bhs).itt,
                        sequence: self.sequence(),
                        time2wait: 0,
                        time2retain: 0,
                    };
                    self.send(&reply.build(), &[])?;
                    return Ok(());
                }
                _ if self.stalled => {}
                other => panic!("the initiator sent {other:?}"),
            }
        }
    }

    /// Commands come in order and inside the window that was last told.
    fn take_cmd_sn(&mut self, command: &ScsiCommand) {
        assert_eq!(command.cmd_sn, self.exp_cmd_sn, "commands come in order");
        assert!(serial::less_or_equal(command.cmd_sn, self.max_cmd_sn), "outside the window");
        self.exp_cmd_sn = self.exp_cmd_sn.wrapping_add(1);
    }

    fn nop(&mut self, bhs: &Bhs) -> Done {
        let header = NopOut::parse(bhs);
        if header.itt == NO_TAG {
            self.shared.pongs.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        }
        if self.stalled {
            return Ok(());
        }
        let reply = NopIn {
            data_len: 0,
            lun: header.lun,
            itt: header.itt,
            ttt: NO_TAG,
            sequence: self.sequence(),
        };
        self.send(&reply.build(), &[])
    }

    fn log_in(&mut self) -> Done {
        let act = *self.shared.login.lock().unwrap();
        let mut first = true;
        loop {
            let (bhs, data) = self.receive()?;
            assert_eq!(Opcode::of(&bhs), Some(Opcode::LoginRequest));
            let request = LoginRequest::parse(&bhs);
            if first {
                self.shared.isids.lock().unwrap().push(request.isid);
            }
            let mut reply = LoginResponse {
                transit: request.transit,
                more: false,
                stage: request.stage,
                next_stage: request.next_stage,
                version_max: 0,
                version_active: 0,
                data_len: 0,
                isid: request.isid,
                tsih: 7,
                itt: request.itt,
                sequence: self.sequence(),
                status: LoginStatus::SUCCESS,
            };
            let mut answer = Vec::new();
            match act {
                LoginAct::Serve => {}
                LoginAct::Loop => reply.transit = false,
                LoginAct::Endless => {
                    reply.transit = false;
                    reply.more = true;
                    text::append(&mut answer, "X-filler", &"x".repeat(4000));
                }
                LoginAct::Refuse(status) => reply.status = status,
                LoginAct::MovedToSelf => {
                    reply.status = LoginStatus::MOVED_TEMPORARILY;
                    let address = self.socket.local_addr()?;
                    text::append(&mut answer, "TargetAddress", &format!("{address},1"));
                }
                LoginAct::Silence => {
                    std::thread::sleep(Duration::from_secs(5));
                    return Err(closed());
                }
                LoginAct::Oversized => reply.data_len = 0xff_ffff,
                LoginAct::WrongStage => reply.stage = Stage::FullFeature,
            }
            if first && answer.is_empty() {
                text::append(&mut answer, "AuthMethod", "None");
                text::append(&mut answer, "TargetPortalGroupTag", &self.group.to_string());
            }
            if request.stage == Stage::Operational && act == LoginAct::Serve {
                self.negotiate(&data, &mut answer);
            }
            first = false;
            if act == LoginAct::Oversized {
                self.socket.write_all(&reply.build())?;
                continue;
            }
            reply.data_len = answer.len() as u32;
            self.send(&reply.build(), &answer)?;
            if act == LoginAct::Serve && request.transit && request.next_stage == Stage::FullFeature
            {
                return Ok(());
            }
            if !matches!(act, LoginAct::Serve | LoginAct::Loop | LoginAct::Endless) {
                return Err(closed());
            }
        }
    }

    fn negotiate(&self, offers: &[u8], answer: &mut Vec<u8>) {
        let yes_no = |yes| if yes { "Yes" } else { "No" }.to_owned();
        for (key, value) in text::pairs(offers).map(Result::unwrap) {
            let result = match key {
                "MaxRecvDataSegmentLength" => continue,
                "InitialR2T" => yes_no(self.shared.initial_r2t || value == "Yes"),
                "ImmediateData" => yes_no(self.shared.immediate && value == "Yes"),
                "FirstBurstLength" => {
                    self.shared.first_burst.min(value.parse().unwrap()).to_string()
                }
                "MaxBurstLength" => "65536".to_owned(),
                "HeaderDigest" | "DataDigest" if self.shared.digests => "CRC32C".to_owned(),
                "HeaderDigest" | "DataDigest" => {
                    assert!(value.contains("None"), "an initiator that insists gets no answer");
                    "None".to_owned()
                }
                _ => value.to_owned(),
            };
            text::append(answer, key, &result);
        }
        text::append(answer, "MaxRecvDataSegmentLength", "16384");
    }

    fn command(&mut self, command: &ScsiCommand, immediate: Vec<u8>) -> Done {
        let cdb = &command.cdb;
        if !matches!(cdb[0], 0x88 | 0x8a | 0x91) {
            let naa = self.shared.naa.lock().unwrap().clone();
            let state = self.state.load(Ordering::SeqCst) as u8;
            let size = self.shared.blocks.lock().unwrap().len();
            let data = inquire(cdb, &naa, self.group as u8, state, size, self.shared.max_transfer);
            return self.answer(command, data.as_deref(), Act::Serve);
        }
        let number = self.shared.commands.fetch_add(1, Ordering::SeqCst);
        let script = Arc::clone(&self.shared.script.lock().unwrap());
        let act = script(command, number);
        let lba = u64::from_be_bytes(cdb[2..10].try_into().unwrap()) as usize;
        let count = u32::from_be_bytes(cdb[10..14].try_into().unwrap()) as usize;
        self.shared.longest.fetch_max((count * BLOCK) as u64, Ordering::SeqCst);
        match act {
            Act::Close => return Err(closed()),
            Act::Stall => self.stalled = true,
            Act::Drop => {
                let event = AsyncEvent::DropSession { time2wait: 0, time2retain: 0 };
                self.announce(event)?;
                return Err(closed());
            }
            Act::AskLogout => self.announce(AsyncEvent::LogoutRequested { seconds: 1 })?,
            Act::Ping => {
                let header = NopIn {
                    data_len: 0,
                    lun: LunField::unit(0),
                    itt: NO_TAG,
                    ttt: 0x77,
                    sequence: Sequence { stat_sn: self.stat_sn, ..self.sequence_now() },
                };
                self.send(&header.build(), &[])?;
            }
            Act::Garbage => {
                let mut bhs = [0; BHS_LEN];
                bhs[0] = 0x3c;
                return self.send(&bhs, &[]);
            }
            _ => {}
        }
        if self.stalled {
            return Ok(());
        }
        if cdb[0] == 0x8a {
            let whole = self.gather(command, immediate, count * BLOCK, act)?;
            if let (Some(data), true) = (whole, writes(act)) {
                let mut blocks = self.shared.blocks.lock().unwrap();
                blocks[lba * BLOCK..(lba + count) * BLOCK].copy_from_slice(&data);
            }
            return self.answer(command, Some(&[]), act);
        }
        let data = {
            let blocks = self.shared.blocks.lock().unwrap();
            blocks[lba * BLOCK..(lba + count) * BLOCK].to_vec()
        };
        self.answer(command, Some(&data), act)
    }

    fn sequence_now(&mut self) -> Sequence {
        let sequence = self.sequence();
        self.stat_sn = self.stat_sn.wrapping_sub(1);
        sequence
    }

    fn announce(&mut self, event: AsyncEvent) -> Done {
        let header =
            Async { event, data_len: 0, lun: LunField::unit(0), sequence: self.sequence() };
        self.send(&header.build(), &[])
    }

    /// Takes the data of a write: immediate, unsolicited, then by R2T.
    fn gather(
        &mut self,
        command: &ScsiCommand,
        mut data: Vec<u8>,
        length: usize,
        act: Act,
    ) -> std::io::Result<Option<Vec<u8>>> {
        assert!(self.shared.immediate || data.is_empty(), "no immediate data was agreed");
        let mut burst_end = command.is_final;
        assert!(command.is_final || !self.shared.initial_r2t, "nothing unsolicited was agreed");
        while !burst_end {
            burst_end = self.data_out(command, NO_TAG, &mut data)?;
        }
        let unsolicited = (self.shared.first_burst as usize).min(length);
        assert!(data.len() <= unsolicited, "more than FirstBurstLength came unasked");
        if act == Act::WildR2t {
            self.r2t(command, 0, length as u32, 4096)?;
            return Ok(None);
        }
        let mut r2t_sn = 0;
        while data.len() < length {
            let desired = (length - data.len()).min(65536);
            let target = data.len() + desired;
            self.r2t(command, r2t_sn, data.len() as u32, desired as u32)?;
            while data.len() < target {
                self.data_out(command, 0x1234 + r2t_sn, &mut data)?;
            }
            r2t_sn += 1;
        }
        Ok(Some(data))
    }

    fn r2t(&mut self, command: &ScsiCommand, sn: u32, offset: u32, desired: u32) -> Done {
        let header = R2t {
            lun: command.lun,
            itt: command.itt,
            ttt: 0x1234 + sn,
            sequence: self.sequence_now(),
            r2t_sn: sn,
            buffer_offset: offset,
            desired_len: desired,
        };
        self.send(&header.build(), &[])
    }

    /// One Data-Out of this command; commands that come in between wait their turn in `later`.
    fn data_out(
        &mut self,
        command: &ScsiCommand,
        ttt: u32,
        data: &mut Vec<u8>,
    ) -> std::io::Result<bool> {
        loop {
            let (bhs, segment) = self.receive()?;
            match Opcode::of(&bhs) {
                Some(Opcode::DataOut) => {
                    let header = DataOut::parse(&bhs);
                    assert_eq!((header.itt, header.ttt), (command.itt, ttt));
                    assert_eq!(header.buffer_offset as usize, data.len());
                    assert!(segment.len() <= 16384, "MaxRecvDataSegmentLength");
                    data.extend_from_slice(&segment);
                    return Ok(header.is_final);
                }
                // Another command came first: this fake serves one write at a time, so it is told to come again.
                Some(Opcode::ScsiCommand) => {
                    let other = ScsiCommand::parse(&bhs);
                    self.take_cmd_sn(&other);
                    self.answer(&other, None, Act::Status(0x08))?;
                }
                Some(Opcode::NopOut) => self.nop(&bhs)?,
                other => panic!("{other:?} while data was awaited"),
            }
        }
    }

    fn answer(&mut self, command: &ScsiCommand, data: Option<&[u8]>, act: Act) -> Done {
        match act {
            Act::Status(status) => return self.respond(command, status, &[]),
            Act::Check(key, code, qualifier) => {
                let sense = Sense::new(key, Additional { code, qualifier });
                let mut bytes = Vec::new();
                sense.write(false, &mut bytes);
                return self.respond(command, 0x02, &sense_segment(&bytes));
            }
            Act::Forget => return Ok(()),
            _ => {}
        }
        let Some(data) = data else {
            let sense = Sense::illegal(Additional::INVALID_FIELD_IN_CDB);
            let mut bytes = Vec::new();
            sense.write(false, &mut bytes);
            return self.respond(command, 0x02, &sense_segment(&bytes));
        };
        if !data.is_empty() {
            return self.data_in(command, data, act);
        }
        if act == Act::WrongStatSn {
            self.stat_sn = self.stat_sn.wrapping_add(1);
        }
        if act == Act::Truncate {
            let header = self.response(command, 0, 0);
            self.socket.write_all(&header[..20])?;
            return Err(closed());
        }
        let mut command = *command;
        if act == Act::WrongTag {
            command.itt ^= 0x0010_0000;
        }
        self.respond(&command, 0, &[])?;
        if act == Act::Twice {
            self.respond(&command, 0, &[])?;
        }
        Ok(())
    }

    fn data_in(&mut self, command: &ScsiCommand, data: &[u8], act: Act) -> Done {
        let length = data.len().min(command.expected_len as usize);
        let piece = 16 << 10;
        let end = if act == Act::Short { length / 2 } else { length };
        let mut data_sn = 0;
        let mut at = 0;
        while at < end {
            let len = piece.min(end - at);
            let last = at + len == end;
            let missing = command.expected_len as usize - end;
            let residual = if missing > 0 && last {
                Residual::Underflow(missing as u32)
            } else {
                Residual::None
            };
            if last && act == Act::WrongStatSn {
                self.stat_sn = self.stat_sn.wrapping_add(1);
            }
            let sequence = if last { self.sequence() } else { self.sequence_now() };
            let header = DataIn {
                is_final: last,
                acknowledge: false,
                status: last.then_some(0),
                residual,
                data_len: if act == Act::Oversized { 0xff_ffff } else { len as u32 },
                lun: command.lun,
                itt: command.itt ^ if act == Act::WrongTag { 0x0010_0000 } else { 0 },
                ttt: NO_TAG,
                sequence,
                data_sn,
                buffer_offset: at as u32 + if act == Act::WrongOffset { 512 } else { 0 },
            };
            let mut out = Vec::new();
            let bhs = header.build();
            if act == Act::Oversized {
                out.extend_from_slice(&bhs);
                out.extend_from_slice(&data[at..at + len]);
            } else {
                frame::append(&mut out, &bhs, &[], &data[at..at + len], self.digests);
            }
            if act == Act::WrongDigest {
                let end = out.len();
                out[end - 6] ^= 1;
            }
            if act == Act::Truncate && last {
                out.truncate(BHS_LEN + len / 2);
                self.socket.write_all(&out)?;
                return Err(closed());
            }
            self.socket.write_all(&out)?;
            if matches!(act, Act::TooMuch | Act::Twice) && last {
                self.socket.write_all(&out)?;
            }
            data_sn += 1;
            at += len;
        }
        Ok(())
    }

    fn response(&mut self, command: &ScsiCommand, status: u8, data_len: usize) -> Bhs {
        ScsiResponse {
            response: 0,
            status,
            data_len: data_len as u32,
            itt: command.itt,
            sequence: self.sequence(),
            exp_data_sn: 0,
            residual: Residual::None,
            read_residual: Residual::None,
        }
        .build()
    }

    fn respond(&mut self, command: &ScsiCommand, status: u8, segment: &[u8]) -> Done {
        let header = self.response(command, status, segment.len());
        self.send(&header, segment)
    }
}

/// INQUIRY and its pages, READ CAPACITY(16), REPORT TARGET PORT GROUPS, TEST UNIT READY.
pub fn inquire(
    cdb: &[u8; 16],
    naa: &[u8],
    group: u8,
    state: u8,
    size: usize,
    max_transfer: u32,
) -> Option<Vec<u8>> {
    let page = |code: u8, body: &[u8]| {
        let mut data = vec![0, code, 0, body.len() as u8];
        data.extend_from_slice(body);
        Some(data)
    };
    match (cdb[0], cdb[1]) {
        (0x00, _) => Some(Vec::new()),
        (0x12, 0) => {
            let mut data = vec![0, 0, 6, 2, 31, 0x10, 0, 2];
            data.extend_from_slice(b"TEST    FAKE            0001");
            Some(data)
        }
        (0x12, _) => match cdb[2] {
            0x80 => page(0x80, b"FAKE0001"),
            0x83 => {
                let mut body = vec![0x01, 0x03, 0, naa.len() as u8];
                body.extend_from_slice(naa);
                body.extend_from_slice(&[0x51, 0x95, 0, 4, 0, 0, 0, group]);
                page(0x83, &body)
            }
            0xb0 => {
                let mut body = [0; 60];
                body[4..8].copy_from_slice(&(max_transfer / BLOCK as u32).to_be_bytes());
                page(0xb0, &body)
            }
            _ => None,
        },
        (0x9e, 0x10) => {
            let mut data = vec![0; 32];
            data[..8].copy_from_slice(&((size / BLOCK - 1) as u64).to_be_bytes());
            data[8..12].copy_from_slice(&(BLOCK as u32).to_be_bytes());
            Some(data)
        }
        (0xa3, 0x0a) => Some(vec![0, 0, 0, 12, state, 0x0f, 0, group, 0, 0, 0, 1, 0, 0, 0, group]),
        _ => None,
    }
}

/// Whether the write really happens.
fn writes(act: Act) -> bool {
    !matches!(act, Act::Status(_) | Act::Check(..) | Act::Forget)
}
