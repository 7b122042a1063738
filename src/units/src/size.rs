//! Binary sizes: the only place where MiB, GiB, TiB and bytes meet.

use serde::{Deserialize, Serialize};

/// Mebibytes (2^20 bytes); the unit of every size in an inventory.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Mib(pub u64);

/// Gibibytes, for plans.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gib(pub f64);

/// Tebibytes, for pools.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tib(pub f64);

impl Mib {
    /// As gibibytes.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53 MiB")]
    pub fn gib(self) -> Gib {
        Gib(self.0 as f64 / 1024.0)
    }

    /// As tebibytes.
    #[must_use]
    pub fn tib(self) -> Tib {
        Tib(self.gib().0 / 1024.0)
    }

    /// Sum that stops at the largest value instead of wrapping.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Gib {
    /// As tebibytes.
    #[must_use]
    pub fn tib(self) -> Tib {
        Tib(self.0 / 1024.0)
    }
}

impl Tib {
    /// As gibibytes.
    #[must_use]
    pub fn gib(self) -> Gib {
        Gib(self.0 * 1024.0)
    }
}

impl std::iter::Sum for Mib {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self(0), Self::plus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mib_to_tib() {
        assert_eq!(Mib(286_616_116).tib().0, 286_616_116.0 / 1_048_576.0);
        assert_eq!(Tib(20.0).gib().0, 20_480.0);
    }
}
