//! The state machine of persistent reservations (SPC-5 5.14), without locks or I/O.
//!
//! Each service action returns what the nexuses must be told as a list of [`Effect`]s. A registration belongs
//! to an initiator port and a target port; with ALL_TG_PT it covers every port of the target, and one made
//! by SPEC_I_PT for a bare initiator name covers every port of that initiator.

use std::sync::Arc;

use plimsoll_wire::scsi::reservation::ReservationKind;
use plimsoll_wire::scsi::{Additional, Sense, TransportId};

use crate::attachment::NexusIdentity;

/// Registrations that a unit keeps at most.
const MAX_REGISTRATIONS: usize = 4096;

/// A registered I_T nexus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registration {
    /// Reservation key, never 0.
    pub key: u64,
    /// Initiator port; a missing ISID stands for all ports of the initiator.
    pub initiator: TransportId,
    /// SCSI device name of the target.
    pub device: Arc<str>,
    /// Relative target port; `None` stands for all.
    pub port: Option<u16>,
}

impl Registration {
    /// Whether the registration covers a nexus.
    pub fn covers(&self, nexus: &NexusIdentity) -> bool {
        self.initiator.name == nexus.initiator.name
            && (self.initiator.isid.is_none() || self.initiator.isid == nexus.initiator.isid)
            && self.device == nexus.device
            && self.port.is_none_or(|port| port == nexus.relative_port)
    }
}

/// What a service action means for the nexuses of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Who is concerned.
    pub registration: Registration,
    /// The unit attention they get, unless they sent the command.
    pub attention: Additional,
    /// Their tasks are aborted, too (PREEMPT AND ABORT).
    pub abort: bool,
}

/// Why a service action fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// RESERVATION CONFLICT.
    Conflict,
    /// CHECK CONDITION.
    Check(Sense),
}

impl From<Sense> for Refusal {
    fn from(sense: Sense) -> Self {
        Self::Check(sense)
    }
}

type Outcome = Result<Vec<Effect>, Refusal>;

/// What a REGISTER asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Register<'a> {
    pub key: u64,
    pub action_key: u64,
    /// REGISTER AND IGNORE EXISTING KEY.
    pub ignore_key: bool,
    /// SPEC_I_PT.
    pub initiators: Option<&'a [TransportId]>,
    /// ALL_TG_PT.
    pub all_ports: bool,
    /// APTPL.
    pub persist: bool,
}

/// Registrations and the reservation of a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Persistent {
    /// PRGENERATION.
    pub generation: u32,
    pub registrations: Vec<Registration>,
    /// Kind of the reservation and the index of its holder; of an all-registrants kind every registrant
    /// holds it and the index means nothing.
    pub held: Option<(ReservationKind, usize)>,
    /// APTPL of the last registration: survives a loss of power.
    pub persist: bool,
}

impl Persistent {
    /// The registration of a nexus: the one that names it most closely.
    fn find(&self, nexus: &NexusIdentity) -> Option<usize> {
        let covering = self.registrations.iter().enumerate().filter(|(_, r)| r.covers(nexus));
        covering.max_by_key(|(_, r)| (r.initiator.isid.is_some(), r.port.is_some())).map(|(i, _)| i)
    }

    /// Whether a nexus is registered.
    pub fn is_registered(&self, nexus: &NexusIdentity) -> bool {
        self.find(nexus).is_some()
    }

    /// Whether a registration holds the reservation.
    pub fn is_holder(&self, index: usize) -> bool {
        self.held.is_some_and(|(kind, holder)| kind.all_registrants() || holder == index)
    }

    /// The kind of the reservation, when it denies something to a nexus (SPC-5 table 73).
    pub fn denies(&self, nexus: &NexusIdentity) -> Option<ReservationKind> {
        let (kind, holder) = self.held?;
        let allowed = match self.find(nexus) {
            Some(index) => kind.registrants() || holder == index,
            None => false,
        };
        (!allowed).then_some(kind)
    }

    /// The registration of a nexus that gave the right key.
    fn registrant(&self, nexus: &NexusIdentity, key: u64) -> Result<usize, Refusal> {
        let index = self.find(nexus).ok_or(Refusal::Conflict)?;
        if self.registrations[index].key == key { Ok(index) } else { Err(Refusal::Conflict) }
    }

    /// REGISTER and REGISTER AND IGNORE EXISTING KEY (SPC-5 5.14.7).
    pub fn register(&mut self, nexus: &NexusIdentity, ask: Register<'_>) -> Outcome {
        let present = self.find(nexus);
        if !ask.ignore_key {
            let expected = present.map_or(0, |index| self.registrations[index].key);
            if ask.key != expected {
                return Err(Refusal::Conflict);
            }
        }
        // SPEC_I_PT goes with a first REGISTER alone (SPC-5 6.17.3).
        if ask.initiators.is_some() && (ask.ignore_key || present.is_some()) {
            return Err(Sense::parameter_field(20, Some(3)).into());
        }
        let mut effects = Vec::new();
        match (present, ask.action_key) {
            (None, 0) => {}
            (Some(index), 0) => effects = self.unregister(index),
            (Some(index), key) => self.registrations[index].key = key,
            (None, key) => self.add(nexus, key, ask)?,
        }
        self.generation = self.generation.wrapping_add(1);
        self.persist = ask.persist;
        Ok(effects)
    }

    fn add(&mut self, nexus: &NexusIdentity, key: u64, ask: Register<'_>) -> Result<(), Refusal> {
        let port = (!ask.all_ports).then_some(nexus.relative_port);
        let others = ask.initiators.unwrap_or_default();
        let new: Vec<_> = std::iter::once(&nexus.initiator)
            .chain(others)
            .map(|initiator| Registration {
                key,
                initiator: initiator.clone(),
                device: Arc::clone(&nexus.device),
                port,
            })
            .collect();
        // A port that is registered already, or named twice, fails the whole command.
        let clash = |i: usize, r: &Registration| {
            let known = self.registrations.iter().chain(&new[..i]);
            known.into_iter().any(|k| {
                (&k.initiator, &k.device) == (&r.initiator, &r.device)
                    && (k.port.is_none() || r.port.is_none() || k.port == r.port)
            })
        };
        if new.iter().enumerate().skip(1).any(|(i, r)| clash(i, r)) {
            return Err(Sense::parameter_field(28, None).into());
        }
        if self.registrations.len() + new.len() > MAX_REGISTRATIONS {
            return Err(Sense::illegal(Additional::INSUFFICIENT_REGISTRATION_RESOURCES).into());
        }
        self.registrations.extend(new);
        Ok(())
    }

    /// Takes a registration away; if that ends a reservation shared by registrants they are told
    /// (SPC-5 5.14.11.3).
    fn unregister(&mut self, index: usize) -> Vec<Effect> {
        let ends = self.held.filter(|(kind, holder)| {
            if kind.all_registrants() { self.registrations.len() == 1 } else { *holder == index }
        });
        self.remove(index);
        let Some((kind, _)) = ends else { return Vec::new() };
        self.held = None;
        if kind.registrants() {
            self.tell_all(Additional::RESERVATIONS_RELEASED)
        } else {
            Vec::new()
        }
    }

    /// Removes a registration and keeps the holder's index right.
    fn remove(&mut self, index: usize) -> Registration {
        if let Some((_, holder)) = &mut self.held
            && *holder > index
        {
            *holder -= 1;
        }
        self.registrations.remove(index)
    }

    fn tell_all(&self, attention: Additional) -> Vec<Effect> {
        let tell = |r: &Registration| Effect { registration: r.clone(), attention, abort: false };
        self.registrations.iter().map(tell).collect()
    }

    /// RESERVE (SPC-5 5.14.9).
    pub fn reserve(&mut self, nexus: &NexusIdentity, key: u64, kind: ReservationKind) -> Outcome {
        let index = self.registrant(nexus, key)?;
        match self.held {
            None => self.held = Some((kind, index)),
            Some((held, _)) if held == kind && self.is_holder(index) => {}
            Some(_) => return Err(Refusal::Conflict),
        }
        Ok(Vec::new())
    }

    /// RELEASE (SPC-5 5.14.11.2).
    pub fn release(&mut self, nexus: &NexusIdentity, key: u64, kind: ReservationKind) -> Outcome {
        let index = self.registrant(nexus, key)?;
        let Some((held, _)) = self.held else { return Ok(Vec::new()) };
        if !self.is_holder(index) {
            return Ok(Vec::new());
        }
        if held != kind {
            let sense = Sense::illegal(Additional::INVALID_RELEASE_OF_PERSISTENT_RESERVATION);
            return Err(sense.into());
        }
        self.held = None;
        if !held.registrants() {
            return Ok(Vec::new());
        }
        Ok(self.tell_all(Additional::RESERVATIONS_RELEASED))
    }

    /// CLEAR (SPC-5 5.14.11.6).
    pub fn clear(&mut self, nexus: &NexusIdentity, key: u64) -> Outcome {
        self.registrant(nexus, key)?;
        let effects = self.tell_all(Additional::RESERVATIONS_PREEMPTED);
        self.registrations.clear();
        self.held = None;
        self.generation = self.generation.wrapping_add(1);
        Ok(effects)
    }

    /// PREEMPT and PREEMPT AND ABORT (SPC-5 5.14.11.4, 5.14.11.5).
    pub fn preempt(
        &mut self,
        nexus: &NexusIdentity,
        key: u64,
        action_key: u64,
        kind: ReservationKind,
        abort: bool,
    ) -> Outcome {
        let own = self.registrant(nexus, key)?;
        let takes_over = match self.held {
            Some((held, _)) if held.all_registrants() => action_key == 0,
            Some((_, holder)) => self.registrations[holder].key == action_key,
            None => false,
        };
        let everyone = action_key == 0 && self.held.is_some_and(|(held, _)| held.all_registrants());
        if action_key == 0 && !everyone {
            return Err(Sense::parameter_field(8, None).into());
        }
        if !everyone && self.registrations.iter().all(|r| r.key != action_key) {
            return Err(Refusal::Conflict);
        }
        let before = self.held;
        let own_registration = self.registrations[own].clone();
        let mut effects = Vec::new();
        for index in (0..self.registrations.len()).rev() {
            let registration = &self.registrations[index];
            // A nexus that preempts its own key keeps its registration.
            if (everyone || registration.key == action_key) && *registration != own_registration {
                let registration = self.remove(index);
                let attention = Additional::REGISTRATIONS_PREEMPTED;
                effects.push(Effect { registration, attention, abort });
            }
        }
        if takes_over {
            let own = self.registrations.iter().position(|r| *r == own_registration);
            self.held = own.map(|own| (kind, own));
            if before.is_some_and(|(held, _)| held != kind) {
                effects.extend(self.tell_all(Additional::RESERVATIONS_RELEASED));
            }
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(effects)
    }

    /// REGISTER AND MOVE (SPC-5 5.14.8).
    pub fn register_and_move(
        &mut self,
        nexus: &NexusIdentity,
        ask: &plimsoll_wire::scsi::reservation::RegisterAndMove,
    ) -> Outcome {
        let own = self.registrant(nexus, ask.key)?;
        let Some((kind, _)) = self.held.filter(|(kind, holder)| {
            // A reservation that all registrants hold cannot move.
            !kind.all_registrants() && *holder == own
        }) else {
            return Err(Refusal::Conflict);
        };
        if ask.action_key == 0 {
            return Err(Sense::parameter_field(8, None).into());
        }
        let destination = Registration {
            key: ask.action_key,
            initiator: ask.initiator.clone(),
            device: Arc::clone(&nexus.device),
            port: Some(ask.relative_port),
        };
        if ask.initiator.isid.is_none() || destination.covers(nexus) {
            return Err(Sense::parameter_field(24, None).into());
        }
        let known = self.registrations.iter().position(|r| {
            (&r.initiator, &r.device, r.port)
                == (&destination.initiator, &destination.device, destination.port)
        });
        let to = match known {
            Some(index) => {
                self.registrations[index].key = ask.action_key;
                index
            }
            None if self.registrations.len() < MAX_REGISTRATIONS => {
                self.registrations.push(destination);
                self.registrations.len() - 1
            }
            None => {
                return Err(Sense::illegal(Additional::INSUFFICIENT_REGISTRATION_RESOURCES).into());
            }
        };
        self.held = Some((kind, to));
        if ask.unregister {
            self.remove(own);
        }
        self.generation = self.generation.wrapping_add(1);
        self.persist = ask.persist;
        Ok(Vec::new())
    }
}
