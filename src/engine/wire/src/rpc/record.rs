//! Record marking (RFC 5531 section 11): how messages are told apart on a byte stream.
//!
//! A record is one or more fragments, each behind a word that holds its length and, in the highest bit,
//! whether it is the last. Many fragments are accepted, one is sent. The size of a record including its
//! marks and the number of its fragments are capped before anything is kept for it.

use std::borrow::Cow;

use crate::xdr::Writer;

/// The highest bit of a mark: this fragment ends the record.
pub const LAST_FRAGMENT: u32 = 0x8000_0000;
/// Bytes of a mark.
pub const MARK_BYTES: usize = 4;
/// Fragments a record may have: more than any peer sends (8 KiB fragments of a record of 8 MiB), few
/// enough that walking them again at each receive costs nothing.
pub const MAX_FRAGMENTS: usize = 1024;

/// What the head of a receive buffer says about the record that starts there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many bytes, counted from the start of the record, must be there before more can be said.
    Need(usize),
    /// The whole record with its marks has this length, which may not be there yet.
    Whole(usize),
}

/// A record that will not be received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is too long.
    #[error("rpc record of {len} bytes or more, the limit is {max}")]
    TooLong {
        /// Length up to and including the fragment that broke the limit.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// It has too many fragments.
    #[error("rpc record of more than {MAX_FRAGMENTS} fragments")]
    TooManyFragments,
}

/// Looks at the head of the buffer: where does the record end? `max` caps the record with its marks.
pub fn extent(head: &[u8], max: usize) -> Result<Extent, Error> {
    let mut end = 0;
    for _ in 0..MAX_FRAGMENTS {
        let Some(mark) = head.get(end..).and_then(<[u8]>::first_chunk::<MARK_BYTES>) else {
            return Ok(Extent::Need(end + MARK_BYTES));
        };
        let mark = u32::from_be_bytes(*mark);
        end += MARK_BYTES + (mark & !LAST_FRAGMENT) as usize;
        if end > max {
            return Err(Error::TooLong { len: end, max });
        }
        if mark & LAST_FRAGMENT != 0 {
            return Ok(Extent::Whole(end));
        }
    }
    Err(Error::TooManyFragments)
}

/// Whether the record that starts here, at least its first mark, is one fragment.
pub fn is_single(head: &[u8]) -> bool {
    head.first().is_some_and(|byte| byte & 0x80 != 0)
}

/// The message inside a whole record as [`extent`] measured it: borrowed if it is one fragment, joined
/// otherwise.
pub fn join(record: &[u8]) -> Cow<'_, [u8]> {
    let mut fragments = Fragments { rest: record };
    let first = fragments.next().unwrap_or_default();
    if fragments.rest.is_empty() {
        return Cow::Borrowed(first);
    }
    let mut joined = Vec::with_capacity(record.len());
    joined.extend_from_slice(first);
    for fragment in fragments {
        joined.extend_from_slice(fragment);
    }
    Cow::Owned(joined)
}

/// Walks the fragments of a whole record.
struct Fragments<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fragments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (mark, rest) = self.rest.split_first_chunk::<MARK_BYTES>()?;
        let len = (u32::from_be_bytes(*mark) & !LAST_FRAGMENT) as usize;
        let (fragment, rest) = rest.split_at(len.min(rest.len()));
        self.rest = rest;
        Some(fragment)
    }
}

/// Starts a record: leaves room for the mark and gives the place that [`end`] needs.
pub fn begin(out: &mut Writer<'_>) -> usize {
    let at = out.len();
    out.u32(0);
    at
}

/// Ends the record begun at `at`; `beyond` bytes (payload with its padding) are sent after the writer's.
#[expect(clippy::cast_possible_truncation, reason = "no record of 2 GiB is ever built")]
pub fn end(out: &mut Writer<'_>, at: usize, beyond: usize) {
    let len = out.len() - at - MARK_BYTES + beyond;
    debug_assert!(len < LAST_FRAGMENT as usize);
    out.patch(at, len as u32 | LAST_FRAGMENT);
}
