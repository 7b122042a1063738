//! Additional header segments (RFC 7143 section 11.2.2): each has a length, a type and is padded to words.

/// One additional header segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahs<'a> {
    /// The CDB bytes beyond the sixteen of the BHS (section 11.2.2.3).
    ExtendedCdb(&'a [u8]),
    /// Expected length of the read half of a bidirectional command (section 11.2.2.4).
    BidirectionalReadLength(u32),
    /// A type that this code does not know.
    Unknown(u8),
}

/// The AHS of a PDU is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("additional header segment is malformed at byte {at}")]
pub struct AhsError {
    /// Offset in the AHS area.
    pub at: usize,
}

/// The segments of an AHS area, in order.
pub fn iter(area: &[u8]) -> impl Iterator<Item = Result<Ahs<'_>, AhsError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= area.len() {
            return None;
        }
        let here = at;
        let parsed = parse(&area[here..]);
        match parsed {
            Some((_, used)) => at += used,
            None => at = area.len(),
        }
        Some(parsed.map(|(ahs, _)| ahs).ok_or(AhsError { at: here }))
    })
}

/// One segment and the bytes that it takes up. AHSLength does not count the three bytes of length and type.
fn parse(area: &[u8]) -> Option<(Ahs<'_>, usize)> {
    let (head, rest) = area.split_first_chunk::<3>()?;
    let len = usize::from(u16::from_be_bytes([head[0], head[1]]));
    let body = rest.get(..len)?;
    let ahs = match head[2] {
        1 if len >= 1 => Ahs::ExtendedCdb(&body[1..]),
        2 => {
            let bytes: [u8; 5] = body.try_into().ok()?;
            let [_, length @ ..] = bytes;
            Ahs::BidirectionalReadLength(u32::from_be_bytes(length))
        }
        1 => return None,
        other => Ahs::Unknown(other),
    };
    Some((ahs, (3 + len).next_multiple_of(4)))
}

/// Appends the segment with the CDB bytes beyond sixteen.
pub fn append_extended_cdb(out: &mut Vec<u8>, rest: &[u8]) {
    let len = (rest.len() + 1) as u16;
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(rest);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Appends the segment with the expected read length of a bidirectional command.
pub fn append_bidirectional_read_length(out: &mut Vec<u8>, bytes: u32) {
    out.extend_from_slice(&[0, 5, 2, 0]);
    out.extend_from_slice(&bytes.to_be_bytes());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rfc7143_11_2_2_segments_round_trip() {
        let mut area = Vec::new();
        append_extended_cdb(&mut area, &[9; 17]);
        append_bidirectional_read_length(&mut area, 0x0102_0304);
        assert_eq!(area.len() % 4, 0);
        let all: Result<Vec<_>, _> = iter(&area).collect();
        // Padding is not counted in AHSLength, so exactly the bytes that were given come back.
        let expected = vec![Ahs::ExtendedCdb(&[9; 17]), Ahs::BidirectionalReadLength(0x0102_0304)];
        assert_eq!(all.unwrap(), expected);
    }

    #[test]
    fn rfc7143_11_2_2_malformed_segments_end_the_walk() {
        for area in [&[0, 0][..], &[0, 9, 1, 0], &[0, 0, 1, 0], &[0, 4, 2, 0, 0, 0, 0, 0]] {
            let all: Vec<_> = iter(area).collect();
            assert_eq!(all, [Err(AhsError { at: 0 })], "{area:?}");
        }
    }
}
