//! Sizes as people write them: `256MiB`, `4 TiB`, `512KiB`, or a plain number of bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const UNITS: [(&str, u64); 6] = [
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(pub u64);

impl Size {
    /// In bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// A size that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size; write a whole number with KiB, MiB, GiB, TiB or PiB, such as 256MiB")]
pub struct BadSize(String);

impl FromStr for Size {
    type Err = BadSize;

    fn from_str(text: &str) -> Result<Self, BadSize> {
        let bad = || BadSize(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = trimmed[digits.len()..].trim();
        let number: u64 = digits.parse().map_err(|_| bad())?;
        let factor = if unit.is_empty() {
            1
        } else {
            UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(bad)?.1
        };
        number.checked_mul(factor).map(Self).ok_or_else(bad)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact =
            UNITS.iter().find(|&&(_, factor)| self.0 >= factor && self.0.is_multiple_of(factor));
        let (name, factor) = exact.copied().unwrap_or(("B", 1));
        write!(f, "{}{name}", self.0 / factor)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"256MiB\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<Size, E> {
                u64::try_from(bytes).map(Size).map_err(|_| E::custom("a size is not negative"))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_as_people_do() {
        for (text, bytes) in
            [("256MiB", 256 << 20), ("4 TiB", 4 << 40), ("512", 512), ("1kib", 1024), ("7B", 7)]
        {
            assert_eq!(text.parse::<Size>().unwrap().bytes(), bytes, "{text}");
        }
        assert_eq!(Size(256 << 20).to_string(), "256MiB");
        assert_eq!(Size(1000).to_string(), "1000B");
        assert_eq!(Size(0).to_string(), "0B");
        for text in ["", "MiB", "-1MiB", "1.5GiB", "10MB", "99999999PiB", "1 2MiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
