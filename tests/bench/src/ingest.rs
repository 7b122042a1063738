//! Reading: large exports to a report, against the cell reader alone and against pandas; hostile
//! files.

use std::path::Path;

use plimsoll_support::hostile;

use crate::child::{self, Measured, Took};
use crate::{Emit, Result, fixtures, peer, upload};
use plimsoll_support::figure::Figure;

/// Status of a report: done, or done without a feasible plan.
const REPORT: [i32; 2] = [0, 4];

pub fn run(emit: Emit<'_>) -> Result<()> {
    large(emit)?;
    upload(emit)?;
    hostile_files(emit)
}

/// 100,000 VMs of 90 columns.
fn large(emit: Emit<'_>) -> Result<()> {
    let tabs = ["vInfo", "vCluster", "vHost", "vDatastore", "vMetaData"];
    let path = fixtures::export(100_000, &tabs)?;
    let path = path.to_string_lossy();
    let arguments = ["report", &path, "--format", "json"];
    let [ours, cells] = child::medians(
        5,
        [
            Measured { program: &child::plimsoll()?, arguments: &arguments, accepted: &REPORT },
            Measured {
                program: &std::env::current_exe()?,
                arguments: &["peer", "calamine", &path],
                accepted: &[0],
            },
        ],
    )?;
    let command = format!("plimsoll {}", arguments.join(" "));
    let ratio = ours.seconds / cells.seconds;
    emit(Figure {
        name: "100,000 VMs, xlsx to JSON report: time".to_owned(),
        unit: "s",
        ours: ours.seconds,
        reference: "calamine's cell reader alone over the same sheets".to_owned(),
        reference_value: Some(cells.seconds),
        ratio: Some(ratio),
        goal: "ratio at most 1.3".to_owned(),
        met: Some(ratio <= 1.3),
        command: command.clone(),
    });
    emit(Figure {
        name: "100,000 VMs, xlsx to JSON report: peak memory".to_owned(),
        unit: "MiB",
        ours: ours.peak_mib,
        reference: "calamine's cell reader alone over the same sheets".to_owned(),
        reference_value: Some(cells.peak_mib),
        ratio: Some(ours.peak_mib / cells.peak_mib),
        goal: "at most 400 MiB".to_owned(),
        met: Some(ours.peak_mib <= 400.0),
        command: command.clone(),
    });
    let pandas = pandas(Path::new(&*path))?;
    emit(faster(
        "100,000 VMs, xlsx to JSON report: against pandas",
        ours,
        pandas,
        12.0,
        command.clone(),
    ));
    if let Some(pandas) = pandas {
        emit(Figure {
            name: "100,000 VMs, xlsx to JSON report: memory against pandas".to_owned(),
            unit: "MiB",
            ours: ours.peak_mib,
            reference: "pandas + openpyxl reading vInfo alone".to_owned(),
            reference_value: Some(pandas.peak_mib),
            ratio: Some(ours.peak_mib / pandas.peak_mib),
            goal: "below the reference".to_owned(),
            met: Some(ours.peak_mib < pandas.peak_mib),
            command,
        });
    }
    Ok(())
}

fn pandas(path: &Path) -> Result<Option<Took>> {
    let Some(python) = child::python() else { return Ok(None) };
    let path = path.to_string_lossy();
    child::run(&python, &["-c", peer::PANDAS, &path], &[0]).map(Some)
}

fn faster(name: &str, ours: Took, peer: Option<Took>, goal: f64, command: String) -> Figure {
    let ratio = peer.map(|peer| peer.seconds / ours.seconds);
    Figure {
        name: name.to_owned(),
        unit: "s",
        ours: ours.seconds,
        reference: match peer {
            Some(_) => "pandas + openpyxl reading vInfo alone".to_owned(),
            None => "pandas + openpyxl: not run, PLIMSOLL_PYTHON names no python".to_owned(),
        },
        reference_value: peer.map(|peer| peer.seconds),
        ratio,
        goal: format!("at least {goal} times faster"),
        met: ratio.map(|ratio| ratio >= goal),
        command,
    }
}

/// 5,000 VMs to a page, by the command line and by an upload to the service.
fn upload(emit: Emit<'_>) -> Result<()> {
    let path = fixtures::export(5_000, &[])?;
    let text = path.to_string_lossy();
    let arguments = ["report", &text, "--format", "html"];
    let program = child::plimsoll()?;
    let command = Measured { program: &program, arguments: &arguments, accepted: &REPORT };
    let [ours] = child::medians(3, [command])?;
    let pandas = pandas(&path)?;
    let mut figure = |name: &str, seconds: f64, command: String| {
        emit(Figure {
            name: name.to_owned(),
            unit: "s",
            ours: seconds,
            reference: match pandas {
                Some(_) => "pandas + openpyxl reading vInfo alone".to_owned(),
                None => "pandas + openpyxl: not run, PLIMSOLL_PYTHON names no python".to_owned(),
            },
            reference_value: pandas.map(|pandas| pandas.seconds),
            ratio: pandas.map(|pandas| seconds / pandas.seconds),
            goal: "at most 1.5 s".to_owned(),
            met: Some(seconds <= 1.5),
            command,
        });
    };
    figure(
        "5,000 VMs, all tabs, to HTML report by the command line",
        ours.seconds,
        format!("plimsoll {}", arguments.join(" ")),
    );
    let seconds = upload::median_seconds(3, &path)?;
    figure(
        "5,000 VMs, all tabs, upload to HTML report over HTTP",
        seconds,
        format!("curl -F file=@{text} -H 'Accept: text/html' http://127.0.0.1:8080/api/v1/reports"),
    );
    Ok(())
}

/// The slowest and the largest of the hostile files.
fn hostile_files(emit: Emit<'_>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = child::plimsoll()?;
    let mut slowest = (0.0, "");
    let mut largest = (0.0, "");
    for name in hostile::NAMES {
        let path = hostile::write(name, folder.path())?;
        let arguments = ["report", &path.to_string_lossy(), "--format", "json"];
        let took = child::run(&program, &arguments, &[0, 3, 4])?;
        if took.seconds > slowest.0 {
            slowest = (took.seconds, name);
        }
        if took.peak_mib > largest.0 {
            largest = (took.peak_mib, name);
        }
    }
    let mut figure = |what: &str, unit, (value, name): (f64, &str), goal: f64| {
        emit(Figure {
            name: format!("{} hostile files, {what}: {name}", hostile::NAMES.len()),
            unit,
            ours: value,
            reference: "goal".to_owned(),
            reference_value: Some(goal),
            ratio: Some(value / goal),
            goal: format!("at most {goal} {unit}"),
            met: Some(value <= goal),
            command: format!("plimsoll report {name} --format json"),
        });
    };
    figure("slowest", "s", slowest, 2.0);
    figure("largest", "MiB", largest, 256.0);
    Ok(())
}
