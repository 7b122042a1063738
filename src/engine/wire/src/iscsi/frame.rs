//! Where one PDU ends and the next begins (RFC 7143 section 11.2).
//!
//! A PDU is BHS, AHS, header digest, data, padding, data digest. [`frame_length`] needs the BHS alone and holds
//! the cap before anybody waits for the rest; [`Pdu::split`] takes a whole frame apart and checks its digests.

use super::{BHS_LEN, Bhs, Digests, digest};

/// A frame that cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The header announces more data than this end declared to accept.
    #[error("PDU {opcode:#04x} announces {announced} bytes of data, at most {cap} are accepted")]
    TooLong {
        /// Opcode byte without the immediate bit.
        opcode: u8,
        /// DataSegmentLength of the header.
        announced: usize,
        /// What this end accepts.
        cap: usize,
    },
    /// The frame is shorter than its header says.
    #[error("PDU of {have} bytes is shorter than its header says ({need})")]
    Truncated {
        /// Bytes at hand.
        have: usize,
        /// Bytes that the header asks for.
        need: usize,
    },
    /// The header digest does not match; the lengths in the header cannot be trusted (section 7.7).
    #[error("header digest does not match")]
    HeaderDigest,
    /// The data digest does not match; the header stands (section 7.8).
    #[error("data digest does not match")]
    DataDigest,
}

/// Bytes that pad `len` to a multiple of four.
#[inline]
pub fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}

/// DataSegmentLength of a header.
#[inline]
pub fn data_segment_length(bhs: &Bhs) -> usize {
    usize::from(bhs[5]) << 16 | usize::from(bhs[6]) << 8 | usize::from(bhs[7])
}

/// Length in bytes of the AHS, which the header counts in words of four.
#[inline]
pub fn ahs_length(bhs: &Bhs) -> usize {
    usize::from(bhs[4]) * 4
}

/// Length of the whole PDU whose first bytes are `head`; `None` until the 48 bytes of the BHS are there. Data
/// segments above `data_cap` are refused.
#[inline]
pub fn frame_length(
    head: &[u8],
    digests: Digests,
    data_cap: usize,
) -> Result<Option<usize>, FrameError> {
    let Some(bhs) = head.first_chunk::<BHS_LEN>() else { return Ok(None) };
    let data = data_segment_length(bhs);
    if data > data_cap {
        return Err(FrameError::TooLong { opcode: bhs[0] & 0x3f, announced: data, cap: data_cap });
    }
    let header = BHS_LEN + ahs_length(bhs) + digests.header_len();
    Ok(Some(header + data + padding(data) + digests.data_len(data)))
}

/// The parts of one PDU, borrowed from the receive buffer.
#[derive(Debug, Clone, Copy)]
pub struct Pdu<'a> {
    /// Basic header segment.
    pub bhs: &'a Bhs,
    /// Additional header segments, empty for nearly all PDUs.
    pub ahs: &'a [u8],
    /// Data segment without padding.
    pub data: &'a [u8],
    /// False when a data digest is carried and does not match: the header is sound, the data is not.
    pub data_is_sound: bool,
}

impl<'a> Pdu<'a> {
    /// Takes a whole frame apart and checks its digests. A bad header digest is an error, because the lengths
    /// came from that header; a bad data digest is told in [`Pdu::data_is_sound`], because the receiver must
    /// answer by the header (reject, or retry the task).
    #[inline]
    pub fn split(frame: &'a [u8], digests: Digests) -> Result<Self, FrameError> {
        let truncated = |need| FrameError::Truncated { have: frame.len(), need };
        let bhs = frame.first_chunk::<BHS_LEN>().ok_or(truncated(BHS_LEN))?;
        let header = BHS_LEN + ahs_length(bhs);
        let data_at = header + digests.header_len();
        let data_len = data_segment_length(bhs);
        let padded_end = data_at + data_len + padding(data_len);
        let need = padded_end + digests.data_len(data_len);
        if frame.len() < need {
            return Err(truncated(need));
        }
        if digests.header && digest::crc32c(&frame[..header]) != frame[header..data_at] {
            return Err(FrameError::HeaderDigest);
        }
        let data_is_sound = !digests.data
            || data_len == 0
            || digest::crc32c(&frame[data_at..padded_end]) == frame[padded_end..need];
        Ok(Self {
            bhs,
            ahs: &frame[BHS_LEN..header],
            data: &frame[data_at..data_at + data_len],
            data_is_sound,
        })
    }
}

/// Appends one whole PDU with its digests: for everything that is not on a fast path.
pub fn append(out: &mut Vec<u8>, bhs: &Bhs, ahs: &[u8], data: &[u8], digests: Digests) {
    debug_assert_eq!(data.len(), data_segment_length(bhs), "the header must say what follows");
    debug_assert_eq!(ahs.len(), ahs_length(bhs), "the header must say what follows");
    let start = out.len();
    out.extend_from_slice(bhs);
    out.extend_from_slice(ahs);
    if digests.header {
        let crc = digest::crc32c(&out[start..]);
        out.extend_from_slice(&crc);
    }
    let data_at = out.len();
    out.extend_from_slice(data);
    out.extend_from_slice(&[0; 3][..padding(data.len())]);
    if digests.data && !data.is_empty() {
        let crc = digest::crc32c(&out[data_at..]);
        out.extend_from_slice(&crc);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn header(data_len: usize, ahs_words: u8) -> Bhs {
        let mut bhs = [0; BHS_LEN];
        bhs[4] = ahs_words;
        bhs[5..8].copy_from_slice(&(data_len as u32).to_be_bytes()[1..]);
        bhs
    }

    const ALL: [Digests; 4] = [
        Digests { header: false, data: false },
        Digests { header: true, data: false },
        Digests { header: false, data: true },
        Digests { header: true, data: true },
    ];

    #[test]
    fn rfc7143_11_2_parts_round_trip_with_every_digest() {
        for digests in ALL {
            for data_len in [0usize, 1, 2, 3, 4, 5, 512] {
                let data: Vec<u8> = (0..data_len).map(|i| i as u8).collect();
                let mut frame = Vec::new();
                append(&mut frame, &header(data_len, 2), &[7; 8], &data, digests);
                let length = frame_length(&frame, digests, 512).unwrap().unwrap();
                assert_eq!(length, frame.len(), "{digests:?} {data_len}");
                let pdu = Pdu::split(&frame, digests).unwrap();
                assert_eq!((pdu.ahs, pdu.data), (&[7u8; 8][..], &data[..]));
                assert!(pdu.data_is_sound);
            }
        }
    }

    #[test]
    fn rfc7143_11_2_every_truncation_is_told() {
        for digests in ALL {
            let mut frame = Vec::new();
            append(&mut frame, &header(5, 1), &[1; 4], b"hello", digests);
            for cut in 0..frame.len() {
                let result = Pdu::split(&frame[..cut], digests);
                assert!(matches!(result, Err(FrameError::Truncated { .. })), "{cut}");
            }
            assert_eq!(frame_length(&frame[..47], digests, 512), Ok(None));
        }
    }

    #[test]
    fn rfc7143_13_12_longer_data_than_declared_is_refused_from_the_header_alone() {
        let error = frame_length(&header(513, 0), Digests::default(), 512).unwrap_err();
        assert_eq!(error, FrameError::TooLong { opcode: 0, announced: 513, cap: 512 });
    }

    #[test]
    fn rfc7143_7_7_and_7_8_a_flipped_bit_is_seen_by_the_right_digest() {
        let digests = Digests { header: true, data: true };
        let mut sound = Vec::new();
        append(&mut sound, &header(5, 0), &[], b"hello", digests);
        for at in 0..sound.len() {
            let mut frame = sound.clone();
            frame[at] ^= 0x10;
            match at {
                4..8 => {} // a length: the frame is cut elsewhere
                0..52 => assert_eq!(
                    Pdu::split(&frame, digests).err(),
                    Some(FrameError::HeaderDigest),
                    "{at}"
                ),
                _ => assert!(!Pdu::split(&frame, digests).unwrap().data_is_sound, "{at}"),
            }
        }
    }
}
