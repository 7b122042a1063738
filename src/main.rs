//! Arguments and telemetry only; everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    plimsoll::cli::run()
}
