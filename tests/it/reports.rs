//! Reports of the sample: the same bytes every time, in every format.

use std::path::{Path, PathBuf};

use plimsoll_support::site::{Site, SiteSpec};

use crate::program::report;

/// The export in data/samples.
pub fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/samples/sample.xlsx")
}

#[test]
fn the_sample_is_what_the_generator_writes() {
    use plimsoll_support::export::Export;
    use plimsoll_support::family::Family;
    use plimsoll_support::write::{XlsxStyle, xlsx};

    let site = Site::new(SiteSpec::sample());
    let export = Export::new(Family::V47, site.whole());
    let style = XlsxStyle { no_references: true, ..XlsxStyle::default() };
    let bytes = xlsx::write(&export, style, std::io::Cursor::new(Vec::new())).unwrap().into_inner();
    let stored = std::fs::read(sample()).unwrap();
    assert!(bytes == stored, "data/samples/sample.xlsx is stale: see data/samples/README.md");
    assert!(stored.len() < 150_000, "the sample has {} bytes", stored.len());
}

#[test]
fn identical_input_gives_identical_bytes() {
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("sample.xlsx");
    std::fs::copy(sample(), &copy).unwrap();
    for format in ["json", "html", "md", "csv", "xlsx"] {
        let first = report(&[sample()], format);
        let second = report(std::slice::from_ref(&copy), format);
        assert!(first.made_a_report(), "{format}: {}", first.stderr);
        assert!(!first.stdout.is_empty(), "{format}: nothing on stdout");
        assert!(first.stdout == second.stdout, "{format} differs between two runs");
    }
}

#[test]
fn the_sample_gives_the_totals_of_its_site() {
    let json = report(&[sample()], "json").json();
    let wanted = serde_json::to_value(Site::new(SiteSpec::sample()).totals()).unwrap();
    for (column, want) in wanted.as_object().unwrap() {
        if let Some(found) = json["inventory"]["totals"].get(column) {
            assert_eq!(found, want, "{column}");
        }
    }
}

#[test]
fn the_page_is_one_file_that_asks_nothing_of_the_network() {
    let page = String::from_utf8(report(&[sample()], "html").stdout).unwrap();
    assert!(page.len() < 2_000_000, "the page has {} bytes", page.len());
    for asks in ["<script src", "<link rel=\"stylesheet\"", "url(http", "src=\"http", "@import"] {
        assert!(!page.contains(asks), "the page has {asks}");
    }
}
