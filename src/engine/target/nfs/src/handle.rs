//! File handles: an export, an object, and a keyed code over both (RFC 1813 section 2.3).
//!
//! Clients store handles for as long as they like, also over restarts of the server, and hand them back
//! without any login. What keeps a client from naming an object it was never shown is the code: 128 bits of
//! SHA-256 over a secret of the namespace and the numbers. The secret fills one block of the hash, the
//! message has a fixed length, and half of the digest is kept back, so it cannot be extended.

use plimsoll_storage::namespace::FileId;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Bytes of a handle.
pub(crate) const HANDLE_BYTES: usize = 32;

/// A handle as it goes over the wire.
pub(crate) type Handle = [u8; HANDLE_BYTES];

/// Signs and checks the handles of one export.
pub(crate) struct Signer {
    export: u64,
    keyed: Sha256,
}

impl Signer {
    /// For the export with this identity and its namespace's secret.
    pub fn new(export: u64, secret: &[u8; 32]) -> Self {
        let mut keyed = Sha256::new();
        keyed.update(secret);
        keyed.update([0; 32]);
        Self { export, keyed }
    }

    /// The handle of an object.
    pub fn handle(&self, id: FileId) -> Handle {
        let mut handle = [0; HANDLE_BYTES];
        let (numbers, code) = handle.split_at_mut(16);
        numbers[..8].copy_from_slice(&self.export.to_be_bytes());
        numbers[8..].copy_from_slice(&id.0.to_be_bytes());
        let mut hash = self.keyed.clone();
        hash.update(&*numbers);
        code.copy_from_slice(&hash.finalize()[..16]);
        handle
    }

    /// The object of a handle, if this export made it.
    pub fn check(&self, handle: &Handle) -> Option<FileId> {
        let id = FileId(u64::from_be_bytes(*handle[8..].first_chunk()?));
        bool::from(self.handle(id).ct_eq(handle)).then_some(id)
    }
}

/// The export that a handle names, before it is checked.
pub(crate) fn export_of(handle: &Handle) -> u64 {
    handle.first_chunk().map_or(0, |export| u64::from_be_bytes(*export))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_with_any_bit_changed_is_not_taken() {
        let signer = Signer::new(7, &[1; 32]);
        let handle = signer.handle(FileId(64));
        assert_eq!(signer.check(&handle), Some(FileId(64)));
        for bit in 0..HANDLE_BYTES * 8 {
            let mut forged = handle;
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(signer.check(&forged), None, "bit {bit}");
        }
        let other = Signer::new(7, &[2; 32]);
        assert_eq!(other.check(&handle), None, "another namespace's secret");
    }
}
