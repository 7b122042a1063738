//! SCSI: command descriptor blocks, sense data and parameter data, parse and build (SAM-5, SPC-5, SBC-4).
//!
//! Used by the device server, which parses CDBs and builds parameter data, and by the initiator, which does
//! the reverse. Parsers borrow, never trust a length, and never panic on any input.

mod additional;
pub mod block_vpd;
mod bytes;
pub mod capacity;
mod command;
mod command_build;
mod command_parse;
pub mod copy;
pub mod designator;
pub mod inquiry;
mod lun;
pub mod mode;
pub mod opcode;
pub mod port_groups;
pub mod reservation;
mod sense;
mod status;
pub mod supported;
mod transport_id;

pub use additional::Additional;
pub use command::{Access, Blocks, CdbError, Command, Width};
pub use lun::{LunAddress, LunField, WELL_KNOWN_REPORT_LUNS, parse_report_luns, write_report_luns};
pub use sense::{FIXED_SENSE, MAX_SENSE, Sense, SenseKey, Specific};
pub use status::Status;
pub use transport_id::{TransportId, transport_ids};
