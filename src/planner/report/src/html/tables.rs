//! Tables: key tables become blocks on a narrow page, dense ones scroll in their own region.

use std::fmt::Write as _;

use super::{escape, marks, text};
use crate::document::{Bar, Cell, Column, ColumnRole, Density, Row, Table};
use crate::words;

/// A table.
pub fn table(out: &mut String, table: &Table, label: &str) {
    match table.density {
        Density::Key => key(out, table),
        Density::Dense => {
            let label = if table.caption.is_empty() { label } else { &table.caption };
            // Outside the region that scrolls, or a narrow page would cut it off.
            if !table.caption.is_empty() {
                let _ = write!(out, "<p class=\"tcap\">{}</p>", escape(&table.caption));
            }
            let _ = write!(
                out,
                "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">",
                escape(label),
            );
            dense(out, table, label);
            out.push_str("</div>\n");
        }
    }
    if let Some(left_out) = &table.left_out {
        let _ = writeln!(out, "<p class=\"small rest\">{}</p>", escape(left_out));
    }
}

fn head(out: &mut String, column: &Column, roles: bool) {
    let role = if roles { " role=\"columnheader\"" } else { "" };
    let class = if column.numeric { " class=\"num\"" } else { "" };
    if column.head.is_empty() {
        let _ = write!(out, "<td{}></td>", if roles { " role=\"cell\"" } else { "" });
    } else {
        let _ = write!(out, "<th{role} scope=\"col\"{class}>{}</th>", escape(&column.head));
    }
}

fn key(out: &mut String, table: &Table) {
    let chosen = table.rows.iter().any(|row| row.chosen);
    let _ = write!(
        out,
        "<table class=\"stack{}\" role=\"table\">",
        if chosen { " lead-pad" } else { "" },
    );
    if !table.caption.is_empty() {
        let _ = write!(out, "<caption>{}</caption>", escape(&table.caption));
    }
    out.push_str("<thead role=\"rowgroup\"><tr role=\"row\">");
    for column in &table.columns {
        head(out, column, true);
    }
    out.push_str("</tr></thead><tbody role=\"rowgroup\">\n");
    for row in &table.rows {
        let _ =
            write!(out, "<tr role=\"row\"{}>", if row.chosen { " class=\"chosen\"" } else { "" });
        for (column, one) in table.columns.iter().zip(&row.cells) {
            key_cell(out, column, one, row);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}

fn key_cell(out: &mut String, column: &Column, one: &Cell, row: &Row) {
    let mut class = Vec::new();
    if column.numeric {
        class.push("num");
    }
    match column.role {
        ColumnRole::Main => class.push("r1"),
        ColumnRole::Line => class.push("full"),
        ColumnRole::Name | ColumnRole::Labelled => {}
    }
    match one {
        Cell::Bullet(_) => class.push("bul"),
        Cell::Bar(_) => class.push("popbar"),
        Cell::Text(words) if words.words().is_empty() => class.push("none"),
        one if is_short(one, if column.role == ColumnRole::Name { 22 } else { 14 }) => {
            class.push("nb");
        }
        _ => {}
    }
    let class =
        if class.is_empty() { String::new() } else { format!(" class=\"{}\"", class.join(" ")) };
    if column.role == ColumnRole::Name {
        let _ = write!(out, "<th role=\"rowheader\" scope=\"row\"{class}>");
        cell(out, one);
        if row.chosen {
            out.push_str("<span class=\"vh\"> (chosen)</span>");
        }
        out.push_str("</th>");
        return;
    }
    let labelled = column.labelled && !column.head.is_empty();
    let label =
        if labelled { format!(" data-l=\"{}\"", escape(&column.head)) } else { String::new() };
    let _ = write!(out, "<td role=\"cell\"{class}{label}>");
    cell(out, one);
    out.push_str("</td>");
}

/// Whether text is short enough to keep it in one line.
fn is_short(cell: &Cell, longest: usize) -> bool {
    match cell {
        Cell::Text(words) => words.words().chars().count() <= longest,
        Cell::Strong(words) => words.chars().count() <= longest,
        _ => false,
    }
}

fn dense(out: &mut String, table: &Table, label: &str) {
    let chosen = table.rows.iter().any(|row| row.chosen);
    let _ = write!(
        out,
        "<table class=\"dense{}\" aria-label=\"{}\"><thead><tr>",
        if chosen { " lead-pad" } else { "" },
        escape(label),
    );
    for column in &table.columns {
        head(out, column, false);
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str(if row.chosen { "<tr class=\"chosen\">" } else { "<tr>" });
        for (column, one) in table.columns.iter().zip(&row.cells) {
            if column.role == ColumnRole::Name {
                out.push_str("<th scope=\"row\">");
                cell(out, one);
                if row.chosen {
                    out.push_str("<span class=\"vh\"> (chosen)</span>");
                }
                out.push_str("</th>");
            } else {
                let long = matches!(one, Cell::Text(words) if words.words().chars().count() > 32);
                out.push_str(match (column.numeric, long) {
                    (true, _) => "<td class=\"num\">",
                    (false, true) => "<td class=\"long\">",
                    (false, false) => "<td>",
                });
                cell(out, one);
                out.push_str("</td>");
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>");
}

fn cell(out: &mut String, cell: &Cell) {
    match cell {
        Cell::Text(words) => text(out, words),
        Cell::Strong(words) => {
            let _ = write!(out, "<b>{}</b>", escape(words));
        }
        Cell::Grade(grade) => {
            let letter = grade.letter();
            let _ = write!(
                out,
                "<span class=\"grade {}\" title=\"{}\">{letter}</span>",
                letter.to_ascii_lowercase(),
                grade.meaning(),
            );
        }
        Cell::Severity(severity) => marks::severity(out, *severity, words::severity(*severity)),
        Cell::Bullet(ratio) => bullet(out, *ratio),
        Cell::Bar(bar) => self::bar(out, *bar),
    }
}

/// A track to 130 %, a bar, the load line at 100 %. The percentage stands beside it as text.
fn bullet(out: &mut String, ratio: f64) {
    const WIDTH: f64 = 132.0;
    const LINE: f64 = WIDTH / 1.3;
    let length = ratio.clamp(0.0, 1.3) * LINE;
    let within = length.min(LINE);
    let _ = write!(
        out,
        "<svg class=\"meter\" viewBox=\"0 0 132 12\" preserveAspectRatio=\"none\" \
         aria-hidden=\"true\"><rect y=\"2\" width=\"132\" height=\"8\" class=\"f3\"/>\
         <rect y=\"2\" width=\"{within:.1}\" height=\"8\" class=\"f1\"/>",
    );
    if length > within {
        let over = length - within;
        let _ = write!(
            out,
            "<rect x=\"{LINE:.1}\" y=\"2\" width=\"{over:.1}\" height=\"8\" class=\"acf\"/>",
        );
    }
    let _ = write!(
        out,
        "<line x1=\"{LINE:.1}\" y1=\"-1\" x2=\"{LINE:.1}\" y2=\"13\" class=\"markbar\"/></svg>",
    );
}

fn bar(out: &mut String, bar: Bar) {
    let stays = bar.stays.clamp(0.0, 1.0) * 1000.0;
    let removed = bar.removed.clamp(0.0, 1.0) * 1000.0;
    let _ = write!(
        out,
        "<svg class=\"cellbar\" viewBox=\"0 0 1000 12\" preserveAspectRatio=\"none\" \
         aria-hidden=\"true\"><rect width=\"{stays:.1}\" height=\"12\" class=\"{}\"/>",
        if bar.whole { "f1" } else { "f3" },
    );
    if removed > 0.0 {
        let _ = write!(
            out,
            "<rect x=\"{stays:.1}\" width=\"{removed:.1}\" height=\"12\" class=\"{}\"/>",
            if bar.removed_counts { "f2" } else { "f1o" },
        );
    }
    out.push_str("</svg>");
}
