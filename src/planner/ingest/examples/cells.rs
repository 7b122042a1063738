//! Runs calamine's cell reader alone over the named sheets and prints the time.
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use calamine::{Reader, Xlsx};
fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap();
    let wanted: Vec<String> = args.collect();
    let started = std::time::Instant::now();
    let mut book: Xlsx<_> =
        Xlsx::new(std::io::BufReader::new(std::fs::File::open(path).unwrap())).unwrap();
    println!("opened {:?}", started.elapsed());
    let mut cells = 0_u64;
    for name in book.sheet_names() {
        if !wanted.is_empty() && !wanted.contains(&name) {
            continue;
        }
        let mut reader = book.worksheet_cells_reader(&name).unwrap();
        while let Some(cell) = reader.next_cell().unwrap() {
            cells += u64::from(cell.get_position().1 < 300);
        }
    }
    println!("{cells} cells in {:?}", started.elapsed());
}
