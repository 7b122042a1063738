//! The end of a login: the session enters the list, its nexus is opened, the initiator is told.

use std::sync::Arc;

use plimsoll_fabric::Close;
use plimsoll_target_scsi::{Initiator, Notice};
use plimsoll_wire::iscsi::pdu::{LoginRequest, LoginStatus, Sequence};

use super::{Login, REINSTATEMENT_WAIT, Refused, Step, Waiting};
use crate::connection::Event;
use crate::mover::{Mover, Turn};
use crate::registry::Refusal;
use crate::session::{Peer, Session};

impl<M: Mover> Login<M> {
    /// The last step: the session enters the list, the nexus is opened, the initiator is told.
    pub(super) fn enter(
        &mut self,
        request: LoginRequest,
        answer: Vec<u8>,
        io: &mut Turn<'_, M>,
    ) -> Result<Step<M>, Close> {
        match self.open(&request, io) {
            Ok((session, tsih)) => {
                let mut response = self.response(&request, true);
                response.tsih = tsih;
                self.put(response, &answer, io);
                Ok(Step::Full(session))
            }
            Err(None) => {
                *io.deadline = Some(io.now + REINSTATEMENT_WAIT);
                self.waiting = Some(Waiting { request, answer });
                Ok(Step::Continue)
            }
            Err(Some(refused)) => {
                self.answer_refusal(&request, refused, io).map(|()| Step::Continue)
            }
        }
    }

    /// `Err(None)`: an older session of that name has to be gone first.
    fn open(
        &mut self,
        request: &LoginRequest,
        io: &Turn<'_, M>,
    ) -> Result<(Box<Session<M>>, u16), Option<Refused>> {
        let parameters = self
            .negotiator
            .finish()
            .map_err(|error| Some(Refused(LoginStatus::INITIATOR_ERROR, error.to_string())))?;
        let settings = &self.shared.settings;
        let name = self.session_name(request);
        let entered = self.shared.registry.enter(
            &name,
            (self.peer, M::TRANSPORT),
            &self.remote,
            settings.sessions,
            settings.sessions_per_initiator,
        );
        let registered = match entered {
            Ok(registered) => registered,
            Err(Refusal::Wait) => return Err(None),
            Err(Refusal::Full) => {
                let why = "the limit of sessions is reached".to_owned();
                return Err(Some(Refused(LoginStatus::OUT_OF_RESOURCES, why)));
            }
        };
        let nexus = match &self.target {
            None => None,
            Some(target) => {
                let initiator = Initiator {
                    name: self.initiator.clone(),
                    isid: request.isid.0,
                    address: self.peer.ip(),
                };
                let remote = self.remote.clone();
                let notify = Box::new(move |notice: Notice| remote.post(Event::Notice(notice)));
                let Some(nexus) = target.device.login(initiator, self.group, notify) else {
                    let why = format!("the target has no port in portal group {}", self.group);
                    return Err(Some(Refused(LoginStatus::TARGET_ERROR, why)));
                };
                Some(nexus)
            }
        };
        self.negotiator.enter_full_feature();
        let tsih = registered.tsih;
        let peer = Peer {
            initiator: std::mem::take(&mut self.initiator),
            target: self.target.as_ref().map(|target| target.settings.name.clone()),
            address: self.peer,
            local: self.local,
            cid: request.cid,
        };
        self.pending = None; // no longer a login
        tracing::info!(
            peer = %self.peer,
            initiator = peer.initiator,
            target = peer.target.as_deref().unwrap_or("(discovery)"),
            tsih,
            transport = M::TRANSPORT.name(),
            "session opened"
        );
        let session = Session::new(
            Arc::clone(&self.shared),
            self.remote.clone(),
            peer,
            nexus,
            (self.negotiator.clone(), parameters),
            // The last login response takes the present StatSN.
            Sequence {
                stat_sn: self.stat_sn.wrapping_add(1),
                exp_cmd_sn: request.cmd_sn,
                max_cmd_sn: self.max_cmd_sn(request),
            },
            registered,
            io.now,
        );
        Ok((Box::new(session), tsih))
    }
}
