//! Starts the log. Lines go to stderr; stdout is for data.
//!
//! Never logged: bodies, tokens, names of VMs, hosts or files (docs/api.md lists the fields).

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use super::{ConfigError, LogConfig, LogFormat};

/// Starts the log for the whole process; a second call changes nothing.
///
/// # Errors
/// When the filter's directives cannot be read.
pub fn start(config: &LogConfig) -> Result<(), ConfigError> {
    let filter = EnvFilter::try_new(&config.filter).map_err(|_| ConfigError::Value {
        key: "log.filter",
        value: config.filter.clone(),
        expected: "directives such as info,plimsoll::jobs=debug",
    })?;
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_writer(std::io::stderr);
    // An error here says that a log was started before: that one stays.
    let _ = match config.format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
    Ok(())
}
