//! Operation codes (SPC-5 annex E) and service actions of the commands that this project knows.

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident $value:literal)*) => {
        $($(#[$meta])* #[allow(missing_docs)] pub const $name: u8 = $value;)*
    };
}

codes! {
    TEST_UNIT_READY 0x00
    REQUEST_SENSE 0x03
    READ_6 0x08
    WRITE_6 0x0a
    INQUIRY 0x12
    MODE_SELECT_6 0x15
    RESERVE_6 0x16
    RELEASE_6 0x17
    MODE_SENSE_6 0x1a
    START_STOP_UNIT 0x1b
    SEND_DIAGNOSTIC 0x1d
    PREVENT_ALLOW_MEDIUM_REMOVAL 0x1e
    READ_CAPACITY_10 0x25
    READ_10 0x28
    WRITE_10 0x2a
    WRITE_AND_VERIFY_10 0x2e
    VERIFY_10 0x2f
    PREFETCH_10 0x34
    SYNCHRONIZE_CACHE_10 0x35
    READ_DEFECT_DATA_10 0x37
    WRITE_SAME_10 0x41
    UNMAP 0x42
    SANITIZE 0x48
    MODE_SELECT_10 0x55
    RESERVE_10 0x56
    RELEASE_10 0x57
    MODE_SENSE_10 0x5a
    PERSISTENT_RESERVE_IN 0x5e
    PERSISTENT_RESERVE_OUT 0x5f
    THIRD_PARTY_COPY_OUT 0x83
    THIRD_PARTY_COPY_IN 0x84
    READ_16 0x88
    COMPARE_AND_WRITE 0x89
    WRITE_16 0x8a
    ORWRITE_16 0x8b
    WRITE_AND_VERIFY_16 0x8e
    VERIFY_16 0x8f
    PREFETCH_16 0x90
    SYNCHRONIZE_CACHE_16 0x91
    WRITE_SAME_16 0x93
    SERVICE_ACTION_IN_16 0x9e
    REPORT_LUNS 0xa0
    MAINTENANCE_IN 0xa3
    MAINTENANCE_OUT 0xa4
    READ_12 0xa8
    WRITE_12 0xaa
    WRITE_AND_VERIFY_12 0xae
    VERIFY_12 0xaf
    READ_DEFECT_DATA_12 0xb7
}

/// Service actions, grouped by their operation code.
pub mod service {
    codes! {
        /// EXTENDED COPY(LID1) of THIRD-PARTY COPY OUT.
        EXTENDED_COPY_LID1 0x00
        /// RECEIVE COPY STATUS(LID1) of THIRD-PARTY COPY IN.
        COPY_STATUS_LID1 0x00
        /// RECEIVE COPY DATA(LID1).
        COPY_DATA_LID1 0x01
        /// RECEIVE COPY OPERATING PARAMETERS.
        COPY_OPERATING_PARAMETERS 0x03
        /// RECEIVE COPY FAILURE DETAILS(LID1).
        COPY_FAILURE_DETAILS_LID1 0x04
        /// READ CAPACITY(16) of SERVICE ACTION IN(16).
        READ_CAPACITY_16 0x10
        /// GET LBA STATUS.
        GET_LBA_STATUS 0x12
        /// REPORT TARGET PORT GROUPS of MAINTENANCE IN.
        REPORT_TARGET_PORT_GROUPS 0x0a
        /// REPORT SUPPORTED OPERATION CODES.
        REPORT_SUPPORTED_OPERATION_CODES 0x0c
        /// REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS.
        REPORT_SUPPORTED_TASK_MANAGEMENT 0x0d
        /// SET TARGET PORT GROUPS of MAINTENANCE OUT.
        SET_TARGET_PORT_GROUPS 0x0a
        /// OVERWRITE of SANITIZE.
        SANITIZE_OVERWRITE 0x01
        /// BLOCK ERASE of SANITIZE.
        SANITIZE_BLOCK_ERASE 0x02
        /// CRYPTOGRAPHIC ERASE of SANITIZE.
        SANITIZE_CRYPTOGRAPHIC_ERASE 0x03
        /// EXIT FAILURE MODE of SANITIZE.
        SANITIZE_EXIT_FAILURE_MODE 0x1f
        /// READ KEYS of PERSISTENT RESERVE IN.
        READ_KEYS 0x00
        /// READ RESERVATION.
        READ_RESERVATION 0x01
        /// REPORT CAPABILITIES.
        REPORT_CAPABILITIES 0x02
        /// READ FULL STATUS.
        READ_FULL_STATUS 0x03
        /// REGISTER of PERSISTENT RESERVE OUT.
        REGISTER 0x00
        /// RESERVE.
        RESERVE 0x01
        /// RELEASE.
        RELEASE 0x02
        /// CLEAR.
        CLEAR 0x03
        /// PREEMPT.
        PREEMPT 0x04
        /// PREEMPT AND ABORT.
        PREEMPT_AND_ABORT 0x05
        /// REGISTER AND IGNORE EXISTING KEY.
        REGISTER_AND_IGNORE_EXISTING_KEY 0x06
        /// REGISTER AND MOVE.
        REGISTER_AND_MOVE 0x07
    }
}

/// Length of a CDB with this operation code; 0 for the variable and reserved groups.
pub const fn cdb_length(opcode: u8) -> usize {
    match opcode >> 5 {
        0 => 6,
        1 | 2 => 10,
        4 => 16,
        5 => 12,
        _ => 0,
    }
}
