//! [`Command`] to CDB.

use super::opcode::{self as op, service};
use super::{Access, Blocks, Command, Width};

/// A CDB under construction.
struct Builder([u8; 16]);

impl Builder {
    fn new(opcode: u8) -> Self {
        let mut cdb = [0; 16];
        cdb[0] = opcode;
        Self(cdb)
    }

    fn byte(mut self, at: usize, value: u8) -> Self {
        self.0[at] |= value;
        self
    }

    fn bit(self, at: usize, bit: u8, set: bool) -> Self {
        self.byte(at, u8::from(set) << bit)
    }

    fn put<const N: usize>(mut self, at: usize, value: [u8; N]) -> Self {
        self.0[at..at + N].copy_from_slice(&value);
        self
    }

    /// LBA and count in the usual place; what does not fit the width is cut, so callers choose the width.
    fn blocks(self, width: Width, blocks: Blocks) -> Self {
        let lba32 = (blocks.lba as u32).to_be_bytes();
        match width {
            Width::Six => {
                let [_, high, middle, low] = lba32;
                self.put(1, [high & 0x1f, middle, low]).byte(4, blocks.count as u8)
            }
            Width::Ten => self.put(2, lba32).put(7, (blocks.count as u16).to_be_bytes()),
            Width::Twelve => self.put(2, lba32).put(6, blocks.count.to_be_bytes()),
            Width::Sixteen => {
                self.put(2, blocks.lba.to_be_bytes()).put(10, blocks.count.to_be_bytes())
            }
        }
    }

    fn access(self, width: Width, access: Access) -> Self {
        if width == Width::Six {
            return self;
        }
        self.byte(1, access.protect << 5).bit(1, 4, access.dpo).bit(1, 3, access.fua)
    }
}

/// The operation code of a family for a width; families without that width take their longest form.
fn pick(width: Width, codes: [u8; 4]) -> u8 {
    codes[match width {
        Width::Six => 0,
        Width::Ten => 1,
        Width::Twelve => 2,
        Width::Sixteen => 3,
    }]
}

impl Command {
    /// The shortest width (of 10 and 16) that can address these blocks.
    pub const fn width_for(blocks: Blocks) -> Width {
        if blocks.lba <= u32::MAX as u64 && blocks.count <= u16::MAX as u32 {
            Width::Ten
        } else {
            Width::Sixteen
        }
    }

    /// The CDB, zero-padded to 16 bytes.
    pub fn cdb(&self) -> [u8; 16] {
        let new = Builder::new;
        let builder = match *self {
            Self::TestUnitReady => new(op::TEST_UNIT_READY),
            Self::RequestSense { descriptor, allocation } => {
                new(op::REQUEST_SENSE).bit(1, 0, descriptor).byte(4, allocation)
            }
            Self::Inquiry { page, allocation } => new(op::INQUIRY)
                .bit(1, 0, page.is_some())
                .byte(2, page.unwrap_or(0))
                .put(3, allocation.to_be_bytes()),
            Self::ModeSense { width, no_blocks, long_lba, control, page, subpage, allocation } => {
                let six = width == Width::Six;
                let cdb = new(if six { op::MODE_SENSE_6 } else { op::MODE_SENSE_10 })
                    .bit(1, 3, no_blocks)
                    .bit(1, 4, long_lba && !six)
                    .byte(2, control << 6 | page & 0x3f)
                    .byte(3, subpage);
                if six {
                    cdb.byte(4, allocation as u8)
                } else {
                    cdb.put(7, allocation.to_be_bytes())
                }
            }
            Self::ModeSelect { width, page_format, save, length } => {
                let six = width == Width::Six;
                let cdb = new(if six { op::MODE_SELECT_6 } else { op::MODE_SELECT_10 })
                    .bit(1, 4, page_format)
                    .bit(1, 0, save);
                if six { cdb.byte(4, length as u8) } else { cdb.put(7, length.to_be_bytes()) }
            }
            Self::Reserve { width } => {
                new(if width == Width::Six { op::RESERVE_6 } else { op::RESERVE_10 })
            }
            Self::Release { width } => {
                new(if width == Width::Six { op::RELEASE_6 } else { op::RELEASE_10 })
            }
            Self::StartStop { immediate, power, no_flush, load_eject, start } => {
                new(op::START_STOP_UNIT)
                    .bit(1, 0, immediate)
                    .byte(4, power << 4)
                    .bit(4, 2, no_flush)
                    .bit(4, 1, load_eject)
                    .bit(4, 0, start)
            }
            Self::SendDiagnostic { self_test, code, length } => new(op::SEND_DIAGNOSTIC)
                .bit(1, 2, self_test)
                .byte(1, code << 5)
                .put(3, length.to_be_bytes()),
            Self::PreventAllow { prevent } => {
                new(op::PREVENT_ALLOW_MEDIUM_REMOVAL).byte(4, prevent & 3)
            }
            Self::ReadCapacity10 => new(op::READ_CAPACITY_10),
            Self::ReadCapacity16 { allocation } => new(op::SERVICE_ACTION_IN_16)
                .byte(1, service::READ_CAPACITY_16)
                .put(10, allocation.to_be_bytes()),
            Self::GetLbaStatus { lba, allocation } => new(op::SERVICE_ACTION_IN_16)
                .byte(1, service::GET_LBA_STATUS)
                .put(2, lba.to_be_bytes())
                .put(10, allocation.to_be_bytes()),
            Self::Read { width, blocks, access } => {
                new(pick(width, [op::READ_6, op::READ_10, op::READ_12, op::READ_16]))
                    .blocks(width, blocks)
                    .access(width, access)
            }
            Self::Write { width, blocks, access } => {
                new(pick(width, [op::WRITE_6, op::WRITE_10, op::WRITE_12, op::WRITE_16]))
                    .blocks(width, blocks)
                    .access(width, access)
            }
            Self::WriteVerify { width, blocks, access, byte_check } => new(pick(
                width,
                [
                    op::WRITE_AND_VERIFY_10,
                    op::WRITE_AND_VERIFY_10,
                    op::WRITE_AND_VERIFY_12,
                    op::WRITE_AND_VERIFY_16,
                ],
            ))
            .blocks(width, blocks)
            .access(width, Access { fua: false, ..access })
            .byte(1, byte_check << 1 & 6),
            Self::Verify { width, blocks, access, byte_check } => {
                new(pick(width, [op::VERIFY_10, op::VERIFY_10, op::VERIFY_12, op::VERIFY_16]))
                    .blocks(width, blocks)
                    .access(width, Access { fua: false, ..access })
                    .byte(1, byte_check << 1 & 6)
            }
            Self::OrWrite { blocks, access } => {
                new(op::ORWRITE_16).blocks(Width::Sixteen, blocks).access(Width::Sixteen, access)
            }
            Self::CompareAndWrite { blocks, access } => new(op::COMPARE_AND_WRITE)
                .put(2, blocks.lba.to_be_bytes())
                .byte(13, blocks.count as u8)
                .access(Width::Sixteen, access),
            Self::Prefetch { width, blocks, immediate } => new(pick(
                width,
                [op::PREFETCH_10, op::PREFETCH_10, op::PREFETCH_16, op::PREFETCH_16],
            ))
            .blocks(width, blocks)
            .bit(1, 1, immediate),
            Self::SynchronizeCache { width, blocks, immediate } => new(pick(
                width,
                [
                    op::SYNCHRONIZE_CACHE_10,
                    op::SYNCHRONIZE_CACHE_10,
                    op::SYNCHRONIZE_CACHE_16,
                    op::SYNCHRONIZE_CACHE_16,
                ],
            ))
            .blocks(width, blocks)
            .bit(1, 1, immediate),
            Self::WriteSame { width, blocks, protect, anchor, unmap, no_data } => new(pick(
                width,
                [op::WRITE_SAME_10, op::WRITE_SAME_10, op::WRITE_SAME_16, op::WRITE_SAME_16],
            ))
            .blocks(width, blocks)
            .byte(1, protect << 5)
            .bit(1, 4, anchor)
            .bit(1, 3, unmap)
            .bit(1, 0, no_data),
            Self::Unmap { anchor, length } => {
                new(op::UNMAP).bit(1, 0, anchor).put(7, length.to_be_bytes())
            }
            Self::ReadDefectData { width, primary, grown, format, allocation } => {
                let ten = width == Width::Ten;
                let at = if ten { 2 } else { 1 };
                let cdb = new(if ten { op::READ_DEFECT_DATA_10 } else { op::READ_DEFECT_DATA_12 })
                    .bit(at, 4, primary)
                    .bit(at, 3, grown)
                    .byte(at, format & 7);
                if ten {
                    cdb.put(7, (allocation as u16).to_be_bytes())
                } else {
                    cdb.put(6, allocation.to_be_bytes())
                }
            }
            Self::Sanitize { service, immediate, unrestricted_exit, length } => new(op::SANITIZE)
                .byte(1, service & 0x1f)
                .bit(1, 7, immediate)
                .bit(1, 5, unrestricted_exit)
                .put(7, length.to_be_bytes()),
            Self::PersistentReserveIn { service, allocation } => new(op::PERSISTENT_RESERVE_IN)
                .byte(1, service & 0x1f)
                .put(7, allocation.to_be_bytes()),
            Self::PersistentReserveOut { service, scope, kind, length } => {
                new(op::PERSISTENT_RESERVE_OUT)
                    .byte(1, service & 0x1f)
                    .byte(2, scope << 4 | kind & 0x0f)
                    .put(5, length.to_be_bytes())
            }
            Self::ExtendedCopy { length } => {
                new(op::THIRD_PARTY_COPY_OUT).put(10, length.to_be_bytes())
            }
            Self::ReceiveCopyResults { service, list, allocation } => new(op::THIRD_PARTY_COPY_IN)
                .byte(1, service & 0x1f)
                .byte(2, list)
                .put(10, allocation.to_be_bytes()),
            Self::ReportLuns { select, allocation } => {
                new(op::REPORT_LUNS).byte(2, select).put(6, allocation.to_be_bytes())
            }
            Self::ReportTargetPortGroups { extended, allocation } => new(op::MAINTENANCE_IN)
                .byte(1, service::REPORT_TARGET_PORT_GROUPS)
                .bit(1, 5, extended)
                .put(6, allocation.to_be_bytes()),
            Self::SetTargetPortGroups { length } => new(op::MAINTENANCE_OUT)
                .byte(1, service::SET_TARGET_PORT_GROUPS)
                .put(6, length.to_be_bytes()),
            Self::ReportSupportedOpcodes { timeouts, options, opcode, service, allocation } => {
                new(op::MAINTENANCE_IN)
                    .byte(1, service::REPORT_SUPPORTED_OPERATION_CODES)
                    .bit(2, 7, timeouts)
                    .byte(2, options & 7)
                    .byte(3, opcode)
                    .put(4, service.to_be_bytes())
                    .put(6, allocation.to_be_bytes())
            }
            Self::ReportSupportedTaskManagement { extended, allocation } => new(op::MAINTENANCE_IN)
                .byte(1, service::REPORT_SUPPORTED_TASK_MANAGEMENT)
                .bit(2, 7, extended)
                .put(6, allocation.to_be_bytes()),
        };
        builder.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scsi::CdbError;

    const RANGE: Blocks = Blocks { lba: 0x12_3456, count: 0x7f };
    const FLAGS: Access = Access { protect: 5, dpo: true, fua: true };
    const VERIFY: Access = Access { protect: 3, dpo: true, fua: false };

    fn commands() -> Vec<Command> {
        use Command as C;
        use Width::{Six, Sixteen, Ten, Twelve};
        let far = Blocks { lba: 0x1122_3344_5566_7788, count: 0x99aa_bbcc };
        let mut all = vec![
            C::TestUnitReady,
            C::RequestSense { descriptor: true, allocation: 252 },
            C::Inquiry { page: None, allocation: 0x1234 },
            C::Inquiry { page: Some(0x83), allocation: 255 },
            C::StartStop {
                immediate: true,
                power: 2,
                no_flush: true,
                load_eject: true,
                start: false,
            },
            C::SendDiagnostic { self_test: true, code: 0, length: 0 },
            C::PreventAllow { prevent: 1 },
            C::ReadCapacity10,
            C::ReadCapacity16 { allocation: 32 },
            C::GetLbaStatus { lba: far.lba, allocation: 24 },
            C::Read { width: Six, blocks: RANGE, access: Access::default() },
            C::Write { width: Six, blocks: RANGE, access: Access::default() },
            C::OrWrite { blocks: far, access: FLAGS },
            C::CompareAndWrite { blocks: Blocks { lba: far.lba, count: 3 }, access: FLAGS },
            C::Unmap { anchor: true, length: 24 },
            C::ReadDefectData { width: Ten, primary: true, grown: false, format: 5, allocation: 8 },
            C::ReadDefectData {
                width: Twelve,
                primary: false,
                grown: true,
                format: 4,
                allocation: 8,
            },
            C::Sanitize { service: 2, immediate: true, unrestricted_exit: true, length: 9 },
            C::PersistentReserveIn { service: 3, allocation: 0x1234 },
            C::PersistentReserveOut { service: 7, scope: 0, kind: 8, length: 0x1234_5678 },
            C::ExtendedCopy { length: 0x1234_5678 },
            C::ReceiveCopyResults { service: 3, list: 9, allocation: 0x1234_5678 },
            C::ReportLuns { select: 2, allocation: 0x1234_5678 },
            C::ReportTargetPortGroups { extended: true, allocation: 0x1234_5678 },
            C::SetTargetPortGroups { length: 12 },
            C::ReportSupportedOpcodes {
                timeouts: true,
                options: 3,
                opcode: 0x9e,
                service: 0x10,
                allocation: 512,
            },
            C::ReportSupportedTaskManagement { extended: true, allocation: 16 },
        ];
        for width in [Six, Ten] {
            all.push(C::ModeSense {
                width,
                no_blocks: true,
                long_lba: width == Ten,
                control: 3,
                page: 0x3f,
                subpage: 0xff,
                allocation: 200,
            });
            all.push(C::ModeSelect { width, page_format: true, save: true, length: 24 });
            all.push(C::Reserve { width });
            all.push(C::Release { width });
        }
        for width in [Ten, Twelve, Sixteen] {
            let blocks = if width == Sixteen { far } else { RANGE };
            all.push(C::Read { width, blocks, access: FLAGS });
            all.push(C::Write { width, blocks, access: FLAGS });
            all.push(C::Verify { width, blocks, access: VERIFY, byte_check: 3 });
            all.push(C::WriteVerify { width, blocks, access: VERIFY, byte_check: 1 });
        }
        for width in [Ten, Sixteen] {
            let blocks = if width == Sixteen { far } else { RANGE };
            all.push(C::Prefetch { width, blocks, immediate: true });
            all.push(C::SynchronizeCache { width, blocks, immediate: true });
            all.push(C::WriteSame {
                width,
                blocks,
                protect: 1,
                anchor: true,
                unmap: true,
                no_data: width == Sixteen,
            });
        }
        all
    }

    #[test]
    fn spc5_and_sbc4_every_cdb_round_trips() {
        for command in commands() {
            assert_eq!(Command::parse(&command.cdb()), Ok(command), "{:02x?}", command.cdb());
        }
    }

    #[test]
    fn sbc4_5_13_a_count_of_zero_means_256_in_six_bytes_alone() {
        let read = |width| Command::Read {
            width,
            blocks: Blocks { lba: 0, count: 0 },
            access: Access::default(),
        };
        let count = |command: Command| match Command::parse(&command.cdb()) {
            Ok(Command::Read { blocks, .. }) => Some(blocks.count),
            _ => None,
        };
        assert_eq!(count(read(Width::Six)), Some(256));
        assert_eq!(count(read(Width::Ten)), Some(0));
    }

    #[test]
    fn sam5_5_2_naca_is_refused_with_its_place() {
        for command in commands() {
            let mut cdb = command.cdb();
            let control = op::cdb_length(cdb[0]) - 1;
            cdb[control] |= 4;
            assert_eq!(
                Command::parse(&cdb),
                Err(CdbError::Field { byte: control as u8, bit: Some(2) })
            );
        }
    }

    #[test]
    fn spc5_6_unknown_codes_and_service_actions_are_told_apart() {
        let mut cdb = [0; 16];
        cdb[0] = 0xff;
        assert_eq!(Command::parse(&cdb), Err(CdbError::Opcode(0xff)));
        for opcode in [0x48, 0x5e, 0x5f, 0x83, 0x84, 0x9e, 0xa3, 0xa4] {
            let mut cdb = [0; 16];
            (cdb[0], cdb[1]) = (opcode, 0x1d);
            assert_eq!(Command::parse(&cdb), Err(CdbError::Field { byte: 1, bit: Some(4) }));
        }
    }

    #[test]
    fn any_cdb_parses_or_errs_without_panic() {
        for opcode in 0..=255_u8 {
            for fill in [0x00, 0xff, 0x5a] {
                let mut cdb = [fill; 16];
                cdb[0] = opcode;
                for service in 0..32 {
                    cdb[1] = fill & 0xe0 | service;
                    let _ = Command::parse(&cdb);
                }
            }
        }
    }
}
