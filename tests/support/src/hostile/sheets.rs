//! Workbooks whose container is sound and whose sheet is not.

use std::io;
use std::path::Path;

use super::book::{self, GOOD_ROWS, TAIL, head};
use crate::write::xlsx::column_name;

const HEADERS: [&str; 5] = ["VM", "Powerstate", "Provisioned MiB", "In Use MiB", "Annotation"];

const STRINGS: &str = "<?xml version=\"1.0\"?><sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><si><t>";

fn header() -> String {
    let cells: String = HEADERS
        .iter()
        .enumerate()
        .map(|(index, text)| inline(&format!("{}1", column_name(index)), text))
        .collect();
    format!("<row r=\"1\">{cells}</row>")
}

fn inline(reference: &str, text: &str) -> String {
    format!("<c r=\"{reference}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
}

pub(super) fn write(name: &str, path: &Path) -> io::Result<bool> {
    let text = |sheet: String| book::write_text(path, &sheet);
    match name {
        "dimension-whole.xlsx" => text(format!("{}{GOOD_ROWS}{TAIL}", head("A1:XFD1048576")))?,
        "far-cell.xlsx" => text(format!(
            "{}{GOOD_ROWS}<row r=\"1048576\">{}</row>{TAIL}",
            head(""),
            inline("XFD1048576", "x")
        ))?,
        "million-blank-rows.xlsx" => book::write(
            path,
            &|out| {
                write!(out, "{}{GOOD_ROWS}", head("A1:D1000003"))?;
                (4..1_000_004).try_for_each(|row| {
                    write!(out, "<row r=\"{row}\"><c r=\"A{row}\" s=\"1\"/></row>")
                })?;
                write!(out, "{TAIL}")
            },
            None,
        )?,
        // More rows than a sheet can have: the file claims what no program writes.
        "two-million-rows.xlsx" => book::write(
            path,
            &|out| {
                write!(out, "{}{GOOD_ROWS}", head(""))?;
                (4..2_000_004).try_for_each(|row| {
                    write!(out, "<row r=\"{row}\"><c r=\"A{row}\"><v>{row}</v></c></row>")
                })?;
                write!(out, "{TAIL}")
            },
            None,
        )?,
        "all-columns.xlsx" => {
            let wide = |row: usize, prefix: &str| -> String {
                let cells: String = (4..16_384)
                    .map(|index| {
                        inline(&format!("{}{row}", column_name(index)), &format!("{prefix}{index}"))
                    })
                    .collect();
                format!("<row r=\"{row}\">{cells}</row>")
            };
            text(format!("{}{GOOD_ROWS}{}{TAIL}", head(""), wide(4, "extra ")))?;
        }
        "huge-shared-string.xlsx" => book::write(
            path,
            &|out| {
                write!(
                    out,
                    "{}{GOOD_ROWS}<row r=\"4\"><c r=\"A4\" t=\"s\"><v>0</v></c></row>{TAIL}",
                    head("")
                )
            },
            Some(&|out| {
                write!(out, "{STRINGS}")?;
                book::fill(out, b'a', 300)?;
                write!(out, "</t></si></sst>")
            }),
        )?,
        // Four mebibytes of text, pointed at from 20,000 cells.
        "repeated-long-string.xlsx" => book::write(
            path,
            &|out| {
                write!(out, "{}{}", head(""), header())?;
                (2..20_002).try_for_each(|row| {
                    write!(
                        out,
                        "<row r=\"{row}\"><c r=\"A{row}\"><v>{row}</v></c><c r=\"C{row}\"><v>1024</v></c><c r=\"E{row}\" t=\"s\"><v>0</v></c></row>"
                    )
                })?;
                write!(out, "{TAIL}")
            },
            Some(&|out| {
                write!(out, "{STRINGS}")?;
                book::fill(out, b'a', 4)?;
                write!(out, "</t></si></sst>")
            }),
        )?,
        "huge-inline-string.xlsx" => book::write(
            path,
            &|out| {
                write!(
                    out,
                    "{}{GOOD_ROWS}<row r=\"4\"><c r=\"A4\" t=\"inlineStr\"><is><t>",
                    head("")
                )?;
                book::fill(out, b'a', 300)?;
                write!(out, "</t></is></c></row>{TAIL}")
            },
            None,
        )?,
        "string-index-outside.xlsx" => text(format!(
            "{}{GOOD_ROWS}<row r=\"4\"><c r=\"A4\" t=\"s\"><v>7</v></c></row>{TAIL}",
            head("")
        ))?,
        "entity-expansion.xlsx" => {
            let mut doctype = String::from("<!DOCTYPE x [<!ENTITY e0 \"aaaaaaaaaa\">");
            for level in 1..10 {
                let inner = format!("&e{};", level - 1).repeat(10);
                doctype.push_str(&format!("<!ENTITY e{level} \"{inner}\">"));
            }
            doctype.push_str("]>");
            let body = head("").replacen("?>", &format!("?>{doctype}"), 1);
            text(format!("{body}{GOOD_ROWS}<row r=\"4\">{}</row>{TAIL}", inline("A4", "&e9;")))?;
        }
        "deep-elements.xlsx" => {
            let depth = 1_000_000;
            text(format!(
                "{}{GOOD_ROWS}<row r=\"4\"><c r=\"A4\" t=\"inlineStr\">{}{}</c></row>{TAIL}",
                head(""),
                "<is>".repeat(depth),
                "</is>".repeat(depth)
            ))?;
        }
        "broken-xml.xlsx" => text(format!("{}{GOOD_ROWS}<row r=\"4\"><c r=\"A4\" t=", head("")))?,
        "absurd-numbers.xlsx" => {
            let rows: String = [
                "1e308", "-5", "99999999999999999999999", "NaN", "Infinity", "1.5", "-1", "0x10",
                "1e-320", "18446744073709551615",
            ]
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let row = index + 2;
                format!(
                    "<row r=\"{row}\">{}<c r=\"C{row}\"><v>{value}</v></c><c r=\"D{row}\" t=\"str\"><v>{value}</v></c></row>",
                    inline(&format!("A{row}"), &format!("odd-{row:02}"))
                )
            })
            .collect();
            text(format!("{}{}{rows}{TAIL}", head(""), header()))?;
        }
        "cell-references-nonsense.xlsx" => text(format!(
            "{}{GOOD_ROWS}<row r=\"0\"><c r=\"A0\"><v>1</v></c></row><row r=\"99999999999\"><c r=\"ZZZZZZZ99999999999\"><v>1</v></c></row><row r=\"x\"><c r=\"11\"><v>1</v></c></row>{TAIL}",
            head("A0")
        ))?,
        "header-only.xlsx" => text(format!("{}{}{TAIL}", head(""), header()))?,
        _ => return Ok(false),
    }
    Ok(true)
}
