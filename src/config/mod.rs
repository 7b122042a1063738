//! Settings: file < environment < flag, one small struct per concern.
//!
//! Every key is `section.key`: in the TOML file a key of a table, in the environment
//! `PLIMSOLL_SECTION__KEY`, on the command line a flag. A key that nothing reads is an error that
//! names it, so that a typing mistake cannot leave a default in force unseen. Secrets are given by
//! file, never by value.

mod data;
mod http;
mod jobs;
mod log;
pub mod telemetry;

use std::path::PathBuf;

use serde::Deserialize;

pub use data::DataConfig;
pub use http::{HttpConfig, Token};
pub use jobs::JobsConfig;
pub use log::{LogConfig, LogFormat};

/// Prefix of environment variables that set a key.
const ENVIRONMENT_PREFIX: &str = "PLIMSOLL_";

/// All settings of the service.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where it listens and what it accepts.
    pub http: HttpConfig,
    /// Where it keeps data.
    pub data: DataConfig,
    /// How much it works on at once.
    pub jobs: JobsConfig,
    /// What it writes to its log.
    pub log: LogConfig,
}

/// Values given by flags; `None` leaves the lower layers in force.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Overrides {
    /// Configuration file (TOML).
    #[arg(long, env = "PLIMSOLL_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port to listen on; beyond this machine only with a token file
    /// [http.listen, default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<std::net::SocketAddr>,
    /// File with the bearer token that callers must send [http.token_file].
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Folder for the database and the files [data.dir, default: ./var].
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Largest upload, MiB [http.upload_limit_mib, default: 256].
    #[arg(long, value_name = "MIB")]
    pub upload_limit_mib: Option<u64>,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file named cannot be read.
    #[error("configuration file {path} cannot be read: {source}")]
    Read {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is no TOML, or holds an unknown key or a value that does not fit.
    #[error("configuration file {path}: {message}")]
    File {
        /// Its path.
        path: PathBuf,
        /// Key and cause.
        message: String,
    },
    /// An environment variable names an unknown key or holds a value that does not fit.
    #[error("environment variable {name}: {message}")]
    Environment {
        /// The variable.
        name: String,
        /// Key and cause.
        message: String,
    },
    /// A value that no deployment can use.
    #[error("{key} is {value}: {expected}")]
    Value {
        /// `section.key`.
        key: &'static str,
        /// The value.
        value: String,
        /// What it has to be.
        expected: &'static str,
    },
    /// The service would be open to the network without a token.
    #[error(
        "refusing to listen on {listen}: an address beyond this machine needs http.token_file, a \
         file with the bearer token that callers must send; set it, or listen on 127.0.0.1"
    )]
    OpenToNetwork {
        /// The address asked for.
        listen: std::net::SocketAddr,
    },
    /// The token file cannot be used.
    #[error("token file {path}: {message}")]
    TokenFile {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

impl Config {
    /// The settings in force: the file that the flags name, the process's environment, the flags.
    ///
    /// # Errors
    /// As [`Config::layer`].
    pub fn load(overrides: Overrides) -> Result<Self, ConfigError> {
        // Variables that are no text cannot be meant for us.
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::layer(environment, &overrides)
    }

    /// Layers the settings: defaults, the file, variables of `environment`, flags.
    ///
    /// # Errors
    /// When a layer cannot be read, names an unknown key or holds a value that does not fit.
    pub fn layer(
        environment: impl IntoIterator<Item = (String, String)>,
        overrides: &Overrides,
    ) -> Result<Self, ConfigError> {
        let file = overrides.config.as_deref();
        let mut table = toml::Table::new();
        if let Some(path) = file {
            let text = std::fs::read_to_string(path)
                .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
            let file_error = |message| ConfigError::File { path: path.to_owned(), message };
            table = text.parse().map_err(|error: toml::de::Error| file_error(error.to_string()))?;
            parse(&table).map_err(file_error)?;
        }
        let mut variables: Vec<(String, String)> = environment
            .into_iter()
            .filter(|(name, _)| name.starts_with(ENVIRONMENT_PREFIX) && name.contains("__"))
            .collect();
        variables.sort();
        for (name, value) in variables {
            set(&mut table, &name, value);
            parse(&table).map_err(|message| ConfigError::Environment { name, message })?;
        }
        let mut config = parse(&table).map_err(|message| ConfigError::Environment {
            name: ENVIRONMENT_PREFIX.to_owned(),
            message,
        })?;
        config.apply(overrides);
        config.check()?;
        Ok(config)
    }

    fn apply(&mut self, overrides: &Overrides) {
        if let Some(listen) = overrides.listen {
            self.http.listen = listen;
        }
        if let Some(token_file) = &overrides.token_file {
            self.http.token_file = Some(token_file.clone());
        }
        if let Some(limit) = overrides.upload_limit_mib {
            self.http.upload_limit_mib = limit;
        }
        if let Some(dir) = &overrides.data_dir {
            self.data.dir.clone_from(dir);
        }
    }

    /// Refuses combinations that must not run.
    ///
    /// # Errors
    /// When the service would be open to the network without a token, or a bound is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !self.http.listen.ip().is_loopback() && self.http.token_file.is_none() {
            return Err(ConfigError::OpenToNetwork { listen: self.http.listen });
        }
        if self.http.upload_limit_mib == 0 || self.http.upload_limit_mib > 1_048_576 {
            return Err(ConfigError::Value {
                key: "http.upload_limit_mib",
                value: self.http.upload_limit_mib.to_string(),
                expected: "a number from 1 to 1048576",
            });
        }
        if self.jobs.concurrency == 0 || self.jobs.concurrency > 64 {
            return Err(ConfigError::Value {
                key: "jobs.concurrency",
                value: self.jobs.concurrency.to_string(),
                expected: "a number from 1 to 64",
            });
        }
        Ok(())
    }
}

fn parse(table: &toml::Table) -> Result<Config, String> {
    serde_path_to_error::deserialize(table.clone()).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner().message().trim().to_owned();
        if path == "." { cause } else { format!("{path}: {cause}") }
    })
}

/// Puts the value of `PLIMSOLL_SECTION__KEY` at `section.key`.
fn set(table: &mut toml::Table, variable: &str, value: String) {
    let path = variable[ENVIRONMENT_PREFIX.len()..].to_lowercase();
    let mut keys: Vec<&str> = path.split("__").collect();
    let Some(last) = keys.pop() else { return };
    let mut at = table;
    for key in keys {
        let entry =
            at.entry(key.to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if !entry.is_table() {
            *entry = toml::Value::Table(toml::Table::new());
        }
        let toml::Value::Table(inner) = entry else { return };
        at = inner;
    }
    at.insert(last.to_owned(), toml::Value::String(value));
}

/// Reads a number written as such or as text (environment variables are text).
fn number<'de, D, N>(deserializer: D) -> Result<N, D::Error>
where
    D: serde::Deserializer<'de>,
    N: TryFrom<i64> + std::str::FromStr,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(i64),
        Text(String),
    }
    let refused = || serde::de::Error::custom("expected a whole number, zero or more");
    match Written::deserialize(deserializer)? {
        Written::Number(number) => N::try_from(number).map_err(|_| refused()),
        Written::Text(text) => text.trim().parse().map_err(|_| refused()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn file_then_environment_then_flag() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plimsoll.toml");
        std::fs::write(
            &file,
            "[http]\nlisten = \"127.0.0.1:1\"\nupload_limit_mib = 10\n[jobs]\nconcurrency = 3\n",
        )
        .unwrap();
        let flags = Overrides { config: Some(file), ..Default::default() };
        let from_file = Config::layer([], &flags).unwrap();
        assert_eq!(from_file.http.listen.port(), 1);
        assert_eq!(from_file.http.upload_limit_mib, 10);

        let variables =
            environment(&[("PLIMSOLL_HTTP__LISTEN", "127.0.0.1:2"), ("PLIMSOLL_SHARED", "x")]);
        let with_environment = Config::layer(variables.clone(), &flags).unwrap();
        assert_eq!(with_environment.http.listen.port(), 2);
        assert_eq!(with_environment.jobs.concurrency, 3);

        let flags = Overrides { listen: Some("127.0.0.1:3".parse().unwrap()), ..flags };
        let with_flag = Config::layer(variables, &flags).unwrap();
        assert_eq!(with_flag.http.listen.port(), 3);
    }

    #[test]
    fn unknown_keys_are_named() {
        let variables = environment(&[("PLIMSOLL_HTTP__LISTENN", "127.0.0.1:2")]);
        let error = Config::layer(variables, &Overrides::default()).unwrap_err().to_string();
        assert!(error.contains("PLIMSOLL_HTTP__LISTENN") && error.contains("listenn"), "{error}");

        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plimsoll.toml");
        std::fs::write(&file, "[jobs]\nworkers = 3\n").unwrap();
        let error = Config::layer([], &Overrides { config: Some(file), ..Default::default() })
            .unwrap_err()
            .to_string();
        assert!(error.contains("workers") && error.contains("plimsoll.toml"), "{error}");
    }

    #[test]
    fn a_network_address_needs_a_token() {
        let flags = Overrides { listen: Some("0.0.0.0:80".parse().unwrap()), ..Default::default() };
        let error = Config::layer([], &flags).unwrap_err().to_string();
        assert!(error.contains("token_file") && error.contains("0.0.0.0:80"), "{error}");
        let with_token = Overrides { token_file: Some("token".into()), ..flags };
        assert!(Config::layer([], &with_token).is_ok());
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        for value in ["-1", "many", "0"] {
            let variables = environment(&[("PLIMSOLL_JOBS__CONCURRENCY", value)]);
            assert!(Config::layer(variables, &Overrides::default()).is_err(), "{value}");
        }
    }
}
