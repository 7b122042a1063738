//! Targets and operations of the tests.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use plimsoll_fabric::rdma::Fabric;
use plimsoll_initiator::Payload;
use plimsoll_remote::{Connection, Engine, Settings};
use plimsoll_storage::{Remote, RemoteOperation, StoreError};
use plimsoll_target::{Config, Running, Target};

pub const MIB: u64 = 1 << 20;

/// A port that is free now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A target with the volume `disk` of 4 MiB, over TCP and, with a fabric, over iSER.
pub fn start(port: u16, folder: Option<&Path>, fabric: Option<Arc<dyn Fabric>>) -> Running {
    let backing = folder.map_or("memory".to_owned(), |folder| folder.display().to_string());
    let text = format!(
        r#"
        [array]
        backing = "{backing}"
        [server]
        threads = 1
        stop_grace_s = 0
        [iscsi]
        portals = [{{ listen = "127.0.0.1:{port}", iser = {} }}]
        [[pools]]
        name = "p"
        size = "64MiB"
        [[volumes]]
        name = "disk"
        pool = "p"
        serve = "iscsi"
        size = "4MiB"
        "#,
        fabric.is_some()
    );
    let config = Config::parse(&text, None).unwrap();
    // The port of a target that has just stopped may take a moment.
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match Target::start_with(config.clone(), fabric.clone()) {
            Ok(running) => return running,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The URL of a target's volume, over TCP.
pub fn url(running: &Running) -> String {
    running
        .urls()
        .into_iter()
        .map(|served| served.url)
        .find(|url| url.starts_with("iscsi"))
        .unwrap()
}

/// A target whose volume `far` is that unit, with further keys of `remote`.
pub fn start_remote(port: u16, url: &str, more: &str, size: Option<&str>) -> Running {
    let size = size.map_or(String::new(), |size| format!("size = \"{size}\""));
    let text = format!(
        r#"
        [server]
        threads = 1
        stop_grace_s = 0
        [iscsi]
        portals = [{{ listen = "127.0.0.1:{port}" }}]
        [[pools]]
        name = "p"
        size = "64MiB"
        [[volumes]]
        name = "far"
        pool = "p"
        serve = "iscsi"
        {size}
        remote = {{ url = "{url}", prefer = "tcp", patience_s = 10 {more} }}
        "#
    );
    Target::start(Config::parse(&text, None).unwrap()).unwrap()
}

pub fn settings(url: &str) -> Settings {
    Settings {
        patience: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(2),
        keepalive: Duration::from_millis(500),
        ..Settings::new(url)
    }
}

pub fn engine(settings: Settings) -> Arc<Engine> {
    Engine::start(settings, None, |_, _| None).unwrap()
}

pub type Answer = Receiver<Result<Vec<u8>, StoreError>>;

/// Begins an operation.
pub fn begin(engine: &Engine, operation: RemoteOperation) -> Answer {
    let (tell, told) = sync_channel(1);
    let done = Box::new(move |result| tell.send(result).unwrap_or(()));
    engine.submit(operation, done);
    told
}

pub fn write(offset: u64, data: Vec<u8>) -> RemoteOperation {
    RemoteOperation::Write { offset, data: Payload::from_vec(data) }
}

pub fn read(offset: u64, len: u32) -> RemoteOperation {
    RemoteOperation::Read { offset, len }
}

/// What came, at the latest after 30 s.
pub fn end(answer: &Answer) -> Result<Vec<u8>, StoreError> {
    answer.recv_timeout(Duration::from_secs(30)).expect("an operation has no end")
}

/// Waits until the engine is connected like that.
pub fn wait_for(engine: &Engine, connection: Connection) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while engine.status().connection != connection {
        assert!(Instant::now() < deadline, "{:?} instead of {connection:?}", engine.status());
        std::thread::sleep(Duration::from_millis(5));
    }
}
