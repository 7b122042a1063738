//! Round trips, and the place of every field on the wire as the figures of RFC 7143 section 11 draw them.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::iscsi::{Isid, NO_TAG};

const SEQUENCE: Sequence =
    Sequence { stat_sn: 0x1112_1314, exp_cmd_sn: 0x2122_2324, max_cmd_sn: 0x3132_3334 };
const LUN: LunField = LunField([1, 2, 3, 4, 5, 6, 7, 8]);

/// Builds, parses back, compares, and checks the opcode and the bytes at some offsets.
macro_rules! pdu {
    ($type:ident, $value:expr, $opcode:expr, $([$at:expr] = $bytes:expr),+ $(,)?) => {{
        let value = $value;
        let bhs = value.build();
        assert_eq!($type::parse(&bhs), value);
        assert_eq!(bhs[0], $opcode);
        assert_eq!(Opcode::of(&bhs), Some(Opcode::$type));
        $(assert_eq!(&bhs[$at..$at + $bytes.len()], &$bytes, "at {}", $at);)+
    }};
}

#[test]
fn rfc7143_11_3_scsi_command() {
    let mut cdb = [0; 16];
    cdb[0] = 0x28;
    cdb[15] = 0x77;
    let command = ScsiCommand {
        immediate: true,
        is_final: true,
        read: true,
        write: false,
        attribute: Attribute::Ordered,
        ahs_len: 20,
        data_len: 0x0a0b0c,
        lun: LUN,
        itt: 0x4142_4344,
        expected_len: 0x5152_5354,
        cmd_sn: 0x6162_6364,
        exp_stat_sn: 0x7172_7374,
        cdb,
    };
    pdu!(
        ScsiCommand,
        command,
        0x41,
        [1] = [0xc2],
        [4] = [5, 0x0a, 0x0b, 0x0c],
        [8] = [1, 2, 3, 4, 5, 6, 7, 8],
        [16] = *b"ABCD",
        [20] = *b"QRST",
        [24] = *b"abcd",
        [28] = *b"qrst",
        [32] = [0x28],
        [47] = [0x77]
    );
    let write =
        ScsiCommand { immediate: false, is_final: false, read: false, write: true, ..command };
    pdu!(ScsiCommand, write, 0x01, [1] = [0x22]);
}

#[test]
fn rfc7143_11_4_scsi_response() {
    let response = ScsiResponse {
        response: 0,
        status: 2,
        data_len: 20,
        itt: 0x4142_4344,
        sequence: SEQUENCE,
        exp_data_sn: 0x5152_5354,
        residual: Residual::Overflow(0x6162_6364),
        read_residual: Residual::Underflow(0x7172_7374),
    };
    pdu!(
        ScsiResponse,
        response,
        0x21,
        [1] = [0x8c, 0, 2],
        [7] = [20],
        [24] = [0x11],
        [28] = [0x21],
        [32] = [0x31],
        [36] = *b"QRST",
        [40] = *b"qrst",
        [44] = *b"abcd"
    );
    let sense = sense_segment(&[0x70, 0, 5]);
    assert_eq!(sense, [0, 3, 0x70, 0, 5]);
    assert_eq!(sense_of(&sense), [0x70, 0, 5]);
    assert!(sense_of(&[0, 9, 1]).is_empty() && sense_of(&[0]).is_empty());
}

#[test]
fn rfc7143_11_4_5_residuals() {
    assert_eq!(Residual::between(512, 512), Residual::None);
    assert_eq!(Residual::between(512, 100), Residual::Underflow(412));
    assert_eq!(Residual::between(100, 512), Residual::Overflow(412));
    assert_eq!(Residual::between(0, 1 << 40), Residual::Overflow(u32::MAX));
}

#[test]
fn rfc7143_11_5_and_11_6_task_management() {
    let request = TaskRequest {
        immediate: true,
        function: TaskFunction::LogicalUnitReset,
        lun: LUN,
        itt: 1,
        referenced_itt: 0x4142_4344,
        cmd_sn: 3,
        exp_stat_sn: 4,
        ref_cmd_sn: 0x5152_5354,
        exp_data_sn: 6,
    };
    pdu!(TaskRequest, request, 0x42, [1] = [0x85], [20] = *b"ABCD", [32] = *b"QRST", [39] = [6]);
    for code in 0..=0x7f {
        assert_eq!(TaskFunction::parse(code).code(), code);
    }
    let response = TaskResponse { result: TaskResult::NotSupported, itt: 1, sequence: SEQUENCE };
    pdu!(TaskResponse, response, 0x22, [1] = [0x80, 5]);
    for code in 0..=255 {
        assert_eq!(TaskResult::parse(code).code(), code);
    }
}

#[test]
fn rfc7143_11_7_data_in_and_data_out() {
    let data = DataIn {
        is_final: true,
        acknowledge: false,
        status: Some(0),
        residual: Residual::Underflow(0x5152_5354),
        data_len: 8192,
        lun: LunField::unit(0),
        itt: 0x4142_4344,
        ttt: NO_TAG,
        sequence: SEQUENCE,
        data_sn: 7,
        buffer_offset: 0x6162_6364,
    };
    pdu!(
        DataIn,
        data,
        0x25,
        [1] = [0x83, 0, 0],
        [5] = [0, 0x20, 0],
        [20] = [0xff; 4],
        [39] = [7],
        [40] = *b"abcd",
        [44] = *b"QRST"
    );
    let middle = DataIn { is_final: false, status: None, residual: Residual::None, ..data };
    pdu!(DataIn, middle, 0x25, [1] = [0], [44] = [0; 4]);
    let out = DataOut {
        is_final: true,
        data_len: 512,
        lun: LUN,
        itt: 1,
        ttt: 0x4142_4344,
        exp_stat_sn: 0x5152_5354,
        data_sn: 2,
        buffer_offset: 0x6162_6364,
    };
    pdu!(
        DataOut,
        out,
        0x05,
        [1] = [0x80],
        [20] = *b"ABCD",
        [28] = *b"QRST",
        [39] = [2],
        [40] = *b"abcd"
    );
}

#[test]
fn rfc7143_11_8_ready_to_transfer() {
    let r2t = R2t {
        lun: LUN,
        itt: 1,
        ttt: 0x4142_4344,
        sequence: SEQUENCE,
        r2t_sn: 2,
        buffer_offset: 0x5152_5354,
        desired_len: 0x6162_6364,
    };
    pdu!(
        R2t,
        r2t,
        0x31,
        [1] = [0x80],
        [20] = *b"ABCD",
        [39] = [2],
        [40] = *b"QRST",
        [44] = *b"abcd"
    );
}

#[test]
fn rfc7143_11_9_asynchronous_messages() {
    let events = [
        (AsyncEvent::Scsi, [0, 0, 0, 0, 0, 0, 0, 0]),
        (AsyncEvent::LogoutRequested { seconds: 9 }, [1, 0, 0, 0, 0, 0, 0, 9]),
        (
            AsyncEvent::DropConnection { cid: 1, time2wait: 2, time2retain: 3 },
            [2, 0, 0, 1, 0, 2, 0, 3],
        ),
        (AsyncEvent::DropSession { time2wait: 2, time2retain: 3 }, [3, 0, 0, 0, 0, 2, 0, 3]),
        (AsyncEvent::Renegotiate { seconds: 3 }, [4, 0, 0, 0, 0, 0, 0, 3]),
        (AsyncEvent::Other(255, [1, 2, 3]), [255, 0, 0, 1, 0, 2, 0, 3]),
    ];
    for (event, bytes) in events {
        let message = Async { event, data_len: 0, lun: LUN, sequence: SEQUENCE };
        pdu!(Async, message, 0x32, [1] = [0x80], [16] = [0xff; 4], [36] = bytes);
    }
}

#[test]
fn rfc7143_11_10_and_11_11_text() {
    let request = TextRequest {
        immediate: false,
        is_final: true,
        more: false,
        data_len: 16,
        lun: LUN,
        itt: 1,
        ttt: NO_TAG,
        cmd_sn: 2,
        exp_stat_sn: 3,
    };
    pdu!(
        TextRequest,
        request,
        0x04,
        [1] = [0x80],
        [7] = [16],
        [20] = [0xff; 4],
        [27] = [2],
        [31] = [3]
    );
    let response = TextResponse {
        is_final: false,
        more: true,
        data_len: 8192,
        lun: LUN,
        itt: 1,
        ttt: 0x4142_4344,
        sequence: SEQUENCE,
    };
    pdu!(TextResponse, response, 0x24, [1] = [0x40], [20] = *b"ABCD");
}

#[test]
fn rfc7143_11_12_and_11_13_login() {
    let request = LoginRequest {
        transit: true,
        more: false,
        stage: Stage::Operational,
        next_stage: Stage::FullFeature,
        version_max: 0,
        version_min: 0,
        data_len: 300,
        isid: Isid::random([1, 2, 3], 0x0405),
        tsih: 0x0607,
        itt: 1,
        cid: 0x0809,
        cmd_sn: 2,
        exp_stat_sn: 3,
    };
    pdu!(
        LoginRequest,
        request,
        0x43,
        [1] = [0x87, 0, 0],
        [5] = [0, 1, 44],
        [8] = [0x80, 1, 2, 3, 4, 5, 6, 7],
        [20] = [8, 9, 0, 0],
        [27] = [2]
    );
    let response = LoginResponse {
        transit: false,
        more: true,
        stage: Stage::Security,
        next_stage: Stage::Security,
        version_max: 0,
        version_active: 0,
        data_len: 12,
        isid: request.isid,
        tsih: 0x0607,
        itt: 1,
        sequence: SEQUENCE,
        status: LoginStatus::AUTHENTICATION_FAILED,
    };
    pdu!(LoginResponse, response, 0x23, [1] = [0x40], [14] = [6, 7], [36] = [2, 1]);
    assert_eq!(response.status.to_string(), "authentication failed (0201h)");
    assert!(LoginStatus::OUT_OF_RESOURCES.may_retry() && !LoginStatus::NOT_FOUND.may_retry());
}

#[test]
fn rfc7143_11_14_and_11_15_logout() {
    let reasons = [
        LogoutReason::CloseSession,
        LogoutReason::CloseConnection,
        LogoutReason::RemoveForRecovery,
        LogoutReason::Unknown(9),
    ];
    for reason in reasons {
        let request = LogoutRequest {
            immediate: true,
            reason,
            itt: 1,
            cid: 0x0203,
            cmd_sn: 4,
            exp_stat_sn: 5,
        };
        pdu!(LogoutRequest, request, 0x46, [20] = [2, 3, 0, 0], [27] = [4]);
    }
    let response = LogoutResponse {
        result: LogoutResult::CidNotFound,
        itt: 1,
        sequence: SEQUENCE,
        time2wait: 2,
        time2retain: 20,
    };
    pdu!(LogoutResponse, response, 0x26, [1] = [0x80, 1], [40] = [0, 2, 0, 20]);
}

#[test]
fn rfc7143_11_16_snack() {
    let snack = Snack {
        kind: SnackKind::Status,
        lun: LUN,
        itt: NO_TAG,
        ttt: NO_TAG,
        exp_stat_sn: 1,
        first: 0x4142_4344,
        count: 0x5152_5354,
    };
    pdu!(Snack, snack, 0x10, [1] = [0x81], [40] = *b"ABCDQRST");
}

#[test]
fn rfc7143_11_17_reject() {
    let reject = Reject {
        reason: RejectReason::ProtocolError,
        data_len: 48,
        sequence: SEQUENCE,
        data_sn: 0,
    };
    pdu!(Reject, reject, 0x3f, [1] = [0x80, 4], [7] = [48], [16] = [0xff; 4]);
    for code in 0..=255 {
        assert_eq!(RejectReason::parse(code).code(), code);
    }
}

#[test]
fn rfc7143_11_18_and_11_19_nop() {
    let out = NopOut {
        immediate: true,
        data_len: 4,
        lun: LUN,
        itt: 0x4142_4344,
        ttt: NO_TAG,
        cmd_sn: 2,
        exp_stat_sn: 3,
    };
    pdu!(
        NopOut,
        out,
        0x40,
        [1] = [0x80],
        [16] = *b"ABCD",
        [20] = [0xff; 4],
        [27] = [2],
        [31] = [3]
    );
    let reply = NopIn { data_len: 4, lun: LUN, itt: NO_TAG, ttt: 0x4142_4344, sequence: SEQUENCE };
    pdu!(NopIn, reply, 0x20, [16] = [0xff; 4], [20] = *b"ABCD");
}

#[test]
fn rfc7143_11_2_1_2_no_header_makes_a_parser_panic() {
    for fill in 0..=255u8 {
        let bhs = [fill; crate::iscsi::BHS_LEN];
        let _ = (ScsiCommand::parse(&bhs), ScsiResponse::parse(&bhs), TaskRequest::parse(&bhs));
        let _ = (
            TaskResponse::parse(&bhs),
            DataIn::parse(&bhs),
            DataOut::parse(&bhs),
            R2t::parse(&bhs),
        );
        let _ = (Async::parse(&bhs), TextRequest::parse(&bhs), TextResponse::parse(&bhs));
        let _ = (LoginRequest::parse(&bhs), LoginResponse::parse(&bhs), LogoutRequest::parse(&bhs));
        let _ = (LogoutResponse::parse(&bhs), Snack::parse(&bhs), Reject::parse(&bhs));
        let _ = (NopOut::parse(&bhs), NopIn::parse(&bhs), Opcode::of(&bhs));
    }
}
