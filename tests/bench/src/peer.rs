//! What our readers are compared with: the readers they stand on, doing nothing else.

use std::process::ExitCode;

use calamine::{Reader, Xlsx, open_workbook};
use plimsoll_ingest::{Input, Limits};
use plimsoll_inventory::Inventory;
use plimsoll_performance::ReadOptions;
use polars::prelude::{CsvReadOptions, PolarsResult, SerReader};

/// Reads every cell of every sheet and forgets it.
fn calamine_cells(path: &str) -> Result<u64, calamine::XlsxError> {
    let mut book: Xlsx<_> = open_workbook(path)?;
    let mut cells = 0;
    for name in book.sheet_names() {
        let mut reader = book.worksheet_cells_reader(&name)?;
        while let Some(cell) = reader.next_cell()? {
            std::hint::black_box(&cell);
            cells += 1;
        }
    }
    Ok(cells)
}

/// Every column of a CSV into a frame as text: thousands marks and `-` are no numbers to polars.
fn polars_scan(path: &str) -> PolarsResult<u64> {
    let options = CsvReadOptions::default().with_infer_schema_length(Some(0));
    let reader = options.try_into_reader_with_file_path(Some(path.into()))?;
    let frame = reader.finish()?;
    Ok((frame.height() * frame.width()) as u64)
}

/// Our own reader of performance exports, up to series in order of time.
fn series(path: &str) -> std::result::Result<u64, plimsoll_performance::Error> {
    let inputs = [Input::from_path(path)];
    let options = ReadOptions::default();
    let survey = plimsoll_performance::read(
        &inputs,
        &Inventory::default(),
        &options,
        &Limits::default(),
        &mut |_| true,
    )?;
    Ok(survey.series.iter().map(|series| series.samples.len() as u64).sum())
}

/// Runs a peer in this process, which its caller measures.
pub fn run(name: &str, path: &str) -> ExitCode {
    let outcome = match name {
        "calamine" => calamine_cells(path).map_err(|error| error.to_string()),
        "polars" => polars_scan(path).map_err(|error| error.to_string()),
        "series" => series(path).map_err(|error| error.to_string()),
        other => Err(format!("no peer is called {other}")),
    };
    match outcome {
        Ok(cells) => {
            println!("{cells} cells");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("plimsoll-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Python that reads vInfo into a data frame, as most scripts over such exports do.
pub const PANDAS: &str =
    "import sys, pandas; print(len(pandas.read_excel(sys.argv[1], sheet_name='vInfo')))";
