//! What our reader is compared with: the cell reader it stands on, doing nothing else.

use std::process::ExitCode;

use calamine::{Reader, Xlsx, open_workbook};

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

/// Runs a peer in this process, which its caller measures.
pub fn run(name: &str, path: &str) -> ExitCode {
    let outcome = match name {
        "calamine" => calamine_cells(path).map_err(|error| error.to_string()),
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
