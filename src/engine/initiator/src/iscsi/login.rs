//! The login phase of a session (RFC 7143 sections 6.3 and 11.12), without its socket.
//!
//! Security stage first (CHAP, or the statement that there is none), then operational parameters. The number of
//! exchanges is bounded, so a target that never agrees cannot keep a login alive.

use plimsoll_fabric::{Close, Frame};
use plimsoll_wire::iscsi::chap::{ChapError, Credentials, Prover};
use plimsoll_wire::iscsi::discovery::TargetAddress;
use plimsoll_wire::iscsi::negotiate::{
    DigestWish, IserParameters, Negotiator, Parameters, Role, Wishes,
};
use plimsoll_wire::iscsi::pdu::{LoginRequest, LoginResponse, LoginStatus, Opcode, Stage};
use plimsoll_wire::iscsi::text::{self, Assembler};
use plimsoll_wire::iscsi::{BHS_LEN, Digests, Isid, Pdu, frame_length};

use super::iser;
use super::out::Out;
use super::session::{Agreed, MAX_RECV_DATA, Session};
use super::settings::{self, Settings};
use crate::Transport;

/// Request/response pairs of one login before it is given up; a mutual CHAP login needs five.
const MAX_EXCHANGES: u32 = 24;
/// Data of one login response; the default of section 13.12 holds until the login is over, but some targets
/// use what was declared at once.
const MAX_DATA: usize = 64 << 10;
/// CmdSN of the first command.
const FIRST_CMD_SN: u32 = 1;
/// Keys that a target declares and nobody answers.
const DECLARATIONS: [&str; 4] =
    ["TargetAlias", "TargetAddress", "TargetPortalGroupTag", "TargetName"];

/// Why a login failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LoginFailure {
    /// The target is elsewhere.
    Moved(TargetAddress),
    /// The target said no, in words.
    Refused { reason: String, may_retry: bool },
    /// One side could not prove itself.
    Authentication(String),
    /// The target does not speak as the RFC says.
    Protocol(String),
}

/// What a frame of the login phase leads to.
pub(super) enum Step {
    More,
    Done(Box<Session>),
}

pub(super) struct Login {
    names: Vec<(&'static str, String)>,
    chap: Option<Prover>,
    needs_chap: bool,
    is_discovery: bool,
    negotiator: Negotiator,
    assembler: Assembler,
    stage: Stage,
    /// What this end asked for with the last request, with the T bit.
    asked: Option<Stage>,
    /// CHAP_A was offered; the challenge is next.
    chap_begun: bool,
    isid: Isid,
    exp_stat_sn: Option<u32>,
    exchanges: u32,
    depth: u16,
}

const NO_KEYS: [(&str, String); 0] = [];

fn protocol(error: impl ToString) -> LoginFailure {
    LoginFailure::Protocol(error.to_string())
}

impl Login {
    pub fn new(settings: &Settings, isid: Isid, transport: Transport) -> Self {
        let wish = |wanted| if wanted { DigestWish::Require } else { DigestWish::Never };
        let parameters = match transport {
            Transport::Tcp => tcp_wishes(),
            Transport::Iser => iser_wishes(settings.is_discovery()),
        };
        // RDMA has a check of its own; digests are for TCP (RFC 7145 section 6.1).
        let digests = match transport {
            Transport::Tcp => settings.digests,
            Transport::Iser => crate::Digests::default(),
        };
        let mut negotiator = Negotiator::new(Wishes {
            parameters,
            header_digest: wish(digests.header),
            data_digest: wish(digests.data),
        });
        let mut names = vec![("InitiatorName", settings.initiator_name.clone())];
        if settings.is_discovery() {
            negotiator.set_discovery();
            names.push(("SessionType", "Discovery".to_owned()));
        } else {
            names.push(("SessionType", "Normal".to_owned()));
            names.push(("TargetName", settings.target.clone()));
        }
        let credentials =
            |chap: &crate::Chap| Credentials::new(chap.user.clone(), chap.secret.as_bytes());
        let target = settings.mutual_chap.as_ref().map(credentials);
        let chap = settings.chap.as_ref().map(|own| Prover::new(credentials(own), target));
        Self {
            names,
            chap,
            is_discovery: settings.is_discovery(),
            needs_chap: settings.mutual_chap.is_some(),
            negotiator,
            assembler: Assembler::default(),
            stage: Stage::Security,
            asked: None,
            chap_begun: false,
            isid,
            exp_stat_sn: None,
            exchanges: 0,
            depth: settings.depth(transport),
        }
    }

    /// Puts the first request on the queue.
    pub fn start(&mut self, out: &mut Out<'_>) {
        let mut keys = std::mem::take(&mut self.names);
        let method = match (&self.chap, self.needs_chap) {
            (None, _) => "None",
            (Some(_), false) => "CHAP,None",
            (Some(_), true) => "CHAP",
        };
        keys.push(("AuthMethod", method.to_owned()));
        let next = self.chap.is_none().then_some(Stage::Operational);
        self.request(out, next, &keys);
    }

    fn request<K: AsRef<str>>(
        &mut self,
        out: &mut Out<'_>,
        next: Option<Stage>,
        keys: &[(K, String)],
    ) {
        let mut data = Vec::new();
        for (key, value) in keys {
            text::append(&mut data, key.as_ref(), value);
        }
        self.asked = next;
        self.exchanges += 1;
        let header = LoginRequest {
            transit: next.is_some(),
            more: false,
            stage: self.stage,
            next_stage: next.unwrap_or(Stage::Security),
            version_max: 0,
            version_min: 0,
            data_len: data.len() as u32,
            isid: self.isid,
            tsih: 0,
            itt: 0,
            cid: 0,
            cmd_sn: FIRST_CMD_SN,
            exp_stat_sn: self.exp_stat_sn.unwrap_or(0),
        };
        if next == Some(Stage::FullFeature) {
            out.expect_full_feature();
        }
        out.put_small(&header.build(), &data, Digests::default());
    }

    pub fn frame(head: &[u8]) -> Result<Frame, Close> {
        match frame_length(head, Digests::default(), MAX_DATA) {
            Ok(Some(length)) => Ok(Frame::Length(length)),
            Ok(None) => Ok(Frame::Need(BHS_LEN)),
            Err(error) => Err(Close::Protocol(error.to_string())),
        }
    }

    pub fn on_pdu(&mut self, pdu: &Pdu<'_>, out: &mut Out<'_>) -> Result<Step, LoginFailure> {
        if Opcode::of(pdu.bhs) != Some(Opcode::LoginResponse) {
            return Err(protocol(format!(
                "opcode {:#04x} came where a login response was due",
                pdu.bhs[0] & 0x3f
            )));
        }
        let header = LoginResponse::parse(pdu.bhs);
        if header.status.class != 0 {
            return Err(failure(header.status, pdu.data));
        }
        if header.version_active != 0 || header.itt != 0 {
            return Err(protocol("a login response of another version or for another login"));
        }
        let stat_sn = header.sequence.stat_sn;
        if self.exp_stat_sn.is_some_and(|expected| expected != stat_sn) {
            return Err(protocol("StatSN of a login response is out of order"));
        }
        self.exp_stat_sn = Some(stat_sn.wrapping_add(1));
        if self.exchanges >= MAX_EXCHANGES {
            return Err(protocol(format!("no end after {MAX_EXCHANGES} exchanges")));
        }
        let Some(text) = self.assembler.push(pdu.data, header.more).map_err(protocol)? else {
            self.request(out, None, &NO_KEYS);
            return Ok(Step::More);
        };
        let keys: Vec<(&str, &str)> =
            text::pairs(&text).collect::<Result<_, _>>().map_err(protocol)?;
        if header.stage != self.stage {
            return Err(protocol("a login response of another stage than its request"));
        }
        if header.transit && self.asked != Some(header.next_stage) {
            return Err(protocol("the target goes to a stage that was not asked for"));
        }
        match self.stage {
            Stage::Security => self.security(header.transit, &keys, out).map(|()| Step::More),
            _ => self.operational(&header, &keys, out),
        }
    }

    fn security(
        &mut self,
        transit: bool,
        keys: &[(&str, &str)],
        out: &mut Out<'_>,
    ) -> Result<(), LoginFailure> {
        let method = keys.iter().find(|(key, _)| *key == "AuthMethod").map(|(_, value)| *value);
        match (method, &self.chap) {
            (Some("CHAP"), Some(_)) if !self.chap_begun => {
                self.chap_begun = true;
                self.request(out, None, &[Prover::offer()]);
                return Ok(());
            }
            (Some("None"), _) if !self.needs_chap && !self.chap_begun => self.chap = None,
            (Some(other), _) => {
                return Err(LoginFailure::Authentication(format!(
                    "the target insists on AuthMethod={other}"
                )));
            }
            (None, _) => {}
        }
        if self.chap_begun {
            return self.chap(transit, keys, out);
        }
        if self.needs_chap {
            return Err(LoginFailure::Authentication("the target does not use CHAP".to_owned()));
        }
        self.leave_security(transit, out);
        Ok(())
    }

    fn chap(
        &mut self,
        transit: bool,
        keys: &[(&str, &str)],
        out: &mut Out<'_>,
    ) -> Result<(), LoginFailure> {
        let failed = |error: ChapError| LoginFailure::Authentication(error.to_string());
        let Some(prover) = &mut self.chap else { return Ok(()) };
        if prover.is_done() {
            self.leave_security(transit, out);
            return Ok(());
        }
        let mut no_random = None;
        let answer = prover.receive(keys, &mut |bytes| {
            no_random = settings::random(bytes).err();
        });
        if let Some(error) = no_random {
            return Err(protocol(error));
        }
        let answer = answer.map_err(failed)?;
        if answer.is_empty() {
            self.leave_security(transit, out);
        } else {
            self.request(out, Some(Stage::Operational), &answer);
        }
        Ok(())
    }

    /// To the operational stage, now or with the next response.
    fn leave_security(&mut self, transit: bool, out: &mut Out<'_>) {
        if transit {
            self.stage = Stage::Operational;
            let offers = self.negotiator.offers();
            self.request(out, Some(Stage::FullFeature), &offers);
        } else {
            self.request(out, Some(Stage::Operational), &NO_KEYS);
        }
    }

    fn operational(
        &mut self,
        header: &LoginResponse,
        keys: &[(&str, &str)],
        out: &mut Out<'_>,
    ) -> Result<Step, LoginFailure> {
        let mut answers = Vec::new();
        for &(key, value) in keys {
            if DECLARATIONS.contains(&key) {
                continue;
            }
            if let Some(answer) = self.negotiator.receive(key, value).map_err(protocol)? {
                answers.push((key.to_owned(), answer));
            }
        }
        if !header.transit || !answers.is_empty() {
            self.request(out, Some(Stage::FullFeature), &answers);
            return Ok(Step::More);
        }
        if header.tsih == 0 && !self.is_discovery {
            return Err(protocol("the target gave no session handle (TSIH)"));
        }
        let parameters = self.negotiator.finish().map_err(|error| LoginFailure::Refused {
            reason: error.to_string(),
            may_retry: false,
        })?;
        let agreed = Agreed {
            digests: parameters.digests(),
            max_send_data: parameters.peer_max_recv_data_segment_bytes,
            max_burst: parameters.max_burst_bytes,
            first_burst: parameters.first_burst_bytes,
            initial_r2t: parameters.initial_r2t,
            immediate_data: parameters.immediate_data,
            may_overtake: parameters.iser.role.is_some(),
            unexpected: match (parameters.iser.role, parameters.iser.peer_max_unexpected_pdus) {
                (None, _) => u32::MAX,
                (Some(_), 0) => iser::UNEXPECTED_SENT_MAX,
                (Some(_), most) => most.min(iser::UNEXPECTED_SENT_MAX),
            },
        };
        tracing::debug!(?agreed, "iSCSI session is in full feature phase");
        let session = Session::new(agreed, FIRST_CMD_SN, header.sequence, self.depth);
        Ok(Step::Done(Box::new(session)))
    }
}

fn tcp_wishes() -> Parameters {
    Parameters {
        max_recv_data_segment_bytes: MAX_RECV_DATA as u32,
        initial_r2t: false,
        immediate_data: true,
        max_burst_bytes: 1 << 20,
        first_burst_bytes: 256 << 10,
        default_time2wait_s: 0,
        default_time2retain_s: 0,
        max_outstanding_r2t: 8,
        ..Parameters::default()
    }
}

/// Over RDMA the target fetches and places, so nothing but small writes goes unasked: some targets refuse
/// unsolicited data that is not aligned.
fn iser_wishes(is_discovery: bool) -> Parameters {
    let sent = iser::SEND_DATA_MAX as u32;
    Parameters {
        max_recv_data_segment_bytes: iser::receive_data_max(is_discovery) as u32,
        peer_max_recv_data_segment_bytes: sent,
        initial_r2t: true,
        first_burst_bytes: sent,
        max_outstanding_r2t: 1,
        iser: IserParameters { role: Some(Role::Initiator), ..IserParameters::default() },
        ..tcp_wishes()
    }
}

/// A login status that is no success, in words (section 11.13.5).
fn failure(status: LoginStatus, data: &[u8]) -> LoginFailure {
    if status.class == 1 {
        let address = text::pairs(data)
            .filter_map(Result::ok)
            .find(|(key, _)| *key == "TargetAddress")
            .and_then(|(_, value)| TargetAddress::parse(value));
        return match address {
            Some(address) => LoginFailure::Moved(address),
            None => protocol("the target moved without telling where"),
        };
    }
    let reason = match status {
        LoginStatus::AUTHENTICATION_FAILED => {
            return LoginFailure::Authentication("the target does not accept this side".to_owned());
        }
        LoginStatus::FORBIDDEN => "this initiator may not use the target",
        LoginStatus::NOT_FOUND => "there is no such target",
        LoginStatus::TARGET_REMOVED => "the target was removed",
        LoginStatus::UNSUPPORTED_VERSION => "no version in common",
        LoginStatus::TOO_MANY_CONNECTIONS => "too many connections",
        LoginStatus::MISSING_PARAMETER => "a parameter is missing",
        LoginStatus::CANNOT_INCLUDE => "the connection cannot be part of that session",
        LoginStatus::SESSION_TYPE_NOT_SUPPORTED => "the session type is not supported",
        LoginStatus::SESSION_DOES_NOT_EXIST => "the session does not exist",
        LoginStatus::INVALID_DURING_LOGIN => "a request was not valid during login",
        LoginStatus::TARGET_ERROR => "the target failed",
        LoginStatus::SERVICE_UNAVAILABLE => "the service is not available now",
        LoginStatus::OUT_OF_RESOURCES => "the target has no room for another session",
        LoginStatus { class, detail } => {
            return LoginFailure::Refused {
                reason: format!("login status {class:02x}{detail:02x}"),
                may_retry: status.may_retry(),
            };
        }
    };
    LoginFailure::Refused { reason: reason.to_owned(), may_retry: status.may_retry() }
}
