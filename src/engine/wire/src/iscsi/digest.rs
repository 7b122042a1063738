//! Header and data digests: CRC32C, sent least significant byte first (RFC 7143 sections 11.2.3 and 13.1).

use super::Bhs;

/// Which digests a connection carries after its login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Digests {
    /// Four bytes follow the header segments.
    pub header: bool,
    /// Four bytes follow a padded data segment that is not empty.
    pub data: bool,
}

impl Digests {
    /// Bytes that a header digest adds to each PDU.
    #[inline]
    pub fn header_len(self) -> usize {
        if self.header { 4 } else { 0 }
    }

    /// Bytes that a data digest adds to a PDU with a data segment of `data_len` bytes.
    #[inline]
    pub fn data_len(self, data_len: usize) -> usize {
        if self.data && data_len > 0 { 4 } else { 0 }
    }
}

/// The digest of contiguous bytes, as it stands on the wire.
#[inline]
pub fn crc32c(bytes: &[u8]) -> [u8; 4] {
    crc_fast::crc32_iscsi(bytes).to_le_bytes()
}

/// The digest of a header without AHS, as it stands on the wire.
#[inline]
pub fn header(bhs: &Bhs) -> [u8; 4] {
    crc32c(bhs)
}

/// The digest of a data segment with its padding to a multiple of four, as it stands on the wire.
pub fn padded(data: &[u8]) -> [u8; 4] {
    if data.len().is_multiple_of(4) {
        return crc32c(data);
    }
    let mut digest = Running::begin();
    digest.update(data);
    digest.end(super::frame::padding(data.len()))
}

/// The digest of a data segment that lies in several pieces.
#[derive(Debug)]
pub struct Running(crc_fast::Digest);

impl Running {
    /// Of nothing yet.
    pub fn begin() -> Self {
        Self(crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi))
    }

    /// The next bytes.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// With so many bytes of padding, at most 3, as it stands on the wire.
    #[inline]
    pub fn end(mut self, padding: usize) -> [u8; 4] {
        self.0.update(&[0; 3][..padding]);
        (self.0.finalize() as u32).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 7143 appendix A.4.
    #[test]
    fn rfc7143_a_4_crc_examples() {
        assert_eq!(crc32c(&[0; 32]), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(crc32c(&[0xff; 32]), [0x43, 0xab, 0xa8, 0x62]);
        let up: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&up), [0x4e, 0x79, 0xdd, 0x46]);
        let down: Vec<u8> = (0..32).rev().collect();
        assert_eq!(crc32c(&down), [0x5c, 0xdb, 0x3f, 0x11]);
        let mut read: Bhs = [0; 48];
        let command = [
            (0, 0x01),
            (1, 0xc0),
            (16, 0x14),
            (22, 0x04),
            (24, 0),
            (27, 0x14),
            (31, 0x18),
            (32, 0x28),
            (40, 0x02),
        ];
        for (at, value) in command {
            read[at] = value;
        }
        assert_eq!(header(&read), [0x56, 0x3a, 0x96, 0xd9]);
    }

    #[test]
    fn rfc7143_11_2_3_padding_is_covered() {
        assert_eq!(padded(b"abcde"), crc32c(b"abcde\0\0\0"));
        assert_eq!(padded(b"abcd"), crc32c(b"abcd"));
    }
}
