//! Whether others use a logical unit: a reservation, or keys registered by somebody (the probe registers
//! none itself, so every key is foreign). ESXi, clusters and multipath hosts leave such traces.
//!
//! Sessions of others are not visible to an initiator; registered keys are the nearest thing to them.

use plimsoll_initiator::{Error as ClientError, Options, Outcome, Url, iscsi::Device};

use crate::{Error, Result, client::ClientOptions, run::Target};

/// Refuses a unit that somebody else has reserved or registered with.
pub fn check(target: &Target, client: &ClientOptions) -> Result<()> {
    let failed = |source| Error::Datastore { url: target.shown.clone(), source };
    let Url::Iscsi(url) = Url::parse(&target.url).map_err(failed)? else { return Ok(()) };
    let options: Options = client.options(1)?;
    let mut device = Device::connect(&url, &options).map_err(failed)?;
    let held = told(device.reservation()).map_err(failed)?.flatten();
    let keys = told(device.reservation_keys()).map_err(failed)?.unwrap_or_default();
    device.close();
    let refuse = |what: String| Err(Error::WriteRefused { url: target.shown.clone(), what });
    if let Some((key, kind)) = held {
        return refuse(format!(
            "is reserved ({kind:?}) under the key {key:#018x}: somebody uses it"
        ));
    }
    if let Some(key) = keys.first() {
        return refuse(format!(
            "has {} registered reservation keys, {key:#018x} first: other hosts use it; unmap it from them",
            keys.len()
        ));
    }
    Ok(())
}

/// A target without persistent reservations refuses the command: then nobody can have any.
fn told<T>(
    answer: std::result::Result<T, ClientError>,
) -> std::result::Result<Option<T>, ClientError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(ClientError::Command { outcome: Outcome::CheckCondition(sense), .. })
            if sense.key == 5 =>
        {
            Ok(None)
        }
        // RESERVE(6) by another initiator conflicts with everything but a few commands.
        Err(error) => Err(error),
    }
}
