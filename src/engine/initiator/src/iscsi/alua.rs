//! Asymmetric access (SPC-5 5.18): what the state of a target port group means for a path.

/// ASYMMETRIC ACCESS STATE of a target port group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessState {
    /// Full performance.
    #[default]
    ActiveOptimized,
    /// Works, on a detour.
    ActiveNonOptimized,
    /// Does not take reads and writes.
    Standby,
    /// Takes next to nothing.
    Unavailable,
    /// On its way to another state.
    Transitioning,
    /// Any other state.
    Other(u8),
}

impl AccessState {
    /// The state of this code.
    pub fn from_code(code: u8) -> Self {
        match code & 0x0f {
            0x0 => Self::ActiveOptimized,
            0x1 => Self::ActiveNonOptimized,
            0x2 => Self::Standby,
            0x3 => Self::Unavailable,
            0xf => Self::Transitioning,
            other => Self::Other(other),
        }
    }

    /// Lower is better; `None` takes no reads and writes.
    pub(super) fn rank(self) -> Option<u8> {
        match self {
            Self::ActiveOptimized => Some(0),
            Self::ActiveNonOptimized => Some(1),
            _ => None,
        }
    }
}
