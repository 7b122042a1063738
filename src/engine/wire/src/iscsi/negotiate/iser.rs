//! The keys of iSER (RFC 7145 section 6). They are negotiated on RDMA connections only; elsewhere they are not
//! understood.
//!
//! What peers do decides three things here. The order of the keys means nothing (open-iscsi names
//! RDMAExtensions last). RDMAExtensions may be missing altogether, as in discovery sessions of open-iscsi and in
//! logins of older libiscsi: the connection is an RDMA one already, so only an explicit No ends the login. And a
//! key that a peer has not named is never sent to it: open-iscsi fails a login over a key that it does not know.

use super::{Function, Key, NegotiationError, Parameters, Rule, rule};
use crate::iser::{LOGIN_DATA_MAX, UNDECLARED_DATA_MAX};

/// The end of the connection that negotiates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It has connected.
    Initiator,
    /// It has accepted.
    Target,
}

/// What RFC 7145 adds to the parameters of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IserParameters {
    /// Which end of an RDMA connection this is; `None` on TCP.
    pub role: Option<Role>,
    /// Both ends have said so. In a wish without meaning.
    pub rdma_extensions: bool,
    /// Unexpected PDUs that this end takes at a time; 0: any number (section 6.7).
    pub max_unexpected_pdus: u32,
    /// As `max_unexpected_pdus`, of the peer.
    pub peer_max_unexpected_pdus: u32,
    /// Bytes of additional header segments that this end takes; 0: any (section 6.8).
    pub max_ahs_bytes: u32,
    /// As `max_ahs_bytes`, of the peer.
    pub peer_max_ahs_bytes: u32,
    /// What the initiator declares of its write tags: they begin with the solicited data, or with the buffer
    /// (section 6.9). Initiators that say nothing begin with the solicited data, all that are known.
    pub solicited_tags_only: Option<bool>,
    /// The initiator wants a Hello exchange (section 6.10); such a login fails.
    pub hello_required: bool,
}

impl Default for IserParameters {
    fn default() -> Self {
        Self {
            role: None,
            rdma_extensions: false,
            max_unexpected_pdus: 0,
            peer_max_unexpected_pdus: 0,
            max_ahs_bytes: 256,
            peer_max_ahs_bytes: 256,
            solicited_tags_only: None,
            hello_required: false,
        }
    }
}

const MAX_24: u32 = (1 << 24) - 1;

/// Section 6, in the order in which an initiator offers: RDMAExtensions comes first (section 6.3).
pub(super) const RULES: [Rule; 7] = [
    rule("RDMAExtensions", Key::RdmaExtensions, Function::And, true),
    rule(
        "InitiatorRecvDataSegmentLength",
        Key::InitiatorRecvDataSegmentLength,
        Function::Minimum(512, MAX_24),
        true,
    ),
    rule(
        "TargetRecvDataSegmentLength",
        Key::TargetRecvDataSegmentLength,
        Function::Minimum(512, MAX_24),
        true,
    ),
    rule(
        "MaxOutstandingUnexpectedPDUs",
        Key::MaxOutstandingUnexpectedPdus,
        Function::MutualLimit,
        true,
    ),
    rule("MaxAHSLength", Key::MaxAhsLength, Function::MutualLimit, true),
    rule(
        "TaggedBufferForSolicitedDataOnly",
        Key::TaggedBufferForSolicitedDataOnly,
        Function::InitiatorFlag,
        true,
    ),
    rule("iSERHelloRequired", Key::IserHelloRequired, Function::InitiatorFlag, true),
];

/// What the peer has said so far of the keys whose absence matters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said {
    /// RDMAExtensions, as it stands.
    pub rdma_extensions: Option<bool>,
    /// The negotiated lengths.
    pub initiator_recv: Option<u32>,
    /// As above.
    pub target_recv: Option<u32>,
}

/// Settles the data segment lengths and what cannot be lived with.
pub(super) fn finish(
    role: Role,
    said: &Said,
    discovery: bool,
    wish: &Parameters,
    result: &mut Parameters,
) -> Result<(), NegotiationError> {
    if said.rdma_extensions == Some(false) {
        return Err(NegotiationError::RdmaExtensions);
    }
    if result.iser.hello_required {
        return Err(NegotiationError::HelloRequired);
    }
    result.iser.role = Some(role);
    result.iser.rdma_extensions = said.rdma_extensions == Some(true);
    let (own, peer) = match role {
        Role::Initiator => (said.initiator_recv, said.target_recv),
        Role::Target => (said.target_recv, said.initiator_recv),
    };
    if let Some(own) = own {
        result.max_recv_data_segment_bytes = own;
    }
    // Section 6.2: MaxRecvDataSegmentLength counts for nothing once iSER's own lengths are negotiated. A peer
    // without them has buffers for a login PDU as long as it only discovers, and as an initiator after that
    // the least that any is known to have.
    let undeclared = match role {
        Role::Target if !discovery && !result.iser.rdma_extensions => UNDECLARED_DATA_MAX,
        _ => result.peer_max_recv_data_segment_bytes.min(LOGIN_DATA_MAX as u32),
    };
    let most = wish.peer_max_recv_data_segment_bytes;
    result.peer_max_recv_data_segment_bytes = peer.unwrap_or(undeclared).min(most);
    Ok(())
}

/// A limit of section 6.7 or 6.8.
pub(super) fn limit(value: &str) -> Option<u32> {
    super::number(value, 0, u32::MAX).filter(|limit| *limit != 1)
}
