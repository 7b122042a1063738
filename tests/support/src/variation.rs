//! Named variations of an export, each with the totals a right reader finds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::export::{Edit, Export};
use crate::family::Family;
use crate::site::{Site, SiteSpec, Totals};
use crate::write::{Dialect, Dimension, Encoding, Strings, XlsxStyle, csv, xls, xlsx, zipped};

/// Files of a variation and what they hold.
#[derive(Debug, Clone)]
pub struct Variation {
    /// Paths to give to the reader, in order.
    pub files: Vec<PathBuf>,
    /// Totals.
    pub expected: Totals,
}

/// All names.
pub const NAMES: &[&str] = &[
    "family-3.8-xls",
    "family-3.8-xls-text-numbers",
    "family-3.9",
    "family-3.10",
    "family-4.0",
    "family-4.1",
    "family-4.6",
    "family-4.7",
    "family-4.7-xls",
    "family-db",
    "family-db-csv",
    "csv-comma",
    "csv-semicolon-cp1252",
    "csv-tab-utf16le",
    "csv-tab-utf16be",
    "csv-bom",
    "csv-german",
    "csv-french",
    "csv-spanish",
    "csv-portuguese",
    "csv-dutch",
    "csv-us-thousands",
    "csv-swiss-thousands",
    "csv-trailing-delimiter",
    "csv-type-line",
    "csv-quoted",
    "csv-zip",
    "csv-zip-two-folders",
    "csv-invented-multipath",
    "csv-zip-in-folder",
    "csv-zip-rubbish",
    "xlsx-inline",
    "xlsx-formula-text",
    "xlsx-prefix",
    "xlsx-no-references",
    "xlsx-dimension-whole",
    "xlsx-dimension-a1",
    "xlsx-dimension-absent",
    "xlsx-real-booleans",
    "xlsx-blank-rows",
    "xlsx-extra-sheets",
    "zip-of-xlsx",
    "two-vcenters",
    "same-file-twice",
    "two-vcenters-merged",
    "two-vcenters-header-again",
    "attribute-datacenter",
    "inserted-columns",
    "missing-columns",
    "no-vm-uuid",
    "sheet-case",
    "typos",
    "without-vdisk",
    "without-vpartition",
    "without-vdatastore",
    "vinfo-only",
];

fn everything() -> Site {
    Site::new(SiteSpec::awkward())
}

fn two_vcenters() -> Site {
    Site::new(SiteSpec {
        seed: 11,
        vcenters: 2,
        clusters: 4,
        hosts: 8,
        nfs: 4,
        shared_between_vcenters: true,
        ..SiteSpec::awkward()
    })
}

/// Writes a variation into a folder, which is made when absent.
///
/// # Errors
/// When the name is unknown or the files cannot be written.
pub fn write(name: &str, folder: &Path) -> io::Result<Variation> {
    fs::create_dir_all(folder)?;
    let site = everything();
    let whole = |family| Export::new(family, site.whole());
    let totals = site.totals();
    let plain = XlsxStyle::default();
    let styled = |style: XlsxStyle| one_xlsx(folder, &whole(Family::V47), style, totals.clone());
    let edited = |edits: Vec<Edit>, expected: Totals| {
        one_xlsx(folder, &whole(Family::V47).with(edits), plain, expected)
    };
    let dialect =
        |dialect: Dialect| csv_folder(folder, &whole(Family::V47), dialect, totals.clone());
    let localized = |yes: &'static str, no: &'static str, thousands: Option<char>| {
        dialect(Dialect {
            delimiter: ';',
            encoding: Encoding::Cp1252,
            booleans: (yes, no),
            thousands,
            ..Dialect::default()
        })
    };
    let base = Dialect::default();
    match name {
        "family-3.8-xls" => {
            one_xls(folder, &whole(Family::V38), old(&site, &without_consumed(&totals)))
        }
        "family-3.8-xls-text-numbers" => {
            let export = whole(Family::V38).with([Edit::NumbersAsText]);
            one_xls(folder, &export, old(&site, &without_consumed(&totals)))
        }
        "family-3.9" => one_xlsx(folder, &whole(Family::V39), plain, old(&site, &totals)),
        "family-3.10" => one_xlsx(folder, &whole(Family::V310), plain, old(&site, &totals)),
        "family-4.0" => one_xlsx(folder, &whole(Family::V40), plain, totals),
        "family-4.1" => one_xlsx(folder, &whole(Family::V41), plain, totals),
        "family-4.6" => one_xlsx(folder, &whole(Family::V46), plain, totals),
        "family-4.7" => one_xlsx(folder, &whole(Family::V47), plain, totals),
        "family-4.7-xls" => one_xls(folder, &whole(Family::V47), totals),
        "family-db" => one_xlsx(folder, &whole(Family::DbNames), plain, totals),
        "family-db-csv" => csv_folder(folder, &whole(Family::DbNames), base, totals),

        "csv-comma" => dialect(base),
        "csv-semicolon-cp1252" => {
            dialect(Dialect { delimiter: ';', encoding: Encoding::Cp1252, ..base })
        }
        "csv-tab-utf16le" => {
            dialect(Dialect { delimiter: '\t', encoding: Encoding::Utf16Le, ..base })
        }
        "csv-tab-utf16be" => {
            dialect(Dialect { delimiter: '\t', encoding: Encoding::Utf16Be, ..base })
        }
        "csv-bom" => dialect(Dialect { encoding: Encoding::Utf8Bom, ..base }),
        "csv-german" => localized("WAHR", "FALSCH", Some('.')),
        // A narrow no-break space is not in code page 1252; Excel writes the plain no-break space.
        "csv-french" => localized("VRAI", "FAUX", Some('\u{a0}')),
        "csv-spanish" => localized("VERDADERO", "FALSO", None),
        "csv-portuguese" => localized("VERDADEIRO", "FALSO", None),
        "csv-dutch" => localized("WAAR", "ONWAAR", None),
        "csv-us-thousands" => dialect(Dialect { thousands: Some(','), ..base }),
        "csv-swiss-thousands" => localized("True", "False", Some('\'')),
        "csv-trailing-delimiter" => dialect(Dialect { trailing_delimiter: true, ..base }),
        "csv-type-line" => dialect(Dialect { type_line: true, quote_all: true, ..base }),
        "csv-quoted" => dialect(Dialect { quote_all: true, ..base }),
        "csv-zip" => csv_zip(folder, &whole(Family::V47), "", totals),
        "csv-zip-in-folder" => csv_zip(folder, &whole(Family::V47), "RVTools_export_2026/", totals),
        "csv-zip-two-folders" => {
            let site = two_vcenters();
            let mut entries = Vec::new();
            for vcenter in 0..2 {
                let export = Export::new(Family::V47, site.of_vcenter(vcenter));
                for (name, bytes) in csv::files(&export, base) {
                    entries.push((format!("vc-{vcenter}/{name}"), bytes));
                }
            }
            let archive = zipped::write(io::Cursor::new(Vec::new()), &entries)?.into_inner();
            single(folder, "sites.zip", &archive, site.totals())
        }
        "csv-invented-multipath" => {
            // Two public generators write this file with headers of their own.
            let made = csv_folder(folder, &whole(Family::V47), base, totals)?;
            let invented = "LUN,Path Status,Adapter,Transport\r\nnaa.1,Active,vmhba1,FC\r\n";
            fs::write(folder.join("RVTools_tabvMultiPath.csv"), invented)?;
            Ok(made)
        }
        "csv-zip-rubbish" => rubbish(folder, &whole(Family::V47), totals),

        "xlsx-inline" => styled(XlsxStyle { strings: Strings::Inline, ..plain }),
        "xlsx-formula-text" => styled(XlsxStyle { strings: Strings::Formula, ..plain }),
        "xlsx-prefix" => styled(XlsxStyle { prefix: true, ..plain }),
        "xlsx-no-references" => {
            styled(XlsxStyle { no_references: true, strings: Strings::Inline, ..plain })
        }
        "xlsx-dimension-whole" => styled(XlsxStyle { dimension: Dimension::Whole, ..plain }),
        "xlsx-dimension-a1" => styled(XlsxStyle { dimension: Dimension::A1, ..plain }),
        "xlsx-dimension-absent" => styled(XlsxStyle { dimension: Dimension::Absent, ..plain }),
        "xlsx-real-booleans" => styled(XlsxStyle { real_booleans: true, ..plain }),
        "xlsx-blank-rows" => styled(XlsxStyle { blank_rows: 3_000, ..plain }),
        "xlsx-extra-sheets" => styled(XlsxStyle { extra_sheets: true, ..plain }),

        "zip-of-xlsx" => {
            let site = two_vcenters();
            let entries: Vec<(String, Vec<u8>)> = (0..2)
                .map(|vcenter| {
                    let export = Export::new(Family::V47, site.of_vcenter(vcenter));
                    Ok((format!("exports/vc-{vcenter}.xlsx"), xlsx_bytes(&export, plain)?))
                })
                .collect::<io::Result<_>>()?;
            let archive = zipped::write(io::Cursor::new(Vec::new()), &entries)?.into_inner();
            single(folder, "exports.zip", &archive, site.totals())
        }
        "two-vcenters" => {
            let site = two_vcenters();
            let files = [(0, Family::V47), (1, Family::V41)]
                .into_iter()
                .map(|(vcenter, family)| {
                    let export = Export::new(family, site.of_vcenter(vcenter));
                    let path = folder.join(format!("RVTools_export_all_vc-{vcenter}.xlsx"));
                    fs::write(&path, xlsx_bytes(&export, plain)?)?;
                    Ok(path)
                })
                .collect::<io::Result<_>>()?;
            Ok(Variation { files, expected: site.totals() })
        }
        "same-file-twice" => {
            let bytes = xlsx_bytes(&whole(Family::V47), plain)?;
            let files = ["export.xlsx", "export (1).xlsx"]
                .into_iter()
                .map(|name| {
                    let path = folder.join(name);
                    fs::write(&path, &bytes)?;
                    Ok(path)
                })
                .collect::<io::Result<_>>()?;
            Ok(Variation { files, expected: totals })
        }
        "two-vcenters-merged" | "two-vcenters-header-again" => {
            let site = two_vcenters();
            let edits = (name == "two-vcenters-header-again").then_some(Edit::HeaderAgain);
            let export = Export {
                family: Family::V47,
                views: vec![site.of_vcenter(0), site.of_vcenter(1)],
                edits: edits.into_iter().collect(),
            };
            one_xlsx(folder, &export, plain, site.totals())
        }

        "attribute-datacenter" => {
            let mut spec = SiteSpec::awkward();
            spec.attributes.push("Datacenter".to_owned());
            let site = Site::new(spec);
            let export = Export::new(Family::V47, site.whole());
            one_xlsx(folder, &export, plain, site.totals())
        }
        "inserted-columns" => edited(
            vec![
                Edit::InsertBefore("vInfo", "Powerstate", "PRDorHML", "PRD"),
                Edit::InsertBefore("vInfo", "Powerstate", "DB SQL", ""),
                Edit::InsertBefore("vDatastore", "Capacity MiB", "Contract", "B-17"),
            ],
            totals,
        ),
        "missing-columns" => edited(
            vec![
                Edit::DropColumn("vInfo", "DNS Name"),
                Edit::DropColumn("vInfo", "Path"),
                Edit::DropColumn("vInfo", "Network #1"),
                Edit::DropColumn("vInfo", "SRM Placeholder"),
                Edit::DropColumn("vDatastore", "Hosts"),
                Edit::DropColumn("vDisk", "Disk Path"),
            ],
            // Without their column, placeholders are ordinary VMs that are powered off.
            totals,
        ),
        "no-vm-uuid" => edited(
            ["vInfo", "vDisk", "vPartition", "vSnapshot", "vMemory"]
                .into_iter()
                .map(|tab| Edit::DropColumn(tab, "VM UUID"))
                .collect(),
            totals,
        ),
        "sheet-case" => edited(
            vec![
                Edit::RenameSheet("vInfo", "vinfo"),
                Edit::RenameSheet("vDisk", "vDisk (2)"),
                Edit::RenameSheet("vSC_VMK", "vSC+VMK"),
            ],
            totals,
        ),
        "typos" => edited(
            vec![
                Edit::Rename("vInfo", "In Use MiB", "In use MiB"),
                Edit::Rename("vInfo", "Creation date", "Creation Date"),
                Edit::Rename("vInfo", "VI SDK Server", "VI DSK Server"),
                Edit::Rename("vPartition", "Free %", "Free % "),
                Edit::Rename("vDatastore", "Capacity MiB", "  Capacity  MiB "),
            ],
            totals,
        ),
        "without-vdisk" => {
            let expected = Totals { disks: 0, disk_capacity_mib: 0, ..totals };
            edited(vec![Edit::DropTab("vDisk")], expected)
        }
        "without-vpartition" => {
            edited(vec![Edit::DropTab("vPartition")], without_consumed(&totals))
        }
        "without-vdatastore" => {
            let expected = Totals {
                datastores: 0,
                datastore_capacity_mib: 0,
                datastore_in_use_mib: 0,
                ..totals
            };
            edited(vec![Edit::DropTab("vDatastore")], expected)
        }
        "vinfo-only" => {
            let expected = Totals {
                disks: 0,
                disk_capacity_mib: 0,
                datastores: 0,
                datastore_capacity_mib: 0,
                datastore_in_use_mib: 0,
                ..without_consumed(&totals)
            };
            edited(vec![Edit::OnlyTabs(vec!["vInfo".to_owned()])], expected)
        }
        _ => Err(io::Error::other(format!("no variation is called {name}"))),
    }
}

fn without_consumed(totals: &Totals) -> Totals {
    Totals { partition_consumed_mib: 0, ..totals.clone() }
}

/// Before 4.0 there is no connection state: an orphaned VM looks like any other.
fn old(site: &Site, totals: &Totals) -> Totals {
    let orphaned = u64::from(site.spec.orphaned);
    Totals { vms_counted: totals.vms_counted + orphaned, ..totals.clone() }
}

fn xlsx_bytes(export: &Export<'_>, style: XlsxStyle) -> io::Result<Vec<u8>> {
    Ok(xlsx::write(export, style, io::Cursor::new(Vec::new()))?.into_inner())
}

fn single(folder: &Path, name: &str, bytes: &[u8], expected: Totals) -> io::Result<Variation> {
    let path = folder.join(name);
    fs::write(&path, bytes)?;
    Ok(Variation { files: vec![path], expected })
}

fn one_xlsx(
    folder: &Path,
    export: &Export<'_>,
    style: XlsxStyle,
    expected: Totals,
) -> io::Result<Variation> {
    let name = "RVTools_export_all_2026-11-27_18.30.00.xlsx";
    single(folder, name, &xlsx_bytes(export, style)?, expected)
}

fn one_xls(folder: &Path, export: &Export<'_>, expected: Totals) -> io::Result<Variation> {
    single(folder, "RVTools_export_all.xls", &xls::bytes(export)?, expected)
}

fn csv_folder(
    folder: &Path,
    export: &Export<'_>,
    dialect: Dialect,
    expected: Totals,
) -> io::Result<Variation> {
    let files = csv::files(export, dialect)
        .into_iter()
        .map(|(name, bytes)| {
            let path = folder.join(name);
            fs::write(&path, bytes)?;
            Ok(path)
        })
        .collect::<io::Result<_>>()?;
    Ok(Variation { files, expected })
}

fn csv_zip(
    folder: &Path,
    export: &Export<'_>,
    inner: &str,
    expected: Totals,
) -> io::Result<Variation> {
    single(folder, "RVTools_csv.zip", &csv::zip(export, Dialect::default(), inner)?, expected)
}

/// A zip with the leavings of operating systems and spreadsheets among the files.
fn rubbish(folder: &Path, export: &Export<'_>, expected: Totals) -> io::Result<Variation> {
    let mut entries: Vec<(String, Vec<u8>)> = vec![
        ("__MACOSX/._RVTools_tabvInfo.csv".to_owned(), vec![0, 5, 0x16, 7]),
        (".DS_Store".to_owned(), vec![0; 64]),
        ("~$RVTools_export_all.xlsx".to_owned(), b"user".to_vec()),
        ("Thumbs.db".to_owned(), vec![0; 16]),
    ];
    entries.extend(csv::files(export, Dialect::default()));
    let archive = zipped::write(io::Cursor::new(Vec::new()), &entries)?.into_inner();
    single(folder, "RVTools_csv.zip", &archive, expected)
}

#[cfg(test)]
mod tests;
