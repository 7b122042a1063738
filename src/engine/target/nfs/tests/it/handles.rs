//! Handles: what cannot be forged, and what becomes stale.

use plimsoll_target_nfs::{Access, Export, Rule, Squash};
use plimsoll_wire::nfs3::{CreateHow, SetAttributes, Stability, Status};

use crate::client::{Client, Setup, memory, start};

#[test]
fn a_forged_handle_reaches_nothing() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let secret = client.file(&root, b"secret");
    client.write(&secret, 0, b"secret", Stability::Unstable).unwrap();
    let mut other = Client::connect(running.address);
    for bit in 0..root.len() * 8 {
        let mut forged = root.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(other.attributes(&forged).unwrap_err(), Status::STALE, "bit {bit}");
    }
    // The number of the secret file under the code of the root.
    let mut forged = root.clone();
    forged[8..16].copy_from_slice(&secret[8..16]);
    assert_eq!(other.read(&forged, 0, 10).unwrap_err(), Status::STALE);
    for len in [0, 1, 16, 31, 33, 64] {
        let forged = vec![0; len];
        assert_eq!(other.attributes(&forged).unwrap_err(), Status::BAD_HANDLE, "{len} bytes");
    }
    assert_eq!(client.read(&secret, 0, 10).unwrap().0, b"secret");
}

#[test]
fn handles_stay_good_over_a_restart_and_over_connections() {
    let folder = tempfile::tempdir().unwrap();
    let setup = || Setup { folder: Some(folder.path()), ..Setup::default() };
    let running = start(setup());
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    let attributes = client.attributes(&file).unwrap();
    drop(client);
    assert_eq!(Client::connect(running.address).attributes(&file).unwrap(), attributes);
    drop(running);
    let running = start(setup());
    let mut client = Client::connect(running.address);
    assert_eq!(client.attributes(&file).unwrap().fileid, attributes.fileid);
    assert_eq!(client.root(), root);
    assert_eq!(client.lookup(&root, b"f").unwrap().0, file);
}

#[test]
fn an_export_taken_away_makes_its_handles_stale_and_one_given_back_makes_them_good() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    assert!(running.server.unexport("/vol0"));
    assert!(!running.server.unexport("/vol0"));
    assert_eq!(client.attributes(&root).unwrap_err(), Status::STALE);
    let export = |access| {
        let (volume, namespace) = (running.volume.clone(), running.namespace.clone());
        Export::new("/vol0", volume, namespace, access)
    };
    running.server.export(export(Access::everybody()));
    client.attributes(&root).unwrap();
    // New rules hold for handles that were already known.
    running.server.export(export(Access::new(vec![Rule::full("10.0.0.0/8".parse().unwrap())])));
    assert_eq!(client.attributes(&root).unwrap_err(), Status::ACCESS);
}

#[test]
fn read_only_and_squashed_networks_are_kept_to_it() {
    let rule =
        Rule { network: "127.0.0.0/8".parse().unwrap(), read_only: true, squash: Squash::Nobody };
    let running = start(Setup { access: Some(Access::new(vec![rule])), ..Setup::default() });
    let mut client = Client::connect(running.address);
    let root = client.root();
    let create = CreateHow::Guarded(SetAttributes::default());
    assert_eq!(client.create(&root, b"f", create).unwrap_err(), Status::READ_ONLY);
    assert_eq!(client.remove(&root, b"f").unwrap_err(), Status::READ_ONLY);
    let written = client.write(&root, 0, b"x", Stability::Unstable);
    assert_eq!(written.unwrap_err(), Status::READ_ONLY);

    let rule = Rule { read_only: false, squash: Squash::Root, ..rule };
    let running = start(Setup { access: Some(Access::new(vec![rule])), ..Setup::default() });
    let mut client = Client::connect(running.address);
    let root = client.root();
    assert_eq!(client.create(&root, b"f", create).unwrap_err(), Status::ACCESS);
}
