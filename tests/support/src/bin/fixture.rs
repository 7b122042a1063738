//! Writes any fixture from the command line.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use plimsoll_support::export::{Edit, Export};
use plimsoll_support::family::Family;
use plimsoll_support::site::{Site, SiteSpec};
use plimsoll_support::write::{Dialect, XlsxStyle, csv, xls, xlsx};
use plimsoll_support::{hostile, variation};

/// Writes fixture files: synthetic inventory exports and hostile files.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// An export of a synthetic site.
    Site(SiteArguments),
    /// One named variation of an export, or `all`, into a folder.
    Variation {
        /// Name; see `list`.
        name: String,
        /// Folder.
        #[arg(short, long)]
        output: PathBuf,
    },
    /// One named hostile file, or `all`, into a folder.
    Hostile {
        /// Name; see `list`.
        name: String,
        /// Folder.
        #[arg(short, long)]
        output: PathBuf,
    },
    /// Names all variations and hostile files.
    List,
}

#[derive(clap::Args)]
struct SiteArguments {
    /// The site of data/samples.
    #[arg(long, conflicts_with = "vms")]
    sample: bool,
    /// A plain site of this many VMs.
    #[arg(long, default_value_t = 1_000)]
    vms: u32,
    /// Hosts; in proportion to the VMs when not given.
    #[arg(long)]
    hosts: Option<u32>,
    /// Seed.
    #[arg(long)]
    seed: Option<u64>,
    /// RVTools version family: 3.8, 3.9, 3.10, 4.0, 4.1, 4.6, 4.7 or db.
    #[arg(long, default_value = "4.7")]
    family: String,
    /// Only these tabs, separated by commas.
    #[arg(long, value_delimiter = ',')]
    tabs: Vec<String>,
    /// Leaves the cell references out of an xlsx, which are optional and a third of its size.
    #[arg(long)]
    compact: bool,
    /// File format.
    #[arg(long, value_enum, default_value_t = Format::Xlsx)]
    format: Format,
    /// Prints the totals a right reader finds.
    #[arg(long)]
    totals: bool,
    /// Path of the file, or of the folder for csv.
    #[arg(short, long)]
    output: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Xlsx,
    Xls,
    Csv,
    CsvZip,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fixture: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> io::Result<()> {
    match command {
        Command::Site(arguments) => site(&arguments),
        Command::Variation { name, output } => {
            fs::create_dir_all(&output)?;
            each(&name, variation::NAMES, |name| {
                let made = variation::write(name, &output.join(name))?;
                println!("{name}: {} files", made.files.len());
                Ok(())
            })
        }
        Command::Hostile { name, output } => {
            fs::create_dir_all(&output)?;
            each(&name, hostile::NAMES, |name| {
                let path = hostile::write(name, &output)?;
                println!("{}", path.display());
                Ok(())
            })
        }
        Command::List => {
            for name in variation::NAMES {
                println!("variation {name}");
            }
            for name in hostile::NAMES {
                println!("hostile {name}");
            }
            Ok(())
        }
    }
}

fn each(
    name: &str,
    names: &[&str],
    mut make: impl FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    if name == "all" {
        return names.iter().try_for_each(|name| make(name));
    }
    if !names.contains(&name) {
        return Err(io::Error::other(format!("no fixture is called {name}; see `fixture list`")));
    }
    make(name)
}

fn site(arguments: &SiteArguments) -> io::Result<()> {
    let family = Family::parse(&arguments.family)
        .ok_or_else(|| io::Error::other(format!("no family is called {}", arguments.family)))?;
    let mut spec =
        if arguments.sample { SiteSpec::sample() } else { SiteSpec::plain(arguments.vms) };
    spec.seed = arguments.seed.unwrap_or(spec.seed);
    spec.hosts = arguments.hosts.unwrap_or(spec.hosts);
    let site = Site::new(spec);
    let mut export = Export::new(family, site.whole());
    if !arguments.tabs.is_empty() {
        export = export.with([Edit::OnlyTabs(arguments.tabs.clone())]);
    }
    let path = arguments.output.as_path();
    match arguments.format {
        Format::Xlsx => {
            let file = BufWriter::new(File::create(path)?);
            let style = XlsxStyle { no_references: arguments.compact, ..XlsxStyle::default() };
            xlsx::write(&export, style, file)?.into_inner()?.sync_all()?;
        }
        Format::Xls => fs::write(path, xls::bytes(&export)?)?,
        Format::Csv => folder(&csv::files(&export, Dialect::default()), path)?,
        Format::CsvZip => fs::write(path, csv::zip(&export, Dialect::default(), "")?)?,
    }
    if arguments.totals {
        println!("{}", serde_json::to_string_pretty(&site.totals())?);
    }
    Ok(())
}

fn folder(files: &[(String, Vec<u8>)], path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    files.iter().try_for_each(|(name, bytes)| fs::write(path.join(name), bytes))
}
