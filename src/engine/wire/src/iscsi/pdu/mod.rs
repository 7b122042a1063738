//! One `Copy` struct per PDU of RFC 7143 section 11, host byte order, reserved fields left out.
//!
//! `parse` reads the 48 bytes and never fails: every bit pattern is some value, and whether that value is
//! legal is for the session to say. `build` gives the 48 bytes. The fields `itt` and `ttt` are the initiator
//! and target task tags.

mod command;
mod control;
mod data;
mod session;

pub use command::{
    Attribute, Residual, ScsiCommand, ScsiResponse, TaskFunction, TaskRequest, TaskResponse,
    TaskResult, sense_of, sense_segment,
};
pub use control::{Async, AsyncEvent, NopIn, NopOut, Reject, RejectReason};
pub use data::{DataIn, DataOut, R2t, Snack, SnackKind};
pub use session::{
    LoginRequest, LoginResponse, LoginStatus, LogoutReason, LogoutRequest, LogoutResponse,
    LogoutResult, Stage, TextRequest, TextResponse,
};

use super::Bhs;
use crate::scsi::LunField;

/// What a PDU is (RFC 7143 section 11.2.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// NOP-Out
    NopOut = 0x00,
    /// SCSI Command
    ScsiCommand = 0x01,
    /// SCSI Task Management Function Request
    TaskRequest = 0x02,
    /// Login Request
    LoginRequest = 0x03,
    /// Text Request
    TextRequest = 0x04,
    /// SCSI Data-Out
    DataOut = 0x05,
    /// Logout Request
    LogoutRequest = 0x06,
    /// SNACK Request
    Snack = 0x10,
    /// NOP-In
    NopIn = 0x20,
    /// SCSI Response
    ScsiResponse = 0x21,
    /// SCSI Task Management Function Response
    TaskResponse = 0x22,
    /// Login Response
    LoginResponse = 0x23,
    /// Text Response
    TextResponse = 0x24,
    /// SCSI Data-In
    DataIn = 0x25,
    /// Logout Response
    LogoutResponse = 0x26,
    /// Ready To Transfer
    R2t = 0x31,
    /// Asynchronous Message
    Async = 0x32,
    /// Reject
    Reject = 0x3f,
}

impl Opcode {
    /// The opcode of a header, if it is one of the RFC's.
    #[inline]
    pub fn of(bhs: &Bhs) -> Option<Self> {
        Some(match bhs[0] & 0x3f {
            0x00 => Self::NopOut,
            0x01 => Self::ScsiCommand,
            0x02 => Self::TaskRequest,
            0x03 => Self::LoginRequest,
            0x04 => Self::TextRequest,
            0x05 => Self::DataOut,
            0x06 => Self::LogoutRequest,
            0x10 => Self::Snack,
            0x20 => Self::NopIn,
            0x21 => Self::ScsiResponse,
            0x22 => Self::TaskResponse,
            0x23 => Self::LoginResponse,
            0x24 => Self::TextResponse,
            0x25 => Self::DataIn,
            0x26 => Self::LogoutResponse,
            0x31 => Self::R2t,
            0x32 => Self::Async,
            0x3f => Self::Reject,
            _ => return None,
        })
    }
}

/// Whether a request is marked for immediate delivery (section 11.2.1.1): it does not advance CmdSN.
#[inline]
pub fn is_immediate(bhs: &Bhs) -> bool {
    bhs[0] & IMMEDIATE != 0
}

/// The initiator task tag of any PDU.
#[inline]
pub fn itt(bhs: &Bhs) -> u32 {
    u32_at(bhs, 16)
}

/// The sequence numbers that every PDU from the target carries (sections 11.4.4 to 11.4.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sequence {
    /// Number of this status; in a Data-In without status, reserved.
    pub stat_sn: u32,
    /// Next CmdSN that the target expects: all before it are acknowledged.
    pub exp_cmd_sn: u32,
    /// Last CmdSN that the initiator may send now.
    pub max_cmd_sn: u32,
}

impl Sequence {
    /// Reads the fields where every target PDU has them.
    #[inline]
    pub fn parse(bhs: &Bhs) -> Self {
        Self { stat_sn: u32_at(bhs, 24), exp_cmd_sn: u32_at(bhs, 28), max_cmd_sn: u32_at(bhs, 32) }
    }

    #[inline]
    fn put(self, bhs: &mut Bhs) {
        put_u32(bhs, 24, self.stat_sn);
        put_u32(bhs, 28, self.exp_cmd_sn);
        put_u32(bhs, 32, self.max_cmd_sn);
    }
}

const FINAL: u8 = 0x80;
const CONTINUE: u8 = 0x40;
const IMMEDIATE: u8 = 0x40;

#[inline]
fn start(opcode: Opcode, immediate: bool, flags: u8, data_len: u32) -> Bhs {
    let mut bhs = [0; super::BHS_LEN];
    bhs[0] = opcode as u8 | if immediate { IMMEDIATE } else { 0 };
    bhs[1] = flags;
    debug_assert!(data_len < 1 << 24, "a data segment has at most 2^24 - 1 bytes");
    bhs[5..8].copy_from_slice(&data_len.to_be_bytes()[1..]);
    bhs
}

#[inline]
fn data_len(bhs: &Bhs) -> u32 {
    super::frame::data_segment_length(bhs) as u32
}

#[inline]
fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

#[inline]
fn u16_at(bhs: &Bhs, at: usize) -> u16 {
    u16::from_be_bytes([bhs[at], bhs[at + 1]])
}

#[inline]
fn u32_at(bhs: &Bhs, at: usize) -> u32 {
    u32::from_be_bytes([bhs[at], bhs[at + 1], bhs[at + 2], bhs[at + 3]])
}

#[inline]
fn lun(bhs: &Bhs) -> LunField {
    let [_, _, _, _, _, _, _, _, a, b, c, d, e, f, g, h, ..] = *bhs;
    LunField([a, b, c, d, e, f, g, h])
}

#[inline]
fn put_u16(bhs: &mut Bhs, at: usize, value: u16) {
    bhs[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[inline]
fn put_u32(bhs: &mut Bhs, at: usize, value: u32) {
    bhs[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

#[inline]
fn put_lun(bhs: &mut Bhs, value: LunField) {
    bhs[8..16].copy_from_slice(&value.0);
}

#[cfg(test)]
mod tests;
