//! Reads files and prints what was found: rows and sums of each tab, problems by kind, time.
//!
//! `cargo run --release -p plimsoll-ingest --example survey -- FILE...`

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::time::Instant;

use plimsoll_ingest::{Input, Limits, read};

fn main() {
    let inputs = std::env::args_os().skip(1).map(Input::from_path).collect();
    let started = Instant::now();
    let read = read(inputs, &Limits::default(), &mut |_| true);
    let took = started.elapsed();
    match read {
        Err(error) => println!("refused: {} {error}", error.code()),
        Ok(export) => {
            for file in &export.files {
                println!("{} {} bytes, {}", file.name, file.bytes, file.reason);
                for tab in &file.tabs {
                    println!(
                        "  {} (as {}) rows {} used {} custom {:?}",
                        tab.tab, tab.found_as, tab.rows, tab.used, tab.custom_columns
                    );
                }
            }
            let sum = |values: &mut dyn Iterator<Item = Option<plimsoll_units::Mib>>| -> u64 {
                values.flatten().map(|mib| mib.0).sum()
            };
            println!("provisioned {}", sum(&mut export.vms.iter().map(|row| row.provisioned)));
            println!("in use {}", sum(&mut export.vms.iter().map(|row| row.in_use)));
            println!("memory {}", sum(&mut export.vms.iter().map(|row| row.memory)));
            println!("disks {}", sum(&mut export.disks.iter().map(|row| row.capacity)));
            println!("partitions {}", sum(&mut export.partitions.iter().map(|row| row.capacity)));
            println!("consumed {}", sum(&mut export.partitions.iter().map(|row| row.consumed)));
            println!("datastores {}", sum(&mut export.datastores.iter().map(|row| row.capacity)));
            println!(
                "names {:?}",
                export.vm_names_by_tab.iter().map(|(t, n)| (t, n.len())).collect::<Vec<_>>()
            );
            println!("redacted {}", export.redacted_secrets.len());
            let mut kinds: BTreeMap<String, (usize, String)> = BTreeMap::new();
            for problem in &export.problems.items {
                let kind = kinds
                    .entry(format!("{:?} {} {}", problem.severity, problem.tab, problem.code))
                    .or_default();
                kind.0 += 1;
                if kind.0 <= 3 {
                    kind.1 = format!(
                        "{} | {:?} {} = {:?}; expected {}; {}",
                        kind.1,
                        problem.row,
                        problem.column,
                        problem.value,
                        problem.expected,
                        problem.action
                    );
                }
            }
            for (kind, (count, sample)) in kinds {
                println!("{count} x {kind}{sample}");
            }
        }
    }
    println!("took {} ms", took.as_millis());
}
