//! Files and reports by the hash of their content.
//!
//! `blobs/ab/abcdef…` holds the content whose SHA-256 is `abcdef…`. A blob appears by renaming a
//! synced temporary file of the same file system and syncing the folder, so that it is whole or not
//! there. Equal content is kept once. Temporary files live in `tmp/`, which is emptied at start.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::{NamedTempFile, TempPath};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::StoreError;

/// A SHA-256, shown as 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl Digest {
    /// Of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::finish(Sha256::new_with_prefix(bytes))
    }

    /// Of what a hasher was fed.
    #[must_use]
    pub fn finish(hasher: Sha256) -> Self {
        use fmt::Write as _;
        let mut text = String::with_capacity(64);
        for byte in hasher.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// The hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // A digest becomes part of a path: nothing but hex digits may pass.
        let hex =
            text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hex { Ok(Self(text)) } else { Err("expected 64 lower-case hex digits") }
    }
}

/// The folder of blobs. Calls on files block: use them on a blocking thread.
///
/// Whoever keeps a blob holds [`BlobStore::keeping`] until a record refers to it; whoever sweeps
/// holds [`BlobStore::sweeping`] from listing what is in use to the end. Else a sweep could take a
/// blob between the two.
#[derive(Debug, Clone)]
pub struct BlobStore {
    root: PathBuf,
    gate: Arc<RwLock<()>>,
}

fn failed<'a>(
    operation: &'static str,
    path: &'a Path,
) -> impl FnOnce(std::io::Error) -> StoreError + 'a {
    move |source| StoreError::File { operation, path: path.to_owned(), source }
}

impl BlobStore {
    /// Opens the folders under `root`, makes them when missing, and removes temporary files that a
    /// killed process left.
    ///
    /// # Errors
    /// When a folder cannot be made or emptied.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let store = Self { root: root.to_owned(), gate: Arc::default() };
        for folder in [store.root.join("blobs"), store.temporary()] {
            std::fs::create_dir_all(&folder).map_err(failed("create folder", &folder))?;
        }
        let temporary = store.temporary();
        for entry in std::fs::read_dir(&temporary).map_err(failed("list", &temporary))? {
            let path = entry.map_err(failed("list", &temporary))?.path();
            std::fs::remove_file(&path).map_err(failed("remove", &path))?;
        }
        Ok(store)
    }

    /// Holds off sweeps.
    pub async fn keeping(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.gate).read_owned().await
    }

    /// Waits until nobody is keeping, and holds them off.
    pub async fn sweeping(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.gate).write_owned().await
    }

    fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A new temporary file on the same file system.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn temporary_file(&self) -> Result<NamedTempFile, StoreError> {
        let folder = self.temporary();
        NamedTempFile::new_in(&folder).map_err(failed("create a file in", &folder))
    }

    /// Where the content of this hash is or would be.
    #[must_use]
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs").join(&digest.as_str()[..2]).join(digest.as_str())
    }

    /// Takes over a written temporary file whose hash is known. It is on disk when this returns.
    ///
    /// # Errors
    /// When the file system does not do its part.
    pub fn keep(&self, temporary: TempPath, digest: &Digest) -> Result<(), StoreError> {
        let target = self.path(digest);
        if target.exists() {
            return Ok(());
        }
        File::open(&temporary)
            .and_then(|file| file.sync_all())
            .map_err(failed("sync", &temporary))?;
        let blobs = self.root.join("blobs");
        let folder = blobs.join(&digest.as_str()[..2]);
        std::fs::create_dir_all(&folder).map_err(failed("create folder", &folder))?;
        temporary.persist(&target).map_err(|error| failed("keep", &target)(error.error))?;
        for folder in [&folder, &blobs] {
            File::open(folder).and_then(|file| file.sync_all()).map_err(failed("sync", folder))?;
        }
        Ok(())
    }

    /// Keeps these bytes.
    ///
    /// # Errors
    /// When the file system does not do its part.
    pub fn keep_bytes(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = Digest::of(bytes);
        if !self.path(&digest).exists() {
            let mut file = self.temporary_file()?;
            file.write_all(bytes).map_err(failed("write", &self.temporary()))?;
            self.keep(file.into_temp_path(), &digest)?;
        }
        Ok(digest)
    }

    /// The whole content, checked against its hash.
    ///
    /// # Errors
    /// When it is missing, cannot be read, or was changed on disk.
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let path = self.path(digest);
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(failed("read", &path))?;
        if Digest::of(&bytes) != *digest {
            let changed = std::io::Error::other("the content does not match its hash");
            return Err(failed("read", &path)(changed));
        }
        Ok(bytes)
    }

    /// Removes every blob that is not in `keep`.
    ///
    /// # Errors
    /// When a folder cannot be listed or a file not removed.
    pub fn sweep(&self, keep: &BTreeSet<Digest>) -> Result<u64, StoreError> {
        let blobs = self.root.join("blobs");
        let mut removed = 0;
        for shard in std::fs::read_dir(&blobs).map_err(failed("list", &blobs))? {
            let shard = shard.map_err(failed("list", &blobs))?.path();
            for entry in std::fs::read_dir(&shard).map_err(failed("list", &shard))? {
                let path = entry.map_err(failed("list", &shard))?.path();
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                let digest = name.and_then(|name| Digest::try_from(name).ok());
                if digest.is_some_and(|digest| !keep.contains(&digest)) {
                    std::fs::remove_file(&path).map_err(failed("remove", &path))?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn equal_content_is_kept_once_and_survives_a_sweep_when_used() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = BlobStore::open(dir.path()).unwrap();
        let one = blobs.keep_bytes(b"load line").unwrap();
        assert_eq!(blobs.keep_bytes(b"load line").unwrap(), one);
        let two = blobs.keep_bytes(b"water").unwrap();
        // Independent value: `printf 'load line' | sha256sum`.
        assert_eq!(
            one.as_str(),
            "21e9446181acf605fe0a396f31e430178ce81f8333935382e01302f6a03e7790"
        );
        assert_eq!(blobs.read(&one).unwrap(), b"load line");
        assert_eq!(blobs.sweep(&BTreeSet::from([one.clone()])).unwrap(), 1);
        assert!(blobs.read(&one).is_ok() && blobs.read(&two).is_err());
    }

    #[test]
    fn content_changed_on_disk_is_not_served() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = BlobStore::open(dir.path()).unwrap();
        let digest = blobs.keep_bytes(b"load line").unwrap();
        std::fs::write(blobs.path(&digest), b"other").unwrap();
        assert!(blobs.read(&digest).is_err());
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        BlobStore::open(dir.path()).unwrap();
        std::fs::write(dir.path().join("tmp/half"), b"half").unwrap();
        BlobStore::open(dir.path()).unwrap();
        assert!(!dir.path().join("tmp/half").exists());
    }

    #[test]
    fn a_digest_is_hex_and_nothing_else() {
        assert!(Digest::try_from("../../etc/passwd".to_owned()).is_err());
        assert!(Digest::try_from("A".repeat(64)).is_err());
        assert!(Digest::try_from("a".repeat(64)).is_ok());
    }
}
