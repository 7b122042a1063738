//! Looking at a unit, one command after the other: what a pre-flight, a guard or an inventory wants to know.
//!
//! Blocking, over one session of its own. Unit attentions and BUSY are retried a few times; every other status
//! is an error with the sense in it.

use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use plimsoll_fabric::{Payload, RECEIVE_BUFFER_BYTES};
use plimsoll_wire::iscsi::NO_TAG;
use plimsoll_wire::iscsi::discovery::{self, TargetRecord};
use plimsoll_wire::iscsi::text::Assembler;
use plimsoll_wire::scsi::block_vpd::BlockLimits;
use plimsoll_wire::scsi::capacity::Capacity;
use plimsoll_wire::scsi::inquiry::{VpdPage, vpd};
use plimsoll_wire::scsi::mode::{self, ModeHeader};
use plimsoll_wire::scsi::port_groups::{PortGroup, parse_port_groups};
use plimsoll_wire::scsi::reservation::{self, ReservationKind};
use plimsoll_wire::scsi::{
    Blocks, Command as Scsi, LunAddress, LunField, Sense as WireSense, Status, Width, opcode,
    parse_report_luns,
};

use super::link::{Link, LinkEnd, Portal};
use super::session::{Command, Event, Owner, Part, Reply, Upper};
use super::settings::{Settings, new_isid};
use super::setup::{Answer, Facts, Setup, is_transient};
use super::unit::link_error;
use crate::{Error, IscsiUrl, Options, Outcome, Sense, Transport, tcp};

/// Times that a command is sent before BUSY or a unit attention is an error.
const MAX_TRIES: u32 = 20;
/// Wait between two of them.
const RETRY_WAIT: Duration = Duration::from_millis(20);
/// Wait before the one repetition of a login over RDMA that failed; some targets have the memory for a
/// connection only the second time.
const LOGIN_RETRY_WAIT: Duration = Duration::from_millis(200);
/// Token of the commands after the set-up; above all of its own.
const TOKEN: u32 = 1000;
/// Most bytes taken of an answer list (LUNs, keys).
const LIST_BYTES: u32 = 64 << 10;

/// A session has no operations here.
struct Nothing;

impl Upper for Nothing {
    fn data(&mut self, _part: Part, _at: u32, _bytes: &[u8]) {}
    fn ended(&mut self, _part: Part, _reply: &Reply<'_>) {}
    fn aborted(&mut self, _part: Part) {}
}

/// A link driven to its next event.
struct Driver {
    link: Link,
    poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    peer: String,
    timeout: Duration,
}

impl Driver {
    /// Connects and logs in, following redirections.
    fn start(
        transport: Transport,
        host: &str,
        port: u16,
        settings: &Settings,
    ) -> Result<Self, Error> {
        const MAX_MOVES: usize = 4;
        let mut portal = Portal { transport, address: tcp::resolve(host, port)?[0] };
        let mut may_repeat = transport == Transport::Iser;
        if may_repeat {
            settings.rdma()?;
        }
        let mut last = None;
        for _ in 0..=MAX_MOVES {
            let peer = portal.to_string();
            let io = |source| Error::Io { what: "epoll", source };
            let poll = Poll::new().map_err(io)?;
            let link = Link::start(portal, settings, new_isid()?, poll.registry(), Token(0))
                .map_err(|end| link_error(peer.clone(), Some(&end)))?;
            let mut driver = Self {
                link,
                poll,
                events: Events::with_capacity(16),
                scratch: vec![0; RECEIVE_BUFFER_BYTES],
                peer,
                timeout: settings.connect_timeout,
            };
            let deadline = Instant::now() + driver.timeout;
            let result = loop {
                if driver.link.session().is_some() {
                    return Ok(driver);
                }
                if let Err(end) = driver.step(deadline)? {
                    break end;
                }
            };
            if let LinkEnd::Login(super::login::LoginFailure::Moved(to)) = &result {
                portal.address = tcp::resolve(&to.host, to.port)?[0];
            } else if std::mem::take(&mut may_repeat) && !result.is_final() {
                std::thread::sleep(LOGIN_RETRY_WAIT);
            } else {
                return Err(link_error(driver.peer, Some(&result)));
            }
            last = Some(result);
        }
        Err(link_error(portal.to_string(), last.as_ref()))
    }

    /// One wait and one receive.
    fn step(&mut self, deadline: Instant) -> Result<Result<(), LinkEnd>, Error> {
        if let Err(end) = self.link.flush() {
            return Ok(Err(end));
        }
        if !self.link.is_readable() {
            let wait = tcp::until(deadline, Instant::now());
            if wait.is_zero() {
                return Err(Error::Timeout { peer: self.peer.clone(), what: "a command" });
            }
            tcp::poll(&mut self.poll, &mut self.events, Some(wait))
                .map_err(|source| Error::Io { what: "epoll", source })?;
            for event in &self.events {
                self.link.on_readiness(event);
            }
        }
        if self.link.is_readable() {
            return Ok(self.link.receive(&mut self.scratch, &mut Nothing));
        }
        Ok(Ok(()))
    }

    /// Waits for the next event of the session.
    fn events(&mut self, deadline: Instant) -> Result<Vec<Event>, Error> {
        loop {
            if let Some((session, _)) = self.link.session()
                && session.has_events()
            {
                return Ok(session.take_events());
            }
            if let Err(end) = self.step(deadline)? {
                return Err(link_error(self.peer.clone(), Some(&end)));
            }
        }
    }

    fn log_out(&mut self) {
        if let Some((session, mut out)) = self.link.session() {
            session.logout(&mut out, Instant::now());
        }
        let deadline = Instant::now() + Duration::from_millis(500);
        while let Ok(events) = self.events(deadline) {
            if events.iter().any(|event| matches!(event, Event::LoggedOut)) {
                break;
            }
        }
    }
}

/// The targets behind a portal and their addresses (SendTargets=All, RFC 7143 appendix C).
pub fn discover(
    transport: Transport,
    host: &str,
    port: u16,
    options: &Options,
) -> Result<Vec<TargetRecord>, Error> {
    let (host, target) = (host.to_owned(), String::new());
    let url = IscsiUrl { transport, chap: None, host, port, target, lun: 0 };
    let settings = Settings::new(&url, options)?;
    let mut driver = Driver::start(transport, &url.host, port, &settings)?;
    let peer = driver.peer.clone();
    let broken = |reason: String| Error::Protocol { peer: peer.clone(), reason };
    let deadline = Instant::now() + driver.timeout;
    let mut request: (&[u8], u32) = (b"SendTargets=All\0", NO_TAG);
    let mut assembler = Assembler::default();
    loop {
        if let Some((session, mut out)) = driver.link.session() {
            session.text(&mut out, request.0, request.1, Instant::now());
        }
        for event in driver.events(deadline)? {
            let Event::Text { data, more, is_final, ttt } = event else { continue };
            let whole =
                assembler.push(&data, more || !is_final).map_err(|e| broken(e.to_string()))?;
            if let Some(answer) = whole {
                driver.log_out();
                return discovery::records(&answer).map_err(|e| broken(e.to_string()));
            }
            if ttt == NO_TAG {
                return Err(broken("an unfinished answer without a tag to go on".to_owned()));
            }
            request = (b"", ttt);
        }
    }
}

/// One logical unit over one session.
pub struct Device {
    driver: Driver,
    lun: LunField,
    facts: Facts,
}

impl Device {
    /// Logs in and asks for what [`Facts`] holds.
    pub fn connect(url: &IscsiUrl, options: &Options) -> Result<Self, Error> {
        let settings = Settings::new(url, options)?;
        let mut driver = Driver::start(url.transport, &url.host, url.port, &settings)?;
        let lun = LunField::unit(u32::from(url.lun));
        let deadline = Instant::now() + driver.timeout;
        let mut setup = Setup::new(lun);
        loop {
            if let Some((session, mut out)) = driver.link.session() {
                setup.ask(session, &mut out, Instant::now());
            }
            for event in driver.events(deadline)? {
                let Event::Raw { token, response, status, sense, data } = event else { continue };
                let answer = Answer { token, response, status, sense: &sense, data: &data };
                let refused = |reason| Error::Refused { peer: driver.peer.clone(), reason };
                if let Some(facts) = setup.answer(&answer).map_err(refused)? {
                    return Ok(Self { driver, lun, facts });
                }
            }
        }
    }

    /// Identity, size, limits and access state of the unit as they were at the login.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Any command that reads at most `read` bytes or writes `write`; the data that came.
    pub fn command(
        &mut self,
        what: &'static str,
        cdb: [u8; 16],
        read: u32,
        write: Option<Payload>,
    ) -> Result<Vec<u8>, Error> {
        let deadline = Instant::now() + self.driver.timeout;
        for attempt in 1.. {
            let (response, status, sense, data) = self.once(cdb, read, write.clone(), deadline)?;
            if response == 0 && status == Status::Good as u8 {
                return Ok(data);
            }
            let sense = WireSense::parse(&sense);
            if attempt < MAX_TRIES && is_transient(response, status, sense) {
                if status != Status::CheckCondition as u8 {
                    std::thread::sleep(RETRY_WAIT);
                }
                continue;
            }
            return Err(Error::Command { what, outcome: outcome(status, sense) });
        }
        Err(Error::Timeout { peer: self.driver.peer.clone(), what })
    }

    fn once(
        &mut self,
        cdb: [u8; 16],
        read: u32,
        write: Option<Payload>,
        deadline: Instant,
    ) -> Result<(u8, u8, Vec<u8>, Vec<u8>), Error> {
        if let Some((session, mut out)) = self.driver.link.session() {
            let owner = Owner::Raw(TOKEN);
            let issued = Instant::now();
            session.command(&mut out, Command { owner, lun: self.lun, cdb, read, write, issued });
        }
        loop {
            for event in self.driver.events(deadline)? {
                if let Event::Raw { token: TOKEN, response, status, sense, data } = event {
                    return Ok((response, status, sense, data));
                }
            }
        }
    }

    fn malformed(&self, what: &str) -> Error {
        Error::Protocol {
            peer: self.driver.peer.clone(),
            reason: format!("{what} data is malformed"),
        }
    }

    /// TEST UNIT READY.
    pub fn test_unit_ready(&mut self) -> Result<(), Error> {
        self.command("TEST UNIT READY", Scsi::TestUnitReady.cdb(), 0, None).map(|_| ())
    }

    /// Standard INQUIRY data.
    pub fn inquiry(&mut self) -> Result<Vec<u8>, Error> {
        self.command("INQUIRY", Scsi::Inquiry { page: None, allocation: 255 }.cdb(), 255, None)
    }

    /// The body of a vital product data page.
    pub fn vpd(&mut self, page: u8) -> Result<Vec<u8>, Error> {
        let command = Scsi::Inquiry { page: Some(page), allocation: 4096 };
        let data = self.command("INQUIRY (VPD)", command.cdb(), 4096, None)?;
        match VpdPage::parse(&data) {
            Some(parsed) if parsed.page == page => Ok(parsed.body.to_vec()),
            _ => Err(self.malformed("VPD")),
        }
    }

    /// Block limits, VPD page B0.
    pub fn block_limits(&mut self) -> Result<BlockLimits, Error> {
        let body = self.vpd(vpd::BLOCK_LIMITS)?;
        BlockLimits::parse(&body).ok_or_else(|| self.malformed("block limits"))
    }

    /// READ CAPACITY(16).
    pub fn read_capacity(&mut self) -> Result<Capacity, Error> {
        let command = Scsi::ReadCapacity16 { allocation: 32 };
        let data = self.command("READ CAPACITY(16)", command.cdb(), 32, None)?;
        Capacity::parse(&data).ok_or_else(|| self.malformed("capacity"))
    }

    /// The numbers of the target's units.
    pub fn report_luns(&mut self) -> Result<Vec<u32>, Error> {
        let command = Scsi::ReportLuns { select: 0, allocation: LIST_BYTES };
        let data = self.command("REPORT LUNS", command.cdb(), LIST_BYTES, None)?;
        let (_, fields) = parse_report_luns(&data).ok_or_else(|| self.malformed("LUN"))?;
        Ok(fields
            .filter_map(|field| match field.address() {
                LunAddress::Unit(number) => Some(number),
                _ => None,
            })
            .collect())
    }

    /// A mode page's body, and whether the unit is write protected.
    pub fn mode_page(&mut self, page: u8) -> Result<(Vec<u8>, bool), Error> {
        let command = Scsi::ModeSense {
            width: Width::Six,
            no_blocks: true,
            long_lba: false,
            control: mode::control::CURRENT,
            page,
            subpage: 0,
            allocation: 255,
        };
        let data = self.command("MODE SENSE", command.cdb(), 255, None)?;
        let (header, _, pages) =
            ModeHeader::parse(Width::Six, &data).ok_or_else(|| self.malformed("mode"))?;
        let body = mode::mode_pages(pages)
            .filter_map(Result::ok)
            .find(|found| found.code == page)
            .map(|found| found.body.to_vec())
            .unwrap_or_default();
        Ok((body, header.write_protected))
    }

    /// REPORT TARGET PORT GROUPS.
    pub fn target_port_groups(&mut self) -> Result<Vec<PortGroup>, Error> {
        let command = Scsi::ReportTargetPortGroups { extended: false, allocation: 4096 };
        let data = self.command("REPORT TARGET PORT GROUPS", command.cdb(), 4096, None)?;
        parse_port_groups(&data).ok_or_else(|| self.malformed("port group"))
    }

    /// The keys registered with the unit (PERSISTENT RESERVE IN, READ KEYS).
    pub fn reservation_keys(&mut self) -> Result<Vec<u64>, Error> {
        let data = self.reserve_in(opcode::service::READ_KEYS)?;
        let (_, keys) =
            reservation::parse_keys(&data).ok_or_else(|| self.malformed("reservation key"))?;
        Ok(keys.collect())
    }

    /// The reservation in force: its key and kind (PERSISTENT RESERVE IN, READ RESERVATION).
    pub fn reservation(&mut self) -> Result<Option<(u64, ReservationKind)>, Error> {
        let data = self.reserve_in(opcode::service::READ_RESERVATION)?;
        let (_, held) =
            reservation::parse_reservation(&data).ok_or_else(|| self.malformed("reservation"))?;
        Ok(held)
    }

    fn reserve_in(&mut self, service: u8) -> Result<Vec<u8>, Error> {
        let command = Scsi::PersistentReserveIn { service, allocation: 8192 };
        self.command("PERSISTENT RESERVE IN", command.cdb(), 8192, None)
    }

    /// Reads `bytes` from byte `offset`, both multiples of the block size, at most 1 MiB.
    pub fn read(&mut self, offset: u64, bytes: u32) -> Result<Vec<u8>, Error> {
        let block = self.facts.block_bytes.max(1);
        if !offset.is_multiple_of(u64::from(block))
            || !bytes.is_multiple_of(block)
            || !(1..=1 << 20).contains(&bytes)
        {
            return Err(Error::Operation {
                offset,
                len: bytes,
                reason: "offset and length must be multiples of the block size, at most 1 MiB",
            });
        }
        let blocks = Blocks { lba: offset / u64::from(block), count: bytes / block };
        let command = Scsi::Read {
            width: Width::Sixteen,
            blocks,
            access: plimsoll_wire::scsi::Access::default(),
        };
        self.command("READ(16)", command.cdb(), bytes, None)
    }

    /// The first and the last `bytes` of the unit (as much as there is): where file systems and partition
    /// tables leave their mark.
    pub fn read_ends(&mut self, bytes: u32) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let block = u64::from(self.facts.block_bytes.max(1));
        let size = self.facts.blocks.unwrap_or(0).saturating_mul(block);
        let bytes = u64::from(bytes).next_multiple_of(block).min(size).min(1 << 20);
        if bytes == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let first = self.read(0, bytes as u32)?;
        let last = self.read(size - bytes, bytes as u32)?;
        Ok((first, last))
    }

    /// Logs out.
    pub fn close(mut self) {
        self.driver.log_out();
    }
}

/// A status that is not GOOD as an outcome.
fn outcome(status: u8, sense: Option<WireSense>) -> Outcome {
    match (Status::from_code(status), sense) {
        (Some(Status::Busy), _) => Outcome::Busy,
        (Some(Status::TaskSetFull), _) => Outcome::TaskSetFull,
        (Some(Status::ReservationConflict), _) => Outcome::ReservationConflict,
        (Some(Status::CheckCondition), Some(sense)) => Outcome::CheckCondition(Sense {
            key: sense.key as u8,
            asc: sense.additional.code,
            ascq: sense.additional.qualifier,
        }),
        _ => Outcome::Status(status),
    }
}
