//! The iSER header (RFC 7145 section 9), and the message that it begins: header, BHS, AHS, data without
//! padding and without digests.
//!
//! Tags are named from the initiator's command: the *write* tag is memory that a target reads for a SCSI write,
//! the *read* tag memory that it writes for a SCSI read. The length of a message is whatever the peer has sent;
//! [`Message::split`] holds it against what the headers announce before anything is touched.

use super::HEADER_LEN;
use crate::iscsi::frame::{ahs_length, data_segment_length};
use crate::iscsi::{BHS_LEN, Pdu};

/// Opcode of the high nibble: an iSCSI control-type PDU follows (section 9.2).
const CONTROL: u8 = 0x10;
/// Section 9.3.
const HELLO: u8 = 0x20;
/// Section 9.4.
const HELLO_REPLY: u8 = 0x30;
/// The write tag is valid.
const WRITE_VALID: u8 = 0x08;
/// The read tag is valid.
const READ_VALID: u8 = 0x04;

/// A buffer of the initiator that the target may reach by RDMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tag {
    /// Steering tag: the remote key.
    pub key: u32,
    /// Base offset: the address of the first byte.
    pub address: u64,
}

/// The header of a message that carries a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// Where the target reads the data of a SCSI write.
    pub write: Option<Tag>,
    /// Where the target writes the data of a SCSI read.
    pub read: Option<Tag>,
}

/// A message that cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Hello or HelloReply; the connection manager's private data has taken their place.
    #[error("an iSER Hello came; iSERHelloRequired=Yes is not supported")]
    Hello,
    /// Neither control nor Hello.
    #[error("iSER header of unknown type {0:#04x}")]
    Type(u8),
    /// The message is shorter than its headers say.
    #[error("message of {have} bytes is shorter than its headers say ({need})")]
    Truncated {
        /// Bytes that came.
        have: usize,
        /// Bytes that the headers ask for.
        need: usize,
    },
    /// The header announces more data than this end accepts.
    #[error("PDU {opcode:#04x} announces {announced} bytes of data, at most {cap} are accepted")]
    TooLong {
        /// Opcode byte without the immediate bit.
        opcode: u8,
        /// DataSegmentLength of the header.
        announced: usize,
        /// What this end accepts.
        cap: usize,
    },
}

impl Header {
    /// Reads a header.
    #[inline]
    pub fn parse(bytes: &[u8; HEADER_LEN]) -> Result<Self, MessageError> {
        match bytes[0] & 0xf0 {
            CONTROL => {}
            HELLO | HELLO_REPLY => return Err(MessageError::Hello),
            other => return Err(MessageError::Type(other)),
        }
        let tag = |at: usize| {
            let mut key = [0; 4];
            let mut address = [0; 8];
            key.copy_from_slice(&bytes[at..at + 4]);
            address.copy_from_slice(&bytes[at + 4..at + 12]);
            Tag { key: u32::from_be_bytes(key), address: u64::from_be_bytes(address) }
        };
        Ok(Self {
            write: (bytes[0] & WRITE_VALID != 0).then(|| tag(4)),
            read: (bytes[0] & READ_VALID != 0).then(|| tag(16)),
        })
    }

    /// The bytes of the header.
    #[inline]
    pub fn build(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = CONTROL;
        for (tag, flag, at) in [(self.write, WRITE_VALID, 4), (self.read, READ_VALID, 16)] {
            if let Some(Tag { key, address }) = tag {
                bytes[0] |= flag;
                bytes[at..at + 4].copy_from_slice(&key.to_be_bytes());
                bytes[at + 4..at + 12].copy_from_slice(&address.to_be_bytes());
            }
        }
        bytes
    }
}

/// The parts of one message, borrowed from the receive buffer.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// iSER header.
    pub header: Header,
    /// The PDU behind it.
    pub pdu: Pdu<'a>,
}

impl<'a> Message<'a> {
    /// Takes a received message apart: `bytes` is exactly what came. What follows the data, such as padding
    /// that a peer should not send, is ignored.
    #[inline]
    pub fn split(bytes: &'a [u8], data_cap: usize) -> Result<Self, MessageError> {
        let truncated = |need| MessageError::Truncated { have: bytes.len(), need };
        let need = HEADER_LEN + BHS_LEN;
        let (header, rest) = bytes.split_first_chunk().ok_or(truncated(need))?;
        let header = Header::parse(header)?;
        let (bhs, rest) = rest.split_first_chunk::<BHS_LEN>().ok_or(truncated(need))?;
        let (ahs_len, data_len) = (ahs_length(bhs), data_segment_length(bhs));
        if data_len > data_cap {
            let opcode = bhs[0] & 0x3f;
            return Err(MessageError::TooLong { opcode, announced: data_len, cap: data_cap });
        }
        if rest.len() < ahs_len + data_len {
            return Err(truncated(need + ahs_len + data_len));
        }
        let (ahs, rest) = rest.split_at(ahs_len);
        let pdu = Pdu { bhs, ahs, data: &rest[..data_len], data_is_sound: true };
        Ok(Self { header, pdu })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::iser::MESSAGE_MIN;

    const TAG: Tag = Tag { key: 0x0102_0304, address: 0x1112_1314_1516_1718 };

    fn message(ahs_words: u8, data_len: u32, body: usize) -> Vec<u8> {
        let mut bytes = Header::default().build().to_vec();
        let mut bhs = [0; BHS_LEN];
        bhs[4] = ahs_words;
        bhs[5..8].copy_from_slice(&data_len.to_be_bytes()[1..]);
        bytes.extend_from_slice(&bhs);
        bytes.extend((0..body).map(|at| at as u8));
        bytes
    }

    #[test]
    fn rfc7145_9_2_the_header_as_it_stands_on_the_wire() {
        let write = Header { write: Some(TAG), read: None }.build();
        let mut expected = [0; HEADER_LEN];
        expected[..16].copy_from_slice(&[
            0x18, 0, 0, 0, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
        ]);
        assert_eq!(write, expected);
        let read = Header { write: None, read: Some(TAG) }.build();
        assert_eq!((read[0], &read[4..16], &read[16..]), (0x14, &[0; 12][..], &expected[4..16]));
        assert_eq!(Header::default().build()[0], 0x10);
        let other = Tag { key: 7, address: u64::MAX };
        for header in [
            Header::default(),
            Header { write: Some(TAG), read: None },
            Header { write: None, read: Some(TAG) },
            Header { write: Some(TAG), read: Some(other) },
        ] {
            assert_eq!(Header::parse(&header.build()), Ok(header));
        }
    }

    #[test]
    fn rfc7145_9_2_a_tag_whose_flag_is_clear_is_not_there() {
        let mut bytes = Header { write: Some(TAG), read: Some(TAG) }.build();
        bytes[0] = 0x10;
        assert_eq!(Header::parse(&bytes), Ok(Header::default()));
    }

    #[test]
    fn rfc7145_9_3_hello_is_told_from_nonsense() {
        let parse = |first| {
            let mut bytes = [0; HEADER_LEN];
            bytes[0] = first;
            Header::parse(&bytes)
        };
        assert_eq!(parse(0x20), Err(MessageError::Hello));
        assert_eq!(parse(0x30), Err(MessageError::Hello));
        assert_eq!(parse(0x00), Err(MessageError::Type(0)));
        assert_eq!(parse(0xf4), Err(MessageError::Type(0xf0)));
    }

    #[test]
    fn pitfall_10_data_is_not_padded() {
        let bytes = message(1, 5, 4 + 5);
        let Message { pdu, .. } = Message::split(&bytes, 5).unwrap();
        assert_eq!((pdu.ahs, pdu.data), (&[0, 1, 2, 3][..], &[4, 5, 6, 7, 8][..]));
        let padded = message(1, 5, 4 + 8);
        assert_eq!(Message::split(&padded, 5).unwrap().pdu.data, &[4, 5, 6, 7, 8]);
    }

    #[test]
    fn pitfall_11_what_came_is_held_against_what_is_announced() {
        let whole = message(2, 100, 108);
        assert!(Message::split(&whole, 100).is_ok());
        for len in 0..whole.len() {
            let error = Message::split(&whole[..len], 100).unwrap_err();
            let need = if len < MESSAGE_MIN { MESSAGE_MIN } else { whole.len() };
            assert_eq!(error, MessageError::Truncated { have: len, need });
        }
        let error = Message::split(&whole, 99).unwrap_err();
        assert!(matches!(error, MessageError::TooLong { announced: 100, cap: 99, .. }));
    }
}
