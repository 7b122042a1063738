//! SCSI Data-In and Data-Out, Ready To Transfer, SNACK (RFC 7143 sections 11.7, 11.8 and 11.16).

use crate::scsi::LunField;

use super::{
    Bhs, FINAL, Opcode, Residual, Sequence, data_len, flag, itt, lun, put_lun, put_u32, start,
    u32_at,
};

/// SCSI Data-In (section 11.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataIn {
    /// Last PDU of its sequence.
    pub is_final: bool,
    /// The initiator shall acknowledge (error recovery level 1 and above).
    pub acknowledge: bool,
    /// Status and residual are valid: the command ends with this PDU ("phase collapse").
    pub status: Option<u8>,
    /// Difference to what was expected, with a status only.
    pub residual: Residual,
    /// Bytes of data.
    pub data_len: u32,
    /// Logical unit, with `acknowledge` only.
    pub lun: LunField,
    /// Initiator task tag.
    pub itt: u32,
    /// Target transfer tag, with `acknowledge` only.
    pub ttt: u32,
    /// Sequence numbers; StatSN with a status only.
    pub sequence: Sequence,
    /// Number of this PDU in its command, from 0.
    pub data_sn: u32,
    /// Place of the data in the command's buffer.
    pub buffer_offset: u32,
}

impl DataIn {
    /// Reads the header.
    #[inline]
    pub fn parse(bhs: &Bhs) -> Self {
        let has_status = bhs[1] & 0x01 != 0;
        Self {
            is_final: bhs[1] & FINAL != 0,
            acknowledge: bhs[1] & 0x40 != 0,
            status: has_status.then_some(bhs[3]),
            residual: if has_status { Residual::parse(bhs) } else { Residual::None },
            data_len: data_len(bhs),
            lun: lun(bhs),
            itt: itt(bhs),
            ttt: u32_at(bhs, 20),
            sequence: Sequence::parse(bhs),
            data_sn: u32_at(bhs, 36),
            buffer_offset: u32_at(bhs, 40),
        }
    }

    /// The header as it stands on the wire.
    #[inline]
    pub fn build(&self) -> Bhs {
        let flags = flag(self.is_final, FINAL)
            | flag(self.acknowledge, 0x40)
            | flag(self.status.is_some(), 0x01);
        let mut bhs = start(Opcode::DataIn, false, flags, self.data_len);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.ttt);
        self.sequence.put(&mut bhs);
        put_u32(&mut bhs, 36, self.data_sn);
        put_u32(&mut bhs, 40, self.buffer_offset);
        if let Some(status) = self.status {
            bhs[3] = status;
            self.residual.put(&mut bhs);
        }
        bhs
    }
}

/// SCSI Data-Out (section 11.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataOut {
    /// Last PDU of its sequence.
    pub is_final: bool,
    /// Bytes of data.
    pub data_len: u32,
    /// Logical unit, as in the R2T.
    pub lun: LunField,
    /// Initiator task tag.
    pub itt: u32,
    /// Target transfer tag of the R2T; [`NO_TAG`](crate::iscsi::NO_TAG) for unsolicited data.
    pub ttt: u32,
    /// Acknowledges all statuses before it.
    pub exp_stat_sn: u32,
    /// Number of this PDU in its sequence, from 0.
    pub data_sn: u32,
    /// Place of the data in the command's buffer.
    pub buffer_offset: u32,
}

impl DataOut {
    /// Reads the header.
    #[inline]
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            is_final: bhs[1] & FINAL != 0,
            data_len: data_len(bhs),
            lun: lun(bhs),
            itt: itt(bhs),
            ttt: u32_at(bhs, 20),
            exp_stat_sn: u32_at(bhs, 28),
            data_sn: u32_at(bhs, 36),
            buffer_offset: u32_at(bhs, 40),
        }
    }

    /// The header as it stands on the wire.
    #[inline]
    pub fn build(&self) -> Bhs {
        let mut bhs = start(Opcode::DataOut, false, flag(self.is_final, FINAL), self.data_len);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.ttt);
        put_u32(&mut bhs, 28, self.exp_stat_sn);
        put_u32(&mut bhs, 36, self.data_sn);
        put_u32(&mut bhs, 40, self.buffer_offset);
        bhs
    }
}

/// Ready To Transfer (section 11.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct R2t {
    /// Logical unit of the command.
    pub lun: LunField,
    /// Initiator task tag of the command.
    pub itt: u32,
    /// Tag that the Data-Out PDUs shall carry.
    pub ttt: u32,
    /// Sequence numbers; StatSN is the next one and is not used up.
    pub sequence: Sequence,
    /// Number of this R2T in its command, from 0.
    pub r2t_sn: u32,
    /// Place of the wanted data in the command's buffer.
    pub buffer_offset: u32,
    /// How many bytes are wanted.
    pub desired_len: u32,
}

impl R2t {
    /// Reads the header.
    #[inline]
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            lun: lun(bhs),
            itt: itt(bhs),
            ttt: u32_at(bhs, 20),
            sequence: Sequence::parse(bhs),
            r2t_sn: u32_at(bhs, 36),
            buffer_offset: u32_at(bhs, 40),
            desired_len: u32_at(bhs, 44),
        }
    }

    /// The header as it stands on the wire.
    #[inline]
    pub fn build(&self) -> Bhs {
        let mut bhs = start(Opcode::R2t, false, FINAL, 0);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.ttt);
        self.sequence.put(&mut bhs);
        put_u32(&mut bhs, 36, self.r2t_sn);
        put_u32(&mut bhs, 40, self.buffer_offset);
        put_u32(&mut bhs, 44, self.desired_len);
        bhs
    }
}

/// What a SNACK asks for (section 11.16.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnackKind {
    /// Data-In or R2T PDUs again.
    DataOrR2t,
    /// Statuses again.
    Status,
    /// Acknowledges Data-In.
    DataAck,
    /// Data-In again, segmented anew.
    RData,
    /// A value that the RFC does not define.
    Unknown(u8),
}

/// SNACK Request (section 11.16): recognised, so that it can be refused at error recovery level 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snack {
    /// What is asked for.
    pub kind: SnackKind,
    /// Logical unit.
    pub lun: LunField,
    /// Initiator task tag.
    pub itt: u32,
    /// Target transfer tag or SNACK tag.
    pub ttt: u32,
    /// Acknowledges all statuses before it.
    pub exp_stat_sn: u32,
    /// First number of the run.
    pub first: u32,
    /// Length of the run.
    pub count: u32,
}

impl Snack {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        let kind = match bhs[1] & 0x0f {
            0 => SnackKind::DataOrR2t,
            1 => SnackKind::Status,
            2 => SnackKind::DataAck,
            3 => SnackKind::RData,
            other => SnackKind::Unknown(other),
        };
        Self {
            kind,
            lun: lun(bhs),
            itt: itt(bhs),
            ttt: u32_at(bhs, 20),
            exp_stat_sn: u32_at(bhs, 28),
            first: u32_at(bhs, 40),
            count: u32_at(bhs, 44),
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let kind = match self.kind {
            SnackKind::DataOrR2t => 0,
            SnackKind::Status => 1,
            SnackKind::DataAck => 2,
            SnackKind::RData => 3,
            SnackKind::Unknown(other) => other & 0x0f,
        };
        let mut bhs = start(Opcode::Snack, false, FINAL | kind, 0);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.ttt);
        put_u32(&mut bhs, 28, self.exp_stat_sn);
        put_u32(&mut bhs, 40, self.first);
        put_u32(&mut bhs, 44, self.count);
        bhs
    }
}
