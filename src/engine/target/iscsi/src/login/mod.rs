//! The login phase (RFC 7143 section 6.3): who is there, may it come in, on which terms.
//!
//! One [`Login`] per connection until the full feature phase. Every refusal is answered with the status of
//! section 11.13.5 and closes the connection. Time, number of requests and length of text are bounded.

mod identify;
mod open;

use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_fabric::{Close, Remote};
use plimsoll_wire::iscsi::chap::Verifier;
use plimsoll_wire::iscsi::negotiate::Negotiator;
use plimsoll_wire::iscsi::pdu::{LoginRequest, LoginResponse, LoginStatus, Sequence, Stage};
use plimsoll_wire::iscsi::text::{self, Assembler, Chunks};
use plimsoll_wire::iscsi::{Digests, Opcode};

use crate::connection::{Event, Pending};
use crate::mover::{Mover, Turn};
use crate::server::{Shared, Target};
use crate::session::{Session, window};

/// Largest data segment before anything is negotiated (section 13.12).
const LOGIN_SEGMENT_BYTES: usize = 8192;
/// A login that takes more requests than this is not going to end. CHAP, two stages and long text need ten.
const REQUESTS_MAX: u32 = 32;
/// How long a login waits for the older session of the same name to be gone.
const REINSTATEMENT_WAIT: Duration = Duration::from_secs(5);

/// What became of a login request.
pub(crate) enum Step<M: Mover> {
    /// It goes on.
    Continue,
    /// The full feature phase begins.
    Full(Box<Session<M>>),
}

/// How far the initiator has proved who it is.
enum Proof {
    /// Nothing is asked for.
    NotNeeded,
    /// CHAP is asked for and has not begun.
    Needed(Verifier),
    /// CHAP is going on or has succeeded.
    Chap(Verifier),
}

impl Proof {
    fn is_given(&self) -> bool {
        match self {
            Self::NotNeeded => true,
            Self::Needed(_) => false,
            Self::Chap(verifier) => verifier.user().is_some(),
        }
    }
}

/// The last request of a login that waits for an older session to be gone.
struct Waiting {
    request: LoginRequest,
    answer: Vec<u8>,
}

/// A login in progress.
pub(crate) struct Login<M> {
    shared: Arc<Shared>,
    group: u16,
    peer: SocketAddr,
    local: SocketAddr,
    remote: Remote<Event>,
    pending: Option<Pending>,
    requests: u32,
    /// The first request: later ones must agree with it.
    first: Option<LoginRequest>,
    stage: Stage,
    assembler: Assembler,
    chunks: Chunks,
    identified: bool,
    initiator: String,
    /// `None` in a discovery session.
    target: Option<Arc<Target>>,
    proof: Proof,
    negotiator: Negotiator,
    declared: bool,
    stat_sn: u32,
    waiting: Option<Waiting>,
    _mover: PhantomData<fn() -> M>,
}

/// A refusal: the status to answer with, and what to log.
struct Refused(LoginStatus, String);

fn refuse<T>(status: LoginStatus, why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused(status, why.into()))
}

impl<M: Mover> Login<M> {
    pub(crate) fn new(
        shared: Arc<Shared>,
        group: u16,
        peer: SocketAddr,
        local: SocketAddr,
        remote: Remote<Event>,
    ) -> Self {
        let negotiator = Negotiator::new(M::wishes(&shared.settings));
        Self {
            pending: Some(Pending(Arc::clone(&shared))),
            shared,
            group,
            peer,
            local,
            remote,
            requests: 0,
            first: None,
            stage: Stage::Security,
            assembler: Assembler::default(),
            chunks: Chunks::default(),
            identified: false,
            initiator: String::new(),
            target: None,
            proof: Proof::NotNeeded,
            negotiator,
            declared: false,
            stat_sn: 0,
            waiting: None,
            _mover: PhantomData,
        }
    }

    /// Login PDUs carry no digests.
    pub(crate) fn framing() -> (Digests, usize) {
        (Digests::default(), LOGIN_SEGMENT_BYTES)
    }

    pub(crate) fn wants_input(&self) -> bool {
        self.waiting.is_none()
    }

    pub(crate) fn on_event(
        &mut self,
        event: Event,
        io: &mut Turn<'_, M>,
    ) -> Result<Step<M>, Close> {
        match event {
            Event::Opened => {
                *io.deadline = Some(io.now + self.shared.settings.login_timeout);
                Ok(Step::Continue)
            }
            Event::Proceed => match self.waiting.take() {
                Some(Waiting { request, answer }) => self.enter(request, answer, io),
                None => Ok(Step::Continue),
            },
            Event::Displaced | Event::Drop => Err(Close::Finished),
            _ => Ok(Step::Continue),
        }
    }

    pub(crate) fn on_timer(&mut self, io: &mut Turn<'_, M>) -> Result<(), Close> {
        match self.waiting.take() {
            Some(Waiting { request, .. }) => {
                let why = "the older session of that name does not end";
                self.answer_refusal(
                    &request,
                    Refused(LoginStatus::SERVICE_UNAVAILABLE, why.into()),
                    io,
                )
            }
            None => Err(Close::Idle),
        }
    }

    pub(crate) fn on_frame(
        &mut self,
        frame: &[u8],
        io: &mut Turn<'_, M>,
    ) -> Result<Step<M>, Close> {
        let (pdu, _) = M::split(frame, Digests::default(), LOGIN_SEGMENT_BYTES)?;
        if Opcode::of(pdu.bhs) != Some(Opcode::LoginRequest) {
            let what = format!("PDU {:#04x} before the login is complete", pdu.bhs[0] & 0x3f);
            return Err(Close::Protocol(what));
        }
        let request = LoginRequest::parse(pdu.bhs);
        match self.request(&request, pdu.data) {
            Ok(Outcome::Answer { text, transit }) => {
                self.send(&request, text, transit, io);
                Ok(Step::Continue)
            }
            Ok(Outcome::Enter(text)) => self.enter(request, text, io),
            Err(refused) => self.answer_refusal(&request, refused, io).map(|()| Step::Continue),
        }
    }

    /// Takes one request and says what to answer.
    fn request(&mut self, request: &LoginRequest, data: &[u8]) -> Result<Outcome, Refused> {
        self.check_header(request)?;
        if self.chunks.has_more() {
            return Ok(Outcome::Answer { text: Vec::new(), transit: false });
        }
        let whole = self.assembler.push(data, request.more);
        let whole =
            whole.or_else(|error| refuse(LoginStatus::INITIATOR_ERROR, error.to_string()))?;
        let Some(whole) = whole else {
            return Ok(Outcome::Answer { text: Vec::new(), transit: false });
        };
        let pairs: Result<Vec<_>, _> = text::pairs(&whole).collect();
        let pairs =
            pairs.or_else(|error| refuse(LoginStatus::INITIATOR_ERROR, error.to_string()))?;
        let mut answer = Vec::new();
        if !self.identified {
            self.identify(&pairs, request, &mut answer)?;
        }
        self.keys(&pairs, &mut answer)?;
        if self.stage == Stage::Operational && !self.declared {
            self.declared = true;
            let (key, value) = self.negotiator.declaration();
            text::append(&mut answer, key, &value);
        }
        let mut transit = request.transit;
        if self.stage == Stage::Security && !self.proof.is_given() {
            if transit && matches!(self.proof, Proof::Needed(_)) {
                return refuse(LoginStatus::AUTHENTICATION_FAILED, "CHAP is required");
            }
            transit = false;
        }
        if transit && answer.len() > LOGIN_SEGMENT_BYTES {
            transit = false; // the initiator asks again after the last piece
        }
        if transit {
            self.stage = request.next_stage;
            if request.next_stage == Stage::FullFeature {
                return Ok(Outcome::Enter(answer));
            }
        }
        Ok(Outcome::Answer { text: answer, transit })
    }

    fn check_header(&mut self, request: &LoginRequest) -> Result<(), Refused> {
        if self.requests == 0 {
            // Section 11.13.4: the first StatSN is free to choose; the peer's own guess suits all.
            self.stat_sn = request.exp_stat_sn;
        }
        self.requests += 1;
        if self.requests > REQUESTS_MAX {
            return refuse(LoginStatus::INITIATOR_ERROR, "the login does not come to an end");
        }
        if request.version_min > 0 {
            return refuse(LoginStatus::UNSUPPORTED_VERSION, "version 0 is the only one");
        }
        let stage_is_legal = matches!(request.stage, Stage::Security | Stage::Operational);
        let next_is_legal = !request.transit
            || (request.next_stage > request.stage && request.next_stage != Stage::Reserved);
        if !stage_is_legal || !next_is_legal || (request.transit && request.more) {
            return refuse(LoginStatus::INITIATOR_ERROR, "stages do not follow each other");
        }
        match &self.first {
            None => {
                self.first = Some(*request);
                self.stage = request.stage;
            }
            Some(first) => {
                let same = first.isid == request.isid
                    && first.itt == request.itt
                    && first.cid == request.cid
                    && first.tsih == request.tsih;
                if !same || request.stage != self.stage {
                    return refuse(LoginStatus::INITIATOR_ERROR, "requests of one login differ");
                }
            }
        }
        Ok(())
    }

    fn max_cmd_sn(&self, request: &LoginRequest) -> u32 {
        request.cmd_sn.wrapping_add(window(&self.shared.settings) - 1)
    }

    fn response(&mut self, request: &LoginRequest, transit: bool) -> LoginResponse {
        let stat_sn = self.stat_sn;
        self.stat_sn = stat_sn.wrapping_add(1);
        LoginResponse {
            transit,
            more: false,
            stage: request.stage,
            next_stage: request.next_stage,
            version_max: 0,
            version_active: 0,
            data_len: 0,
            isid: request.isid,
            tsih: request.tsih,
            itt: request.itt,
            sequence: Sequence {
                stat_sn,
                exp_cmd_sn: request.cmd_sn,
                max_cmd_sn: self.max_cmd_sn(request),
            },
            status: LoginStatus::SUCCESS,
        }
    }

    fn send(&mut self, request: &LoginRequest, text: Vec<u8>, transit: bool, io: &mut Turn<'_, M>) {
        if !text.is_empty() {
            self.chunks = Chunks::new(text);
        }
        let (piece, more) = self.chunks.next(LOGIN_SEGMENT_BYTES);
        let piece = piece.to_vec();
        let mut response = self.response(request, transit && !more);
        response.more = more;
        self.put(response, &piece, io);
    }

    fn put(&self, mut response: LoginResponse, text: &[u8], io: &mut Turn<'_, M>) {
        response.data_len = text.len() as u32;
        io.send.put(&response.build(), text, Digests::default());
    }

    fn answer_refusal(
        &mut self,
        request: &LoginRequest,
        refused: Refused,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        let Refused(status, why) = refused;
        tracing::warn!(peer = %self.peer, initiator = self.initiator, %status, why, "login refused");
        let mut response = self.response(request, false);
        response.status = status;
        self.put(response, &[], io);
        Err(Close::Finished)
    }
}

/// What a request leads to.
enum Outcome {
    Answer {
        text: Vec<u8>,
        transit: bool,
    },
    /// The full feature phase, if the session can be opened; with the text of the last response.
    Enter(Vec<u8>),
}
