//! The probe's own directory on an NFS export: made by this run, listed in a manifest, removed at its end
//! or, after a crash, by `plimsoll probe clean`.
//!
//! The manifest is stable before the data file is made, so whatever is left behind is listed in it. Clean
//! removes names that a manifest lists, in directories that have one, and nothing else.

use std::time::{SystemTime, UNIX_EPOCH};

use plimsoll_initiator::{
    Options, Url,
    nfs::{Export, Found},
};
use serde::{Deserialize, Serialize};

use crate::{Error, Result, text::show_bytes};

/// Beginning of the directory's name.
pub const DIRECTORY_PREFIX: &str = ".plimsoll-probe-";
const MANIFEST: &str = "manifest.json";
const DATA: &str = "data";
/// Share of the free space that a probe leaves alone.
const HEAD_ROOM: f64 = 0.1;
/// Size of the data file when none is asked for.
pub const DEFAULT_BYTES: u64 = 1 << 30;
/// A manifest is a few hundred bytes.
const MANIFEST_MAX_BYTES: u64 = 64 << 10;

/// What a run left on an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `plimsoll probe`.
    pub tool: String,
    /// Host that made it.
    pub host: String,
    /// Process that made it.
    pub pid: u32,
    /// When it was made, seconds since 1970-01-01 UTC.
    pub created_unix_s: u64,
    /// When it may be removed by others.
    pub expires_unix_s: u64,
    /// Files besides the manifest.
    pub files: Vec<String>,
}

/// The directory of a run; removes it when dropped.
pub struct Workspace {
    url: String,
    options: Options,
    directory: String,
    /// Size of the data file.
    pub size_bytes: u64,
    removed: bool,
}

impl Workspace {
    /// Makes the directory, its manifest and a data file of `wanted_bytes` (or what is sensible).
    pub fn make(
        url: &str,
        shown: &str,
        options: &Options,
        wanted_bytes: Option<u64>,
        planned_seconds: f64,
    ) -> Result<Self> {
        let mut export = mount(url, shown, options)?;
        let failed = |source| Error::Datastore { url: shown.to_owned(), source };
        let space = export.space().map_err(failed)?;
        let free = space.available_bytes;
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a size"
        )]
        let usable = (free as f64 * (1.0 - HEAD_ROOM)) as u64;
        let size_bytes = wanted_bytes.unwrap_or_else(|| DEFAULT_BYTES.min(usable / 2));
        let size_bytes = size_bytes / 4096 * 4096;
        if size_bytes > usable || size_bytes == 0 {
            return Err(Error::WriteRefused {
                url: shown.to_owned(),
                what: format!(
                    "a file of {} does not fit: {} are free and a tenth of that must stay so",
                    show_bytes(wanted_bytes.unwrap_or(4096)),
                    show_bytes(free)
                ),
            });
        }
        let unique = unique();
        let directory = format!("{DIRECTORY_PREFIX}{:016x}", u64::from_be_bytes(unique));
        let root = export.root();
        // MKDIR fails when the name is there: the directory is this run's own.
        let made = export.make_dir(&root, directory.as_bytes(), 0o700).map_err(failed)?;
        let workspace = Self {
            url: url.to_owned(),
            options: options.clone(),
            directory,
            size_bytes,
            removed: false,
        };
        let manifest = Manifest {
            tool: "plimsoll probe".to_owned(),
            host: host_name(),
            pid: std::process::id(),
            created_unix_s: now(),
            expires_unix_s: now() + seconds(planned_seconds) + 3600,
            files: vec![DATA.to_owned()],
        };
        let text = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| Error::Run(format!("manifest: {error}")))?;
        let file =
            export.create_exclusive(&made.handle, MANIFEST.as_bytes(), unique).map_err(failed)?;
        export.write(&file.handle, 0, &text).map_err(failed)?;
        let data =
            export.create_exclusive(&made.handle, DATA.as_bytes(), unique).map_err(failed)?;
        export.set_size(&data.handle, size_bytes).map_err(failed)?;
        Ok(workspace)
    }

    /// Path of the data file below the export.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}/{DATA}", self.directory)
    }

    /// Name of the directory.
    #[must_use]
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Removes everything.
    pub fn remove(mut self) -> Result<()> {
        self.removed = true;
        let mut export = mount(&self.url, "workspace", &self.options)?;
        remove_directory(&mut export, &self.directory).map(|_| ())
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if !self.removed
            && let Ok(mut export) = mount(&self.url, "workspace", &self.options)
            && let Err(error) = remove_directory(&mut export, &self.directory)
        {
            tracing::warn!(directory = self.directory, %error, "the probe's directory is left behind");
        }
    }
}

/// What [`clean`] found and did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// Directory.
    pub directory: String,
    /// Whether it was removed.
    pub removed: bool,
    /// Why, or why not.
    pub what: String,
}

/// Removes what crashed runs left on an export. Directories of runs that may still be going on stay,
/// unless `force`.
pub fn clean(url: &str, shown: &str, options: &Options, force: bool) -> Result<Vec<Cleaned>> {
    let mut export = mount(url, shown, options)?;
    let root = export.root();
    let entries =
        export.list(&root).map_err(|source| Error::Datastore { url: shown.to_owned(), source })?;
    let mut done = Vec::new();
    for entry in entries {
        let Ok(name) = String::from_utf8(entry.name) else { continue };
        if !name.starts_with(DIRECTORY_PREFIX) {
            continue;
        }
        let (removed, what) = match manifest(&mut export, &name) {
            Ok(Some(manifest)) if !force && is_alive(&manifest) => {
                (false, format!("process {} on {} may still use it", manifest.pid, manifest.host))
            }
            Ok(Some(_)) => match remove_directory(&mut export, &name) {
                Ok(0) => (true, "removed".to_owned()),
                Ok(left) => (false, format!("{left} files in it are not the probe's")),
                Err(error) => (false, error.to_string()),
            },
            // A crash between MKDIR and the manifest leaves an empty directory: RMDIR takes only such.
            Ok(None) => match export.remove_dir(&root, name.as_bytes()) {
                Ok(()) => (true, "was empty".to_owned()),
                Err(error) => (false, format!("has no manifest: {error}")),
            },
            Err(error) => (false, error.to_string()),
        };
        done.push(Cleaned { directory: name, removed, what });
    }
    Ok(done)
}

fn mount(url: &str, shown: &str, options: &Options) -> Result<Export> {
    let failed = |source| Error::Datastore { url: shown.to_owned(), source };
    match Url::parse(url).map_err(failed)? {
        Url::Nfs(url) => Export::mount(&url, options).map_err(failed),
        Url::Iscsi(_) => Err(Error::Run(format!("{shown}: is not an NFS export"))),
    }
}

fn run_error(source: plimsoll_initiator::Error) -> Error {
    Error::Datastore { url: "workspace".to_owned(), source }
}

fn directory(export: &mut Export, name: &str) -> Result<Option<Found>> {
    let root = export.root();
    export.lookup(&root, name.as_bytes()).map_err(run_error)
}

fn manifest(export: &mut Export, name: &str) -> Result<Option<Manifest>> {
    let Some(dir) = directory(export, name)? else { return Ok(None) };
    let Some(file) = export.lookup(&dir.handle, MANIFEST.as_bytes()).map_err(run_error)? else {
        return Ok(None);
    };
    if file.attributes.size_bytes > MANIFEST_MAX_BYTES {
        return Err(Error::Run(format!("{name}: its manifest is too long to be one")));
    }
    let mut text = Vec::new();
    loop {
        let (bytes, eof) =
            export.read(&file.handle, text.len() as u64, 65_536).map_err(run_error)?;
        text.extend_from_slice(&bytes);
        if eof || bytes.is_empty() || text.len() as u64 > MANIFEST_MAX_BYTES {
            break;
        }
    }
    // A crash while it was made leaves an empty manifest: then there are no files yet.
    if text.is_empty() {
        return Ok(Some(Manifest {
            tool: String::new(),
            host: String::new(),
            pid: 0,
            created_unix_s: 0,
            expires_unix_s: 0,
            files: Vec::new(),
        }));
    }
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| Error::Run(format!("{name}: its manifest cannot be read: {error}")))
}

/// Removes what the manifest lists, the manifest, and the directory if it is empty then. Returns the number
/// of names left.
fn remove_directory(export: &mut Export, name: &str) -> Result<usize> {
    let Some(dir) = directory(export, name)? else { return Ok(0) };
    let files = manifest(export, name)?.map(|manifest| manifest.files).unwrap_or_default();
    for file in files.iter().filter(|file| !file.contains('/') && *file != "." && *file != "..") {
        if export.lookup(&dir.handle, file.as_bytes()).map_err(run_error)?.is_some() {
            export.remove(&dir.handle, file.as_bytes()).map_err(run_error)?;
        }
    }
    let left = export.list(&dir.handle).map_err(run_error)?;
    let foreign = left.iter().filter(|entry| entry.name != MANIFEST.as_bytes()).count();
    if foreign > 0 {
        return Ok(foreign);
    }
    if !left.is_empty() {
        export.remove(&dir.handle, MANIFEST.as_bytes()).map_err(run_error)?;
    }
    let root = export.root();
    export.remove_dir(&root, name.as_bytes()).map_err(run_error)?;
    Ok(0)
}

/// Whether the run may still be going on.
fn is_alive(manifest: &Manifest) -> bool {
    if manifest.host == host_name() && manifest.pid != 0 {
        return std::path::Path::new(&format!("/proc/{}", manifest.pid)).exists();
    }
    now() < manifest.expires_unix_s
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounds up, saturates")]
fn seconds(value: f64) -> u64 {
    value.ceil() as u64
}

fn unique() -> [u8; 8] {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = (now() << 24 ^ u64::from(std::process::id())).to_be_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_process_of_this_host_is_told_from_a_living_one() {
        let manifest = |pid| Manifest {
            tool: "plimsoll probe".to_owned(),
            host: host_name(),
            pid,
            created_unix_s: now(),
            expires_unix_s: now() + 100,
            files: vec![],
        };
        assert!(is_alive(&manifest(std::process::id())));
        assert!(!is_alive(&manifest(u32::MAX - 1)));
        let elsewhere = Manifest { host: "other".to_owned(), ..manifest(1) };
        assert!(is_alive(&elsewhere));
        assert!(!is_alive(&Manifest { expires_unix_s: 1, ..elsewhere }));
    }
}
