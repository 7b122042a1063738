//! Commands to a LUN that has no unit, and to the REPORT LUNS well-known logical unit (SPC-5 5.3.5, 8.2).

use plimsoll_wire::scsi::WELL_KNOWN_REPORT_LUNS;
use plimsoll_wire::scsi::inquiry::{
    PERIPHERAL_UNSUPPORTED, PERIPHERAL_WELL_KNOWN, StandardInquiry, vpd, write_vpd,
};
use plimsoll_wire::scsi::{Additional, Command, LunAddress, LunField, Sense, SenseKey};

use crate::inquire::{luns, standards};
use crate::job::data_in;
use crate::{Completion, Device};

/// Answers a command whose LUN is not one of the units.
pub(crate) fn run(device: &Device, lun: LunField, cdb: &[u8; 16]) -> Completion {
    let well_known = lun.address() == LunAddress::WellKnown(WELL_KNOWN_REPORT_LUNS);
    match answer(device, well_known, cdb) {
        Ok(completion) => completion,
        Err(sense) => Completion::check(&sense, false),
    }
}

fn answer(device: &Device, well_known: bool, cdb: &[u8; 16]) -> Result<Completion, Sense> {
    let unsupported = Sense::illegal(Additional::LOGICAL_UNIT_NOT_SUPPORTED);
    match Command::parse(cdb) {
        Ok(Command::Inquiry { page, allocation }) => {
            let peripheral =
                if well_known { PERIPHERAL_WELL_KNOWN } else { PERIPHERAL_UNSUPPORTED };
            let mut out = Vec::new();
            match page {
                None => {
                    let identity = device.identity();
                    let inquiry = StandardInquiry {
                        peripheral,
                        removable: false,
                        version: 6,
                        tpgs: 0,
                        third_party_copy: false,
                        multi_port: device.ports().len() > 1,
                        vendor: &identity.vendor,
                        product: &identity.product,
                        revision: &identity.revision,
                        standards: standards(),
                    };
                    inquiry.write(&mut out);
                }
                Some(vpd::SUPPORTED_PAGES) => {
                    write_vpd(peripheral, vpd::SUPPORTED_PAGES, &mut out, |out| {
                        out.push(vpd::SUPPORTED_PAGES);
                    });
                }
                Some(_) => return Err(Sense::cdb_field(2, None)),
            }
            Ok(data_in(out, usize::from(allocation)))
        }
        Ok(Command::ReportLuns { select, allocation }) => {
            Ok(data_in(luns(device, select)?, allocation as usize))
        }
        // REQUEST SENSE tells of the missing unit in its data (SPC-5 6.39).
        Ok(Command::RequestSense { descriptor, allocation }) => {
            let sense = if well_known {
                Sense::new(SenseKey::NoSense, Additional::NONE)
            } else {
                unsupported
            };
            let mut out = Vec::new();
            sense.write(descriptor, &mut out);
            Ok(data_in(out, usize::from(allocation)))
        }
        Ok(Command::TestUnitReady) if well_known => Ok(Completion::good()),
        Ok(_) if well_known => Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE)),
        Err(error) if well_known => Err(error.into()),
        _ => Err(unsupported),
    }
}
