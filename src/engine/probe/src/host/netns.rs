//! Network namespaces: a thread that enters one stays in it, so the work is done in a thread of its own.

use std::{fs::File, os::fd::AsRawFd, path::PathBuf};

use crate::{Error, Result};

/// Where `ip netns add NAME` puts its names.
const DIRECTORY: &str = "/run/netns";

/// Moves the calling thread into the namespace, for good.
#[allow(unsafe_code)]
pub fn enter(name: &str) -> Result<()> {
    if name.is_empty() || name.contains('/') || name == ".." {
        return Err(Error::Host {
            host: name.to_owned(),
            what: "is not the name of a namespace".to_owned(),
        });
    }
    let path = PathBuf::from(DIRECTORY).join(name);
    let file = File::open(&path).map_err(|error| Error::file(&path, error))?;
    // SAFETY: the descriptor is open for the length of the call; setns changes the calling thread only.
    let result = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
    if result == 0 {
        Ok(())
    } else {
        let source = std::io::Error::last_os_error();
        Err(Error::Host {
            host: name.to_owned(),
            what: format!("cannot enter the namespace: {source}"),
        })
    }
}

/// Runs `work` in a thread inside of the namespace.
pub fn within<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let inside = name.to_owned();
    let thread = std::thread::Builder::new()
        .name(format!("netns-{name}"))
        .spawn(move || enter(&inside).and_then(|()| work()))
        .map_err(|source| Error::System { call: "start a thread", source })?;
    thread.join().unwrap_or_else(|_| {
        Err(Error::Host { host: name.to_owned(), what: "its thread broke down".to_owned() })
    })
}
