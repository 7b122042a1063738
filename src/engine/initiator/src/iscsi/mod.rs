//! iSCSI initiator: sessions, and the unit they lead to.

use crate::{Datastore, Error, IscsiUrl, Options};

/// Logs in to a logical unit.
pub fn open(url: &IscsiUrl, _options: &Options) -> Result<Box<dyn Datastore>, Error> {
    Err(Error::Refused {
        peer: url.host.clone(),
        reason: "the iSCSI client is not built yet".to_owned(),
    })
}
