//! Refits every model of `data/reference/fits.csv` and writes `models/` and the generated parts of
//! `docs/models.md`. Run from the workspace root.

use plimsoll_model::{FitOptions, FitReport, Point, fit, read_points, shipped_fits};
use std::io::Write;

type AnyError = Box<dyn std::error::Error>;

fn report(points: &[Point], platform: &str) -> Result<FitReport, AnyError> {
    let options = FitOptions { platform: Some(platform.to_owned()), ..FitOptions::default() };
    Ok(fit(points, &options)?)
}

/// Replaces what stands between the two marks of `name`.
fn replace(text: &str, name: &str, new: &str) -> Result<String, AnyError> {
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"));
    let start = text.find(&open).ok_or(format!("docs/models.md lacks {open}"))? + open.len();
    let end = text.find(&close).ok_or(format!("docs/models.md lacks {close}"))?;
    Ok(format!("{}\n{new}{}", &text[..start], &text[end..]))
}

fn main() -> Result<(), AnyError> {
    let points = read_points(&std::fs::read("data/reference/scaling_points.csv")?)?;
    let mut all = String::new();
    let mut list = String::from(
        "| model | points | median error | mean error | 90 % interval covers |\n|---|---:|---:|---:|---:|\n",
    );
    let mut out = std::io::stdout();
    for row in shipped_fits()? {
        let report = report(&points, &row.id)?;
        std::fs::write(format!("models/{}.json", row.id), report.model.to_json()?)?;
        let (median, mean) =
            report.leave_one_out.map_or(("–".to_owned(), "–".to_owned()), |loo| {
                (format!("{:.1} %", loo.median_pct), format!("{:.1} %", loo.mean_pct))
            });
        let coverage =
            report.coverage_90_pct.map_or("–".to_owned(), |coverage| format!("{coverage:.0} %"));
        list += &format!(
            "| `{}` | {} | {median} | {mean} | {coverage} |\n",
            row.id, report.points_used
        );
        all += &format!("\n#### {}\n\n{}", report.model.title, report.points_table());
        writeln!(out, "{}: {} points, {median} / {mean}", row.id, report.points_used)?;
    }
    let path = "docs/models.md";
    let mut text = std::fs::read_to_string(path)?;
    let avs = report(&points, "azure-vmware-solution-av36-anf")?;
    let grid = report(&points, "CubeFS*")?;
    let series = report(&points, "usl-rs reference")?;
    for (name, new) in [
        ("families: avs", avs.families_table()),
        ("families: grid", grid.families_table()),
        ("families: usl", series.families_table()),
        ("ceilings: avs", avs.ceilings_table()),
        ("models", list),
        ("points", all),
    ] {
        text = replace(&text, name, &new)?;
    }
    std::fs::write(path, text)?;
    Ok(())
}
