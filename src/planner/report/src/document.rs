//! The report as pure data: an answer, facts and sections of text, figures and tables.
//!
//! Nothing here knows a format, and no format knows what a datastore is: exporters walk these
//! types. Composition is in [`crate::compose`], drawing of figures in [`crate::chart`].

use plimsoll_inventory::FindingSeverity;
use plimsoll_units::EvidenceGrade;

use crate::figure::Figure;

/// A piece of running text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Plain words.
    Plain(String),
    /// Stressed words.
    Strong(String),
    /// A setting, a hash, a file name.
    Code(String),
    /// A reference to a section of the same report.
    Link {
        /// Id of the section.
        to: &'static str,
        /// Words.
        text: String,
    },
}

/// Running text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Span>);

impl Text {
    /// Adds plain words.
    #[must_use]
    pub fn plain(mut self, words: impl Into<String>) -> Self {
        self.0.push(Span::Plain(words.into()));
        self
    }

    /// Adds stressed words.
    #[must_use]
    pub fn strong(mut self, words: impl Into<String>) -> Self {
        self.0.push(Span::Strong(words.into()));
        self
    }

    /// Adds a setting, hash or file name.
    #[must_use]
    pub fn code(mut self, words: impl Into<String>) -> Self {
        self.0.push(Span::Code(words.into()));
        self
    }

    /// Adds a reference to a section.
    #[must_use]
    pub fn link(mut self, to: &'static str, words: impl Into<String>) -> Self {
        self.0.push(Span::Link { to, text: words.into() });
        self
    }

    /// Text in which backquotes stand around settings and commands.
    #[must_use]
    pub fn quoted(text: &str) -> Self {
        if !text.matches('`').count().is_multiple_of(2) {
            return text.into();
        }
        let spans = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
        Self(
            spans
                .map(|(index, part)| match index % 2 {
                    0 => Span::Plain(part.to_owned()),
                    _ => Span::Code(part.to_owned()),
                })
                .collect(),
        )
    }

    /// The words alone.
    #[must_use]
    pub fn words(&self) -> String {
        self.0
            .iter()
            .map(|span| match span {
                Span::Plain(words) | Span::Strong(words) | Span::Code(words) => words.as_str(),
                Span::Link { text, .. } => text.as_str(),
            })
            .collect()
    }

    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::default().plain(words)
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self::default().plain(words)
    }
}

/// The first screen: the answer in one sentence, how sure it is, what stands against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// One sentence.
    pub sentence: String,
    /// How sure, what binds first, what one more would bring.
    pub deck: String,
    /// What the reader must know before using the answer.
    pub notices: Vec<Notice>,
}

/// A caveat of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// Severity.
    pub severity: FindingSeverity,
    /// One word for it, such as `Incomplete`.
    pub label: String,
    /// The sentence.
    pub text: Text,
}

/// A key figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// Value with unit.
    pub value: String,
    /// What qualifies it.
    pub note: String,
}

/// One section, headed by its finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Stable id, the anchor in a page.
    pub id: &'static str,
    /// Topic, the line above the heading and in the table of contents.
    pub topic: String,
    /// The finding, a sentence.
    pub finding: String,
    /// Text below the heading.
    pub lead: Vec<Text>,
    /// Content.
    pub blocks: Vec<Block>,
    /// Notes that explain; they hold no fact that the blocks lack.
    pub notes: Vec<Note>,
}

/// A margin note.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// Heading, may be empty.
    pub heading: String,
    /// Text.
    pub text: Text,
}

/// Content of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph.
    Paragraph(Text),
    /// A sub-heading.
    Heading(String),
    /// A chart with caption and table twin. Boxed: the largest variant by far.
    Figure(Box<Figure>),
    /// A table.
    Table(Table),
    /// Findings by severity.
    Findings(Vec<FindingItem>),
    /// Steps of a derivation.
    Derivation(Vec<Step>),
    /// Names with values.
    Definitions(Vec<(String, Text)>),
    /// A product written out, in large figures.
    Equation(Equation),
    /// Shares of a whole by evidence grade.
    Evidence(Vec<EvidenceShare>),
    /// Content that is folded on screen.
    Folded {
        /// The line that stays.
        summary: String,
        /// What is behind it.
        blocks: Vec<Block>,
    },
}

/// One finding.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingItem {
    /// Severity.
    pub severity: FindingSeverity,
    /// The fact.
    pub fact: Text,
    /// What to do.
    pub advice: Text,
    /// Where the rule comes from.
    pub source: String,
    /// The first rows it stands on.
    pub evidence: Vec<String>,
    /// How many rows there are in all.
    pub evidence_total: u64,
}

/// One step of a derivation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What is computed.
    pub what: String,
    /// The formula with numbers.
    pub formula: String,
    /// The result with its unit.
    pub result: String,
}

/// A product written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Equation {
    /// Factors: value and what it is.
    pub factors: Vec<(String, String)>,
    /// Result: value and what it is.
    pub result: (String, String),
}

/// Share of the load behind one evidence grade.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceShare {
    /// The grade.
    pub grade: EvidenceGrade,
    /// Share, 0-1.
    pub share: f64,
    /// What stands behind it.
    pub what: String,
}

/// How a column behaves on a narrow page, where rows become blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnRole {
    /// Names the row.
    Name,
    /// The main figure, at the right of the name.
    Main,
    /// A labelled value in line.
    Labelled,
    /// A line of its own.
    Line,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Head.
    pub head: String,
    /// Right-aligned numbers.
    pub numeric: bool,
    /// Behaviour on a narrow page.
    pub role: ColumnRole,
    /// Whether the value needs its head beside it on a narrow page.
    pub labelled: bool,
}

impl Column {
    /// The column that names its row.
    #[must_use]
    pub fn name(head: impl Into<String>) -> Self {
        Self { head: head.into(), numeric: false, role: ColumnRole::Name, labelled: false }
    }

    /// The main number.
    #[must_use]
    pub fn main(head: impl Into<String>) -> Self {
        Self { head: head.into(), numeric: true, role: ColumnRole::Main, labelled: true }
    }

    /// The main value where it explains itself, with its unit in the cell.
    #[must_use]
    pub fn value(head: impl Into<String>) -> Self {
        Self { labelled: false, ..Self::main(head) }
    }

    /// A number.
    #[must_use]
    pub fn number(head: impl Into<String>) -> Self {
        Self { head: head.into(), numeric: true, role: ColumnRole::Labelled, labelled: true }
    }

    /// A short word.
    #[must_use]
    pub fn word(head: impl Into<String>) -> Self {
        Self { head: head.into(), numeric: false, role: ColumnRole::Labelled, labelled: true }
    }

    /// A sentence or a bar.
    #[must_use]
    pub fn line(head: impl Into<String>) -> Self {
        Self { head: head.into(), numeric: false, role: ColumnRole::Line, labelled: false }
    }
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Text.
    Text(Text),
    /// Stressed text.
    Strong(String),
    /// An evidence grade.
    Grade(EvidenceGrade),
    /// A severity word with its mark.
    Severity(FindingSeverity),
    /// Load over its limit: 1.0 is exactly at the load line.
    Bullet(f64),
    /// A part of a whole.
    Bar(Bar),
}

/// A bar in a cell; all parts are shares of the same whole, 0-1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// Length of what stays.
    pub stays: f64,
    /// Length of the part taken out, after what stays.
    pub removed: f64,
    /// Whether the part taken out still counts for something.
    pub removed_counts: bool,
    /// A first or last row, drawn in full tone.
    pub whole: bool,
}

impl From<&str> for Cell {
    fn from(words: &str) -> Self {
        Self::Text(words.into())
    }
}

impl From<String> for Cell {
    fn from(words: String) -> Self {
        Self::Text(words.into())
    }
}

impl From<Text> for Cell {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Cells, one per column.
    pub cells: Vec<Cell>,
    /// The planned choice.
    pub chosen: bool,
}

impl Row {
    /// A plain row.
    #[must_use]
    pub fn new(cells: Vec<Cell>) -> Self {
        Self { cells, chosen: false }
    }
}

/// Density of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Density {
    /// Rows become blocks on a narrow page.
    Key,
    /// Small type; scrolls inside its own region.
    Dense,
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows, with units.
    pub caption: String,
    /// Density.
    pub density: Density,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
    /// Where the rest is when rows were left out.
    pub left_out: Option<String>,
}

impl Table {
    /// A key table.
    #[must_use]
    pub fn key(caption: impl Into<String>, columns: Vec<Column>) -> Self {
        let caption = caption.into();
        Self { caption, density: Density::Key, columns, rows: Vec::new(), left_out: None }
    }

    /// A dense table.
    #[must_use]
    pub fn dense(caption: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { density: Density::Dense, ..Self::key(caption, columns) }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row::new(cells));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backquotes_mark_settings() {
        let code = Text::default().plain("run ").code("vmkping -d").plain(" twice");
        assert_eq!(Text::quoted("run `vmkping -d` twice"), code);
        assert_eq!(Text::quoted("one ` alone"), Text::from("one ` alone"));
    }
}
