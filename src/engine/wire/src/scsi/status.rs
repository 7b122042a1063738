//! SCSI status codes (SAM-5 5.3.1).

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    /// Completed without an error.
    Good = 0x00,
    /// Sense data says what happened.
    CheckCondition = 0x02,
    /// PRE-FETCH found room for all blocks.
    ConditionMet = 0x04,
    /// The logical unit is busy; the initiator retries later.
    Busy = 0x08,
    /// The command conflicts with a reservation of another nexus.
    ReservationConflict = 0x18,
    /// The task set has no room for another command.
    TaskSetFull = 0x28,
    /// The auto contingent allegiance of another nexus blocks the command.
    AcaActive = 0x30,
    /// Aborted by another nexus, with TAS set in the control mode page.
    TaskAborted = 0x40,
}

impl Status {
    /// The status with this code, if SAM-5 defines one.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x00 => Self::Good,
            0x02 => Self::CheckCondition,
            0x04 => Self::ConditionMet,
            0x08 => Self::Busy,
            0x18 => Self::ReservationConflict,
            0x28 => Self::TaskSetFull,
            0x30 => Self::AcaActive,
            0x40 => Self::TaskAborted,
            _ => return None,
        })
    }

    /// The code on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sam5_5_3_1_codes_round_trip() {
        let known: Vec<u8> =
            (0..=255).filter(|&c| Status::from_code(c).is_some_and(|s| s.code() == c)).collect();
        assert_eq!(known, [0x00, 0x02, 0x04, 0x08, 0x18, 0x28, 0x30, 0x40]);
    }
}
