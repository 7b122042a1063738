//! Writes seeds/: for each target a few inputs that a decoder takes, from which fuzzing starts.
//! Run `cargo run --example seeds` in this folder when a target reads its input in another way.

use std::fs;

use plimsoll_wire::iscsi::frame::append;
use plimsoll_wire::iscsi::{Digests, negotiate, pdu, text};
use plimsoll_wire::iser;
use plimsoll_wire::nfs3::{self, FileHandle, Name};
use plimsoll_wire::rpc::{AuthSys, Call, Credential, Gids, record};
use plimsoll_wire::scsi::{Blocks, LunField, capacity};
use plimsoll_wire::xdr::{Writer, Xdr};

fn seed(target: &str, name: &str, bytes: &[u8]) {
    let folder = format!("seeds/{target}");
    fs::create_dir_all(&folder).expect("the folder of a target");
    fs::write(format!("{folder}/{name}"), bytes).expect("a seed");
}

/// A choice byte, then the XDR form of a value.
fn chosen<'a>(choice: u8, value: &impl Xdr<'a>) -> Vec<u8> {
    let mut bytes = vec![choice];
    value.put(&mut Writer::new(&mut bytes));
    bytes
}

fn login_text() -> Vec<u8> {
    let mut out = Vec::new();
    text::append(&mut out, "InitiatorName", "iqn.2026-11.test:host");
    text::append(&mut out, "TargetName", "iqn.2026-11.test:array");
    text::append(&mut out, "SessionType", "Normal");
    for (key, value) in negotiate::Negotiator::new(negotiate::Wishes::default()).offers() {
        text::append(&mut out, key, &value);
    }
    out
}

/// Parts as `plimsoll_fuzz::parts` cuts them, after a byte of flags.
fn parts(flags: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![flags];
    for part in parts {
        out.push(u8::try_from(part.len()).expect("a part of a seed is short"));
        out.extend_from_slice(part);
    }
    out
}

fn iscsi() {
    for (name, flags) in [("plain", 0_u8), ("digests", 3)] {
        let digests = Digests { header: flags & 1 != 0, data: flags & 2 != 0 };
        let login = login_text();
        let mut stream = vec![flags];
        let request = plimsoll_fuzz::login_request(login.len() as u32);
        append(&mut stream, &request.build(), &[], &login, digests);
        let command = pdu::ScsiCommand {
            immediate: false,
            is_final: true,
            read: false,
            write: true,
            attribute: pdu::Attribute::Simple,
            ahs_len: 8,
            data_len: 512,
            lun: LunField::unit(0),
            itt: 2,
            expected_len: 512,
            cmd_sn: 1,
            exp_stat_sn: 1,
            cdb: [0x2a, 0, 0, 0, 0, 8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        };
        append(&mut stream, &command.build(), &[0, 5, 2, 0, 0, 0, 2, 0], &[7; 512], digests);
        seed("iscsi_pdu", name, &stream);
    }
    let tag = |key| iser::Tag { key, address: 0x7f00_0000_1000 };
    let header = iser::Header { write: Some(tag(1)), read: Some(tag(2)) };
    let mut message = header.build().to_vec();
    append(&mut message, &plimsoll_fuzz::login_request(3).build(), &[], b"a=b", Digests::default());
    seed("iser_message", "command", &message);
    for (name, flags) in [("initiator", 1_u8), ("target", 0)] {
        let mut text = vec![flags];
        for (key, value) in [
            ("InitiatorRecvDataSegmentLength", "1024"),
            ("TargetRecvDataSegmentLength", "8192"),
            ("RDMAExtensions", "Yes"),
            ("MaxOutstandingUnexpectedPDUs", "4"),
            ("MaxAHSLength", "256"),
            ("TaggedBufferForSolicitedDataOnly", "Yes"),
            ("iSERHelloRequired", "No"),
            ("HeaderDigest", "None"),
        ] {
            text::append(&mut text, key, value);
        }
        seed("iser_text", name, &text);
    }
    seed("iscsi_text", "login", &parts(0, &[&[&[0], &login_text()[..200]].concat()]));
    let mut answer = vec![0];
    text::append(&mut answer, "TargetName", "iqn.2026-11.test:array");
    text::append(&mut answer, "TargetAddress", "[fd00::1]:3260,1");
    text::append(&mut answer, "TargetAddress", "10.0.0.1:3260,2");
    seed("iscsi_text", "records", &parts(8, &[&answer]));
    let pairs = |pairs: &[(&str, &str)]| {
        let mut out = Vec::new();
        pairs.iter().for_each(|(key, value)| text::append(&mut out, key, value));
        out
    };
    let (offer, hash) = (pairs(&[("CHAP_A", "8,7,5")]), format!("0x{:032x}", 5));
    let proof =
        pairs(&[("CHAP_N", "user"), ("CHAP_R", &hash), ("CHAP_I", "9"), ("CHAP_C", "0bAAEC")]);
    seed("iscsi_chap", "mutual", &parts(1, &[&offer, &proof]));
    let challenge = pairs(&[("CHAP_A", "5"), ("CHAP_I", "1"), ("CHAP_C", "0x00010203")]);
    seed("iscsi_chap", "prover", &parts(0, &[&challenge, &proof]));
}

fn scsi() {
    let opcodes = [
        0x00, 0x03, 0x12, 0x1a, 0x25, 0x28, 0x2a, 0x41, 0x42, 0x5a, 0x5e, 0x5f, 0x83, 0x84, 0x88,
        0x89, 0x8a, 0x93, 0x9e, 0xa0, 0xa3, 0xa4,
    ];
    let mut cdbs = Vec::new();
    for opcode in opcodes {
        cdbs.extend_from_slice(&[opcode, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
    }
    seed("scsi_cdb", "commands", &cdbs);
    let mut unmap = vec![11];
    capacity::write_unmap(
        &[Blocks { lba: 8, count: 16 }, Blocks { lba: 64, count: 1 }],
        &mut unmap,
    );
    seed("scsi_parameters", "unmap", &unmap);
    seed(
        "scsi_parameters",
        "sense-fixed",
        &[&[0, 0x70, 0, 5, 0, 0, 0, 0, 10][..], &[0; 10]].concat(),
    );
    seed(
        "scsi_parameters",
        "sense-descriptor",
        &[0, 0x72, 5, 0x24, 0, 0, 0, 0, 8, 2, 6, 0, 0, 0xc8, 0, 1, 0],
    );
    seed("scsi_parameters", "vpd-83", &[1, 0, 0x83, 0, 12, 1, 3, 0, 8, 0x60, 1, 2, 3, 4, 5, 6, 7]);
    let mut transport = vec![9, 0x45, 0, 0, 36];
    transport.extend_from_slice(b"iqn.2026-11.test:a,i,0x800102030405\0");
    seed("scsi_parameters", "transport-id", &transport);
    seed(
        "scsi_parameters",
        "mode",
        &[3, 19, 0, 0, 0, 8, 18, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
}

fn device() {
    let mut commands = Vec::new();
    let mut command = |choice: u8, cdb: &[u8], data: &[u8]| {
        let mut part = vec![choice];
        part.extend_from_slice(cdb);
        part.resize(17, 0);
        part.extend_from_slice(data);
        commands.push(part.len() as u8);
        commands.extend_from_slice(&part);
    };
    for choice in [0, 1] {
        command(choice, &[0x00], &[]);
        command(choice, &[0x12, 1, 0x83, 0, 255], &[]);
        let register =
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 + choice, 0, 0, 0, 0, 0, 0, 0, 0];
        command(choice, &[0x5f, 6, 0, 0, 0, 0, 0, 0, 24], &register);
        let reserve =
            [0, 0, 0, 0, 0, 0, 0, 1 + choice, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        command(choice, &[0x5f, 1, 5, 0, 0, 0, 0, 0, 24], &reserve);
        command(choice, &[0x5e, 3, 0, 0, 0, 0, 0, 0, 255], &[]);
        command(choice, &[0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 0, 255], &[]);
        command(choice, &[0x2a, 8, 0, 0, 0, 8, 0, 0, 1], &[]);
        command(choice, &[0x28, 0, 0, 0, 0, 8, 0, 0, 8], &[]);
        command(
            choice,
            &[0x42, 0, 0, 0, 0, 0, 0, 0, 24],
            &[0, 22, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, 0],
        );
        command(choice, &[0x84, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255], &[]);
    }
    seed("scsi_device", "two-initiators", &commands);
}

fn sessions() {
    // NOP-Out, then INQUIRY, a READ and a WRITE with immediate data.
    let mut session = vec![0];
    let mut unit = |opcode: u8, flags: u8, expected: u32, cdb: &[u8], data: &[u8]| {
        let mut bhs = [0; 48];
        bhs[0] = opcode;
        bhs[1] = flags;
        bhs[16..20].copy_from_slice(&[0, 0, 0, 9]);
        bhs[20..24].copy_from_slice(&expected.to_be_bytes());
        bhs[32..32 + cdb.len()].copy_from_slice(cdb);
        session.push((1 + bhs.len() + data.len()) as u8);
        session.push(1);
        session.extend_from_slice(&bhs);
        session.extend_from_slice(data);
    };
    unit(0x40, 0x80, u32::MAX, &[], b"ping");
    unit(0x01, 0xc1, 255, &[0x12, 0, 0, 0, 255], &[]);
    unit(0x01, 0xc1, 512, &[0x28, 0, 0, 0, 0, 8, 0, 0, 1], &[]);
    unit(0x01, 0xa1, 512, &[0x2a, 0, 0, 0, 0, 8, 0, 0, 1], &[7; 128]);
    unit(0x02, 0x85, 0, &[], &[]);
    unit(0x04, 0x80, u32::MAX, &[], b"SendTargets=All\0");
    unit(0x06, 0x80, 0, &[], &[]);
    seed("iscsi_session", "commands", &session);

    // CREATE, WRITE to it, READ of it, READDIRPLUS of the root, REMOVE.
    let mut session = Vec::new();
    let mut call = |choice: u8, arguments: &[u8]| {
        session.push((1 + arguments.len()) as u8);
        session.push(choice);
        session.extend_from_slice(arguments);
    };
    let name = [&[0, 0, 0, 4][..], b"file"].concat();
    call(0x40 | 8, &[&name[..], &[0; 28]].concat());
    let write = [&[0; 8][..], &[0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 8], b"contents"].concat();
    call(0xa0 | 7, &write);
    call(0xa0 | 6, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0]);
    call(0x40 | 17, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 16, 0]);
    call(0x40 | 12, &name);
    seed("nfs_session", "a-file", &session);
}

fn nfs() {
    let handle = FileHandle(&[7; 16]);
    let dir_op = nfs3::DirOp { dir: handle, name: Name(b"file") };
    seed("nfs3_arguments", "lookup", &chosen(2, &dir_op));
    let read = nfs3::ReadArgs { file: handle, offset: 4096, count: 8192 };
    seed("nfs3_arguments", "read", &chosen(4, &read));
    let failure = nfs3::Failure::new(nfs3::Status::NOT_FOUND, None);
    seed("nfs3_results", "lookup-failed", &chosen(2, &nfs3::LookupResult::Err(failure)));
    seed("mount_portmap", "path", &chosen(0, &plimsoll_wire::mount3::DirPath(b"/volume")));
    seed("mount_portmap", "address", b"\x06127.0.0.1.8.1");
    let mut stream = Vec::new();
    let out = &mut Writer::new(&mut stream);
    let begin = record::begin(out);
    let sys = AuthSys { machine: b"host", gids: Gids::new(&[1, 2]), ..AuthSys::default() };
    let (program, version) = (nfs3::PROGRAM, nfs3::VERSION);
    Call { xid: 1, program, version, procedure: 3, credential: Credential::Sys(sys) }.put(out);
    out.value(&dir_op);
    record::end(out, begin, 0);
    seed("rpc_record", "lookup", &stream);
    let mut cut = vec![0, 0, 0, 8];
    cut.extend_from_slice(&stream[4..12]);
    cut.extend_from_slice(&((stream.len() as u32 - 12) | 0x8000_0000).to_be_bytes());
    cut.extend_from_slice(&stream[12..]);
    seed("rpc_record", "fragments", &cut);
}

fn main() {
    iscsi();
    scsi();
    device();
    sessions();
    nfs();
}
