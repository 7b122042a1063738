//! Data transfer: RFC 7143 sections 4.2.5, 11.3, 11.4, 11.7 and 11.8; digests (11.2.3).

use plimsoll_wire::iscsi::pdu::{DataIn, DataOut, R2t, Reject, RejectReason, Residual};
use plimsoll_wire::iscsi::{Digests, NO_TAG, Opcode, frame, pdu};

use crate::array::Array;
use crate::raw::{Direction, Raw, pattern, read10, write10};

const ABORTED: u8 = 0x0b;

#[test]
fn rfc7143_11_7_a_read_comes_in_segments_and_bursts_with_the_status_in_the_last() {
    let array = Array::start();
    let keys = [("MaxRecvDataSegmentLength", "1500"), ("MaxBurstLength", "4096")];
    let mut raw = Raw::login(array.address(), &keys);
    raw.ready();
    let data = pattern(10 * 512, 9);
    assert!(raw.write_solicited(100, &data).is_good());
    let command = raw.command(&read10(100, 10), Direction::Read, 5120);
    let itt = raw.send_command(command, &[]);
    let mut seen = Vec::new();
    let mut got = Vec::new();
    loop {
        let reply = raw.receive().unwrap();
        let header = DataIn::parse(&reply.bhs);
        assert_eq!((header.itt, header.ttt), (itt, NO_TAG));
        assert_eq!(
            (header.buffer_offset as usize, header.data_sn as usize),
            (got.len(), seen.len())
        );
        seen.push((header.data_len, header.is_final, header.status));
        got.extend_from_slice(&reply.data);
        if header.status.is_some() {
            break;
        }
    }
    let expected =
        [(1500, false, None), (1500, false, None), (1096, true, None), (1024, true, Some(0))];
    assert_eq!(seen, expected);
    assert_eq!(got, data);
}

#[test]
fn rfc7143_4_2_5_2_every_way_of_writing_lands_the_same() {
    let array = Array::start();
    let data = pattern(64 * 512, 5);
    // (InitialR2T, ImmediateData, immediate bytes, unsolicited bytes after them, segment of Data-Out)
    let ways = [
        ("Yes", "Yes", 0, 0, 8192),
        ("Yes", "Yes", 4096, 0, 3000),
        ("Yes", "No", 0, 0, 512),
        ("No", "Yes", 2048, 6144, 1024),
        ("No", "No", 0, 8192, 8192),
        ("No", "Yes", 8192, 0, 8192),
    ];
    for (number, (initial_r2t, immediate_data, immediate, unsolicited, segment)) in
        ways.into_iter().enumerate()
    {
        let keys = [
            ("InitialR2T", initial_r2t),
            ("ImmediateData", immediate_data),
            ("FirstBurstLength", "8192"),
            ("MaxBurstLength", "12288"),
            ("MaxOutstandingR2T", "3"),
        ];
        let mut raw = Raw::login(array.address(), &keys);
        raw.ready();
        let lba = number as u32 * 100;
        let mut command = raw.command(&write10(lba, 64), Direction::Write, data.len() as u32);
        command.is_final = unsolicited == 0;
        let itt = raw.send_command(command, &data[..immediate]);
        let count = unsolicited / segment.min(unsolicited.max(1));
        for index in 0..count {
            let at = immediate + index * segment;
            let out = DataOut {
                is_final: index + 1 == count,
                data_len: segment as u32,
                lun: command.lun,
                itt,
                ttt: NO_TAG,
                exp_stat_sn: raw.exp_stat_sn,
                data_sn: index as u32,
                buffer_offset: at as u32,
            };
            raw.send(&out.build(), &data[at..at + segment]);
        }
        let start = immediate + unsolicited;
        let bursts = (data.len() - start).div_ceil(12288);
        let mut asked = std::collections::VecDeque::new();
        let mut next = start as u32;
        for burst in 0..bursts {
            // As many as were negotiated stand open, before the first is answered.
            while asked.len() < 3.min(bursts - burst) {
                let r2t: R2t = raw.r2t(itt);
                assert_eq!(r2t.buffer_offset, next);
                assert_eq!(r2t.r2t_sn as usize, burst + asked.len());
                next += r2t.desired_len;
                asked.push_back(r2t);
            }
            let r2t = asked.pop_front().unwrap();
            raw.answer(&r2t, &data, segment);
        }
        assert_eq!(next as usize, data.len());
        let ended = raw.end_of(itt);
        assert!(ended.is_good() && ended.residual == Residual::None, "way {number}: {ended:?}");
        assert_eq!(raw.read(lba, 64).data, data, "way {number}");
    }
}

#[test]
fn rfc7143_4_2_5_2_writes_interleave() {
    let array = Array::start();
    let mut raw =
        Raw::login(array.address(), &[("ImmediateData", "No"), ("MaxBurstLength", "4096")]);
    raw.ready();
    let [one, two] = [pattern(8192, 1), pattern(8192, 2)];
    let first = raw.command(&write10(0, 16), Direction::Write, 8192);
    let second = raw.command(&write10(16, 16), Direction::Write, 8192);
    raw.send_command(first, &[]);
    raw.send_command(second, &[]);
    let a = raw.r2t(first.itt);
    let b = raw.r2t(second.itt);
    raw.answer(&b, &two, 512);
    raw.answer(&a, &one, 512);
    let d = raw.r2t(second.itt);
    let c = raw.r2t(first.itt);
    raw.answer(&d, &two, 512);
    assert!(raw.end_of(second.itt).is_good());
    raw.answer(&c, &one, 512);
    assert!(raw.end_of(first.itt).is_good());
    assert_eq!(raw.read(0, 32).data, [one, two].concat());
}

#[test]
fn rfc7143_11_4_5_residuals() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    let data = pattern(1024, 8);
    assert!(raw.write(0, &data).is_good());
    let mut read = |blocks, expected| {
        let command = raw.command(&read10(0, blocks), Direction::Read, expected);
        let itt = raw.send_command(command, &[]);
        let ended = raw.end_of(itt);
        assert!(ended.is_good());
        (ended.data.len(), ended.residual)
    };
    assert_eq!(read(2, 1024), (1024, Residual::None));
    assert_eq!(read(2, 4096), (1024, Residual::Underflow(3072)));
    assert_eq!(read(2, 700), (700, Residual::Overflow(324)));
    assert_eq!(read(0, 512), (0, Residual::Underflow(512)));
    assert_eq!(read(2, 0), (0, Residual::Overflow(1024)));
    let other = pattern(2048, 99);
    let mut write = |blocks, expected: u32| {
        let command = raw.command(&write10(0, blocks), Direction::Write, expected);
        let itt = raw.send_command(command, &other[..expected as usize]);
        let ended = raw.end_of(itt);
        assert!(ended.is_good());
        ended.residual
    };
    assert_eq!(write(1, 2048), Residual::Underflow(1536));
    assert_eq!(raw.read(0, 2).data, [&other[..512], &data[512..]].concat(), "one block alone");
    let mut write = |blocks, expected: u32| {
        let command = raw.command(&write10(0, blocks), Direction::Write, expected);
        let itt = raw.send_command(command, &other[..expected as usize]);
        raw.end_of(itt).residual
    };
    assert_eq!(write(2, 512), Residual::Overflow(512));
    // A command that fails moves nothing.
    let command = raw.command(&read10(u32::MAX, 1), Direction::Read, 512);
    let itt = raw.send_command(command, &[]);
    let ended = raw.end_of(itt);
    assert_eq!((ended.status, ended.residual), (2, Residual::Underflow(512)));
}

#[test]
fn rfc7143_13_14_unsolicited_data_beyond_what_was_negotiated_fails_the_command() {
    let array = Array::start();
    let keys = [("InitialR2T", "Yes"), ("ImmediateData", "Yes"), ("FirstBurstLength", "1024")];
    let mut raw = Raw::login(array.address(), &keys);
    raw.ready();
    let data = pattern(4096, 1);
    let command = raw.command(&write10(0, 8), Direction::Write, 4096);
    let itt = raw.send_command(command, &data[..2048]);
    assert_eq!(raw.end_of(itt).sense, Some((ABORTED, 0x0c, 0x0d)), "more than FirstBurstLength");
    let mut command = raw.command(&write10(0, 8), Direction::Write, 4096);
    command.is_final = false;
    let itt = raw.send_command(command, &data[..512]);
    assert!(raw.is_silent(), "the status waits for what the initiator has promised");
    let out = DataOut {
        is_final: true,
        data_len: 512,
        lun: command.lun,
        itt,
        ttt: NO_TAG,
        exp_stat_sn: raw.exp_stat_sn,
        data_sn: 0,
        buffer_offset: 512,
    };
    raw.send(&out.build(), &data[512..1024]);
    assert_eq!(raw.end_of(itt).sense, Some((ABORTED, 0x0c, 0x0c)), "InitialR2T is Yes");
    raw.ready();
    assert_eq!(raw.read(0, 8).data, vec![0; 4096], "nothing was written");
}

#[test]
fn rfc7143_11_7_5_data_out_of_order_fails_the_command() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[("ImmediateData", "No")]);
    raw.ready();
    let data = pattern(2048, 1);
    // (change of the second PDU, its additional sense)
    type Change = fn(&mut DataOut);
    let cases: [(&str, Change, (u8, u8)); 5] = [
        ("DataSN", |out| out.data_sn = 0, (0x4b, 0)),
        ("DataSN", |out| out.data_sn = 7, (0x4b, 0)),
        ("offset", |out| out.buffer_offset = 0, (0x4b, 0)),
        ("offset", |out| out.buffer_offset = 0xffff_fe00, (0x4b, 0)),
        ("early end", |out| out.is_final = true, (0x0c, 0x0d)),
    ];
    for (what, change, (code, qualifier)) in cases {
        let command = raw.command(&write10(0, 4), Direction::Write, 2048);
        let itt = raw.send_command(command, &[]);
        let r2t = raw.r2t(itt);
        let mut out = DataOut {
            is_final: false,
            data_len: 512,
            lun: r2t.lun,
            itt,
            ttt: r2t.ttt,
            exp_stat_sn: raw.exp_stat_sn,
            data_sn: 0,
            buffer_offset: 0,
        };
        raw.send(&out.build(), &data[..512]);
        out.data_sn = 1;
        out.buffer_offset = 512;
        change(&mut out);
        raw.send(&out.build(), &data[..512]);
        if !out.is_final {
            out.is_final = true;
            raw.send(&out.build(), &data[..512]);
        }
        assert_eq!(raw.end_of(itt).sense, Some((ABORTED, code, qualifier)), "{what}");
        // What comes for a task that has ended is dropped.
        raw.send(&out.build(), &data[..512]);
    }
    raw.ready();
    assert!(raw.write_solicited(0, &data).is_good());
}

#[test]
fn rfc7143_11_7_4_data_for_unknown_tasks_is_dropped() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    for ttt in [NO_TAG, 0, 1, 0x0040_0000, 0xffff_fffe, 0x1234_5678] {
        let out = DataOut {
            is_final: true,
            data_len: 8,
            lun: plimsoll_wire::scsi::LunField::unit(0),
            itt: 4711,
            ttt,
            exp_stat_sn: raw.exp_stat_sn,
            data_sn: 0,
            buffer_offset: 0,
        };
        raw.send(&out.build(), &[0xee; 8]);
    }
    raw.ready();
    assert_eq!(raw.read(0, 1).data, [0; 512]);
    raw.ping();
    assert_eq!(array.server.sessions()[0].stats.ignored, 6);
}

#[test]
fn rfc7143_11_2_3_digests_cover_both_directions() {
    let array = Array::start();
    for keys in [
        &[("HeaderDigest", "CRC32C")][..],
        &[("DataDigest", "CRC32C")],
        &[("HeaderDigest", "CRC32C"), ("DataDigest", "CRC32C")],
    ] {
        let small = ("MaxRecvDataSegmentLength", "1023");
        let mut raw = Raw::login(array.address(), &[keys, &[small]].concat());
        raw.ready();
        let data = pattern(200 * 512, 4);
        assert!(raw.write_solicited(7, &data).is_good());
        assert_eq!(raw.read(7, 200).data, data); // `Raw` checks every digest
        let nop = raw.nop(true);
        let nop = pdu::NopOut { data_len: 5, ..nop };
        raw.send(&nop.build(), b"hello");
        assert_eq!(raw.receive().unwrap().data, b"hello");
    }
}

#[test]
fn rfc7143_7_7_a_wrong_header_digest_ends_the_session() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[("HeaderDigest", "CRC32C")]);
    raw.ready();
    let mut bytes = Vec::new();
    frame::append(&mut bytes, &raw.nop(true).build(), &[], &[], raw.digests);
    bytes[9] ^= 1;
    raw.send_bytes(&bytes);
    raw.expect_closed();
    array.await_sessions(0);
}

#[test]
fn rfc7143_7_8_a_wrong_digest_of_data_out_fails_the_command_after_all_data() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[("DataDigest", "CRC32C"), ("ImmediateData", "No")]);
    assert_eq!(raw.digests, Digests { header: false, data: true });
    raw.ready();
    let data = pattern(1024, 1);
    let command = raw.command(&write10(0, 2), Direction::Write, 1024);
    let itt = raw.send_command(command, &[]);
    let r2t = raw.r2t(itt);
    let mut out = DataOut {
        is_final: false,
        data_len: 512,
        lun: r2t.lun,
        itt,
        ttt: r2t.ttt,
        exp_stat_sn: raw.exp_stat_sn,
        data_sn: 0,
        buffer_offset: 0,
    };
    let mut bytes = Vec::new();
    frame::append(&mut bytes, &out.build(), &[], &data[..512], raw.digests);
    bytes[100] ^= 1;
    raw.send_bytes(&bytes);
    let reject = raw.receive().unwrap();
    assert_eq!(reject.opcode(), Opcode::Reject);
    assert_eq!(Reject::parse(&reject.bhs).reason, RejectReason::DataDigestError);
    assert_eq!(reject.data, out.build());
    assert!(raw.is_silent(), "the sequence is not over");
    out.is_final = true;
    out.data_sn = 1;
    out.buffer_offset = 512;
    raw.send(&out.build(), &data[512..]);
    assert_eq!(raw.end_of(itt).sense, Some((ABORTED, 0x47, 0x05)));
    assert_eq!(raw.read(0, 2).data, vec![0; 1024]);
    // Immediate data cannot be asked for again at error recovery level 0.
    let mut bytes = Vec::new();
    let nop = pdu::NopOut { data_len: 4, ..raw.nop(true) };
    frame::append(&mut bytes, &nop.build(), &[], b"ping", raw.digests);
    bytes[49] ^= 1;
    raw.send_bytes(&bytes);
    let reject = raw.receive().unwrap();
    assert_eq!(Reject::parse(&reject.bhs).reason, RejectReason::DataDigestError);
    raw.expect_closed();
}

impl Raw {
    /// Writes with as many R2Ts as the target sends.
    pub fn write_solicited(&mut self, lba: u32, data: &[u8]) -> crate::raw::Ended {
        let blocks = (data.len() / 512) as u16;
        let command = self.command(&write10(lba, blocks), Direction::Write, data.len() as u32);
        let itt = self.send_command(command, &[]);
        let mut left = data.len();
        while left > 0 {
            let r2t = self.r2t(itt);
            left -= r2t.desired_len as usize;
            self.answer(&r2t, data, 8192);
        }
        self.end_of(itt)
    }
}
