//! Markdown: the document as text with tables, figures as their twins.

use crate::compose::{Report, plain_spaces};
use crate::document::{Block, Cell, Span, Table, Text};
use crate::number;
use crate::words;

/// Rows of a table before the rest is left to the other formats.
const ROWS: usize = 60;

/// The report as Markdown.
#[must_use]
pub fn md(report: &Report<'_>) -> String {
    let mut out = String::new();
    line(&mut out, &format!("# {}", escape(&report.answer.sentence)));
    line(&mut out, "");
    line(&mut out, &escape(&report.answer.deck));
    line(&mut out, "");
    for notice in &report.answer.notices {
        line(&mut out, &format!("- **{}** {}", escape(&notice.label), text(&notice.text)));
    }
    if !report.answer.notices.is_empty() {
        line(&mut out, "");
    }
    let about = if report.date.is_empty() {
        report.title.clone()
    } else {
        format!("{}, {}", report.title, report.date)
    };
    line(&mut out, &format!("_{}_", escape(&about)));
    line(&mut out, "");
    line(&mut out, "| Key figure | Value | |");
    line(&mut out, "|---|---|---|");
    for fact in &report.facts {
        let cells = [&fact.name, &fact.value, &fact.note].map(|cell| escape(cell));
        line(&mut out, &format!("| {} |", cells.join(" | ")));
    }
    for section in &report.sections {
        line(&mut out, "");
        line(&mut out, &format!("## {}", escape(&section.finding)));
        line(&mut out, "");
        line(&mut out, &format!("_{}_", escape(&section.topic)));
        for paragraph in &section.lead {
            line(&mut out, "");
            line(&mut out, &text(paragraph));
        }
        for one in &section.blocks {
            line(&mut out, "");
            block(&mut out, one);
        }
        for note in &section.notes {
            line(&mut out, "");
            let heading = if note.heading.is_empty() {
                String::new()
            } else {
                format!("**{}.** ", escape(&note.heading))
            };
            line(&mut out, &format!("> {heading}{}", text(&note.text)));
        }
    }
    plain_spaces(&out)
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn block(out: &mut String, block: &Block) {
    match block {
        Block::Paragraph(words) => line(out, &text(words)),
        Block::Heading(words) => line(out, &format!("### {}", escape(words))),
        Block::Figure(figure) => {
            line(out, &format!("**Figure {}.** {}", figure.number, escape(&figure.caption)));
            line(out, "");
            table(out, &figure.twin);
        }
        Block::Table(one) => table(out, one),
        Block::Findings(items) => {
            for item in items {
                line(
                    out,
                    &format!(
                        "- **{}** {} {}",
                        words::severity(item.severity),
                        text(&item.fact),
                        text(&item.advice),
                    ),
                );
                for evidence in &item.evidence {
                    line(out, &format!("  - {}", escape(evidence)));
                }
                let left = item.evidence_total.saturating_sub(item.evidence.len() as u64);
                if left > 0 {
                    line(out, &format!("  - and {} more", number::count(left)));
                }
            }
        }
        Block::Derivation(steps) => {
            for (index, step) in steps.iter().enumerate() {
                line(
                    out,
                    &format!(
                        "{}. {}: **{}**  \n   `{}`",
                        index + 1,
                        escape(&step.what),
                        escape(&step.result),
                        step.formula.replace('`', "'").replace('\n', " "),
                    ),
                );
            }
        }
        Block::Definitions(items) => {
            for (name, value) in items {
                line(out, &format!("- {}: {}", escape(name), text(value)));
            }
        }
        Block::Equation(equation) => {
            let factors: Vec<_> = equation
                .factors
                .iter()
                .map(|(value, what)| format!("{} ({})", escape(value), escape(what)))
                .collect();
            let (value, what) = &equation.result;
            line(out, &format!("{} = **{}** {}", factors.join(" × "), escape(value), escape(what)));
        }
        Block::Evidence(shares) => {
            for share in shares {
                line(out, &format!("- {}: {}", share.grade.letter(), escape(&share.what)));
            }
        }
        Block::Folded { summary, blocks } => {
            line(out, &format!("**{}**", escape(summary)));
            for one in blocks {
                line(out, "");
                self::block(out, one);
            }
        }
    }
}

fn table(out: &mut String, table: &Table) {
    if !table.caption.is_empty() {
        line(out, &escape(&table.caption));
        line(out, "");
    }
    let heads: Vec<_> = table.columns.iter().map(|column| escape(&column.head)).collect();
    line(out, &format!("| {} |", heads.join(" | ")));
    let rules: Vec<_> =
        table.columns.iter().map(|column| if column.numeric { "---:" } else { "---" }).collect();
    line(out, &format!("|{}|", rules.join("|")));
    for row in table.rows.iter().take(ROWS) {
        let cells: Vec<_> = row.cells.iter().map(cell).collect();
        line(out, &format!("| {} |", cells.join(" | ")));
    }
    if table.rows.len() > ROWS {
        line(out, "");
        line(out, &format!("{} more rows.", table.rows.len() - ROWS));
    }
    if let Some(left_out) = &table.left_out {
        line(out, "");
        line(out, &escape(left_out));
    }
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(words) => text(words),
        Cell::Strong(words) if words.is_empty() => String::new(),
        Cell::Strong(words) => format!("**{}**", escape(words)),
        Cell::Grade(grade) => grade.letter().to_string(),
        Cell::Severity(severity) => words::severity(*severity).to_owned(),
        Cell::Bullet(ratio) => number::share(*ratio),
        Cell::Bar(_) => String::new(),
    }
}

fn text(text: &Text) -> String {
    text.0
        .iter()
        .map(|span| match span {
            Span::Plain(words) => escape(words),
            Span::Strong(words) => format!("**{}**", escape(words)),
            Span::Code(words) => format!("`{}`", words.replace('`', "'").replace('|', "\\|")),
            Span::Link { text, .. } => escape(text),
        })
        .collect()
}

/// Foreign text must not become markup.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => {
                out.push('\\');
                out.push(letter);
            }
            '\n' | '\r' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_become_markup() {
        assert_eq!(escape("a|b*c\n<d>"), "a\\|b\\*c \\<d\\>");
    }
}
