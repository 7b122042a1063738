//! An upload to a service of our own on a free port.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Result, child};

/// Ends the service when the measurement ends, however it ends.
struct Service {
    process: Child,
    port: u16,
    _data: tempfile::TempDir,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Service {
    fn start() -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let data = tempfile::tempdir()?;
        let process = Command::new(child::plimsoll()?)
            .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data-dir"])
            .arg(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let service = Self { process, port, _data: data };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if began.elapsed() > Duration::from_secs(20) {
                return Err("the service did not answer within 20 s".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(service)
    }

    /// Sends the file and waits for the last byte of the page.
    fn upload(&self, name: &str, bytes: &[u8]) -> Result<f64> {
        let boundary = "plimsoll-bench-boundary";
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let length = head.len() + bytes.len() + tail.len();
        let began = Instant::now();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(
            stream,
            "POST /api/v1/reports HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: text/html\r\nContent-Type: multipart/form-data; boundary={boundary}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{head}",
            self.port
        )?;
        stream.write_all(bytes)?;
        stream.write_all(tail.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let seconds = began.elapsed().as_secs_f64();
        let text = String::from_utf8_lossy(&answer);
        let status = text.lines().next().unwrap_or_default().to_owned();
        if status.contains(" 200 ") && text.contains("</html>") {
            Ok(seconds)
        } else {
            Err(format!("the service answered {status}").into())
        }
    }
}

/// Median time from the first byte sent to the last byte of the page.
pub fn median_seconds(times: usize, path: &Path) -> Result<f64> {
    let service = Service::start()?;
    let bytes = std::fs::read(path)?;
    let name = path.file_name().map_or("export.xlsx".into(), |name| name.to_string_lossy());
    let mut runs =
        (0..times).map(|_| service.upload(&name, &bytes)).collect::<Result<Vec<f64>>>()?;
    runs.sort_by(f64::total_cmp);
    Ok(runs[times / 2])
}
