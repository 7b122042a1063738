//! Wire formats, parse and build, no I/O: iSCSI (RFC 7143), iSER (RFC 7145), SCSI, ONC RPC, MOUNT and NFSv3.

pub mod iscsi;
pub mod iser;
pub mod scsi;

pub mod mount3;
pub mod nfs3;
pub mod portmap;
pub mod rpc;
pub mod xdr;
