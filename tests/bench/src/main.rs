//! Benchmarks with their peers in the same run, as ratios.
//!
//! `plimsoll-bench [PART] [--json]`: parts are `ingest`, `model`, `plan` and `series`. Each figure says what
//! it was compared with, the goal, and whether it was met. Run by `./dev bench`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod child;
mod fixtures;
mod ingest;
mod model;
mod peer;
mod plan;
mod series;
mod upload;

use std::process::ExitCode;

use plimsoll_support::figure::{self, Figure};

/// Figures, or why there are none.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Pushes figures as they come, so that a long run shows its progress.
type Emit<'e> = &'e mut dyn FnMut(Figure);

const PARTS: [&str; 4] = ["ingest", "model", "plan", "series"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [peer, name, path] = arguments.as_slice()
        && peer == "peer"
    {
        return peer::run(name, path);
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let wanted: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--json").collect();
    if let Some(unknown) = wanted.iter().find(|part| !PARTS.contains(part)) {
        eprintln!("plimsoll-bench: no part is called {unknown}; parts: {}", PARTS.join(" "));
        return ExitCode::from(2);
    }
    let parts = if wanted.is_empty() { PARTS.to_vec() } else { wanted };
    let mut figures = Vec::new();
    let mut failed = false;
    for part in parts {
        let mut emit = |figure: Figure| {
            if json {
                println!("{}", figure.to_json());
            } else {
                eprintln!("{}", figure.progress());
            }
            figures.push(figure);
        };
        let outcome = match part {
            "ingest" => ingest::run(&mut emit),
            "model" => model::run(&mut emit),
            "series" => series::run(&mut emit),
            _ => plan::run(&mut emit),
        };
        if let Err(error) = outcome {
            eprintln!("plimsoll-bench: {part}: {error}");
            failed = true;
        }
    }
    if !json {
        print!("{}", figure::table(&figures));
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
