//! Asymmetric logical unit access: REPORT and SET TARGET PORT GROUPS parameter data (SPC-5 6.37, 6.45).

use super::bytes::{be16, be32, close32};

/// SUPPORTED STATES bits of a target port group descriptor.
pub mod supported {
    /// Active/optimized.
    pub const ACTIVE_OPTIMIZED: u8 = 0x01;
    /// Active/non-optimized.
    pub const ACTIVE_NON_OPTIMIZED: u8 = 0x02;
    /// Standby.
    pub const STANDBY: u8 = 0x04;
    /// Unavailable.
    pub const UNAVAILABLE: u8 = 0x08;
}

/// A target port group descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortGroup {
    /// PREF: the array prefers these ports.
    pub preferred: bool,
    /// ASYMMETRIC ACCESS STATE.
    pub state: u8,
    /// States it can take.
    pub supported: u8,
    /// TARGET PORT GROUP.
    pub group: u16,
    /// STATUS CODE: 0 none, 1 by SET TARGET PORT GROUPS, 2 by itself.
    pub status: u8,
    /// Relative target port identifiers.
    pub ports: Vec<u16>,
}

/// Appends REPORT TARGET PORT GROUPS data; with the extended header when `transition_seconds` is given.
pub fn write_port_groups(groups: &[PortGroup], transition_seconds: Option<u8>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    if let Some(seconds) = transition_seconds {
        out.extend_from_slice(&[0x10, seconds, 0, 0]);
    }
    for group in groups {
        let [high, low] = group.group.to_be_bytes();
        out.extend_from_slice(&[
            u8::from(group.preferred) << 7 | group.state & 0x0f,
            group.supported,
            high,
            low,
            0,
            group.status,
            0,
            group.ports.len() as u8,
        ]);
        for port in &group.ports {
            out.extend_from_slice(&[0, 0]);
            out.extend_from_slice(&port.to_be_bytes());
        }
    }
    close32(&mut out[start..], 0);
}

/// Reads REPORT TARGET PORT GROUPS data in either format; a descriptor cut short ends the list.
pub fn parse_port_groups(bytes: &[u8]) -> Option<Vec<PortGroup>> {
    let length = be32(bytes, 0)? as usize;
    let mut list = bytes.get(4..)?;
    list = &list[..list.len().min(length)];
    if list.first().is_some_and(|first| first >> 4 & 7 == 1) {
        list = list.get(4..)?;
    }
    let mut groups = Vec::new();
    while let &[first, supported, high, low, _, status, _, count, ref tail @ ..] = list {
        let Some(ports) = tail.get(..usize::from(count) * 4) else { break };
        groups.push(PortGroup {
            preferred: first & 0x80 != 0,
            state: first & 0x0f,
            supported,
            group: u16::from_be_bytes([high, low]),
            status,
            ports: ports
                .as_chunks::<4>()
                .0
                .iter()
                .map(|p| u16::from_be_bytes([p[2], p[3]]))
                .collect(),
        });
        list = &tail[ports.len()..];
    }
    Some(groups)
}

/// Appends SET TARGET PORT GROUPS data: pairs of state and target port group.
pub fn write_set_port_groups(states: &[(u8, u16)], out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 4]);
    for (state, group) in states {
        let [high, low] = group.to_be_bytes();
        out.extend_from_slice(&[state & 0x0f, 0, high, low]);
    }
}

/// Reads SET TARGET PORT GROUPS data: pairs of state and target port group.
pub fn parse_set_port_groups(bytes: &[u8]) -> Option<impl Iterator<Item = (u8, u16)> + Clone + '_> {
    let list = bytes.get(4..)?;
    Some(list.as_chunks::<4>().0.iter().filter_map(|d| Some((d[0] & 0x0f, be16(d, 2)?))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spc5_6_37_groups_round_trip_in_both_formats() {
        let groups = [
            PortGroup {
                preferred: true,
                state: 0,
                supported: 0x0f,
                group: 1,
                status: 2,
                ports: vec![1, 3],
            },
            PortGroup {
                preferred: false,
                state: 1,
                supported: 0x0f,
                group: 2,
                status: 0,
                ports: vec![2],
            },
        ];
        for transition in [None, Some(5)] {
            let mut bytes = Vec::new();
            write_port_groups(&groups, transition, &mut bytes);
            assert_eq!(parse_port_groups(&bytes).unwrap(), groups);
            assert_eq!(parse_port_groups(&bytes[..bytes.len() - 1]).unwrap().len(), 1);
            assert!(parse_port_groups(&bytes[..3]).is_none());
        }
    }

    #[test]
    fn spc5_6_45_set_list_round_trips() {
        let mut bytes = Vec::new();
        write_set_port_groups(&[(0, 1), (1, 0x102)], &mut bytes);
        assert_eq!(
            parse_set_port_groups(&bytes).unwrap().collect::<Vec<_>>(),
            [(0, 1), (1, 0x102)]
        );
        assert!(parse_set_port_groups(&bytes[..3]).is_none());
    }
}
