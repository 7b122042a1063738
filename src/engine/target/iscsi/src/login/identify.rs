//! Who is there and what it wants: names, proof, operational keys (RFC 7143 sections 6.3.1, 12 and 13).

use plimsoll_wire::iscsi::chap::Verifier;
use plimsoll_wire::iscsi::pdu::{LoginRequest, LoginStatus, Stage};
use plimsoll_wire::iscsi::{name, text};

use super::{Login, Proof, Refused, refuse};
use crate::access::{self, Verdict};
use crate::mover::Mover;
use crate::registry::SessionName;

impl<M: Mover> Login<M> {
    /// The names of the first request (section 6.3.1): whose session, with which target.
    pub(super) fn identify(
        &mut self,
        pairs: &[(&str, &str)],
        request: &LoginRequest,
        answer: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let find = |key: &str| pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let Some(initiator) = find("InitiatorName") else {
            return refuse(LoginStatus::MISSING_PARAMETER, "InitiatorName is missing");
        };
        if !name::is_valid(initiator) {
            return refuse(LoginStatus::INITIATOR_ERROR, "InitiatorName is not an iSCSI name");
        }
        initiator.clone_into(&mut self.initiator);
        let address = self.peer.ip();
        let verdict = match find("SessionType").unwrap_or("Normal") {
            "Discovery" => {
                self.negotiator.set_discovery();
                let chap = self.shared.settings.discovery_chap.clone();
                chap.map_or(Verdict::Open, Verdict::Chap)
            }
            "Normal" => {
                let Some(wanted) = find("TargetName") else {
                    return refuse(LoginStatus::MISSING_PARAMETER, "TargetName is missing");
                };
                let Some(target) = self.shared.target(wanted) else {
                    return refuse(
                        LoginStatus::NOT_FOUND,
                        format!("there is no target {wanted:?}"),
                    );
                };
                let verdict = access::judge(&target.settings.access, initiator, address);
                if let Some(alias) = &target.settings.alias {
                    text::append(answer, "TargetAlias", alias);
                }
                // Section 13.9: told in the first response of a session with a target.
                text::append(answer, "TargetPortalGroupTag", &self.group.to_string());
                self.target = Some(target);
                verdict
            }
            _ => return refuse(LoginStatus::SESSION_TYPE_NOT_SUPPORTED, "unknown SessionType"),
        };
        match verdict {
            Verdict::Forbidden => {
                return refuse(LoginStatus::FORBIDDEN, "no access rule matches");
            }
            Verdict::Open => {}
            Verdict::Chap(chap) => {
                if request.stage != Stage::Security {
                    return refuse(LoginStatus::AUTHENTICATION_FAILED, "CHAP is required");
                }
                self.proof = Proof::Needed(Verifier::new(chap.users, chap.mutual));
            }
        }
        if request.tsih != 0 {
            // Section 6.3.3: one connection per session, so there is none to be added.
            let known = self.shared.registry.contains(&self.session_name(request), request.tsih);
            return if known {
                refuse(LoginStatus::TOO_MANY_CONNECTIONS, "MaxConnections is 1")
            } else {
                refuse(LoginStatus::SESSION_DOES_NOT_EXIST, "unknown TSIH")
            };
        }
        self.identified = true;
        Ok(())
    }

    pub(super) fn session_name(&self, request: &LoginRequest) -> SessionName {
        SessionName {
            initiator: self.initiator.clone(),
            isid: request.isid,
            target: self.target.as_ref().map(|target| target.settings.name.clone()),
            group: self.group,
        }
    }

    /// Everything but the names.
    pub(super) fn keys(
        &mut self,
        pairs: &[(&str, &str)],
        answer: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        for (key, value) in pairs {
            match *key {
                "InitiatorName" if *value != self.initiator => {
                    return refuse(LoginStatus::INITIATOR_ERROR, "InitiatorName changes");
                }
                "InitiatorName" | "TargetName" | "SessionType" | "InitiatorAlias" => {}
                "AuthMethod" => {
                    let method = self.method(value)?;
                    text::append(answer, "AuthMethod", method);
                }
                key if key.starts_with("CHAP_") => {} // together, below
                key => {
                    let reply = self.negotiator.receive(key, value);
                    let reply = reply
                        .or_else(|error| refuse(LoginStatus::INITIATOR_ERROR, error.to_string()))?;
                    if let Some(reply) = reply {
                        text::append(answer, key, &reply);
                    }
                }
            }
        }
        let chap: Vec<_> =
            pairs.iter().filter(|(key, _)| key.starts_with("CHAP_")).copied().collect();
        if chap.is_empty() {
            return Ok(());
        }
        let Proof::Chap(verifier) = &mut self.proof else {
            return refuse(LoginStatus::AUTHENTICATION_FAILED, "CHAP keys without AuthMethod");
        };
        let mut sound = true;
        let reply = verifier.receive(&chap, &mut |bytes| sound &= getrandom::fill(bytes).is_ok());
        if !sound {
            return refuse(LoginStatus::TARGET_ERROR, "the system has no randomness to give");
        }
        let reply =
            reply.or_else(|error| refuse(LoginStatus::AUTHENTICATION_FAILED, error.to_string()))?;
        for (key, value) in reply {
            text::append(answer, key, &value);
        }
        Ok(())
    }

    /// Chooses from the initiator's list of methods (section 12.1).
    pub(super) fn method(&mut self, offered: &str) -> Result<&'static str, Refused> {
        let offers = |method: &str| offered.split(',').any(|one| one == method);
        match std::mem::replace(&mut self.proof, Proof::NotNeeded) {
            Proof::NotNeeded if offers("None") => Ok("None"),
            Proof::NotNeeded => {
                refuse(LoginStatus::AUTHENTICATION_FAILED, "no credentials are configured")
            }
            Proof::Needed(verifier) if offers("CHAP") => {
                self.proof = Proof::Chap(verifier);
                Ok("CHAP")
            }
            Proof::Needed(_) => refuse(LoginStatus::AUTHENTICATION_FAILED, "CHAP is required"),
            Proof::Chap(_) => refuse(LoginStatus::INITIATOR_ERROR, "AuthMethod comes twice"),
        }
    }
}
