//! What a killed process leaves: everything it had answered for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{BOUNDARY, PATIENCE, sample};

struct Service {
    process: Child,
    address: String,
}

impl Service {
    fn start(data: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut address = String::new();
        let mut line = String::new();
        while address.is_empty() {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "the service ended");
            if let Some((_, rest)) = line.split_once("listening on http://") {
                address =
                    rest.chars().take_while(|c| !c.is_whitespace() && *c != '\u{1b}').collect();
            }
        }
        // The log is read on, so that the service does not block on a full pipe.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { process, address }
    }

    /// Sends one request and answers with status and body.
    fn send(&self, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "{head}host: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let split = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let status = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
        (status, answer[split + 4..].to_vec())
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.send(&format!("GET {path} HTTP/1.1\r\n"), b"");
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }

    fn upload(&self, name: &str, bytes: &[u8]) -> Value {
        let mut body = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; \
             filename=\"{name}\"\r\n\r\n"
        )
        .into_bytes();
        body.extend_from_slice(bytes);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        let head = format!(
            "POST /api/v1/inventories HTTP/1.1\r\n\
             content-type: multipart/form-data; boundary={BOUNDARY}\r\n"
        );
        let (status, body) = self.send(&head, &body);
        assert_eq!(status, 202, "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }

    /// As `kill -9` does.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[test]
fn what_was_acknowledged_is_read_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("var");
    let sample = sample();
    let service = Service::start(&data);
    // More than there are slots: some run, some wait when the process dies.
    let made: Vec<Value> =
        (0..6).map(|index| service.upload(&format!("site-{index}.xlsx"), &sample)).collect();
    service.kill();

    let service = Service::start(&data);
    for inventory in &made {
        let job = format!("/api/v1/jobs/{}", inventory["job"]["id"].as_str().unwrap());
        let began = Instant::now();
        let ended = loop {
            let job = service.get(&job);
            if job["finished"].is_string() {
                break job;
            }
            assert!(began.elapsed() < PATIENCE, "{job}");
            std::thread::sleep(Duration::from_millis(50));
        };
        assert_eq!(ended["state"], "done", "{ended}");
        let address = format!("/api/v1/inventories/{}", inventory["id"].as_str().unwrap());
        let read = service.get(&address);
        assert_eq!(read["files"], inventory["files"]);
        assert_eq!(read["summary"]["totals"]["vms_in_file"], 232);
        let vms = service.get(&format!("{address}/vms?limit=1000"));
        assert_eq!(vms["items"].as_array().unwrap().len(), 232, "lists were written twice");
    }
    service.kill();
}

#[test]
fn an_open_address_without_a_token_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["serve", "--listen", "0.0.0.0:0", "--data-dir"])
        .arg(dir.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("token_file"), "{said}");
}
