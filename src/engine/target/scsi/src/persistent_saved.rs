//! How persistent reservations are written down to survive a loss of power (APTPL).
//!
//! Lines of words, so that an administrator can read them: a version, the generation, each registration, and
//! the reservation with the number of its holder. iSCSI names have no blanks (RFC 7143 4.2.7.2).

use std::fmt::Write;
use std::sync::Arc;

use plimsoll_wire::scsi::TransportId;
use plimsoll_wire::scsi::reservation::ReservationKind;

use crate::persistent::{Persistent, Registration};

const VERSION: &str = "persistent-reservations 1";

impl Persistent {
    /// The state as text.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = format!("{VERSION}\ngeneration {}\n", self.generation);
        for r in &self.registrations {
            let isid = r.initiator.isid.map_or_else(
                || "*".to_owned(),
                |isid| isid.iter().map(|b| format!("{b:02x}")).collect(),
            );
            let port = r.port.map_or_else(|| "*".to_owned(), |port| port.to_string());
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "registration {:016x} {} {isid} {} {port}",
                r.key, r.initiator.name, r.device
            );
        }
        if let Some((kind, holder)) = self.held {
            let _ = writeln!(text, "held {} {holder}", kind as u8);
        }
        text.into_bytes()
    }

    /// Reads what [`encode`](Self::encode) wrote; `None` when it is anything else.
    pub fn decode(saved: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(saved).ok()?.lines();
        if lines.next() != Some(VERSION) {
            return None;
        }
        let mut state = Self { persist: true, ..Self::default() };
        for line in lines {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["generation", number] => state.generation = number.parse().ok()?,
                ["registration", key, name, isid, device, port] => {
                    state.registrations.push(Registration {
                        key: u64::from_str_radix(key, 16).ok()?,
                        initiator: TransportId { name: name.to_owned(), isid: parse_isid(isid)? },
                        device: Arc::from(device),
                        port: if port == "*" { None } else { Some(port.parse().ok()?) },
                    });
                }
                ["held", kind, holder] => {
                    let kind = ReservationKind::from_code(kind.parse().ok()?)?;
                    state.held = Some((kind, holder.parse().ok()?));
                }
                _ => return None,
            }
        }
        let whole = state.held.is_none_or(|(_, holder)| holder < state.registrations.len());
        whole.then_some(state)
    }
}

fn parse_isid(text: &str) -> Option<Option<[u8; 6]>> {
    if text == "*" {
        return Some(None);
    }
    if text.len() != 12 {
        return None;
    }
    let [_, _, isid @ ..] = u64::from_str_radix(text, 16).ok()?.to_be_bytes();
    Some(Some(isid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> Persistent {
        let registration = |key, isid, port| Registration {
            key,
            initiator: TransportId { name: "iqn.2026-11.test:host".to_owned(), isid },
            device: Arc::from("iqn.2026-11.test:array"),
            port,
        };
        Persistent {
            generation: 7,
            registrations: vec![
                registration(u64::MAX, Some([0x80, 0, 0, 0, 0, 1]), Some(1)),
                registration(2, None, None),
            ],
            held: Some((ReservationKind::WriteExclusive, 1)),
            persist: true,
        }
    }

    #[test]
    fn spc5_5_14_5_what_is_saved_is_restored() {
        for held in [state().held, None] {
            let state = Persistent { held, ..state() };
            assert_eq!(Persistent::decode(&state.encode()), Some(state));
        }
    }

    #[test]
    fn a_damaged_save_is_refused_whole() {
        let text = String::from_utf8_lossy(&state().encode()).into_owned();
        for (from, to) in [
            ("reservations 1", "reservations 2"),
            ("held 1 1", "held 1 2"),
            ("held 1 1", "held 2 1"),
            ("800000000001", "80000000001"),
            ("generation 7", "generation"),
        ] {
            assert!(text.contains(from));
            assert_eq!(Persistent::decode(text.replace(from, to).as_bytes()), None, "{to}");
        }
        assert_eq!(Persistent::decode(&[0xff]), None);
        assert_eq!(Persistent::decode(b""), None);
    }
}
