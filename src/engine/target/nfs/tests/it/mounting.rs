//! MOUNT, portmap, and calls that are turned away.

use plimsoll_target_nfs::{Access, Rule, UdpPortmap};
use plimsoll_wire::mount3::{self, DirPath, ExportNode, MountEntry, MountStatus};
use plimsoll_wire::portmap::{self, Mapping, NetworkId, Owner, RpcAddress, UniversalAddress};
use plimsoll_wire::rpc::{Accepted, AuthStat, Call, Credential, Denial, Reply};
use plimsoll_wire::xdr::{Writer, Xdr};

use crate::client::{Client, Setup, memory, parse, start};

fn encode<'a>(value: &impl Xdr<'a>) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.put(&mut Writer::new(&mut bytes));
    bytes
}

#[test]
fn rfc1813_5_2_mounts_are_given_listed_and_forgotten() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let mount = |client: &mut Client, procedure, args: &[u8]| {
        client.call(mount3::PROGRAM, mount3::VERSION, procedure, args)
    };
    assert!(mount(&mut client, mount3::PROC_NULL, &[]).is_empty());
    let results = mount(&mut client, mount3::PROC_EXPORT, &[]);
    let exports: Vec<ExportNode<'_>> = parse(&results);
    assert_eq!(exports[0].path, DirPath(b"/vol0"));
    let root = client.root();
    assert_eq!(client.mount("/vol0/").unwrap(), root);
    let results = mount(&mut client, mount3::PROC_DUMP, &[]);
    let mounts: Vec<MountEntry<'_>> = parse(&results);
    assert_eq!(mounts[0].host.0, b"127.0.0.1");
    mount(&mut client, mount3::PROC_UMNT, &encode(&DirPath(b"/vol0")));
    mount(&mut client, mount3::PROC_UMNTALL, &[]);
    let results = mount(&mut client, mount3::PROC_DUMP, &[]);
    assert!(parse::<Vec<MountEntry<'_>>>(&results).is_empty());
    assert_eq!(client.mount("/nothing").unwrap_err(), MountStatus::NOT_FOUND);
    client.file(&root, b"f");
    assert_eq!(client.mount("/vol0/f").unwrap_err(), MountStatus::NOT_DIRECTORY);
}

#[test]
fn who_is_not_on_the_list_sees_and_mounts_nothing() {
    let rules = vec![Rule::full("10.0.0.0/8".parse().unwrap())];
    let running = start(Setup { access: Some(Access::new(rules)), ..Setup::default() });
    let mut client = Client::connect(running.address);
    let results = client.call(mount3::PROGRAM, mount3::VERSION, mount3::PROC_EXPORT, &[]);
    assert!(parse::<Vec<ExportNode<'_>>>(&results).is_empty());
    assert_eq!(client.mount("/vol0").unwrap_err(), MountStatus::ACCESS);
    assert_eq!(client.mount("/vol0/guess").unwrap_err(), MountStatus::ACCESS);
}

#[test]
fn rfc1833_portmap_and_rpcbind_tell_the_one_port() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let port = u32::from(running.address.port());
    for (program, version, protocol, expected) in [
        (100_003, 3, portmap::IPPROTO_TCP, port),
        (100_005, 3, portmap::IPPROTO_TCP, port),
        (100_003, 3, portmap::IPPROTO_UDP, 0),
        (100_003, 4, portmap::IPPROTO_TCP, 0),
        (100_021, 4, portmap::IPPROTO_TCP, 0),
    ] {
        let args = encode(&Mapping { program, version, protocol, port: 0 });
        let results = client.call(portmap::PROGRAM, 2, portmap::PROC_GETPORT, &args);
        assert_eq!(parse::<u32>(&results), expected, "{program} {version} {protocol}");
    }
    for version in [portmap::VERSION_3, portmap::VERSION_4] {
        let args = encode(&RpcAddress {
            program: 100_003,
            version: 3,
            netid: NetworkId(b"tcp"),
            address: UniversalAddress(b""),
            owner: Owner(b""),
        });
        let results = client.call(portmap::PROGRAM, version, portmap::PROC_GETPORT, &args);
        let address: UniversalAddress<'_> = parse(&results);
        assert_eq!(address.parse(), Some(running.address));
    }
    let results = client.call(portmap::PROGRAM, 2, portmap::PROC_DUMP, &[]);
    let list: Vec<Mapping> = parse(&results);
    assert!(list.iter().any(|mapping| mapping.program == 100_003 && mapping.port == port));
    let args = encode(&list[0]);
    let results = client.call(portmap::PROGRAM, 2, portmap::PROC_SET, &args);
    assert_eq!(parse::<u32>(&results), 0, "nobody registers anything");

    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp = socket.local_addr().unwrap();
    let portmapper = UdpPortmap::start(socket, running.address).unwrap();
    let args = Mapping { program: 100_005, version: 3, protocol: portmap::IPPROTO_TCP, port: 0 };
    let args = encode(&args);
    let record = client.record(portmap::PROGRAM, 2, portmap::PROC_GETPORT, &args);
    let asking = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    asking.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    asking.send_to(&record[4..], udp).unwrap();
    let mut buffer = [0; 100];
    let (len, _) = asking.recv_from(&mut buffer).unwrap();
    assert_eq!(parse::<u32>(&Client::split(&buffer[..len]).2), port);
    drop(portmapper);
}

#[test]
fn rfc5531_9_calls_that_cannot_be_served_are_told_why() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let mut answer = |program, version, procedure, args: &[u8]| {
        let record = client.record(program, version, procedure, args);
        client.send(&record);
        let reply = client.receive();
        Client::split(&reply).1
    };
    let accepted = Reply::Accepted;
    assert_eq!(answer(300_000, 1, 0, &[]), accepted(Accepted::ProgramUnavailable));
    let mismatch = Accepted::ProgramMismatch { low: 3, high: 3 };
    assert_eq!(answer(100_003, 4, 0, &[]), accepted(mismatch));
    assert_eq!(answer(100_003, 3, 22, &[]), accepted(Accepted::ProcedureUnavailable));
    assert_eq!(answer(100_005, 3, 6, &[]), accepted(Accepted::ProcedureUnavailable));
    assert_eq!(answer(100_003, 3, 1, &[0, 0]), accepted(Accepted::GarbageArguments));
    assert_eq!(answer(100_003, 3, 8, &[0; 8]), accepted(Accepted::GarbageArguments));
    assert_eq!(answer(100_003, 3, 0, &[]), accepted(Accepted::Success));

    let call = |credential| {
        let call = Call { xid: 7, program: 100_003, version: 3, procedure: 1, credential };
        let mut bytes = Vec::new();
        call.put(&mut Writer::new(&mut bytes));
        let mark = 0x8000_0000 | u32::try_from(bytes.len()).unwrap();
        [mark.to_be_bytes().to_vec(), bytes].concat()
    };
    client.send(&call(Credential::None));
    let reply = client.receive();
    let weak = Reply::Denied(Denial::Auth(AuthStat::TooWeak));
    assert_eq!(Client::split(&reply).1, weak);
    client.send(&call(Credential::Other { flavor: 6, body: b"gss" }));
    let reply = client.receive();
    assert_eq!(Client::split(&reply).1, weak);
    let mut wrong_rpc = call(Credential::None);
    wrong_rpc[15] = 3;
    client.send(&wrong_rpc);
    let reply = client.receive();
    let mismatch = Reply::Denied(Denial::RpcMismatch { low: 2, high: 2 });
    assert_eq!(Client::split(&reply).1, mismatch);
}
