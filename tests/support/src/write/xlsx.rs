//! An xlsx writer that can imitate each program that writes or re-saves exports.
//!
//! Rows are streamed into the archive, so a sheet of any size needs no memory but its strings.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Seek, Write};

use zip::ZipWriter;

use super::zipped;
use crate::cell::Cell;
use crate::export::{Export, Sheet};

/// How text is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strings {
    /// In a shared table (RVTools itself, Excel, LibreOffice).
    #[default]
    Shared,
    /// Inside the cell, `t="inlineStr"`.
    Inline,
    /// As the result of a formula, `t="str"`.
    Formula,
}

/// What the `dimension` element claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dimension {
    /// The truth.
    #[default]
    True,
    /// Every cell a sheet can have.
    Whole,
    /// One cell.
    A1,
    /// No such element.
    Absent,
}

/// Choices of a writer.
#[derive(Debug, Clone, Copy, Default)]
pub struct XlsxStyle {
    /// How text is stored.
    pub strings: Strings,
    /// What the dimension claims.
    pub dimension: Dimension,
    /// Elements carry the namespace prefix `x:`.
    pub prefix: bool,
    /// Cells carry no `r` attribute.
    pub no_references: bool,
    /// Booleans are boolean cells instead of text.
    pub real_booleans: bool,
    /// Rows of styled, empty cells after the data.
    pub blank_rows: u32,
    /// A sheet `Summary` stands first and a very hidden, outdated copy of vInfo last.
    pub extra_sheets: bool,
}

const NAMESPACE: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const TYPES: &str = "http://schemas.openxmlformats.org/package/2006/content-types";
const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// Writes an export as a workbook.
///
/// # Errors
/// When the output cannot be written.
pub fn write<W: Write + Seek>(export: &Export<'_>, style: XlsxStyle, to: W) -> io::Result<W> {
    let sheets = export.sheets();
    let mut names: Vec<(String, &str)> =
        sheets.iter().map(|sheet| (sheet.name.clone(), "")).collect();
    if style.extra_sheets {
        names.insert(0, ("Summary".to_owned(), ""));
        names.push(("vInfo (old)".to_owned(), " state=\"veryHidden\""));
    }
    let mut book = Book {
        archive: ZipWriter::new(to),
        style,
        shared: HashMap::new(),
        table: String::new(),
        uses: 0,
    };
    book.parts(&names)?;
    let mut number = 0;
    let mut next = || {
        number += 1;
        number
    };
    if style.extra_sheets {
        book.plain_sheet(next(), &[&["Site\nname", "VMs\nin all"], &["corp.example", "41"]])?;
    }
    for sheet in &sheets {
        book.sheet(next(), export, sheet)?;
    }
    if style.extra_sheets {
        book.plain_sheet(next(), &[&["VM", "Powerstate"], &["gone-01", "poweredOn"]])?;
    }
    book.finish()
}

struct Book<W: Write + Seek> {
    archive: ZipWriter<W>,
    style: XlsxStyle,
    /// Text to its place in the table.
    shared: HashMap<String, usize>,
    /// The items of the table, as written.
    table: String,
    uses: u64,
}

impl<W: Write + Seek> Book<W> {
    /// Prefix of elements.
    fn x(&self) -> &'static str {
        if self.style.prefix { "x:" } else { "" }
    }

    fn namespace(&self) -> String {
        if self.style.prefix {
            format!("xmlns:x=\"{NAMESPACE}\"")
        } else {
            format!("xmlns=\"{NAMESPACE}\"")
        }
    }

    fn part(&mut self, name: &str, body: &str) -> io::Result<()> {
        self.archive.start_file(name, zipped::options()).map_err(io::Error::other)?;
        self.archive.write_all(DECLARATION.as_bytes())?;
        self.archive.write_all(body.as_bytes())
    }

    fn parts(&mut self, names: &[(String, &str)]) -> io::Result<()> {
        let x = self.x();
        let namespace = self.namespace();
        let shared = self.style.strings == Strings::Shared;
        let kind = "application/vnd.openxmlformats-officedocument.spreadsheetml";
        let mut types = format!(
            "<Types xmlns=\"{TYPES}\"><Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Default Extension=\"xml\" ContentType=\"application/xml\"/><Override PartName=\"/xl/workbook.xml\" ContentType=\"{kind}.sheet.main+xml\"/><Override PartName=\"/xl/styles.xml\" ContentType=\"{kind}.styles+xml\"/>"
        );
        let mut relations = format!("<Relationships xmlns=\"{PACKAGE}\">");
        let mut book = format!("<{x}workbook {namespace} xmlns:r=\"{RELATIONS}\"><{x}sheets>");
        for (index, (name, state)) in names.iter().enumerate() {
            let id = index + 1;
            let _ = write!(
                types,
                "<Override PartName=\"/xl/worksheets/sheet{id}.xml\" ContentType=\"{kind}.worksheet+xml\"/>"
            );
            let _ = write!(
                relations,
                "<Relationship Id=\"rId{id}\" Type=\"{RELATIONS}/worksheet\" Target=\"worksheets/sheet{id}.xml\"/>"
            );
            let _ = write!(
                book,
                "<{x}sheet name=\"{name}\" sheetId=\"{id}\"{state} r:id=\"rId{id}\"/>"
            );
        }
        let _ = write!(book, "</{x}sheets></{x}workbook>");
        let next = names.len() + 1;
        let _ = write!(
            relations,
            "<Relationship Id=\"rId{next}\" Type=\"{RELATIONS}/styles\" Target=\"styles.xml\"/>"
        );
        if shared {
            let _ = write!(
                types,
                "<Override PartName=\"/xl/sharedStrings.xml\" ContentType=\"{kind}.sharedStrings+xml\"/>"
            );
            let _ = write!(
                relations,
                "<Relationship Id=\"rId{}\" Type=\"{RELATIONS}/sharedStrings\" Target=\"sharedStrings.xml\"/>",
                next + 1
            );
        }
        types.push_str("</Types>");
        relations.push_str("</Relationships>");
        self.part("[Content_Types].xml", &types)?;
        self.part(
            "_rels/.rels",
            &format!(
                "<Relationships xmlns=\"{PACKAGE}\"><Relationship Id=\"rId1\" Type=\"{RELATIONS}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        )?;
        self.part("xl/workbook.xml", &book)?;
        self.part("xl/_rels/workbook.xml.rels", &relations)?;
        // Style 1 is a date with its time.
        self.part(
            "xl/styles.xml",
            &format!(
                "<{x}styleSheet {namespace}><{x}fonts count=\"1\"><{x}font><{x}sz val=\"11\"/><{x}name val=\"Calibri\"/></{x}font></{x}fonts><{x}fills count=\"2\"><{x}fill><{x}patternFill patternType=\"none\"/></{x}fill><{x}fill><{x}patternFill patternType=\"gray125\"/></{x}fill></{x}fills><{x}borders count=\"1\"><{x}border><{x}left/><{x}right/><{x}top/><{x}bottom/><{x}diagonal/></{x}border></{x}borders><{x}cellStyleXfs count=\"1\"><{x}xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></{x}cellStyleXfs><{x}cellXfs count=\"2\"><{x}xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/><{x}xf numFmtId=\"22\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/></{x}cellXfs><{x}cellStyles count=\"1\"><{x}cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></{x}cellStyles></{x}styleSheet>"
            ),
        )
    }

    fn open_sheet(&mut self, number: usize, rows: u32, width: usize) -> io::Result<()> {
        let x = self.x();
        let claim = match self.style.dimension {
            Dimension::True => format!("A1:{}{}", column_name(width.max(1) - 1), rows.max(1)),
            Dimension::Whole => "A1:XFD1048576".to_owned(),
            Dimension::A1 => "A1".to_owned(),
            Dimension::Absent => String::new(),
        };
        let dimension =
            if claim.is_empty() { claim } else { format!("<{x}dimension ref=\"{claim}\"/>") };
        let head = format!(
            "<{x}worksheet {}>{dimension}<{x}sheetViews><{x}sheetView workbookViewId=\"0\"><{x}pane xSplit=\"1\" ySplit=\"1\" topLeftCell=\"B2\" activePane=\"bottomRight\" state=\"frozen\"/></{x}sheetView></{x}sheetViews><{x}sheetData>",
            self.namespace()
        );
        self.part(&format!("xl/worksheets/sheet{number}.xml"), &head)
    }

    fn close_sheet(&mut self) -> io::Result<()> {
        let x = self.x();
        write!(self.archive, "</{x}sheetData></{x}worksheet>")
    }

    fn sheet(&mut self, number: usize, export: &Export<'_>, sheet: &Sheet) -> io::Result<()> {
        let mut rows = 0;
        if self.style.dimension == Dimension::True {
            export.rows(sheet, &mut |_| rows += 1);
        }
        self.open_sheet(number, rows, sheet.width())?;
        let letters: Vec<String> = (0..sheet.width()).map(column_name).collect();
        let mut line = String::new();
        let mut row = 0;
        let mut failure = None;
        export.rows(sheet, &mut |cells| {
            row += 1;
            line.clear();
            self.row(&mut line, row, cells, &letters);
            if failure.is_none() {
                failure = self.archive.write_all(line.as_bytes()).err();
            }
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        let x = self.x();
        for blank in 0..self.style.blank_rows {
            let at = row + 1 + blank;
            line.clear();
            let _ = write!(line, "<{x}row r=\"{at}\">");
            for letter in letters.iter().take(4) {
                let _ = write!(line, "<{x}c r=\"{letter}{at}\" s=\"1\"/>");
            }
            let _ = write!(line, "</{x}row>");
            self.archive.write_all(line.as_bytes())?;
        }
        self.close_sheet()
    }

    fn plain_sheet(&mut self, number: usize, rows: &[&[&str]]) -> io::Result<()> {
        let width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        self.open_sheet(number, rows.len() as u32, width)?;
        let letters: Vec<String> = (0..width).map(column_name).collect();
        for (index, row) in rows.iter().enumerate() {
            let cells: Vec<Cell<'_>> = row.iter().map(|text| Cell::from(*text)).collect();
            let mut line = String::new();
            self.row(&mut line, index as u32 + 1, &cells, &letters);
            self.archive.write_all(line.as_bytes())?;
        }
        self.close_sheet()
    }

    fn row(&mut self, line: &mut String, row: u32, cells: &[Cell<'_>], letters: &[String]) {
        let x = self.x();
        let _ = if self.style.no_references {
            write!(line, "<{x}row>")
        } else {
            write!(line, "<{x}row r=\"{row}\">")
        };
        for (cell, letter) in cells.iter().zip(letters) {
            if *cell == Cell::Blank && !self.style.no_references {
                continue;
            }
            let _ = write!(line, "<{x}c");
            if !self.style.no_references {
                let _ = write!(line, " r=\"{letter}{row}\"");
            }
            match cell {
                Cell::Blank => line.push_str("/>"),
                Cell::Int(number) => {
                    let _ = write!(line, "><{x}v>{number}</{x}v></{x}c>");
                }
                Cell::Float(number) => {
                    let _ = write!(line, "><{x}v>{number}</{x}v></{x}c>");
                }
                Cell::Date(stamp) => {
                    let _ = write!(line, " s=\"1\"><{x}v>{}</{x}v></{x}c>", stamp.serial());
                }
                Cell::Bool(value) if self.style.real_booleans => {
                    let _ = write!(line, " t=\"b\"><{x}v>{}</{x}v></{x}c>", u8::from(*value));
                }
                Cell::Bool(value) => self.text(line, if *value { "True" } else { "False" }),
                Cell::Text(text) => self.text(line, text),
                Cell::Enum(text, _) => self.text(line, text),
            }
        }
        let _ = write!(line, "</{x}row>");
    }

    /// The rest of a cell that holds text.
    fn text(&mut self, line: &mut String, text: &str) {
        let x = self.x();
        match self.style.strings {
            Strings::Shared => {
                self.uses += 1;
                let known = self.shared.len();
                let index = match self.shared.get(text) {
                    Some(index) => *index,
                    None => {
                        self.shared.insert(text.to_owned(), known);
                        let _ = write!(self.table, "<{x}si><{x}t{}>", space(text));
                        escape(&mut self.table, text);
                        let _ = write!(self.table, "</{x}t></{x}si>");
                        known
                    }
                };
                let _ = write!(line, " t=\"s\"><{x}v>{index}</{x}v></{x}c>");
            }
            Strings::Inline => {
                let _ = write!(line, " t=\"inlineStr\"><{x}is><{x}t{}>", space(text));
                escape(line, text);
                let _ = write!(line, "</{x}t></{x}is></{x}c>");
            }
            Strings::Formula => {
                let _ = write!(line, " t=\"str\"><{x}v{}>", space(text));
                escape(line, text);
                let _ = write!(line, "</{x}v></{x}c>");
            }
        }
    }

    fn finish(mut self) -> io::Result<W> {
        if self.style.strings == Strings::Shared {
            let x = self.x();
            let body = format!(
                "<{x}sst {} count=\"{}\" uniqueCount=\"{}\">{}</{x}sst>",
                self.namespace(),
                self.uses,
                self.shared.len(),
                std::mem::take(&mut self.table)
            );
            self.part("xl/sharedStrings.xml", &body)?;
        }
        self.archive.finish().map_err(io::Error::other)
    }
}

fn space(text: &str) -> &'static str {
    if text.starts_with(' ') || text.ends_with(' ') { " xml:space=\"preserve\"" } else { "" }
}

fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
}

/// `A`, `B`, … `Z`, `AA`, …
#[must_use]
pub fn column_name(index: usize) -> String {
    let mut name = Vec::new();
    let mut left = index + 1;
    while left > 0 {
        name.push(b'A' + ((left - 1) % 26) as u8);
        left = (left - 1) / 26;
    }
    name.reverse();
    name.into_iter().map(char::from).collect()
}
