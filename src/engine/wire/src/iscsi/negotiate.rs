//! Negotiation of operational parameters (RFC 7143 sections 6.2 and 13), the same table for both sides.
//!
//! The result functions (minimum, maximum, and, or, first common of a list) are symmetric, so originator and
//! responder share them. What belongs to the session rather than to its parameters (names, SessionType,
//! AuthMethod, CHAP, SendTargets) is not handled here; a login passes all other keys to
//! [`Negotiator::receive`] and sends back what it returns. On an RDMA connection the keys of RFC 7145 section 6
//! join the table: [`IserParameters`].

mod iser;

pub use iser::{IserParameters, Role};

/// What one end wants of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DigestWish {
    /// No digest.
    Never,
    /// None if the peer leaves the choice, CRC32C if it wants that.
    #[default]
    Allow,
    /// CRC32C if the peer can.
    Prefer,
    /// CRC32C or no session.
    Require,
}

impl DigestWish {
    fn offer(self) -> &'static str {
        match self {
            Self::Never => "None",
            Self::Allow => "None,CRC32C",
            Self::Prefer => "CRC32C,None",
            Self::Require => "CRC32C",
        }
    }

    fn accepts(self, crc32c: bool) -> bool {
        match self {
            Self::Never => !crc32c,
            Self::Allow | Self::Prefer => true,
            Self::Require => crc32c,
        }
    }
}

/// The parameters of a connection. As a wish, what one end is ready for; as a result, what holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// Largest data segment that this end accepts (declared, not negotiated).
    pub max_recv_data_segment_bytes: u32,
    /// Largest data segment that the peer accepts. In a wish the most that this end is going to send, which
    /// only RDMA negotiates.
    pub peer_max_recv_data_segment_bytes: u32,
    /// Most connections of the session.
    pub max_connections: u16,
    /// Data-Out, beyond immediate data, needs an R2T.
    pub initial_r2t: bool,
    /// Data may follow in the command PDU.
    pub immediate_data: bool,
    /// Longest data sequence: one R2T, or Data-In up to a PDU with the F bit.
    pub max_burst_bytes: u32,
    /// Most unsolicited data of a command, immediate data included.
    pub first_burst_bytes: u32,
    /// Seconds to wait before a reconnection.
    pub default_time2wait_s: u16,
    /// Seconds that tasks are kept after a connection is lost.
    pub default_time2retain_s: u16,
    /// Most R2Ts outstanding for one command.
    pub max_outstanding_r2t: u16,
    /// PDUs of a sequence are in order.
    pub data_pdu_in_order: bool,
    /// Sequences of a command are in order.
    pub data_sequence_in_order: bool,
    /// 0 = errors end the session, 1 = and 2 = recovery within it.
    pub error_recovery_level: u8,
    /// PDU headers carry a digest.
    pub header_digest: bool,
    /// Data segments carry a digest.
    pub data_digest: bool,
    /// What holds on an RDMA connection.
    pub iser: IserParameters,
}

impl Parameters {
    /// The digests of the connection.
    pub fn digests(&self) -> super::Digests {
        super::Digests { header: self.header_digest, data: self.data_digest }
    }
}

/// The defaults of section 13, in force for every key that is not negotiated.
impl Default for Parameters {
    fn default() -> Self {
        Self {
            max_recv_data_segment_bytes: 8192,
            peer_max_recv_data_segment_bytes: 8192,
            max_connections: 1,
            initial_r2t: true,
            immediate_data: true,
            max_burst_bytes: 262_144,
            first_burst_bytes: 65_536,
            default_time2wait_s: 2,
            default_time2retain_s: 20,
            max_outstanding_r2t: 1,
            data_pdu_in_order: true,
            data_sequence_in_order: true,
            error_recovery_level: 0,
            header_digest: false,
            data_digest: false,
            iser: IserParameters::default(),
        }
    }
}

/// What one end brings into the negotiation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wishes {
    /// Everything but the digests.
    pub parameters: Parameters,
    /// Header digest.
    pub header_digest: DigestWish,
    /// Data digest.
    pub data_digest: DigestWish,
}

/// The negotiation cannot go on; a login has to fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NegotiationError {
    /// The peer negotiates a key twice.
    #[error("{0} is negotiated twice")]
    Repeated(&'static str),
    /// The peer's answer is no possible result of our offer.
    #[error("{key}={answer} is no answer to {key}={offer}")]
    Answer {
        /// Key.
        key: &'static str,
        /// What was offered.
        offer: String,
        /// What came back.
        answer: String,
    },
    /// No digest in common.
    #[error("{key}={offer} leaves no digest that this end accepts")]
    Digest {
        /// Key.
        key: &'static str,
        /// What the peer offered.
        offer: String,
    },
    /// The peer will not have RDMA on an RDMA connection.
    #[error("RDMAExtensions=No on an RDMA connection; connect by TCP instead")]
    RdmaExtensions,
    /// The initiator wants the Hello exchange of RFC 7145.
    #[error("iSERHelloRequired=Yes is not supported")]
    HelloRequired,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    Digest,
    Minimum(u32, u32),
    Maximum(u32, u32),
    Or,
    And,
    Declaration(u32, u32),
    /// A declaration of RFC 7145, Yes or No, of an initiator alone.
    InitiatorFlag,
    /// A declaration of RFC 7145, 0 for no limit or at least 2; a target answers it by its own.
    MutualLimit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    HeaderDigest,
    DataDigest,
    MaxRecvDataSegmentLength,
    MaxConnections,
    InitialR2T,
    ImmediateData,
    MaxBurstLength,
    FirstBurstLength,
    DefaultTime2Wait,
    DefaultTime2Retain,
    MaxOutstandingR2T,
    DataPDUInOrder,
    DataSequenceInOrder,
    ErrorRecoveryLevel,
    RdmaExtensions,
    InitiatorRecvDataSegmentLength,
    TargetRecvDataSegmentLength,
    MaxOutstandingUnexpectedPdus,
    MaxAhsLength,
    TaggedBufferForSolicitedDataOnly,
    IserHelloRequired,
}

struct Rule {
    name: &'static str,
    key: Key,
    function: Function,
    /// Means something in a discovery session too.
    discovery: bool,
}

const fn rule(name: &'static str, key: Key, function: Function, discovery: bool) -> Rule {
    Rule { name, key, function, discovery }
}

const MAX_24: u32 = (1 << 24) - 1;

/// Section 13, in the order in which an initiator offers.
const RULES: [Rule; 14] = [
    rule("HeaderDigest", Key::HeaderDigest, Function::Digest, true),
    rule("DataDigest", Key::DataDigest, Function::Digest, true),
    rule(
        "MaxRecvDataSegmentLength",
        Key::MaxRecvDataSegmentLength,
        Function::Declaration(512, MAX_24),
        true,
    ),
    rule("MaxConnections", Key::MaxConnections, Function::Minimum(1, 65_535), false),
    rule("InitialR2T", Key::InitialR2T, Function::Or, false),
    rule("ImmediateData", Key::ImmediateData, Function::And, false),
    rule("MaxBurstLength", Key::MaxBurstLength, Function::Minimum(512, MAX_24), false),
    rule("FirstBurstLength", Key::FirstBurstLength, Function::Minimum(512, MAX_24), false),
    rule("DefaultTime2Wait", Key::DefaultTime2Wait, Function::Maximum(0, 3600), true),
    rule("DefaultTime2Retain", Key::DefaultTime2Retain, Function::Minimum(0, 3600), true),
    rule("MaxOutstandingR2T", Key::MaxOutstandingR2T, Function::Minimum(1, 65_535), false),
    rule("DataPDUInOrder", Key::DataPDUInOrder, Function::Or, false),
    rule("DataSequenceInOrder", Key::DataSequenceInOrder, Function::Or, false),
    rule("ErrorRecoveryLevel", Key::ErrorRecoveryLevel, Function::Minimum(0, 2), true),
];

/// Keys that are answered with a constant: obsolete markers (section 13.25), and what RFC 7143 itself is
/// (sections 13.23 and 13.24).
const CONSTANT: [(&str, &str); 6] = [
    ("IFMarker", "No"),
    ("OFMarker", "No"),
    ("IFMarkInt", "Reject"),
    ("OFMarkInt", "Reject"),
    ("TaskReporting", "RFC3720"),
    ("iSCSIProtocolLevel", "1"),
];

/// The longest that a list of digests is looked at; a value has at most 255 bytes (section 6.1).
const VALUE_MAX: usize = 255;

/// One side of the negotiation of one connection.
#[derive(Debug, Clone)]
pub struct Negotiator {
    wishes: Wishes,
    discovery: bool,
    /// Bit per rule: this end has offered and awaits the answer.
    offered: u32,
    /// Bit per rule: the peer has named the key.
    seen: u32,
    full_feature: bool,
    said: iser::Said,
    result: Parameters,
}

impl Negotiator {
    /// A negotiation that begins with the defaults.
    pub fn new(wishes: Wishes) -> Self {
        let result = Parameters {
            max_recv_data_segment_bytes: wishes.parameters.max_recv_data_segment_bytes,
            ..Parameters::default()
        };
        Self {
            wishes,
            discovery: false,
            offered: 0,
            seen: 0,
            full_feature: false,
            said: iser::Said::default(),
            result,
        }
    }

    fn role(&self) -> Option<Role> {
        self.wishes.parameters.iser.role
    }

    /// The rules in force: the bits of `offered` and `seen` count them.
    fn rules(&self) -> impl Iterator<Item = &'static Rule> + use<> {
        let iser = if self.role().is_some() { &iser::RULES[..] } else { &[] };
        RULES.iter().chain(iser)
    }

    /// From now on keys that mean nothing in a discovery session are irrelevant.
    pub fn set_discovery(&mut self) {
        self.discovery = true;
    }

    /// The login is over: in the full feature phase only MaxRecvDataSegmentLength can be declared anew.
    pub fn enter_full_feature(&mut self) {
        self.full_feature = true;
        self.offered = 0;
        self.seen = 0;
    }

    /// What an initiator offers. In a discovery session no digests: offering them there breaks some targets,
    /// and None is the default. Of iSER's keys those that other initiators name too, first of all
    /// (RFC 7145 section 6.3); in a discovery session none, as they do.
    pub fn offers(&mut self) -> Vec<(&'static str, String)> {
        let mut offers = Vec::new();
        let rdma = self.role().is_some();
        for (index, rule) in self.rules().enumerate() {
            let digest = matches!(rule.function, Function::Digest);
            let of_iser = index >= RULES.len();
            let skipped = if self.discovery {
                !rule.discovery || digest || of_iser
            } else {
                rdma && (digest || rule.key == Key::MaxRecvDataSegmentLength)
            };
            let silent = matches!(rule.function, Function::MutualLimit | Function::InitiatorFlag);
            if skipped || silent {
                continue;
            }
            offers.push((rule.name, self.wish_text(rule)));
            if !matches!(rule.function, Function::Declaration(..)) {
                self.offered |= 1 << index;
            }
        }
        let first = offers.iter().position(|(key, _)| *key == iser::RULES[0].name);
        offers.rotate_left(first.unwrap_or(0));
        offers
    }

    /// This end's MaxRecvDataSegmentLength, which a target declares beside its answers.
    pub fn declaration(&self) -> (&'static str, String) {
        ("MaxRecvDataSegmentLength", self.result.max_recv_data_segment_bytes.to_string())
    }

    /// Takes a key of the peer, be it an offer, a declaration or an answer; returns the value to answer with,
    /// if an answer is due.
    pub fn receive(&mut self, key: &str, value: &str) -> Result<Option<String>, NegotiationError> {
        let refusal = matches!(value, "NotUnderstood" | "Irrelevant" | "Reject");
        let Some((index, rule)) = self.rules().enumerate().find(|(_, rule)| rule.name == key)
        else {
            let constant = CONSTANT.iter().find(|(name, _)| *name == key);
            return Ok(match constant {
                _ if refusal => None,
                Some((_, answer)) => Some((*answer).to_owned()),
                None => Some("NotUnderstood".to_owned()),
            });
        };
        let bit = 1 << index;
        if self.seen & bit != 0 {
            return Err(NegotiationError::Repeated(rule.name));
        }
        self.seen |= bit;
        if self.offered & bit != 0 {
            self.offered &= !bit;
            return self.answer(rule, value, refusal).map(|()| None);
        }
        if refusal {
            return Ok(None);
        }
        if self.full_feature && rule.key != Key::MaxRecvDataSegmentLength {
            return Ok(Some("Reject".to_owned()));
        }
        if self.discovery && !rule.discovery {
            return Ok(Some("Irrelevant".to_owned()));
        }
        self.respond(rule, value)
    }

    /// The outcome. FirstBurstLength is held below MaxBurstLength (section 13.14) whatever was negotiated.
    pub fn finish(&self) -> Result<Parameters, NegotiationError> {
        let digests = [
            ("HeaderDigest", self.wishes.header_digest, self.result.header_digest),
            ("DataDigest", self.wishes.data_digest, self.result.data_digest),
        ];
        for (key, wish, result) in digests {
            if !self.discovery && self.role().is_none() && !wish.accepts(result) {
                return Err(NegotiationError::Digest { key, offer: "None".to_owned() });
            }
        }
        let mut result = self.result.clone();
        result.first_burst_bytes = result.first_burst_bytes.min(result.max_burst_bytes);
        if let Some(role) = self.role() {
            let wish = &self.wishes.parameters;
            iser::finish(role, &self.said, self.discovery, wish, &mut result)?;
        }
        Ok(result)
    }

    /// The peer's answer to what this end offered.
    fn answer(&mut self, rule: &Rule, value: &str, refusal: bool) -> Result<(), NegotiationError> {
        let offer = self.wish_text(rule);
        let wrong = || NegotiationError::Answer {
            key: rule.name,
            offer: offer.clone(),
            answer: value.chars().take(VALUE_MAX).collect(),
        };
        if refusal {
            return Ok(()); // the default stays; `finish` looks at a digest that is required
        }
        match rule.function {
            Function::Digest => {
                let crc32c = digest(value).ok_or_else(wrong)?;
                if !offer.split(',').any(|one| one == value) {
                    return Err(wrong());
                }
                self.set_flag(rule.key, crc32c);
            }
            Function::Minimum(low, high) | Function::Maximum(low, high) => {
                let number = number(value, low, high).ok_or_else(wrong)?;
                let mine = self.wish_number(rule.key);
                let possible = match rule.function {
                    Function::Minimum(..) => number <= mine,
                    _ => number >= mine,
                };
                if !possible {
                    return Err(wrong());
                }
                self.set_number(rule.key, number);
            }
            Function::Or | Function::And => {
                let flag = boolean(value).ok_or_else(wrong)?;
                let mine = self.wish_flag(rule.key);
                if mine == matches!(rule.function, Function::Or) && flag != mine {
                    return Err(wrong());
                }
                self.set_flag(rule.key, flag);
            }
            Function::Declaration(..) | Function::MutualLimit | Function::InitiatorFlag => {}
        }
        Ok(())
    }

    /// The answer to what the peer offers. A value that makes no sense is answered with Reject, and the
    /// default stays (section 6.2).
    fn respond(&mut self, rule: &Rule, value: &str) -> Result<Option<String>, NegotiationError> {
        let reject = Ok(Some("Reject".to_owned()));
        match rule.function {
            // RFC 7145 section 6.1: RDMA has a check of its own.
            Function::Digest if self.role().is_some() => {
                let none = value.split(',').any(|one| one == "None");
                Ok(Some(if none { "None" } else { "Reject" }.to_owned()))
            }
            Function::Digest => {
                let wish = match rule.key {
                    Key::HeaderDigest => self.wishes.header_digest,
                    _ => self.wishes.data_digest,
                };
                let common =
                    value.split(',').filter_map(digest).find(|crc32c| wish.accepts(*crc32c));
                let Some(crc32c) = common else {
                    let offer = value.chars().take(VALUE_MAX).collect();
                    return Err(NegotiationError::Digest { key: rule.name, offer });
                };
                self.set_flag(rule.key, crc32c);
                Ok(Some(if crc32c { "CRC32C" } else { "None" }.to_owned()))
            }
            Function::Minimum(low, high) | Function::Maximum(low, high) => {
                let Some(theirs) = number(value, low, high) else { return reject };
                let mine = self.wish_number(rule.key);
                let result = match rule.function {
                    Function::Minimum(..) => theirs.min(mine),
                    _ => theirs.max(mine),
                };
                self.set_number(rule.key, result);
                Ok(Some(result.to_string()))
            }
            Function::Or | Function::And => {
                let Some(theirs) = boolean(value) else { return reject };
                let mine = self.wish_flag(rule.key);
                let result = match rule.function {
                    Function::Or => theirs || mine,
                    _ => theirs && mine,
                };
                self.set_flag(rule.key, result);
                Ok(Some(if result { "Yes" } else { "No" }.to_owned()))
            }
            Function::Declaration(low, high) => {
                let Some(theirs) = number(value, low, high) else { return reject };
                self.result.peer_max_recv_data_segment_bytes = theirs;
                Ok(None)
            }
            Function::InitiatorFlag => {
                let Some(theirs) = boolean(value) else { return reject };
                match rule.key {
                    Key::IserHelloRequired => self.result.iser.hello_required = theirs,
                    _ => self.result.iser.solicited_tags_only = Some(theirs),
                }
                Ok(None)
            }
            Function::MutualLimit => {
                let Some(theirs) = iser::limit(value) else { return reject };
                match rule.key {
                    Key::MaxAhsLength => self.result.iser.peer_max_ahs_bytes = theirs,
                    _ => self.result.iser.peer_max_unexpected_pdus = theirs,
                }
                let answers = self.role() == Some(Role::Target);
                Ok(answers.then(|| self.wish_number(rule.key).to_string()))
            }
        }
    }

    fn wish_text(&self, rule: &Rule) -> String {
        match rule.function {
            Function::Digest => match rule.key {
                Key::HeaderDigest => self.wishes.header_digest.offer().to_owned(),
                _ => self.wishes.data_digest.offer().to_owned(),
            },
            Function::Or | Function::And | Function::InitiatorFlag => {
                if self.wish_flag(rule.key) { "Yes" } else { "No" }.to_owned()
            }
            Function::Minimum(..)
            | Function::Maximum(..)
            | Function::Declaration(..)
            | Function::MutualLimit => self.wish_number(rule.key).to_string(),
        }
    }

    fn wish_number(&self, key: Key) -> u32 {
        let wish = &self.wishes.parameters;
        match key {
            Key::MaxRecvDataSegmentLength => wish.max_recv_data_segment_bytes,
            Key::MaxConnections => wish.max_connections.into(),
            Key::MaxBurstLength => wish.max_burst_bytes,
            Key::FirstBurstLength => wish.first_burst_bytes.min(wish.max_burst_bytes),
            Key::DefaultTime2Wait => wish.default_time2wait_s.into(),
            Key::DefaultTime2Retain => wish.default_time2retain_s.into(),
            Key::MaxOutstandingR2T => wish.max_outstanding_r2t.into(),
            Key::ErrorRecoveryLevel => wish.error_recovery_level.into(),
            Key::InitiatorRecvDataSegmentLength if self.role() == Some(Role::Target) => {
                wish.peer_max_recv_data_segment_bytes
            }
            Key::TargetRecvDataSegmentLength if self.role() == Some(Role::Initiator) => {
                wish.peer_max_recv_data_segment_bytes
            }
            Key::InitiatorRecvDataSegmentLength | Key::TargetRecvDataSegmentLength => {
                wish.max_recv_data_segment_bytes
            }
            Key::MaxOutstandingUnexpectedPdus => wish.iser.max_unexpected_pdus,
            Key::MaxAhsLength => wish.iser.max_ahs_bytes,
            _ => 0,
        }
    }

    fn wish_flag(&self, key: Key) -> bool {
        let wish = &self.wishes.parameters;
        match key {
            Key::InitialR2T => wish.initial_r2t,
            Key::ImmediateData => wish.immediate_data,
            Key::DataPDUInOrder => wish.data_pdu_in_order,
            Key::DataSequenceInOrder => wish.data_sequence_in_order,
            Key::RdmaExtensions => true,
            _ => false,
        }
    }

    /// The ranges of the table keep every number inside its type.
    fn set_number(&mut self, key: Key, value: u32) {
        let result = &mut self.result;
        match key {
            Key::MaxConnections => result.max_connections = value as u16,
            Key::MaxBurstLength => result.max_burst_bytes = value,
            Key::FirstBurstLength => result.first_burst_bytes = value,
            Key::DefaultTime2Wait => result.default_time2wait_s = value as u16,
            Key::DefaultTime2Retain => result.default_time2retain_s = value as u16,
            Key::MaxOutstandingR2T => result.max_outstanding_r2t = value as u16,
            Key::ErrorRecoveryLevel => result.error_recovery_level = value as u8,
            Key::InitiatorRecvDataSegmentLength => self.said.initiator_recv = Some(value),
            Key::TargetRecvDataSegmentLength => self.said.target_recv = Some(value),
            _ => {}
        }
    }

    fn set_flag(&mut self, key: Key, value: bool) {
        let result = &mut self.result;
        match key {
            Key::HeaderDigest => result.header_digest = value,
            Key::DataDigest => result.data_digest = value,
            Key::InitialR2T => result.initial_r2t = value,
            Key::ImmediateData => result.immediate_data = value,
            Key::DataPDUInOrder => result.data_pdu_in_order = value,
            Key::DataSequenceInOrder => result.data_sequence_in_order = value,
            Key::RdmaExtensions => self.said.rdma_extensions = Some(value),
            _ => {}
        }
    }
}

fn digest(name: &str) -> Option<bool> {
    match name {
        "None" => Some(false),
        "CRC32C" => Some(true),
        _ => None,
    }
}

fn boolean(value: &str) -> Option<bool> {
    match value {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

/// A numerical value, decimal or hexadecimal (section 6.1), within its range.
fn number(value: &str, low: u32, high: u32) -> Option<u32> {
    let hex = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    let number = match hex {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None if value.bytes().all(|byte| byte.is_ascii_digit()) => value.parse().ok()?,
        None => return None,
    };
    (low..=high).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests;
