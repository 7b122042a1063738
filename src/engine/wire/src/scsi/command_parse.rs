//! CDB to [`Command`].

use super::opcode::{self as op, service};
use super::{Access, Blocks, CdbError, Command, Width};

fn u16_at(cdb: &[u8; 16], at: usize) -> u16 {
    u16::from_be_bytes([cdb[at], cdb[at + 1]])
}

fn u32_at(cdb: &[u8; 16], at: usize) -> u32 {
    u32::from_be_bytes([cdb[at], cdb[at + 1], cdb[at + 2], cdb[at + 3]])
}

fn u64_at(cdb: &[u8; 16], at: usize) -> u64 {
    u64::from(u32_at(cdb, at)) << 32 | u64::from(u32_at(cdb, at + 4))
}

fn bit(cdb: &[u8; 16], byte: usize, bit: u8) -> bool {
    cdb[byte] & (1 << bit) != 0
}

/// The blocks of a CDB in the usual place for its width.
fn blocks(cdb: &[u8; 16], width: Width) -> Blocks {
    match width {
        Width::Six => Blocks {
            lba: u64::from(u32_at(cdb, 0) & 0x1f_ffff),
            // 0 means 256 in the six-byte forms alone (SBC-4 5.13).
            count: if cdb[4] == 0 { 256 } else { u32::from(cdb[4]) },
        },
        Width::Ten => Blocks { lba: u64::from(u32_at(cdb, 2)), count: u32::from(u16_at(cdb, 7)) },
        Width::Twelve => Blocks { lba: u64::from(u32_at(cdb, 2)), count: u32_at(cdb, 6) },
        Width::Sixteen => Blocks { lba: u64_at(cdb, 2), count: u32_at(cdb, 10) },
    }
}

fn access(cdb: &[u8; 16], width: Width) -> Access {
    match width {
        Width::Six => Access::default(),
        _ => Access { protect: cdb[1] >> 5, dpo: bit(cdb, 1, 4), fua: bit(cdb, 1, 3) },
    }
}

/// Protection and DPO of the verify family, where bit 3 is not FUA.
fn verify_access(cdb: &[u8; 16]) -> Access {
    Access { protect: cdb[1] >> 5, dpo: bit(cdb, 1, 4), fua: false }
}

impl Command {
    /// Reads a CDB, zero-padded to 16 bytes.
    pub fn parse(cdb: &[u8; 16]) -> Result<Self, CdbError> {
        let command = Self::parse_fields(cdb)?;
        let control = match op::cdb_length(cdb[0]) {
            0 => return Err(CdbError::Opcode(cdb[0])),
            length => length - 1,
        };
        if bit(cdb, control, 2) {
            return Err(CdbError::Field { byte: control as u8, bit: Some(2) });
        }
        Ok(command)
    }

    fn parse_fields(cdb: &[u8; 16]) -> Result<Self, CdbError> {
        use Width::{Six, Sixteen, Ten, Twelve};
        let read =
            |width| Self::Read { width, blocks: blocks(cdb, width), access: access(cdb, width) };
        let write =
            |width| Self::Write { width, blocks: blocks(cdb, width), access: access(cdb, width) };
        let byte_check = cdb[1] >> 1 & 3;
        let verify = |width| Self::Verify {
            width,
            blocks: blocks(cdb, width),
            access: verify_access(cdb),
            byte_check,
        };
        let write_verify = |width| Self::WriteVerify {
            width,
            blocks: blocks(cdb, width),
            access: verify_access(cdb),
            byte_check,
        };
        let immediate = bit(cdb, 1, 1);
        let prefetch = |width| Self::Prefetch { width, blocks: blocks(cdb, width), immediate };
        let synchronize =
            |width| Self::SynchronizeCache { width, blocks: blocks(cdb, width), immediate };
        let write_same = |width| Self::WriteSame {
            width,
            blocks: blocks(cdb, width),
            protect: cdb[1] >> 5,
            anchor: bit(cdb, 1, 4),
            unmap: bit(cdb, 1, 3),
            // NDOB exists in the 16-byte form only (SBC-4 5.55).
            no_data: width == Sixteen && bit(cdb, 1, 0),
        };
        let mode_sense = |width| Self::ModeSense {
            width,
            no_blocks: bit(cdb, 1, 3),
            long_lba: width == Ten && bit(cdb, 1, 4),
            control: cdb[2] >> 6,
            page: cdb[2] & 0x3f,
            subpage: cdb[3],
            allocation: if width == Six { u16::from(cdb[4]) } else { u16_at(cdb, 7) },
        };
        let mode_select = |width| Self::ModeSelect {
            width,
            page_format: bit(cdb, 1, 4),
            save: bit(cdb, 1, 0),
            length: if width == Six { u16::from(cdb[4]) } else { u16_at(cdb, 7) },
        };
        Ok(match cdb[0] {
            op::TEST_UNIT_READY => Self::TestUnitReady,
            op::REQUEST_SENSE => {
                Self::RequestSense { descriptor: bit(cdb, 1, 0), allocation: cdb[4] }
            }
            op::INQUIRY => match (bit(cdb, 1, 0), cdb[2]) {
                (true, page) => Self::Inquiry { page: Some(page), allocation: u16_at(cdb, 3) },
                (false, 0) => Self::Inquiry { page: None, allocation: u16_at(cdb, 3) },
                (false, _) => return Err(CdbError::Field { byte: 2, bit: None }),
            },
            op::MODE_SENSE_6 => mode_sense(Six),
            op::MODE_SENSE_10 => mode_sense(Ten),
            op::MODE_SELECT_6 => mode_select(Six),
            op::MODE_SELECT_10 => mode_select(Ten),
            op::RESERVE_6 => Self::Reserve { width: Six },
            op::RESERVE_10 => Self::Reserve { width: Ten },
            op::RELEASE_6 => Self::Release { width: Six },
            op::RELEASE_10 => Self::Release { width: Ten },
            op::START_STOP_UNIT => Self::StartStop {
                immediate: bit(cdb, 1, 0),
                power: cdb[4] >> 4,
                no_flush: bit(cdb, 4, 2),
                load_eject: bit(cdb, 4, 1),
                start: bit(cdb, 4, 0),
            },
            op::SEND_DIAGNOSTIC => Self::SendDiagnostic {
                self_test: bit(cdb, 1, 2),
                code: cdb[1] >> 5,
                length: u16_at(cdb, 3),
            },
            op::PREVENT_ALLOW_MEDIUM_REMOVAL => Self::PreventAllow { prevent: cdb[4] & 3 },
            op::READ_CAPACITY_10 => Self::ReadCapacity10,
            op::READ_6 => read(Six),
            op::READ_10 => read(Ten),
            op::READ_12 => read(Twelve),
            op::READ_16 => read(Sixteen),
            op::WRITE_6 => write(Six),
            op::WRITE_10 => write(Ten),
            op::WRITE_12 => write(Twelve),
            op::WRITE_16 => write(Sixteen),
            op::WRITE_AND_VERIFY_10 => write_verify(Ten),
            op::WRITE_AND_VERIFY_12 => write_verify(Twelve),
            op::WRITE_AND_VERIFY_16 => write_verify(Sixteen),
            op::VERIFY_10 => verify(Ten),
            op::VERIFY_12 => verify(Twelve),
            op::VERIFY_16 => verify(Sixteen),
            op::ORWRITE_16 => {
                Self::OrWrite { blocks: blocks(cdb, Sixteen), access: access(cdb, Sixteen) }
            }
            op::COMPARE_AND_WRITE => Self::CompareAndWrite {
                blocks: Blocks { lba: u64_at(cdb, 2), count: u32::from(cdb[13]) },
                access: access(cdb, Sixteen),
            },
            op::PREFETCH_10 => prefetch(Ten),
            op::PREFETCH_16 => prefetch(Sixteen),
            op::SYNCHRONIZE_CACHE_10 => synchronize(Ten),
            op::SYNCHRONIZE_CACHE_16 => synchronize(Sixteen),
            op::WRITE_SAME_10 => write_same(Ten),
            op::WRITE_SAME_16 => write_same(Sixteen),
            op::UNMAP => Self::Unmap { anchor: bit(cdb, 1, 0), length: u16_at(cdb, 7) },
            op::READ_DEFECT_DATA_10 => Self::ReadDefectData {
                width: Ten,
                primary: bit(cdb, 2, 4),
                grown: bit(cdb, 2, 3),
                format: cdb[2] & 7,
                allocation: u32::from(u16_at(cdb, 7)),
            },
            op::READ_DEFECT_DATA_12 => Self::ReadDefectData {
                width: Twelve,
                primary: bit(cdb, 1, 4),
                grown: bit(cdb, 1, 3),
                format: cdb[1] & 7,
                allocation: u32_at(cdb, 6),
            },
            // What it destroys makes SANITIZE strict: reserved bits are checked here.
            op::SANITIZE if bit(cdb, 1, 6) => {
                return Err(CdbError::Field { byte: 1, bit: Some(6) });
            }
            op::SANITIZE if cdb[2..7] != [0; 5] => {
                return Err(CdbError::Field { byte: 2, bit: None });
            }
            op::SANITIZE => match cdb[1] & 0x1f {
                service @ (service::SANITIZE_OVERWRITE..=service::SANITIZE_CRYPTOGRAPHIC_ERASE
                | service::SANITIZE_EXIT_FAILURE_MODE) => Self::Sanitize {
                    service,
                    immediate: bit(cdb, 1, 7),
                    unrestricted_exit: bit(cdb, 1, 5),
                    length: u16_at(cdb, 7),
                },
                _ => return Err(CdbError::Field { byte: 1, bit: Some(4) }),
            },
            op::PERSISTENT_RESERVE_IN => match cdb[1] & 0x1f {
                service @ service::READ_KEYS..=service::READ_FULL_STATUS => {
                    Self::PersistentReserveIn { service, allocation: u16_at(cdb, 7) }
                }
                _ => return Err(CdbError::Field { byte: 1, bit: Some(4) }),
            },
            op::PERSISTENT_RESERVE_OUT => match cdb[1] & 0x1f {
                service @ service::REGISTER..=service::REGISTER_AND_MOVE => {
                    Self::PersistentReserveOut {
                        service,
                        scope: cdb[2] >> 4,
                        kind: cdb[2] & 0x0f,
                        length: u32_at(cdb, 5),
                    }
                }
                _ => return Err(CdbError::Field { byte: 1, bit: Some(4) }),
            },
            op::THIRD_PARTY_COPY_OUT => match cdb[1] & 0x1f {
                service::EXTENDED_COPY_LID1 => Self::ExtendedCopy { length: u32_at(cdb, 10) },
                _ => return Err(CdbError::Field { byte: 1, bit: Some(4) }),
            },
            op::THIRD_PARTY_COPY_IN => match cdb[1] & 0x1f {
                service @ (service::COPY_STATUS_LID1
                | service::COPY_DATA_LID1
                | service::COPY_OPERATING_PARAMETERS
                | service::COPY_FAILURE_DETAILS_LID1) => {
                    Self::ReceiveCopyResults { service, list: cdb[2], allocation: u32_at(cdb, 10) }
                }
                _ => return Err(CdbError::Field { byte: 1, bit: Some(4) }),
            },
            op::SERVICE_ACTION_IN_16 => match cdb[1] & 0x1f {
                service::READ_CAPACITY_16 => Self::ReadCapacity16 { allocation: u32_at(cdb, 10) },
                service::GET_LBA_STATUS => {
                    Self::GetLbaStatus { lba: u64_at(cdb, 2), allocation: u32_at(cdb, 10) }
                }
                _ => return Err(CdbError::Field { byte: 1, bit: Some(4) }),
            },
            op::REPORT_LUNS => Self::ReportLuns { select: cdb[2], allocation: u32_at(cdb, 6) },
            op::MAINTENANCE_IN => match cdb[1] & 0x1f {
                service::REPORT_TARGET_PORT_GROUPS => Self::ReportTargetPortGroups {
                    extended: cdb[1] >> 5 == 1,
                    allocation: u32_at(cdb, 6),
                },
                service::REPORT_SUPPORTED_OPERATION_CODES => Self::ReportSupportedOpcodes {
                    timeouts: bit(cdb, 2, 7),
                    options: cdb[2] & 7,
                    opcode: cdb[3],
                    service: u16_at(cdb, 4),
                    allocation: u32_at(cdb, 6),
                },
                service::REPORT_SUPPORTED_TASK_MANAGEMENT => Self::ReportSupportedTaskManagement {
                    extended: bit(cdb, 2, 7),
                    allocation: u32_at(cdb, 6),
                },
                _ => return Err(CdbError::Field { byte: 1, bit: Some(4) }),
            },
            op::MAINTENANCE_OUT => match cdb[1] & 0x1f {
                service::SET_TARGET_PORT_GROUPS => {
                    Self::SetTargetPortGroups { length: u32_at(cdb, 6) }
                }
                _ => return Err(CdbError::Field { byte: 1, bit: Some(4) }),
            },
            opcode => return Err(CdbError::Opcode(opcode)),
        })
    }
}
