//! How an object is written down in the metadata: little-endian fields of fixed places, then what its kind
//! needs. The first byte is the version of this layout.

use super::attributes::{Attributes, FileId, Kind, Timestamp};

/// Version of the layout.
const VERSION: u8 = 1;
const FIXED_BYTES: usize = 75;

/// What a record holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// `used` is not kept: the store knows.
    pub attributes: Attributes,
    /// Verifier of the EXCLUSIVE CREATE that made it.
    pub exclusive: Option<[u8; 8]>,
    pub rest: Rest,
}

/// What only some kinds have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rest {
    None,
    Directory { parent: FileId, next_cookie: u64 },
    Symlink(Box<[u8]>),
}

impl Record {
    pub fn encode(&self) -> Vec<u8> {
        let a = &self.attributes;
        let mut out = Vec::with_capacity(FIXED_BYTES + 16);
        out.push(VERSION);
        out.push(a.kind as u8);
        for word in [a.mode, a.links, a.uid, a.gid, a.device.0, a.device.1] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&a.size.to_le_bytes());
        for time in [a.accessed, a.modified, a.changed] {
            out.extend_from_slice(&time.seconds.to_le_bytes());
            out.extend_from_slice(&time.nanoseconds.to_le_bytes());
        }
        out.push(u8::from(self.exclusive.is_some()));
        out.extend_from_slice(&self.exclusive.unwrap_or_default());
        out.extend_from_slice(&[0; 8]);
        debug_assert_eq!(out.len(), FIXED_BYTES);
        match &self.rest {
            Rest::None => {}
            Rest::Directory { parent, next_cookie } => {
                out.extend_from_slice(&parent.0.to_le_bytes());
                out.extend_from_slice(&next_cookie.to_le_bytes());
            }
            Rest::Symlink(text) => out.extend_from_slice(text),
        }
        out
    }

    /// None when the bytes are not a record of this version.
    pub fn decode(id: FileId, bytes: &[u8]) -> Option<Self> {
        let mut from = Fields(bytes);
        if from.array::<1>()? != [VERSION] {
            return None;
        }
        let kind = match from.array::<1>()?[0] {
            1 => Kind::Regular,
            2 => Kind::Directory,
            3 => Kind::BlockDevice,
            4 => Kind::CharacterDevice,
            5 => Kind::Symlink,
            6 => Kind::Socket,
            7 => Kind::Fifo,
            _ => return None,
        };
        let (mode, links) = (from.u32()?, from.u32()?);
        let (uid, gid) = (from.u32()?, from.u32()?);
        let device = (from.u32()?, from.u32()?);
        let size = from.u64()?;
        let (accessed, modified, changed) = (from.time()?, from.time()?, from.time()?);
        let has_verifier = from.array::<1>()? == [1];
        let verifier = from.array::<8>()?;
        from.array::<8>()?;
        let rest = match kind {
            Kind::Directory => {
                Rest::Directory { parent: FileId(from.u64()?), next_cookie: from.u64()? }
            }
            Kind::Symlink => Rest::Symlink(from.0.into()),
            _ => Rest::None,
        };
        let attributes = Attributes {
            id,
            kind,
            mode,
            links,
            uid,
            gid,
            size,
            used: 0,
            device,
            accessed,
            modified,
            changed,
        };
        Some(Self { attributes, exclusive: has_verifier.then_some(verifier), rest })
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Option<Timestamp> {
        Some(Timestamp { seconds: self.u32()?, nanoseconds: self.u32()? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn records_round_trip_and_damage_is_seen() {
        let attributes = Attributes {
            id: FileId(77),
            kind: Kind::Symlink,
            mode: 0o777,
            links: 2,
            uid: 5,
            gid: 6,
            size: 9,
            used: 0,
            device: (8, 1),
            accessed: Timestamp { seconds: 1, nanoseconds: 2 },
            modified: Timestamp { seconds: 3, nanoseconds: 4 },
            changed: Timestamp { seconds: 5, nanoseconds: 6 },
        };
        let link = Record {
            attributes,
            exclusive: Some(*b"verifier"),
            rest: Rest::Symlink(Box::from(*b"../../etc")),
        };
        let directory = Record {
            attributes: Attributes { kind: Kind::Directory, ..attributes },
            exclusive: None,
            rest: Rest::Directory { parent: FileId(3), next_cookie: 12 },
        };
        for record in [link, directory] {
            let bytes = record.encode();
            assert_eq!(Record::decode(FileId(77), &bytes).unwrap(), record);
            for cut in 0..FIXED_BYTES {
                assert!(Record::decode(FileId(77), &bytes[..cut]).is_none(), "cut at {cut}");
            }
        }
        assert!(Record::decode(FileId(77), &[9; 100]).is_none());
    }
}
