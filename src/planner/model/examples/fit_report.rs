//! Prints the fit report of a points file as JSON: `fit_report POINTS.csv [PLATFORM]`.

use plimsoll_model::{FitOptions, fit, read_points};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which points file?")?;
    let points = read_points(&std::fs::read(path)?)?;
    let options = FitOptions { platform: arguments.next(), ..FitOptions::default() };
    let start = std::time::Instant::now();
    let report = fit(&points, &options)?;
    let elapsed = start.elapsed();
    use std::io::Write;
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&report)?)?;
    writeln!(std::io::stderr(), "{elapsed:?}")?;
    Ok(())
}
