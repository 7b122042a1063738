//! Additional sense codes by name (SPC-5 annex D): what a device server says beyond the sense key.

use std::fmt;

/// An additional sense code with its qualifier.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Additional {
    /// ADDITIONAL SENSE CODE.
    pub code: u8,
    /// ADDITIONAL SENSE CODE QUALIFIER.
    pub qualifier: u8,
}

impl Additional {
    /// A code that has no name here.
    pub const fn new(code: u8, qualifier: u8) -> Self {
        Self { code, qualifier }
    }

    /// Its name in SPC-5, when it is one that this project knows.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(code, _)| *code == self).map(|(_, name)| *name)
    }
}

impl fmt::Debug for Additional {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Additional {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{:02x}/{:02x} {name}", self.code, self.qualifier),
            None => write!(f, "{:02x}/{:02x}", self.code, self.qualifier),
        }
    }
}

macro_rules! additional {
    ($($name:ident $code:literal $qualifier:literal $text:literal)*) => {
        impl Additional {
            $(#[doc = $text] pub const $name: Self = Self::new($code, $qualifier);)*
        }
        const NAMES: &[(Additional, &str)] = &[$((Additional::$name, $text)),*];
    };
}

additional! {
    NONE 0x00 0x00 "no additional sense information"
    OPERATION_IN_PROGRESS 0x00 0x16 "operation in progress"
    NOT_READY_CAUSE_NOT_REPORTABLE 0x04 0x00 "logical unit not ready, cause not reportable"
    NOT_READY_BECOMING_READY 0x04 0x01 "logical unit is in process of becoming ready"
    NOT_READY_INITIALIZING_COMMAND_REQUIRED 0x04 0x02 "logical unit not ready, initializing command required"
    NOT_ACCESSIBLE_TRANSITION 0x04 0x0a "logical unit not accessible, asymmetric access state transition"
    NOT_ACCESSIBLE_STANDBY 0x04 0x0b "logical unit not accessible, target port in standby state"
    NOT_ACCESSIBLE_UNAVAILABLE 0x04 0x0c "logical unit not accessible, target port in unavailable state"
    NOT_READY_SPACE_ALLOCATION_IN_PROGRESS 0x04 0x14 "logical unit not ready, space allocation in progress"
    NOT_READY_SANITIZE_IN_PROGRESS 0x04 0x1b "logical unit not ready, sanitize in progress"
    UNREACHABLE_COPY_TARGET 0x08 0x04 "unreachable copy target"
    WRITE_ERROR 0x0c 0x00 "write error"
    COPY_TARGET_DEVICE_NOT_REACHABLE 0x0d 0x02 "copy target device not reachable"
    COPY_DATA_UNDERRUN 0x0d 0x04 "copy target device data underrun"
    INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT 0x0e 0x03 "invalid field in command information unit"
    UNRECOVERED_READ_ERROR 0x11 0x00 "unrecovered read error"
    PARAMETER_LIST_LENGTH_ERROR 0x1a 0x00 "parameter list length error"
    MISCOMPARE_DURING_VERIFY 0x1d 0x00 "miscompare during verify operation"
    DEFECT_LIST_NOT_FOUND 0x1c 0x00 "defect list not found"
    INVALID_COMMAND_OPERATION_CODE 0x20 0x00 "invalid command operation code"
    LBA_OUT_OF_RANGE 0x21 0x00 "logical block address out of range"
    INVALID_FIELD_IN_CDB 0x24 0x00 "invalid field in cdb"
    LOGICAL_UNIT_NOT_SUPPORTED 0x25 0x00 "logical unit not supported"
    INVALID_FIELD_IN_PARAMETER_LIST 0x26 0x00 "invalid field in parameter list"
    PARAMETER_NOT_SUPPORTED 0x26 0x01 "parameter not supported"
    PARAMETER_VALUE_INVALID 0x26 0x02 "parameter value invalid"
    INVALID_RELEASE_OF_PERSISTENT_RESERVATION 0x26 0x04 "invalid release of persistent reservation"
    TOO_MANY_TARGET_DESCRIPTORS 0x26 0x06 "too many target descriptors"
    UNSUPPORTED_TARGET_DESCRIPTOR_TYPE 0x26 0x07 "unsupported target descriptor type code"
    TOO_MANY_SEGMENT_DESCRIPTORS 0x26 0x08 "too many segment descriptors"
    UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE 0x26 0x09 "unsupported segment descriptor type code"
    INLINE_DATA_LENGTH_EXCEEDED 0x26 0x0b "inline data length exceeded"
    WRITE_PROTECTED 0x27 0x00 "write protected"
    SPACE_ALLOCATION_FAILED_WRITE_PROTECT 0x27 0x07 "space allocation failed write protect"
    NOT_READY_TO_READY_CHANGE 0x28 0x00 "not ready to ready change, medium may have changed"
    POWER_ON_RESET_OCCURRED 0x29 0x00 "power on, reset, or bus device reset occurred"
    POWER_ON_OCCURRED 0x29 0x01 "power on occurred"
    BUS_DEVICE_RESET_OCCURRED 0x29 0x03 "bus device reset function occurred"
    I_T_NEXUS_LOSS_OCCURRED 0x29 0x07 "i_t nexus loss occurred"
    MODE_PARAMETERS_CHANGED 0x2a 0x01 "mode parameters changed"
    RESERVATIONS_PREEMPTED 0x2a 0x03 "reservations preempted"
    RESERVATIONS_RELEASED 0x2a 0x04 "reservations released"
    REGISTRATIONS_PREEMPTED 0x2a 0x05 "registrations preempted"
    ASYMMETRIC_ACCESS_STATE_CHANGED 0x2a 0x06 "asymmetric access state changed"
    CAPACITY_DATA_CHANGED 0x2a 0x09 "capacity data has changed"
    COMMAND_SEQUENCE_ERROR 0x2c 0x00 "command sequence error"
    COMMANDS_CLEARED_BY_ANOTHER_INITIATOR 0x2f 0x00 "commands cleared by another initiator"
    SANITIZE_COMMAND_FAILED 0x31 0x03 "sanitize command failed"
    THIN_PROVISIONING_SOFT_THRESHOLD_REACHED 0x38 0x07 "thin provisioning soft threshold reached"
    SAVING_PARAMETERS_NOT_SUPPORTED 0x39 0x00 "saving parameters not supported"
    MEDIUM_NOT_PRESENT 0x3a 0x00 "medium not present"
    INQUIRY_DATA_CHANGED 0x3f 0x03 "inquiry data has changed"
    REPORTED_LUNS_DATA_CHANGED 0x3f 0x0e "reported luns data has changed"
    INTERNAL_TARGET_FAILURE 0x44 0x00 "internal target failure"
    OVERLAPPED_COMMANDS_ATTEMPTED 0x4e 0x00 "overlapped commands attempted"
    MEDIUM_REMOVAL_PREVENTED 0x53 0x02 "medium removal prevented"
    INSUFFICIENT_REGISTRATION_RESOURCES 0x55 0x04 "insufficient registration resources"
    UNEXPECTED_UNSOLICITED_DATA 0x0c 0x0c "write error, unexpected unsolicited data"
    INCORRECT_AMOUNT_OF_DATA 0x0c 0x0d "write error, not enough unsolicited data"
    PROTOCOL_SERVICE_CRC_ERROR 0x47 0x05 "protocol service crc error"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spc5_annex_d_codes_are_distinct_and_named() {
        for (i, (code, _)) in NAMES.iter().enumerate() {
            assert!(NAMES[..i].iter().all(|(other, _)| other != code), "{code} twice");
        }
        assert_eq!(
            Additional::CAPACITY_DATA_CHANGED.to_string(),
            "2a/09 capacity data has changed"
        );
        assert_eq!(Additional::new(0x7f, 0x01).to_string(), "7f/01");
    }
}
