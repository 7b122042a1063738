//! Designation descriptors (SPC-5 7.7.6): how a logical unit, a port or a device names itself in VPD page 83
//! and in the target descriptors of EXTENDED COPY.

use super::bytes::be16;

/// What a designator is about (ASSOCIATION).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Association {
    LogicalUnit,
    TargetPort,
    TargetDevice,
}

/// DESIGNATOR TYPE.
pub mod kind {
    /// T10 vendor ID and text.
    pub const T10_VENDOR: u8 = 1;
    /// EUI-64.
    pub const EUI64: u8 = 2;
    /// Name Address Authority.
    pub const NAA: u8 = 3;
    /// Relative target port identifier.
    pub const RELATIVE_TARGET_PORT: u8 = 4;
    /// Target port group.
    pub const TARGET_PORT_GROUP: u8 = 5;
    /// SCSI name string.
    pub const NAME_STRING: u8 = 8;
}

/// CODE SET of binary designators.
const BINARY: u8 = 1;
/// CODE SET of ASCII designators.
const ASCII: u8 = 2;
/// CODE SET of UTF-8 designators.
const UTF8: u8 = 3;
/// PROTOCOL IDENTIFIER of iSCSI.
pub const PROTOCOL_ISCSI: u8 = 5;

/// A designation descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Designator<'a> {
    /// PROTOCOL IDENTIFIER, for ports and devices.
    pub protocol: Option<u8>,
    /// CODE SET.
    pub code_set: u8,
    /// What it names; `None` for the reserved value.
    pub association: Option<Association>,
    /// DESIGNATOR TYPE.
    pub kind: u8,
    /// The designator itself.
    pub body: &'a [u8],
}

impl<'a> Designator<'a> {
    /// A logical unit's NAA identifier, 8 or 16 bytes.
    pub const fn naa(body: &'a [u8]) -> Self {
        let association = Some(Association::LogicalUnit);
        Self { protocol: None, code_set: BINARY, association, kind: kind::NAA, body }
    }

    /// A logical unit's vendor and text; `body` is eight characters of vendor, then the text.
    pub const fn t10_vendor(body: &'a [u8]) -> Self {
        let association = Some(Association::LogicalUnit);
        Self { protocol: None, code_set: ASCII, association, kind: kind::T10_VENDOR, body }
    }

    /// A port's relative identifier or its group, as four bytes: two reserved, two of value.
    pub const fn port(kind: u8, body: &'a [u8; 4]) -> Self {
        Self {
            protocol: Some(PROTOCOL_ISCSI),
            code_set: BINARY,
            association: Some(Association::TargetPort),
            kind,
            body,
        }
    }

    /// A name string of a port or of the device; `body` ends in a zero byte and is a multiple of four long.
    pub const fn name(association: Association, body: &'a [u8]) -> Self {
        Self {
            protocol: Some(PROTOCOL_ISCSI),
            code_set: UTF8,
            association: Some(association),
            kind: kind::NAME_STRING,
            body,
        }
    }

    /// Appends the descriptor; a body beyond 255 bytes is cut.
    pub fn write(&self, out: &mut Vec<u8>) {
        let body = &self.body[..self.body.len().min(255)];
        let association = match self.association {
            Some(Association::LogicalUnit) => 0,
            Some(Association::TargetPort) => 1,
            Some(Association::TargetDevice) => 2,
            None => 3,
        };
        out.extend_from_slice(&[
            self.protocol.unwrap_or(0) << 4 | self.code_set & 0x0f,
            u8::from(self.protocol.is_some()) << 7 | association << 4 | self.kind & 0x0f,
            0,
            body.len() as u8,
        ]);
        out.extend_from_slice(body);
    }

    /// Reads one descriptor from the start of `bytes`; `None` when it is cut short.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let &[first, second, _, length, ref rest @ ..] = bytes else { return None };
        Some(Self {
            protocol: (second & 0x80 != 0).then_some(first >> 4),
            code_set: first & 0x0f,
            association: match second >> 4 & 3 {
                0 => Some(Association::LogicalUnit),
                1 => Some(Association::TargetPort),
                2 => Some(Association::TargetDevice),
                _ => None,
            },
            kind: second & 0x0f,
            body: rest.get(..usize::from(length))?,
        })
    }

    /// The value of a relative target port or target port group designator.
    pub fn port_value(&self) -> Option<u16> {
        matches!(self.kind, kind::RELATIVE_TARGET_PORT | kind::TARGET_PORT_GROUP)
            .then(|| be16(self.body, 2))?
    }
}

/// The descriptors in a list, up to the first that is cut short.
pub fn designators(mut list: &[u8]) -> impl Iterator<Item = Designator<'_>> {
    std::iter::from_fn(move || {
        let next = Designator::parse(list)?;
        list = &list[4 + next.body.len()..];
        Some(next)
    })
}

/// `name` as the body of a name string: ended by a zero byte and padded to a multiple of four
/// (SPC-5 7.7.6.10).
pub fn name_string(name: &str) -> Vec<u8> {
    let mut body = name.as_bytes().to_vec();
    body.resize((name.len() / 4 + 1) * 4, 0);
    body
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spc5_7_7_6_descriptors_round_trip_in_a_list() {
        let name = name_string("iqn.2026-11.test:a,t,0x0001");
        assert_eq!(name.len() % 4, 0);
        assert_eq!(name.last(), Some(&0));
        let naa = [0x60; 16];
        let all = [
            Designator::naa(&naa),
            Designator::t10_vendor(b"PLIMSOLL0123"),
            Designator::port(kind::RELATIVE_TARGET_PORT, &[0, 0, 0, 2]),
            Designator::port(kind::TARGET_PORT_GROUP, &[0, 0, 1, 1]),
            Designator::name(Association::TargetPort, &name),
        ];
        let mut list = Vec::new();
        for designator in &all {
            designator.write(&mut list);
        }
        assert_eq!(designators(&list).collect::<Vec<_>>(), all);
        assert_eq!(designators(&list).filter_map(|d| d.port_value()).collect::<Vec<_>>(), [2, 257]);
        assert_eq!(designators(&list[..list.len() - 1]).count(), all.len() - 1);
    }
}
