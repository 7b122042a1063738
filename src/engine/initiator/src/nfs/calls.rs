//! Calls without a reply, found by their transaction id without a search.
//!
//! The low half of a transaction id is an index, the high half counts how often the place was used: a late
//! reply to an earlier call never meets a later one. A call keeps its id when it is sent again after the loss
//! of its connection, so that the server can tell; a call with other arguments gets a new one.

use plimsoll_fabric::Payload;

/// Places there are.
pub(super) const MAX_CALLS: usize = 1 << 16;

/// What a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Commit,
    /// A sign of life.
    Null,
}

/// For whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A piece of this operation.
    Operation(usize),
    /// Data that a restarted server has lost.
    Rewrite,
    /// This client itself.
    Client,
}

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    pub kind: Kind,
    pub owner: Owner,
    pub offset: u64,
    pub len: u32,
    /// Data of a write.
    pub payload: Option<Payload>,
    /// Order of submission.
    pub sequence: u64,
    /// The flow it was sent on and that owes the reply.
    pub flow: Option<u16>,
    /// Connections it was lost with.
    pub losses: u8,
    /// Times the server asked to try later.
    pub delays: u8,
}

impl Call {
    /// A call that was not sent yet.
    pub fn new(
        kind: Kind,
        owner: Owner,
        offset: u64,
        len: u32,
        payload: Option<Payload>,
        sequence: u64,
    ) -> Self {
        Self { kind, owner, offset, len, payload, sequence, flow: None, losses: 0, delays: 0 }
    }
}

struct Place {
    generation: u16,
    call: Option<Call>,
}

/// All calls without a reply.
pub(super) struct Calls {
    places: Vec<Place>,
    free: Vec<u16>,
    first_generation: u16,
}

fn xid(generation: u16, index: u16) -> u32 {
    u32::from(generation) << 16 | u32::from(index)
}

fn index(xid: u32) -> u16 {
    (xid & 0xffff) as u16
}

fn generation(xid: u32) -> u16 {
    (xid >> 16) as u16
}

impl Calls {
    /// No calls; ids start at random, lest the server takes them for those of an earlier run.
    pub fn new() -> Self {
        let first_generation = generation(super::random());
        Self { places: Vec::new(), free: Vec::new(), first_generation }
    }

    /// How many calls can be added.
    pub fn room(&self) -> usize {
        MAX_CALLS - self.places.len() + self.free.len()
    }

    /// Adds a call and gives its id; none when there is no room.
    pub fn insert(&mut self, call: Call) -> Option<u32> {
        if let Some(index) = self.free.pop() {
            let place = &mut self.places[usize::from(index)];
            place.generation = place.generation.wrapping_add(1);
            place.call = Some(call);
            return Some(xid(place.generation, index));
        }
        let index = u16::try_from(self.places.len()).ok()?;
        self.places.push(Place { generation: self.first_generation, call: Some(call) });
        Some(xid(self.first_generation, index))
    }

    fn place(&mut self, xid: u32) -> Option<&mut Place> {
        self.places
            .get_mut(usize::from(index(xid)))
            .filter(|place| place.generation == generation(xid) && place.call.is_some())
    }

    /// The call with this id.
    pub fn get(&self, xid: u32) -> Option<&Call> {
        self.places
            .get(usize::from(index(xid)))
            .filter(|place| place.generation == generation(xid))
            .and_then(|place| place.call.as_ref())
    }

    /// The call with this id.
    pub fn get_mut(&mut self, xid: u32) -> Option<&mut Call> {
        self.place(xid)?.call.as_mut()
    }

    /// Takes the call with this id out.
    pub fn remove(&mut self, xid: u32) -> Option<Call> {
        let call = self.place(xid)?.call.take();
        self.free.push(index(xid));
        call
    }

    /// Gives the call a new id.
    pub fn renew(&mut self, id: u32) -> Option<u32> {
        let place = self.place(id)?;
        place.generation = place.generation.wrapping_add(1);
        Some(xid(place.generation, index(id)))
    }

    /// Every call with its id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Call)> {
        (0..)
            .zip(&self.places)
            .filter_map(|(index, place)| Some((xid(place.generation, index), place.call.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn call(offset: u64) -> Call {
        Call::new(Kind::Read, Owner::Client, offset, 1, None, 0)
    }

    #[test]
    fn a_late_reply_never_meets_a_later_call() {
        let mut calls = Calls::new();
        let first = calls.insert(call(1)).unwrap();
        assert_eq!(calls.get(first).unwrap().offset, 1);
        assert_eq!(calls.remove(first).unwrap().offset, 1);
        assert!(calls.get(first).is_none() && calls.remove(first).is_none());
        let second = calls.insert(call(2)).unwrap();
        assert_ne!(first, second);
        assert!(calls.get(first).is_none());
        let third = calls.renew(second).unwrap();
        assert!(calls.get(second).is_none());
        assert_eq!(calls.get(third).unwrap().offset, 2);
        assert_eq!(calls.iter().map(|(id, _)| id).collect::<Vec<_>>(), [third]);
    }

    #[test]
    fn every_place_is_used_once() {
        let mut calls = Calls::new();
        let mut ids: Vec<u32> =
            (0..MAX_CALLS as u64).map(|n| calls.insert(call(n)).unwrap()).collect();
        assert_eq!(calls.room(), 0);
        assert!(calls.insert(call(0)).is_none());
        for (offset, id) in (0..).zip(&ids) {
            assert_eq!(calls.get(*id).unwrap().offset, offset);
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), MAX_CALLS);
    }
}
