//! Licence keys and secrets in annotations reach no report, no log and no message.

use std::io::{Cursor, Read};

use plimsoll_support::{secrets, variation};

use crate::program::report;

const FORMATS: [&str; 5] = ["json", "html", "md", "csv", "xlsx"];

/// A workbook is an archive: its parts are looked through inflated.
fn readable(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if bytes.starts_with(b"PK") {
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        for index in 0..archive.len() {
            let mut part = Vec::new();
            archive.by_index(index).unwrap().read_to_end(&mut part).unwrap();
            text.push_str(&String::from_utf8_lossy(&part));
        }
    }
    text
}

#[test]
fn keys_and_secrets_of_the_export_appear_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let planted: Vec<&str> = secrets::LICENCE_KEYS
        .iter()
        .copied()
        .chain(secrets::ANNOTATIONS.iter().map(|(secret, _)| *secret))
        .collect();
    for name in ["family-4.7", "family-3.10", "family-3.8-xls", "family-db", "csv-semicolon-cp1252"]
    {
        let made = variation::write(name, &folder.path().join(name)).unwrap();
        for format in FORMATS {
            let run = report(&made.files, format);
            assert!(run.made_a_report(), "{name} {format}: {}", run.stderr);
            let text = readable(&run.stdout) + &run.stderr;
            for secret in &planted {
                assert!(
                    !text.contains(secret),
                    "{name}: {secret} is in the {format} report or log"
                );
            }
        }
    }
}

/// The test above could not fail if the fixture did not hold them.
#[test]
fn the_fixture_holds_the_keys_and_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let made = variation::write("family-4.7", folder.path()).unwrap();
    let text = readable(&std::fs::read(&made.files[0]).unwrap());
    for key in secrets::LICENCE_KEYS {
        assert!(text.contains(key));
    }
    for (secret, _) in secrets::ANNOTATIONS {
        assert!(text.contains(secret));
    }
}

#[test]
fn redacted_secrets_are_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let made = variation::write("family-4.7", folder.path()).unwrap();
    let json = report(&made.files, "json").json();
    let count = secrets::ANNOTATIONS.len();
    let found = json["findings"].as_array().unwrap().iter().any(|finding| {
        finding["evidence_total"] == count
            && finding["id"].as_str().is_some_and(|id| id.contains("secret"))
    });
    assert!(found, "no finding counts {count} redacted secrets: {:#}", json["findings"]);
}
