//! Where the service listens, who may call it and how much it takes.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::ConfigError;

/// Section `http`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// Address and port. Beyond loopback only with `token_file`.
    pub listen: SocketAddr,
    /// File with the bearer token, one line. Without it only this machine is served.
    pub token_file: Option<PathBuf>,
    /// Largest upload, MiB, over all files of a request.
    #[serde(deserialize_with = "super::number")]
    pub upload_limit_mib: u64,
    /// How long requests and jobs may finish after a stop signal, seconds.
    #[serde(deserialize_with = "super::number")]
    pub drain_seconds: u64,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            token_file: None,
            upload_limit_mib: 256,
            drain_seconds: 20,
        }
    }
}

impl HttpConfig {
    /// Largest upload, bytes.
    #[must_use]
    pub fn upload_limit_bytes(&self) -> u64 {
        self.upload_limit_mib.saturating_mul(1 << 20)
    }

    /// Reads the token, when one is configured.
    ///
    /// # Errors
    /// When the file cannot be read or its content is not fit to be a token.
    pub fn token(&self) -> Result<Option<Token>, ConfigError> {
        self.token_file.as_deref().map(Token::read).transpose()
    }
}

/// The bearer token. Neither shown nor logged.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// Shorter tokens can be guessed.
    const LEAST_CHARACTERS: usize = 16;

    fn read(path: &Path) -> Result<Self, ConfigError> {
        let refused = |message: String| ConfigError::TokenFile { path: path.to_owned(), message };
        let text = std::fs::read_to_string(path)
            .map_err(|error| refused(format!("cannot be read: {error}")))?;
        Self::new(text.trim()).map_err(|message| refused(message.to_owned()))
    }

    /// Takes a token.
    ///
    /// # Errors
    /// When it is too short or holds characters that a header or cookie cannot carry.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        if text.len() < Self::LEAST_CHARACTERS {
            return Err("the token needs at least 16 characters");
        }
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)) {
            return Err("the token may hold letters, digits and -._~+/= only");
        }
        Ok(Self(text.into()))
    }

    /// Compares in a time that does not depend on where the two differ.
    #[must_use]
    pub fn matches(&self, candidate: &str) -> bool {
        self.0.as_bytes().ct_eq(candidate.as_bytes()).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_token_matches_itself_only_and_is_not_shown() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.matches("0123456789abcdef"));
        assert!(!token.matches("0123456789abcdeF"));
        assert!(!token.matches("0123456789abcde"));
        assert!(!token.matches(""));
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn weak_or_unsendable_tokens_are_refused() {
        assert!(Token::new("short").is_err());
        assert!(Token::new("0123456789abc def").is_err());
        assert!(Token::new("0123456789abc;def").is_err());
    }
}
