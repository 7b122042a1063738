//! SCSI: command descriptor blocks, sense data and parameter data, parse and build (SAM-5, SPC-5, SBC-4).
//!
//! Used by the device server, which parses CDBs and builds parameter data, and by the initiator, which does
//! the reverse. Parsers borrow, never trust a length, and never panic on any input.

mod additional;
mod command;
mod command_build;
mod command_parse;
mod lun;
pub mod opcode;
mod sense;
mod status;

pub use additional::Additional;
pub use command::{Access, Blocks, CdbError, Command, Width};
pub use lun::{LunAddress, LunField, WELL_KNOWN_REPORT_LUNS, parse_report_luns, write_report_luns};
pub use sense::{FIXED_SENSE, MAX_SENSE, Sense, SenseKey, Specific};
pub use status::Status;
