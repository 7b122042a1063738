//! Writes the hand-made sample in every format into a folder, to look at.
//!
//! `cargo run --release -p plimsoll-report --example render -- FOLDER`

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let mut log = Vec::new();
    for (name, sample) in [
        ("plan", sample::sample()),
        ("infeasible", sample::infeasible()),
        ("large", sample::sized(100_000)),
    ] {
        let input = sample.input();
        let start = Instant::now();
        let report = plimsoll_report::compose(&input);
        log.push(format!("{name}: composed in {:?}", start.elapsed()));
        let mut write = |format: &str, bytes: Vec<u8>, start: Instant| {
            log.push(format!("{name}.{format}: {} bytes in {:?}", bytes.len(), start.elapsed()));
            std::fs::write(folder.join(format!("{name}.{format}")), bytes)
        };
        let start = Instant::now();
        write("html", plimsoll_report::html(&report).into_bytes(), start)?;
        let start = Instant::now();
        write("json", plimsoll_report::json(&report)?, start)?;
        let start = Instant::now();
        write("csv", plimsoll_report::csv(&report)?, start)?;
        let start = Instant::now();
        write("md", plimsoll_report::md(&report).into_bytes(), start)?;
        let start = Instant::now();
        write("xlsx", plimsoll_report::xlsx(&report)?, start)?;
    }
    std::fs::write(folder.join("log.txt"), log.join("\n") + "\n")?;
    Ok(())
}
