//! `docs/protocols.md` lists each section of a standard with the tests named after it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- sections: begin -->\n";
const END: &str = "<!-- sections: end -->";

/// Prefix of a test's name and the document it stands for.
const DOCUMENTS: [(&str, &str); 11] = [
    ("rfc7143", "RFC 7143 (iSCSI)"),
    ("rfc7145", "RFC 7145 (iSER)"),
    ("pitfall", "Pitfalls of iSER peers, by the numbers above"),
    ("rfc1994", "RFC 1994 (CHAP)"),
    ("rfc1813", "RFC 1813 (NFSv3)"),
    ("rfc5531", "RFC 5531 (ONC RPC)"),
    ("rfc4506", "RFC 4506 (XDR)"),
    ("rfc1833", "RFC 1833 (portmap and rpcbind)"),
    ("sam5", "SAM-5"),
    ("spc5", "SPC-5"),
    ("sbc4", "SBC-4"),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// `11_2_2_malformed_segments` is section 11.2.2 and the words behind it; `appendix_c_…` is appendix C.
fn split(name: &str) -> (Vec<u32>, String, String) {
    let words: Vec<&str> = name.split('_').collect();
    if let ["appendix" | "a", letter, ..] = words.as_slice()
        && words[0] == "appendix"
    {
        return (
            vec![u32::MAX],
            format!("appendix {}", letter.to_uppercase()),
            words[2..].join(" "),
        );
    }
    let numbers = words.iter().map_while(|word| word.parse::<u32>().ok()).collect::<Vec<_>>();
    let section = numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    let rest = words[numbers.len()..].join(" ");
    (numbers, section, rest)
}

fn table() -> String {
    let mut files = Vec::new();
    sources(&root().join("src/engine"), &mut files);
    let mut rows: BTreeMap<(usize, Vec<u32>, String), String> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let place = file.strip_prefix(root()).unwrap().display().to_string();
        for line in text.lines() {
            let Some(rest) = line.trim_start().strip_prefix("fn ") else { continue };
            let Some((name, _)) = rest.split_once('(') else { continue };
            for (order, (prefix, _)) in DOCUMENTS.iter().enumerate() {
                if let Some(tail) =
                    name.strip_prefix(prefix).and_then(|tail| tail.strip_prefix('_'))
                {
                    let (numbers, section, words) = split(tail);
                    let section = if section.is_empty() { "whole".to_owned() } else { section };
                    let row = format!("| {section} | {words} | `{place}` |\n");
                    rows.insert((order, numbers, name.to_owned()), row);
                }
            }
        }
    }
    let mut out = String::new();
    for (order, (_, title)) in DOCUMENTS.iter().enumerate() {
        let mut mine = rows.iter().filter(|((of, _, _), _)| *of == order).peekable();
        if mine.peek().is_some() {
            out.push_str(&format!("\n### {title}\n\n| section | test | in |\n|---|---|---|\n"));
            mine.for_each(|(_, row)| out.push_str(row));
        }
    }
    out.push('\n');
    out
}

#[test]
fn every_section_is_listed_with_its_test() {
    let path = root().join("docs/protocols.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the mark of the beginning is there");
    let (listed, after) = rest.split_once(END).expect("the mark of the end is there");
    let table = table();
    assert!(table.lines().count() > 100, "the tests named after sections are found");
    if std::env::var_os("PLIMSOLL_UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert!(
            listed == table,
            "docs/protocols.md is behind: PLIMSOLL_UPDATE=1 cargo test --release --workspace --test it protocols"
        );
    }
}
