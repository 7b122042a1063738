//! CHAP (RFC 7143 section 12.1.3): the target's side is a [`Verifier`], the initiator's a [`Prover`].
//!
//! MD5 (5), SHA-256 (7) and SHA3-256 (8). Challenges up to 1,024 bytes in hex or base64. A reflected challenge
//! is refused and responses are compared in constant time. Randomness comes from the caller.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq as _;

/// The longest binary value of CHAP, in bytes (section 12.1.3).
pub const BINARY_MAX: usize = 1024;

/// A name and its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// CHAP name.
    pub name: String,
    secret: Vec<u8>,
}

impl Credentials {
    /// A name and its secret.
    pub fn new(name: impl Into<String>, secret: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), secret: secret.into() }
    }

    /// Whether both have the same secret, which section 9.2.1 forbids for the two directions.
    pub fn same_secret(&self, other: &Self) -> bool {
        self.secret == other.secret
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials({:?}, secret not shown)", self.name)
    }
}

/// Hash of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Algorithm {
    /// MD5, which every peer has.
    Md5 = 5,
    /// SHA-256.
    Sha256 = 7,
    /// SHA3-256.
    Sha3_256 = 8,
}

impl Algorithm {
    /// All, in the order in which an initiator offers them: the strongest, then MD5 before SHA-256, because tgt
    /// and IET take the number 7 for SHA-1 and a login that agreed on it fails.
    pub const ALL: [Self; 3] = [Self::Sha3_256, Self::Md5, Self::Sha256];

    fn parse(value: &str) -> Option<Self> {
        match value {
            "5" => Some(Self::Md5),
            "7" => Some(Self::Sha256),
            "8" => Some(Self::Sha3_256),
            _ => None,
        }
    }

    /// The response of RFC 1994: hash over identifier, secret and challenge.
    pub fn response(self, identifier: u8, secret: &[u8], challenge: &[u8]) -> Vec<u8> {
        let parts: [&[u8]; 3] = [&[identifier], secret, challenge];
        match self {
            Self::Md5 => hash::<md5::Md5>(&parts),
            Self::Sha256 => hash::<sha2::Sha256>(&parts),
            Self::Sha3_256 => hash::<sha3::Sha3_256>(&parts),
        }
    }

    /// Bytes of a response and of the challenges that this code makes: section 12.1.3 wants at least the
    /// length of the hash.
    pub fn hash_len(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha256 | Self::Sha3_256 => 32,
        }
    }
}

fn hash<H: sha2::Digest>(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().fold(H::new(), H::chain_update).finalize().to_vec()
}

/// The authentication has failed. What is said to the peer is only that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChapError {
    /// A key of the step is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A key of the step is malformed.
    #[error("{0} is malformed")]
    Malformed(&'static str),
    /// No algorithm in common.
    #[error("no CHAP algorithm in common")]
    NoAlgorithm,
    /// Unknown name or wrong response.
    #[error("name or response is wrong")]
    Wrong,
    /// The peer returns our own challenge as its own.
    #[error("the challenge is reflected")]
    Reflected,
    /// The peer wants to authenticate this end, which has no credentials for that.
    #[error("mutual authentication is asked for but not configured")]
    NoMutualCredentials,
    /// The exchange is over or has not begun.
    #[error("the CHAP keys do not fit the step of the exchange")]
    OutOfOrder,
}

/// Keys to be sent.
pub type Answer = Vec<(&'static str, String)>;

/// A source of random bytes.
pub type Random<'a> = &'a mut dyn FnMut(&mut [u8]);

fn find<'a>(keys: &[(&'a str, &'a str)], key: &'static str) -> Result<&'a str, ChapError> {
    let found = keys.iter().find(|(name, _)| *name == key);
    found.map(|(_, value)| *value).ok_or(ChapError::Missing(key))
}

fn identifier(keys: &[(&str, &str)]) -> Result<u8, ChapError> {
    let value = find(keys, "CHAP_I")?;
    let hex = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    let number = hex.map_or_else(|| value.parse(), |digits| u8::from_str_radix(digits, 16));
    number.map_err(|_| ChapError::Malformed("CHAP_I"))
}

fn binary(keys: &[(&str, &str)], key: &'static str) -> Result<Vec<u8>, ChapError> {
    decode(find(keys, key)?).ok_or(ChapError::Malformed(key))
}

/// Reads a binary value: `0x` hex or `0b` base64 (section 6.1), 1 to 1,024 bytes.
pub fn decode(value: &str) -> Option<Vec<u8>> {
    let (prefix, digits) = value.split_at_checked(2)?;
    let bytes = match prefix {
        "0x" | "0X" => decode_hex(digits.as_bytes())?,
        "0b" | "0B" if digits.len() <= BINARY_MAX.div_ceil(3) * 4 => {
            STANDARD.decode(digits).ok()?
        }
        _ => return None,
    };
    (1..=BINARY_MAX).contains(&bytes.len()).then_some(bytes)
}

/// An odd number of digits stands for a leading zero.
fn decode_hex(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.len() > 2 * BINARY_MAX {
        return None;
    }
    let nibble = |digit: &u8| char::from(*digit).to_digit(16).map(|value| value as u8);
    let (first, rest) = digits.split_at(digits.len() % 2);
    let mut bytes = first.iter().map(nibble).collect::<Option<Vec<u8>>>()?;
    for pair in rest.chunks_exact(2) {
        bytes.push(nibble(&pair[0])? << 4 | nibble(&pair[1])?);
    }
    Some(bytes)
}

/// Writes a binary value in hex, which all peers read.
pub fn encode(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
        text
    })
}

/// A challenge that this end has sent.
#[derive(Clone)]
struct Challenge {
    algorithm: Algorithm,
    identifier: u8,
    challenge: Vec<u8>,
}

impl Challenge {
    fn new(algorithm: Algorithm, random: Random<'_>) -> Self {
        let mut bytes = vec![0; algorithm.hash_len() + 1];
        random(&mut bytes);
        let identifier = bytes.pop().unwrap_or(0);
        Self { algorithm, identifier, challenge: bytes }
    }

    fn keys(&self) -> [(&'static str, String); 2] {
        [("CHAP_I", self.identifier.to_string()), ("CHAP_C", encode(&self.challenge))]
    }

    fn is_answered_by(&self, secret: &[u8], response: &[u8]) -> bool {
        let expected = self.algorithm.response(self.identifier, secret, &self.challenge);
        expected.ct_eq(response).into()
    }
}

enum VerifierState {
    Begin,
    Challenged(Challenge),
    Done(String),
}

/// The target's side: asks the initiator for a proof, and gives its own when asked.
pub struct Verifier {
    accepted: Vec<Credentials>,
    own: Option<Credentials>,
    state: VerifierState,
}

impl Verifier {
    /// Accepts any of `accepted`; proves itself by `own` if the initiator asks for it.
    pub fn new(accepted: Vec<Credentials>, own: Option<Credentials>) -> Self {
        Self { accepted, own, state: VerifierState::Begin }
    }

    /// Takes the CHAP keys of one login request and gives those of the response.
    pub fn receive(
        &mut self,
        keys: &[(&str, &str)],
        random: Random<'_>,
    ) -> Result<Answer, ChapError> {
        match std::mem::replace(&mut self.state, VerifierState::Begin) {
            VerifierState::Begin => {
                let offer = find(keys, "CHAP_A")?;
                let algorithm = offer.split(',').find_map(Algorithm::parse);
                let algorithm = algorithm.ok_or(ChapError::NoAlgorithm)?;
                let challenge = Challenge::new(algorithm, random);
                let mut answer = vec![("CHAP_A", (algorithm as u8).to_string())];
                answer.extend(challenge.keys());
                self.state = VerifierState::Challenged(challenge);
                Ok(answer)
            }
            VerifierState::Challenged(sent) => {
                let name = find(keys, "CHAP_N")?;
                let response = binary(keys, "CHAP_R")?;
                // Every name is tried, so that the time taken does not tell which names exist.
                let mut known = false;
                for user in &self.accepted {
                    let sound = sent.is_answered_by(&user.secret, &response);
                    known |= sound & (user.name == name);
                }
                if !known {
                    return Err(ChapError::Wrong);
                }
                let answer = match find(keys, "CHAP_C") {
                    Ok(_) => self.prove(&sent, keys)?,
                    Err(_) => Vec::new(),
                };
                self.state = VerifierState::Done(name.to_owned());
                Ok(answer)
            }
            VerifierState::Done(_) => Err(ChapError::OutOfOrder),
        }
    }

    fn prove(&self, sent: &Challenge, keys: &[(&str, &str)]) -> Result<Answer, ChapError> {
        let challenge = binary(keys, "CHAP_C")?;
        if challenge == sent.challenge {
            return Err(ChapError::Reflected);
        }
        let own = self.own.as_ref().ok_or(ChapError::NoMutualCredentials)?;
        let response = sent.algorithm.response(identifier(keys)?, &own.secret, &challenge);
        Ok(vec![("CHAP_N", own.name.clone()), ("CHAP_R", encode(&response))])
    }

    /// The name that was proved, once it is.
    pub fn user(&self) -> Option<&str> {
        match &self.state {
            VerifierState::Done(name) => Some(name),
            _ => None,
        }
    }
}

enum ProverState {
    Begin,
    Challenged(Challenge),
    Done,
}

/// The initiator's side: gives a proof, and asks for one when the target shall authenticate itself.
pub struct Prover {
    own: Credentials,
    target: Option<Credentials>,
    state: ProverState,
}

impl Prover {
    /// Proves `own`; with `target`, demands the target's proof of that.
    pub fn new(own: Credentials, target: Option<Credentials>) -> Self {
        Self { own, target, state: ProverState::Begin }
    }

    /// The first step: the algorithms, in the order of [`Algorithm::ALL`].
    pub fn offer() -> (&'static str, String) {
        let all: Vec<_> =
            Algorithm::ALL.iter().map(|algorithm| (*algorithm as u8).to_string()).collect();
        ("CHAP_A", all.join(","))
    }

    /// Takes the CHAP keys of one login response and gives those of the next request.
    pub fn receive(
        &mut self,
        keys: &[(&str, &str)],
        random: Random<'_>,
    ) -> Result<Answer, ChapError> {
        match std::mem::replace(&mut self.state, ProverState::Begin) {
            ProverState::Begin => {
                let algorithm = Algorithm::parse(find(keys, "CHAP_A")?);
                let algorithm = algorithm.ok_or(ChapError::NoAlgorithm)?;
                let challenge = binary(keys, "CHAP_C")?;
                let response = algorithm.response(identifier(keys)?, &self.own.secret, &challenge);
                let mut answer =
                    vec![("CHAP_N", self.own.name.clone()), ("CHAP_R", encode(&response))];
                self.state = if self.target.is_some() {
                    let own = Challenge::new(algorithm, random);
                    answer.extend(own.keys());
                    ProverState::Challenged(own)
                } else {
                    ProverState::Done
                };
                Ok(answer)
            }
            ProverState::Challenged(sent) => {
                let name = find(keys, "CHAP_N")?;
                let response = binary(keys, "CHAP_R")?;
                let target = self.target.as_ref().ok_or(ChapError::OutOfOrder)?;
                let sound = sent.is_answered_by(&target.secret, &response);
                if !(sound & (target.name == name)) {
                    return Err(ChapError::Wrong);
                }
                self.state = ProverState::Done;
                Ok(Vec::new())
            }
            ProverState::Done => Err(ChapError::OutOfOrder),
        }
    }

    /// Whether everything that was asked for is proved. Until then the initiator must not go on.
    pub fn is_done(&self) -> bool {
        matches!(self.state, ProverState::Done)
    }
}

#[cfg(test)]
mod tests;
