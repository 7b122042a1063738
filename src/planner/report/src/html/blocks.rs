//! The content of sections.

use std::fmt::Write as _;

use super::{escape, marks, tables, text};
use crate::chart::{self, Width};
use crate::document::{Block, Equation, EvidenceShare, FindingItem, Step};
use crate::figure::{Chart, Figure};
use crate::number;
use crate::words;

/// One block.
pub fn block(out: &mut String, block: &Block, metadata: &str) {
    match block {
        Block::Paragraph(words) => {
            out.push_str("<p>");
            text(out, words);
            out.push_str("</p>\n");
        }
        Block::Heading(words) => {
            let _ = writeln!(out, "<h3>{}</h3>", escape(words));
        }
        Block::Figure(figure) => self::figure(out, figure, metadata),
        Block::Table(table) => tables::table(out, table, "Table"),
        Block::Findings(items) => findings(out, items),
        Block::Derivation(steps) => derivation(out, steps),
        Block::Definitions(items) => {
            out.push_str("<dl class=\"prov\">\n");
            for (name, value) in items {
                let _ = write!(out, "<dt>{}</dt><dd>", escape(name));
                text(out, value);
                out.push_str("</dd>\n");
            }
            out.push_str("</dl>\n");
        }
        Block::Equation(equation) => self::equation(out, equation),
        Block::Evidence(shares) => evidence(out, shares),
        Block::Folded { summary, blocks } => {
            let _ =
                writeln!(out, "<details class=\"folded\"><summary>{}</summary>", escape(summary));
            for one in blocks {
                self::block(out, one, metadata);
            }
            out.push_str("</details>\n");
        }
    }
}

fn figure(out: &mut String, figure: &Figure, metadata: &str) {
    let number = figure.number;
    let _ = writeln!(
        out,
        "<figure>\n<figcaption><b>Figure {number}.</b> {}</figcaption>",
        escape(&figure.caption),
    );
    marks::key(out, &figure.key);
    for (class, width) in [("wide", Width::Wide), ("narrow", Width::Narrow)] {
        let _ = write!(out, "<div class=\"{class}\">");
        if let (Width::Narrow, Chart::Stacks(stacks)) = (width, &figure.chart) {
            fills(out, &stacks.parts);
        }
        match chart::draw(figure, width, metadata) {
            Ok(svg) => out.push_str(&svg),
            Err(reason) => {
                let _ = write!(
                    out,
                    "<p>This figure could not be drawn ({}); its table follows.</p>",
                    escape(&reason),
                );
            }
        }
        out.push_str("</div>\n");
    }
    let _ = write!(
        out,
        "<div class=\"fig-foot\"><details><summary>Figure {number} as a table</summary>",
    );
    tables::table(out, &figure.twin, &format!("Figure {number} as a table"));
    let _ = writeln!(
        out,
        "</details><span class=\"acts\" hidden>Figure {number} \
         <button type=\"button\" data-act=\"copy\">Copy</button>\
         <button type=\"button\" data-act=\"svg\">SVG</button>\
         <button type=\"button\" data-act=\"csv\">CSV</button></span></div>\n</figure>",
    );
}

/// The key of fills for narrow drawings, which have no room for labels beside the bars.
fn fills(out: &mut String, parts: &[String; 4]) {
    let shapes = [
        "<rect width=\"26\" height=\"12\" class=\"f1\"/>",
        "<rect width=\"26\" height=\"12\" class=\"f2\"/><rect width=\"26\" height=\"12\" \
         fill=\"url(#dots)\"/>",
        "<rect width=\"26\" height=\"12\" class=\"f3\"/><rect width=\"26\" height=\"12\" \
         fill=\"url(#hatch)\"/>",
        "<rect x=\".5\" y=\".5\" width=\"25\" height=\"11\" class=\"open\"/>",
    ];
    out.push_str("<ul class=\"key\">");
    for (shape, part) in shapes.iter().zip(parts) {
        let _ = write!(
            out,
            "<li><svg viewBox=\"0 0 26 12\" aria-hidden=\"true\">{shape}</svg>{}</li>",
            escape(part),
        );
    }
    out.push_str("</ul>");
}

fn findings(out: &mut String, items: &[FindingItem]) {
    out.push_str("<ol class=\"findings\">\n");
    for item in items {
        out.push_str("<li>");
        marks::severity(out, item.severity, words::severity(item.severity));
        out.push_str("<div><p>");
        text(out, &item.fact);
        out.push_str("</p>");
        if !item.advice.words().is_empty() {
            out.push_str("<p class=\"do\">");
            text(out, &item.advice);
            out.push_str("</p>");
        }
        if !item.evidence.is_empty() {
            let left = item.evidence_total.saturating_sub(item.evidence.len() as u64);
            let summary = match item.evidence_total {
                1 => "The row it stands on".to_owned(),
                total => format!("The {} rows it stands on", number::count(total)),
            };
            let summary = if item.source.is_empty() { "Which ones".to_owned() } else { summary };
            let _ = write!(out, "<details><summary>{summary}</summary><ul class=\"rows\">");
            for evidence in &item.evidence {
                let _ = write!(out, "<li>{}</li>", escape(evidence));
            }
            if left > 0 {
                let _ = write!(
                    out,
                    "<li>and {} more, in the workbook and the JSON form</li>",
                    number::count(left),
                );
            }
            out.push_str("</ul>");
            if !item.source.is_empty() {
                let _ = write!(out, "<p class=\"small\">Rule: {}</p>", escape(&item.source));
            }
            out.push_str("</details>");
        } else if !item.source.is_empty() {
            let _ = write!(out, "<p class=\"small\">Rule: {}</p>", escape(&item.source));
        }
        out.push_str("</div></li>\n");
    }
    out.push_str("</ol>\n");
}

fn derivation(out: &mut String, steps: &[Step]) {
    out.push_str("<ol class=\"deriv\">\n");
    for step in steps {
        let _ = writeln!(
            out,
            "<li><span class=\"q\">{}</span><span class=\"r\">{}</span>\
             <span class=\"f\">{}</span></li>",
            escape(&step.what),
            escape(&step.result),
            escape(&step.formula),
        );
    }
    out.push_str("</ol>\n");
}

fn equation(out: &mut String, equation: &Equation) {
    let (value, what) = &equation.result;
    let spoken: Vec<_> =
        equation.factors.iter().map(|(value, what)| format!("{value} {what}")).collect();
    let _ = write!(
        out,
        "<div class=\"eq\" role=\"img\" aria-label=\"{} make {} {}\">",
        escape(&spoken.join(" times ")),
        escape(value),
        escape(what),
    );
    for (index, (value, what)) in equation.factors.iter().enumerate() {
        if index > 0 {
            out.push_str("<span class=\"op\">×</span>");
        }
        let _ = write!(out, "<span>{}<small>{}</small></span>", escape(value), escape(what));
    }
    let _ = writeln!(
        out,
        "<span class=\"op\">=</span><span class=\"out\">{}<small>{}</small></span></div>",
        escape(value),
        escape(what),
    );
}

fn evidence(out: &mut String, shares: &[EvidenceShare]) {
    if shares.is_empty() {
        out.push_str("<p>No VM carries load.</p>\n");
        return;
    }
    let spoken: Vec<_> = shares.iter().map(|share| share.what.as_str()).collect();
    let _ = write!(
        out,
        "<svg class=\"evid\" viewBox=\"0 0 1000 22\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"Share of the load by evidence: {}\">",
        escape(&spoken.join("; ")),
    );
    let mut start = 0.0;
    for share in shares {
        let width = (share.share * 1000.0 - 3.0).max(1.0);
        let (class, pattern) = match share.grade.letter() {
            'A' => ("f1", ""),
            'B' => ("f1", "dots"),
            'C' => ("f2", ""),
            _ => ("f1o", ""),
        };
        let _ = write!(
            out,
            "<rect x=\"{start:.1}\" y=\"1\" width=\"{width:.1}\" height=\"20\" class=\"{class}\"/>",
        );
        if !pattern.is_empty() {
            let _ = write!(
                out,
                "<rect x=\"{start:.1}\" y=\"1\" width=\"{width:.1}\" height=\"20\" \
                 fill=\"url(#{pattern})\"/>",
            );
        }
        start += share.share * 1000.0;
    }
    out.push_str("</svg>\n<ul class=\"evid-l\">");
    for share in shares {
        let letter = share.grade.letter();
        let _ = write!(
            out,
            "<li><span class=\"grade {}\">{letter}</span> {}</li>",
            letter.to_ascii_lowercase(),
            escape(&share.what),
        );
    }
    out.push_str("</ul>\n");
}
