//! Benchmarks of the datastore engine, as ratios to the loopback floor and to peers in the same run.
//!
//! `plimsoll-bench-engine [PART…] [--json]`: parts are `floor`, `spin`, `file`, `digest`, `tgt`, `ganesha`,
//! `many` and `iser`. Run by `./dev bench engine`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]
#![allow(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]

mod cases;
mod client;
mod cpu;
mod floor;
mod iser;
mod load;
mod server;

use std::process::ExitCode;

use plimsoll_support::figure::{self, Figure};

/// Figures, or why there are none.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Pushes figures as they come, so that a long run shows its progress.
type Emit<'e> = &'e mut dyn FnMut(Figure);

type Part = fn(Emit<'_>) -> Result<()>;

const PARTS: [(&str, Part); 8] = [
    ("floor", cases::floor_cases),
    ("spin", cases::spin_cases),
    ("file", cases::file_cases),
    ("digest", cases::digest_cases),
    ("tgt", cases::tgt_cases),
    ("ganesha", cases::ganesha_cases),
    ("many", cases::many_cases),
    ("iser", iser::cases),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, transport, reads] = &arguments[..]
        && flag == "--run-reads"
    {
        return match iser::run_reads(transport, reads) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("plimsoll-bench-engine: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let wanted: Vec<&String> = arguments.iter().filter(|argument| *argument != "--json").collect();
    if let Some(unknown) =
        wanted.iter().find(|name| PARTS.iter().all(|(part, _)| *part != name.as_str()))
    {
        let names = PARTS.map(|(name, _)| name).join(" ");
        eprintln!("plimsoll-bench-engine: no part is called {unknown}; parts: {names}");
        return ExitCode::from(2);
    }
    let mut figures = Vec::new();
    let mut failed = false;
    for (name, part) in PARTS {
        if !wanted.is_empty() && wanted.iter().all(|one| *one != name) {
            continue;
        }
        let outcome = part(&mut |figure: Figure| {
            if json {
                println!("{}", figure.to_json());
            } else {
                eprintln!("{}", figure.progress());
            }
            figures.push(figure);
        });
        if let Err(error) = outcome {
            eprintln!("plimsoll-bench-engine: {name}: {error}");
            failed = true;
        }
    }
    if !json {
        print!("{}", figure::table(&figures));
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
