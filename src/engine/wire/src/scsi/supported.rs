//! REPORT SUPPORTED OPERATION CODES parameter data (SPC-5 6.35): what a device server supports, command by
//! command, with the CDB bits that it evaluates.

use super::bytes::{be16, be32, close32};

/// A supported command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SupportedCommand {
    /// OPERATION CODE.
    pub opcode: u8,
    /// SERVICE ACTION, for operation codes that have one.
    pub service: Option<u16>,
    /// CDB USAGE DATA: a bit is set where the device server evaluates the bit; as long as the CDB.
    pub usage: &'static [u8],
}

/// REPORTING OPTIONS.
pub mod options {
    /// Every command.
    pub const ALL: u8 = 0;
    /// One command by its operation code alone.
    pub const OPCODE: u8 = 1;
    /// One command by operation code and service action.
    pub const SERVICE: u8 = 2;
    /// As 2, or as 1 when the operation code has no service actions.
    pub const EITHER: u8 = 3;
}

/// A timeouts descriptor that names no timeout.
const NO_TIMEOUTS: [u8; 12] = [0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Appends the data for all commands.
pub fn write_all_supported(commands: &[SupportedCommand], timeouts: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    for command in commands {
        let [high, low] = command.service.unwrap_or(0).to_be_bytes();
        out.extend_from_slice(&[
            command.opcode,
            0,
            high,
            low,
            0,
            u8::from(timeouts) << 1 | u8::from(command.service.is_some()),
            0,
            command.usage.len() as u8,
        ]);
        if timeouts {
            out.extend_from_slice(&NO_TIMEOUTS);
        }
    }
    close32(&mut out[start..], 0);
}

/// Appends the data for one command; `None` tells that it is not supported.
pub fn write_one_supported(command: Option<&SupportedCommand>, timeouts: bool, out: &mut Vec<u8>) {
    let Some(command) = command else {
        out.extend_from_slice(&[0, 1, 0, 0]);
        return;
    };
    out.extend_from_slice(&[0, u8::from(timeouts) << 7 | 3]);
    out.extend_from_slice(&(command.usage.len() as u16).to_be_bytes());
    out.extend_from_slice(command.usage);
    if timeouts {
        out.extend_from_slice(&NO_TIMEOUTS);
    }
}

/// Reads the data for all commands: operation code, service action and CDB length of each.
pub fn parse_all_supported(bytes: &[u8]) -> Option<Vec<(u8, Option<u16>, u16)>> {
    let length = be32(bytes, 0)? as usize;
    let mut list = bytes.get(4..)?;
    list = &list[..list.len().min(length)];
    let mut commands = Vec::new();
    while let &[opcode, _, high, low, _, flags, length_high, length_low, ref tail @ ..] = list {
        let service = (flags & 1 != 0).then(|| u16::from_be_bytes([high, low]));
        commands.push((opcode, service, u16::from_be_bytes([length_high, length_low])));
        let Some(rest) = tail.get(if flags & 2 != 0 { 12 } else { 0 }..) else { break };
        list = rest;
    }
    Some(commands)
}

/// Reads the data for one command: its usage mask if it is supported.
pub fn parse_one_supported(bytes: &[u8]) -> Option<Option<&[u8]>> {
    let support = bytes.get(1)? & 7;
    if support != 3 && support != 5 {
        return Some(None);
    }
    Some(Some(bytes.get(4..)?.get(..usize::from(be16(bytes, 2)?))?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const COMMANDS: [SupportedCommand; 2] = [
        SupportedCommand { opcode: 0x00, service: None, usage: &[0x00, 0, 0, 0, 0, 4] },
        SupportedCommand { opcode: 0x9e, service: Some(0x10), usage: &[0x9e; 16] },
    ];

    #[test]
    fn spc5_6_35_2_all_commands_round_trip() {
        for timeouts in [false, true] {
            let mut bytes = Vec::new();
            write_all_supported(&COMMANDS, timeouts, &mut bytes);
            assert_eq!(bytes.len(), 4 + 2 * if timeouts { 20 } else { 8 });
            assert_eq!(
                parse_all_supported(&bytes).unwrap(),
                [(0x00, None, 6), (0x9e, Some(0x10), 16)]
            );
        }
    }

    #[test]
    fn spc5_6_35_3_one_command_round_trips() {
        let mut bytes = Vec::new();
        write_one_supported(Some(&COMMANDS[1]), true, &mut bytes);
        assert_eq!(bytes.len(), 4 + 16 + 12);
        assert_eq!(parse_one_supported(&bytes), Some(Some(&[0x9e; 16][..])));
        assert_eq!(parse_one_supported(&bytes[..19]), None);
        bytes.clear();
        write_one_supported(None, true, &mut bytes);
        assert_eq!(parse_one_supported(&bytes), Some(None));
    }
}
