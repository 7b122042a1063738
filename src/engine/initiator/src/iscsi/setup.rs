//! What is asked of a unit after a login, before it carries operations: is it ready, what is it, how large,
//! which identity, and by which port group is it reached.
//!
//! All questions but the first go out together. A unit attention or BUSY makes its question be asked again; a
//! page that the unit does not have is left at its default.

use std::collections::VecDeque;
use std::time::Instant;

use plimsoll_wire::scsi::block_vpd::BlockLimits;
use plimsoll_wire::scsi::capacity::{Capacity, parse_capacity_10};
use plimsoll_wire::scsi::designator::{Association, Designator, kind};
use plimsoll_wire::scsi::inquiry::{StandardInquiry, VpdPage, vpd};
use plimsoll_wire::scsi::port_groups::{PortGroup, parse_port_groups};
use plimsoll_wire::scsi::{Command as Scsi, LunField, Sense, SenseKey, Status};

use super::alua::AccessState;
use super::out::Out;
use super::session::{Command, Owner, Session};

/// Times that one question is asked before the unit is given up.
const MAX_TRIES: u8 = 20;

/// What is known of a unit and the path to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// T10 vendor identification.
    pub vendor: String,
    /// Product identification.
    pub product: String,
    /// Product revision.
    pub revision: String,
    /// Peripheral qualifier and device type; 0 is a disk that is there.
    pub peripheral: u8,
    /// NAA identifier of the unit in hex, the name by which its paths are recognised.
    pub naa: Option<String>,
    /// Unit serial number.
    pub serial: String,
    /// Blocks of the unit; none while the path does not tell (standby).
    pub blocks: Option<u64>,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Most blocks of one read or write; 0 = no limit is told.
    pub max_transfer_blocks: u32,
    /// Thin provisioned.
    pub is_thin: bool,
    /// Target port group and relative port of the path.
    pub port_group: Option<u16>,
    /// Relative target port identifier of the path.
    pub relative_port: Option<u16>,
    /// State of the path.
    pub access: AccessState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Ready,
    Inquiry,
    Serial,
    Identification,
    Limits,
    Capacity16,
    Capacity10,
    Groups,
}

const ALL: [Question; 8] = [
    Question::Ready,
    Question::Inquiry,
    Question::Serial,
    Question::Identification,
    Question::Limits,
    Question::Capacity16,
    Question::Capacity10,
    Question::Groups,
];

impl Question {
    fn command(self) -> (Scsi, u32) {
        let page = |page, allocation: u16| {
            (Scsi::Inquiry { page: Some(page), allocation }, u32::from(allocation))
        };
        match self {
            Self::Ready => (Scsi::TestUnitReady, 0),
            Self::Inquiry => (Scsi::Inquiry { page: None, allocation: 96 }, 96),
            Self::Serial => page(vpd::UNIT_SERIAL_NUMBER, 252),
            Self::Identification => page(vpd::DEVICE_IDENTIFICATION, 4096),
            Self::Limits => page(vpd::BLOCK_LIMITS, 64),
            Self::Capacity16 => (Scsi::ReadCapacity16 { allocation: 32 }, 32),
            Self::Capacity10 => (Scsi::ReadCapacity10, 8),
            Self::Groups => {
                (Scsi::ReportTargetPortGroups { extended: false, allocation: 4096 }, 4096)
            }
        }
    }
}

/// The answer to one question.
pub(super) struct Answer<'a> {
    pub token: u32,
    pub response: u8,
    pub status: u8,
    pub sense: &'a [u8],
    pub data: &'a [u8],
}

pub(super) struct Setup {
    lun: LunField,
    /// Questions to be asked as soon as the command window allows.
    waiting: VecDeque<Question>,
    /// Questions asked and not answered.
    pending: u32,
    tries: [u8; ALL.len()],
    facts: Facts,
}

impl Setup {
    /// Everything, beginning with whether the unit is ready.
    pub fn new(lun: LunField) -> Self {
        Self {
            lun,
            waiting: VecDeque::from([Question::Ready]),
            pending: 0,
            tries: [0; ALL.len()],
            facts: Facts::default(),
        }
    }

    /// Only capacity and access state again, of a unit that changed.
    pub fn refresh(lun: LunField, facts: &Facts) -> Self {
        let mut waiting = VecDeque::from([Question::Capacity16]);
        if facts.port_group.is_some() {
            waiting.push_back(Question::Groups);
        }
        Self { waiting, facts: facts.clone(), ..Self::new(lun) }
    }

    /// Asks what the window allows.
    pub fn ask(&mut self, session: &mut Session, out: &mut Out<'_>, now: Instant) {
        while session.has_window()
            && let Some(&question) = self.waiting.front()
        {
            let (command, read) = question.command();
            let command = Command {
                owner: Owner::Raw(question as u32),
                lun: self.lun,
                cdb: command.cdb(),
                read,
                write: None,
                issued: now,
            };
            if !session.command(out, command) {
                break;
            }
            self.waiting.pop_front();
            self.tries[question as usize] += 1;
            self.pending += 1;
        }
    }

    /// Takes an answer; gives the facts after the last, or says why the unit cannot be used.
    pub fn answer(&mut self, answer: &Answer<'_>) -> Result<Option<Facts>, String> {
        let Some(&question) = ALL.get(answer.token as usize) else { return Ok(None) };
        self.pending = self.pending.saturating_sub(1);
        let sense = Sense::parse(answer.sense);
        if is_transient(answer.response, answer.status, sense) {
            if self.tries[question as usize] >= MAX_TRIES {
                return Err(format!("{question:?} is answered with BUSY or the like without end"));
            }
            self.waiting.push_back(question);
            return Ok(None);
        }
        let data =
            (answer.response == 0 && answer.status == Status::Good as u8).then_some(answer.data);
        self.take(question, data)?;
        if self.pending > 0 || !self.waiting.is_empty() {
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.facts)))
    }

    fn take(&mut self, question: Question, data: Option<&[u8]>) -> Result<(), String> {
        let facts = &mut self.facts;
        match question {
            // Not ready is no reason to stop: a standby path is not, and is told by its port group.
            Question::Ready => self.waiting.extend([
                Question::Inquiry,
                Question::Serial,
                Question::Identification,
                Question::Limits,
                Question::Capacity16,
            ]),
            Question::Inquiry => {
                let inquiry = data.and_then(StandardInquiry::parse).ok_or("INQUIRY failed")?;
                if inquiry.peripheral >> 5 != 0 {
                    return Err("there is no such logical unit".to_owned());
                }
                facts.peripheral = inquiry.peripheral;
                facts.vendor = inquiry.vendor.to_owned();
                facts.product = inquiry.product.to_owned();
                facts.revision = inquiry.revision.to_owned();
                if inquiry.tpgs != 0 {
                    self.waiting.push_back(Question::Groups);
                }
            }
            Question::Serial => {
                if let Some(serial) = data.and_then(VpdPage::parse).and_then(|page| page.serial()) {
                    facts.serial = serial.trim().to_owned();
                }
            }
            Question::Identification => {
                if let Some(page) = data.and_then(VpdPage::parse) {
                    page.designators().for_each(|designator| identify(facts, &designator));
                }
            }
            Question::Limits => {
                let limits = data.and_then(VpdPage::parse).map(|page| page.body);
                if let Some(limits) = limits.and_then(BlockLimits::parse) {
                    facts.max_transfer_blocks = limits.max_transfer;
                }
            }
            Question::Capacity16 => match data.and_then(Capacity::parse) {
                Some(capacity) => {
                    facts.blocks = Some(capacity.last_lba.saturating_add(1));
                    facts.block_bytes = capacity.block_bytes;
                    facts.is_thin = capacity.provisioning_managed;
                }
                None => self.waiting.push_back(Question::Capacity10),
            },
            Question::Capacity10 => {
                if let Some((Some(last), block_bytes)) = data.and_then(parse_capacity_10) {
                    facts.blocks = Some(u64::from(last) + 1);
                    facts.block_bytes = block_bytes;
                }
            }
            Question::Groups => {
                if let Some(groups) = data.and_then(parse_port_groups) {
                    facts.access = access_of(facts, &groups);
                }
            }
        }
        Ok(())
    }
}

/// Whether the same command is worth sending again at once.
pub(super) fn is_transient(response: u8, status: u8, sense: Option<Sense>) -> bool {
    if response != 0 {
        return false;
    }
    match Status::from_code(status) {
        Some(Status::Busy | Status::TaskSetFull | Status::TaskAborted) => true,
        Some(Status::CheckCondition) => {
            sense.is_some_and(|sense| sense.key == SenseKey::UnitAttention)
        }
        _ => false,
    }
}

fn identify(facts: &mut Facts, designator: &Designator<'_>) {
    match (designator.association, designator.kind) {
        (Some(Association::LogicalUnit), kind::NAA) => {
            facts.naa = Some(designator.body.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        (Some(Association::TargetPort), kind::TARGET_PORT_GROUP) => {
            facts.port_group = designator.port_value();
        }
        (Some(Association::TargetPort), kind::RELATIVE_TARGET_PORT) => {
            facts.relative_port = designator.port_value();
        }
        _ => {}
    }
}

/// The state of the path: that of its group, or of the group that has its port.
fn access_of(facts: &Facts, groups: &[PortGroup]) -> AccessState {
    let by_group = groups.iter().find(|group| Some(group.group) == facts.port_group);
    let by_port = || {
        let port = facts.relative_port?;
        groups.iter().find(|group| group.ports.contains(&port))
    };
    by_group
        .or_else(by_port)
        .map_or(AccessState::default(), |group| AccessState::from_code(group.state))
}
