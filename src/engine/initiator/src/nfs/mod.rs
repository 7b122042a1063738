//! NFSv3 client over nconnect flows.

use crate::{Datastore, Error, NfsUrl, Options};

/// Options of the NFS client.
#[derive(Debug, Clone, Default)]
pub struct NfsOptions {}

/// Mounts an export.
pub fn open(url: &NfsUrl, _options: &Options) -> Result<Box<dyn Datastore>, Error> {
    Err(Error::Refused {
        peer: url.host.clone(),
        reason: "the NFS client is not built yet".to_owned(),
    })
}
