//! Persistent reservations: parameter data of PERSISTENT RESERVE IN (SPC-5 6.16) and OUT (SPC-5 6.17).

use super::bytes::{array, be16, be32, be64, close32};
use super::{TransportId, transport_ids};

/// Persistent reservation type (SPC-5 6.16.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReservationKind {
    /// Others may read.
    WriteExclusive = 0x1,
    /// Others may not even read.
    ExclusiveAccess = 0x3,
    /// Registrants share it; others may read.
    WriteExclusiveRegistrantsOnly = 0x5,
    /// Registrants share it; others may not even read.
    ExclusiveAccessRegistrantsOnly = 0x6,
    /// Every registrant holds it; others may read.
    WriteExclusiveAllRegistrants = 0x7,
    /// Every registrant holds it; others may not even read.
    ExclusiveAccessAllRegistrants = 0x8,
}

impl ReservationKind {
    /// The kind of this code.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x1 => Self::WriteExclusive,
            0x3 => Self::ExclusiveAccess,
            0x5 => Self::WriteExclusiveRegistrantsOnly,
            0x6 => Self::ExclusiveAccessRegistrantsOnly,
            0x7 => Self::WriteExclusiveAllRegistrants,
            0x8 => Self::ExclusiveAccessAllRegistrants,
            _ => return None,
        })
    }

    /// Whether every registrant holds the reservation.
    pub const fn all_registrants(self) -> bool {
        matches!(self, Self::WriteExclusiveAllRegistrants | Self::ExclusiveAccessAllRegistrants)
    }

    /// Whether registrants that do not hold the reservation have full access.
    pub const fn registrants(self) -> bool {
        !matches!(self, Self::WriteExclusive | Self::ExclusiveAccess)
    }

    /// Whether those without access may still read.
    pub const fn allows_reads(self) -> bool {
        matches!(
            self,
            Self::WriteExclusive
                | Self::WriteExclusiveRegistrantsOnly
                | Self::WriteExclusiveAllRegistrants
        )
    }
}

/// TYPE MASK with every kind, as in REPORT CAPABILITIES.
const ALL_KINDS: [u8; 2] = [0xea, 0x01];

/// Appends READ KEYS data.
pub fn write_keys(generation: u32, keys: impl Iterator<Item = u64>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&generation.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    for key in keys {
        out.extend_from_slice(&key.to_be_bytes());
    }
    close32(&mut out[start..], 4);
}

/// Reads READ KEYS data: generation and the keys present.
pub fn parse_keys(bytes: &[u8]) -> Option<(u32, impl Iterator<Item = u64> + '_)> {
    let length = be32(bytes, 4)? as usize;
    let list = bytes.get(8..)?;
    let list = &list[..list.len().min(length)];
    Some((be32(bytes, 0)?, list.as_chunks::<8>().0.iter().map(|&key| u64::from_be_bytes(key))))
}

/// Appends READ RESERVATION data: key and kind of the reservation, if there is one.
pub fn write_reservation(
    generation: u32,
    reservation: Option<(u64, ReservationKind)>,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.extend_from_slice(&generation.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    if let Some((key, kind)) = reservation {
        out.extend_from_slice(&key.to_be_bytes());
        out.extend_from_slice(&[0, 0, 0, 0, 0, kind as u8, 0, 0]);
    }
    close32(&mut out[start..], 4);
}

/// Reads READ RESERVATION data.
#[allow(clippy::type_complexity)]
pub fn parse_reservation(bytes: &[u8]) -> Option<(u32, Option<(u64, ReservationKind)>)> {
    let generation = be32(bytes, 0)?;
    if be32(bytes, 4)? < 16 {
        return Some((generation, None));
    }
    let kind = ReservationKind::from_code(bytes.get(21)? & 0x0f)?;
    Some((generation, Some((be64(bytes, 8)?, kind))))
}

/// REPORT CAPABILITIES data (SPC-5 6.16.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// CRH: RESERVE(6) and RELEASE(6) as SPC-2 defines them are compatible with a registration.
    pub compatible_reserve: bool,
    /// SIP_C: SPEC_I_PT.
    pub specify_initiator_ports: bool,
    /// ATP_C: ALL_TG_PT.
    pub all_target_ports: bool,
    /// PTPL_C: registrations can survive a loss of power.
    pub persist_capable: bool,
    /// PTPL_A: they do now.
    pub persist_active: bool,
}

impl Capabilities {
    /// Appends the data. Every reservation kind is told as supported.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[
            0,
            8,
            u8::from(self.compatible_reserve) << 4
                | u8::from(self.specify_initiator_ports) << 3
                | u8::from(self.all_target_ports) << 2
                | u8::from(self.persist_capable),
            0x80 | u8::from(self.persist_active),
            ALL_KINDS[0],
            ALL_KINDS[1],
            0,
            0,
        ]);
    }

    /// Reads the data.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [_, _, capable, active, ..] = array::<8>(bytes, 0)?;
        Some(Self {
            compatible_reserve: capable & 0x10 != 0,
            specify_initiator_ports: capable & 8 != 0,
            all_target_ports: capable & 4 != 0,
            persist_capable: capable & 1 != 0,
            persist_active: active & 1 != 0,
        })
    }
}

/// A registration in READ FULL STATUS data (SPC-5 6.16.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullStatus {
    /// Reservation key.
    pub key: u64,
    /// ALL_TG_PT: the registration covers every target port.
    pub all_target_ports: bool,
    /// R_HOLDER and the kind of the reservation that is held.
    pub holds: Option<ReservationKind>,
    /// RELATIVE TARGET PORT IDENTIFIER.
    pub relative_port: u16,
    /// The initiator port.
    pub initiator: TransportId,
}

/// Appends READ FULL STATUS data.
pub fn write_full_status(generation: u32, list: &[FullStatus], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&generation.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    for status in list {
        let at = out.len();
        out.extend_from_slice(&status.key.to_be_bytes());
        out.extend_from_slice(&[
            0,
            0,
            0,
            0,
            u8::from(status.all_target_ports) << 1 | u8::from(status.holds.is_some()),
            status.holds.map_or(0, |kind| kind as u8),
            0,
            0,
            0,
            0,
        ]);
        out.extend_from_slice(&status.relative_port.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        status.initiator.write(out);
        close32(&mut out[at..], 20);
    }
    close32(&mut out[start..], 4);
}

/// Reads READ FULL STATUS data; a descriptor that is cut short or not of iSCSI ends the list.
pub fn parse_full_status(bytes: &[u8]) -> Option<(u32, Vec<FullStatus>)> {
    let generation = be32(bytes, 0)?;
    let length = be32(bytes, 4)? as usize;
    let mut list = bytes.get(8..)?;
    list = &list[..list.len().min(length)];
    let mut all = Vec::new();
    while let Some(initiator_length) = be32(list, 20) {
        let Some(end) = (initiator_length as usize).checked_add(24) else { break };
        let Some(descriptor) = list.get(..end) else { break };
        let (Some(key), Some(relative_port)) = (be64(descriptor, 0), be16(descriptor, 18)) else {
            break;
        };
        let Some((initiator, _)) = TransportId::parse(&descriptor[24..]) else { break };
        let holds = (descriptor[12] & 1 != 0)
            .then(|| ReservationKind::from_code(descriptor[13] & 0x0f))
            .flatten();
        let all_target_ports = descriptor[12] & 2 != 0;
        all.push(FullStatus { key, all_target_ports, holds, relative_port, initiator });
        list = &list[end..];
    }
    Some((generation, all))
}

/// Parameter list of PERSISTENT RESERVE OUT, but for REGISTER AND MOVE (SPC-5 6.17.3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReserveOut {
    /// RESERVATION KEY: the key this nexus is registered with.
    pub key: u64,
    /// SERVICE ACTION RESERVATION KEY.
    pub action_key: u64,
    /// SPEC_I_PT: registers these initiator ports as well.
    pub initiators: Option<Vec<TransportId>>,
    /// ALL_TG_PT.
    pub all_target_ports: bool,
    /// APTPL: persist through power loss.
    pub persist: bool,
}

/// Why a PERSISTENT RESERVE OUT parameter list is wrong: PARAMETER LIST LENGTH ERROR or the offset of the
/// field in error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReserveOutError {
    /// Too short, or a length inside does not fit.
    Length,
    /// An invalid field at this byte.
    Field(u16),
}

impl ReserveOut {
    /// Appends the list.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key.to_be_bytes());
        out.extend_from_slice(&self.action_key.to_be_bytes());
        out.extend_from_slice(&[
            0,
            0,
            0,
            0,
            u8::from(self.initiators.is_some()) << 3
                | u8::from(self.all_target_ports) << 2
                | u8::from(self.persist),
            0,
            0,
            0,
        ]);
        if let Some(initiators) = &self.initiators {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            for initiator in initiators {
                initiator.write(out);
            }
            close32(&mut out[at..], 0);
        }
    }

    /// Reads a list of exactly the length that the CDB told.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReserveOutError> {
        let fixed: &[u8; 24] = bytes.first_chunk().ok_or(ReserveOutError::Length)?;
        let flags = fixed[20];
        let initiators = if flags & 8 != 0 {
            let length = be32(bytes, 24).ok_or(ReserveOutError::Length)? as usize;
            let list = bytes.get(28..).filter(|list| list.len() == length);
            let list = list.ok_or(ReserveOutError::Length)?;
            let initiators: Option<Vec<_>> = transport_ids(list).collect();
            Some(initiators.ok_or(ReserveOutError::Field(28))?)
        } else if bytes.len() == 24 {
            None
        } else {
            return Err(ReserveOutError::Length);
        };
        Ok(Self {
            key: be64(bytes, 0).unwrap_or(0),
            action_key: be64(bytes, 8).unwrap_or(0),
            initiators,
            all_target_ports: flags & 4 != 0,
            persist: flags & 1 != 0,
        })
    }
}

/// Parameter list of REGISTER AND MOVE (SPC-5 6.17.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterAndMove {
    /// RESERVATION KEY.
    pub key: u64,
    /// The key that the destination gets.
    pub action_key: u64,
    /// UNREG: the source loses its registration.
    pub unregister: bool,
    /// APTPL.
    pub persist: bool,
    /// Target port of the destination.
    pub relative_port: u16,
    /// Initiator port of the destination.
    pub initiator: TransportId,
}

impl RegisterAndMove {
    /// Appends the list.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key.to_be_bytes());
        out.extend_from_slice(&self.action_key.to_be_bytes());
        out.extend_from_slice(&[0, u8::from(self.unregister) << 1 | u8::from(self.persist)]);
        out.extend_from_slice(&self.relative_port.to_be_bytes());
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        self.initiator.write(out);
        close32(&mut out[at..], 0);
    }

    /// Reads the list.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReserveOutError> {
        let length = be32(bytes, 20).ok_or(ReserveOutError::Length)? as usize;
        let list = bytes.get(24..).filter(|list| list.len() == length);
        let list = list.ok_or(ReserveOutError::Length)?;
        match TransportId::parse(list) {
            Some((initiator, used)) if used == length => Ok(Self {
                key: be64(bytes, 0).unwrap_or(0),
                action_key: be64(bytes, 8).unwrap_or(0),
                unregister: bytes[17] & 2 != 0,
                persist: bytes[17] & 1 != 0,
                relative_port: be16(bytes, 18).unwrap_or(0),
                initiator,
            }),
            _ => Err(ReserveOutError::Field(24)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn initiator(isid: Option<[u8; 6]>) -> TransportId {
        TransportId { name: "iqn.2026-11.test:host".to_owned(), isid }
    }

    #[test]
    fn spc5_6_16_in_data_round_trips() {
        let mut bytes = Vec::new();
        write_keys(7, [1, u64::MAX].into_iter(), &mut bytes);
        let (generation, keys) = parse_keys(&bytes).unwrap();
        assert_eq!((generation, keys.collect::<Vec<_>>()), (7, vec![1, u64::MAX]));

        for held in [None, Some((9, ReservationKind::ExclusiveAccessAllRegistrants))] {
            bytes.clear();
            write_reservation(8, held, &mut bytes);
            assert_eq!(parse_reservation(&bytes), Some((8, held)));
        }

        let capabilities = Capabilities {
            compatible_reserve: true,
            specify_initiator_ports: true,
            all_target_ports: true,
            persist_capable: true,
            persist_active: false,
        };
        bytes.clear();
        capabilities.write(&mut bytes);
        assert_eq!(bytes, [0, 8, 0x1d, 0x80, 0xea, 0x01, 0, 0]);
        assert_eq!(Capabilities::parse(&bytes), Some(capabilities));
    }

    #[test]
    fn spc5_6_16_5_full_status_round_trips_and_survives_truncation() {
        let list = [
            FullStatus {
                key: 1,
                all_target_ports: false,
                holds: Some(ReservationKind::WriteExclusive),
                relative_port: 2,
                initiator: initiator(Some([0x80, 1, 2, 3, 4, 5])),
            },
            FullStatus {
                key: 2,
                all_target_ports: true,
                holds: None,
                relative_port: 1,
                initiator: initiator(None),
            },
        ];
        let mut bytes = Vec::new();
        write_full_status(3, &list, &mut bytes);
        assert_eq!(parse_full_status(&bytes), Some((3, list.to_vec())));
        for cut in 8..bytes.len() {
            assert!(parse_full_status(&bytes[..cut]).unwrap().1.len() < 2);
        }
    }

    #[test]
    fn spc5_6_17_3_out_list_round_trips_and_its_length_must_match() {
        let mut out = ReserveOut {
            key: 1,
            action_key: 2,
            initiators: Some(vec![initiator(None), initiator(Some([1; 6]))]),
            all_target_ports: true,
            persist: true,
        };
        let mut bytes = Vec::new();
        out.write(&mut bytes);
        assert_eq!(ReserveOut::parse(&bytes), Ok(out.clone()));
        assert_eq!(ReserveOut::parse(&bytes[..bytes.len() - 4]), Err(ReserveOutError::Length));
        out.initiators = None;
        bytes.clear();
        out.write(&mut bytes);
        assert_eq!(ReserveOut::parse(&bytes), Ok(out));
        bytes.push(0);
        assert_eq!(ReserveOut::parse(&bytes), Err(ReserveOutError::Length));
    }

    #[test]
    fn spc5_6_17_4_register_and_move_round_trips() {
        let list = RegisterAndMove {
            key: 1,
            action_key: 2,
            unregister: true,
            persist: false,
            relative_port: 3,
            initiator: initiator(Some([9; 6])),
        };
        let mut bytes = Vec::new();
        list.write(&mut bytes);
        assert_eq!(RegisterAndMove::parse(&bytes), Ok(list));
        assert_eq!(RegisterAndMove::parse(&bytes[..20]), Err(ReserveOutError::Length));
        bytes[24] = 0x00; // Fibre Channel
        assert_eq!(RegisterAndMove::parse(&bytes), Err(ReserveOutError::Field(24)));
    }
}
