//! Big-endian fields of parameter data that may be shorter than its own lengths say.

/// The `N` bytes at `at`, if they are there.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub(super) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

pub(super) fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_be_bytes)
}

/// Overwrites the 16-bit length at `at` with the count of bytes that follow it.
pub(super) fn close16(out: &mut [u8], at: usize) {
    let length = (out.len() - at - 2) as u16;
    out[at..at + 2].copy_from_slice(&length.to_be_bytes());
}

/// Overwrites the 32-bit length at `at` with the count of bytes that follow it.
pub(super) fn close32(out: &mut [u8], at: usize) {
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// `text` in a field of `N` bytes, left aligned and padded with spaces; what is not graphic ASCII becomes a
/// question mark (SPC-5 4.3.1).
pub(super) fn ascii<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (to, from) in field.iter_mut().zip(text.bytes()) {
        *to = if (0x20..0x7f).contains(&from) { from } else { b'?' };
    }
    field
}

/// The text of an ASCII field without its padding; empty when it is not ASCII.
pub(super) fn text(field: &[u8]) -> &str {
    std::str::from_utf8(field).unwrap_or("").trim_end_matches([' ', '\0'])
}
