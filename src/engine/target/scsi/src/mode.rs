//! MODE SENSE and MODE SELECT (SPC-5 6.14, 6.12). D_SENSE, SWP and WCE can be changed; nothing is saved.

use plimsoll_wire::scsi::mode::{
    Caching, Control, ModeHeader, control, mode_pages, page, write_page,
};
use plimsoll_wire::scsi::{Additional, Command, Sense, Width};

use crate::job::{Job, data_in};
use crate::unit::{
    BLOCK_BYTES, DESCRIPTOR_SENSE, MODE, READ_ONLY, SOFTWARE_WRITE_PROTECT, WRITE_THROUGH,
};
use crate::{Completion, LogicalUnit};

/// Pages that exist, in ascending order.
const PAGES: [u8; 3] = [page::CACHING, page::CONTROL, page::INFORMATIONAL_EXCEPTIONS];

/// The body of a page that reflects these flags of the unit.
fn body(code: u8, flags: u32) -> Vec<u8> {
    match code {
        page::CACHING => Caching { write_cache: flags & WRITE_THROUGH == 0, no_read_cache: false }
            .body()
            .to_vec(),
        page::CONTROL => Control {
            descriptor_sense: flags & DESCRIPTOR_SENSE != 0,
            software_write_protect: flags & SOFTWARE_WRITE_PROTECT != 0,
            task_aborted_status: false,
            // Simple commands may be reordered.
            queue_algorithm: 1,
            busy_timeout: 0xffff,
        }
        .body()
        .to_vec(),
        _ => {
            // Informational exceptions: DEXCPT, nothing is reported.
            let mut body = vec![0; 10];
            body[0] = 0x08;
            body
        }
    }
}

/// Which bits of a page MODE SELECT may change.
fn changeable(code: u8) -> Vec<u8> {
    let mut bits = vec![0; body(code, 0).len()];
    match code {
        page::CACHING => bits[0] = 0x04,
        page::CONTROL => (bits[0], bits[2]) = (0x04, 0x08),
        _ => {}
    }
    bits
}

/// MODE SENSE(6) and (10).
pub(crate) fn sense(job: &Job) -> Result<Completion, Sense> {
    let Command::ModeSense { width, no_blocks, control, page, subpage, allocation, .. } =
        job.command
    else {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE));
    };
    let unit = job.unit();
    if control == control::SAVED {
        return Err(Sense::illegal(Additional::SAVING_PARAMETERS_NOT_SUPPORTED));
    }
    // There are no subpages; all of them (FFh) are then the pages themselves.
    if subpage != 0 && subpage != 0xff {
        return Err(Sense::cdb_field(3, None));
    }
    if page != page::ALL && !PAGES.contains(&page) {
        return Err(Sense::cdb_field(2, Some(5)));
    }
    let flags = if control == control::DEFAULT { 0 } else { unit.flags() };
    let header = ModeHeader {
        write_protected: unit.has(READ_ONLY | SOFTWARE_WRITE_PROTECT),
        dpo_fua: true,
        block: (!no_blocks).then(|| block_descriptor(unit)),
    };
    let mut out = Vec::new();
    header.write(width, &mut out, |out| {
        for code in PAGES.into_iter().filter(|&code| page == page::ALL || page == code) {
            let body =
                if control == control::CHANGEABLE { changeable(code) } else { body(code, flags) };
            write_page(code, &body, out);
        }
    });
    Ok(data_in(out, usize::from(allocation)))
}

/// Count of blocks, or all ones when it does not fit, and block length (SBC-4 6.5.2.2).
fn block_descriptor(unit: &LogicalUnit) -> (u32, u32) {
    (u32::try_from(unit.blocks()).unwrap_or(u32::MAX), BLOCK_BYTES)
}

/// MODE SELECT(6) and (10).
pub(crate) fn select(job: &Job, data: &[u8]) -> Result<Completion, Sense> {
    let Command::ModeSelect { width, page_format, save, .. } = job.command else {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE));
    };
    if !page_format {
        return Err(Sense::cdb_field(1, Some(4)));
    }
    if save {
        return Err(Sense::cdb_field(1, Some(0)));
    }
    if data.is_empty() {
        return Ok(Completion::good());
    }
    let too_short = || Sense::illegal(Additional::PARAMETER_LIST_LENGTH_ERROR);
    let (header, _, list) = ModeHeader::parse(width, data).ok_or_else(too_short)?;
    let unit = job.unit();
    if let Some((_, length)) = header.block
        && length != BLOCK_BYTES
    {
        let header = if width == Width::Six { 4 } else { 8 };
        return Err(Sense::parameter_field(header + 5, None));
    }
    let start = data.len() - list.len();
    let mut flags = unit.flags();
    for page in mode_pages(list) {
        let page = page.map_err(|_| too_short())?;
        let at = start + page.at;
        if !PAGES.contains(&page.code) || page.subpage != 0 {
            return Err(Sense::parameter_field(at as u16, Some(5)));
        }
        let current = body(page.code, flags);
        if page.body.len() != current.len() {
            return Err(Sense::parameter_field(at as u16 + 1, None));
        }
        // A bit that cannot be changed must be sent as it is (SPC-5 6.12).
        let allowed = changeable(page.code);
        for (i, ((new, old), may)) in page.body.iter().zip(&current).zip(&allowed).enumerate() {
            if (new ^ old) & !may != 0 {
                return Err(Sense::parameter_field((at + 2 + i) as u16, None));
            }
        }
        let (mask, new) = match page.code {
            page::CACHING => {
                (WRITE_THROUGH, if page.body[0] & 0x04 == 0 { WRITE_THROUGH } else { 0 })
            }
            page::CONTROL => (
                DESCRIPTOR_SENSE | SOFTWARE_WRITE_PROTECT,
                if page.body[0] & 0x04 != 0 { DESCRIPTOR_SENSE } else { 0 }
                    | if page.body[2] & 0x08 != 0 { SOFTWARE_WRITE_PROTECT } else { 0 },
            ),
            _ => (0, 0),
        };
        flags = flags & !mask | new;
    }
    let before = unit.set_flags(MODE, flags);
    if (before ^ flags) & MODE != 0 {
        for other in unit.others(job.attachment.nexus.id) {
            other.attention(Additional::MODE_PARAMETERS_CHANGED);
        }
    }
    Ok(Completion::good())
}
