//! iSCSI as RFC 7143 writes it: PDUs, digests, text keys, negotiation, CHAP. Both ends use these types.
//!
//! * [`frame`]: where one PDU ends and the next begins, and its parts (header, AHS, data) with digests checked.
//! * [`pdu`]: one `Copy` struct per PDU; `parse(&Bhs)` and `build() -> Bhs`, no allocation on either way.
//! * [`ahs`]: additional header segments (extended CDB, bidirectional read length).
//! * [`serial`]: arithmetic on StatSN, CmdSN and DataSN, which wrap.
//! * [`text`]: `key=value` pairs and their continuation over PDUs (C bit).
//! * [`negotiate`]: the table of operational keys and both sides of the negotiation.
//! * [`chap`]: CHAP, one way and mutual, both sides.
//! * [`discovery`]: the records of SendTargets.
//! * [`name`]: iSCSI names and the initiator's session id (ISID).
//!
//! A reserved field is written as zero and ignored on receipt (section 11.1).

pub mod ahs;
pub mod chap;
pub mod digest;
pub mod discovery;
pub mod frame;
pub mod name;
pub mod negotiate;
pub mod pdu;
pub mod serial;
pub mod text;

pub use digest::Digests;
pub use frame::{FrameError, Pdu, frame_length};
pub use name::Isid;
pub use pdu::Opcode;

/// Length of the basic header segment (RFC 7143 section 11.2.1).
pub const BHS_LEN: usize = 48;

/// A basic header segment as it stands on the wire.
pub type Bhs = [u8; BHS_LEN];

/// The value of an unused initiator or target task tag (RFC 7143 sections 11.2.1.8 and 11.7.4).
pub const NO_TAG: u32 = 0xffff_ffff;

/// The port that IANA assigned to iSCSI.
pub const PORT: u16 = 3260;
