//! One self-contained page: style, script and drawings inside, nothing fetched from anywhere.
//!
//! Walks the document block by block. Every text goes through [`escape`]; classes and ids are
//! constants. The page works without script: it only adds the switch between light and dark and
//! the links that copy or save a figure.

mod blocks;
mod marks;
mod tables;

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::compose::Report;
use crate::document::{Section, Span, Text};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The report as a page.
#[must_use]
pub fn html(report: &Report<'_>) -> String {
    let mut out = String::with_capacity(1 << 18);
    head(&mut out, report);
    masthead(&mut out, report);
    out.push_str("<main>\n");
    answer(&mut out, report);
    let metadata = metadata(report);
    for section in &report.sections {
        self::section(&mut out, section, &metadata);
    }
    out.push_str("</main>\n</div>\n<script>");
    out.push_str(SCRIPT);
    out.push_str("</script>\n</body>\n</html>\n");
    out
}

/// What a copied figure says of its origin.
fn metadata(report: &Report<'_>) -> String {
    format!(
        "Plimsoll {}; model {}; document sha256 {}; locale en",
        report.input.tool_version, report.input.plan.model, report.document_sha256,
    )
}

fn about(report: &Report<'_>) -> String {
    if report.date.is_empty() {
        report.title.clone()
    } else {
        format!("{} · {}", report.title, report.date)
    }
}

fn head(out: &mut String, report: &Report<'_>) {
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"Plimsoll {}\">\n\
         <meta name=\"plimsoll:document-sha256\" content=\"{}\">\n\
         <title>{} · Plimsoll</title>\n<style>\n{STYLE}\n\
         @page {{ @bottom-left {{ content: \"{}\"; font: 8pt sans-serif; color: #46525e; }} }}\n\
         </style>\n</head>\n<body>\n",
        escape(report.input.tool_version),
        escape(&report.document_sha256),
        escape(&report.title),
        css_string(&format!("Plimsoll · {}", about(report))),
    );
}

/// Text inside a double-quoted CSS string within a style element.
fn css_string(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '"' | '\\' | '<' | '>' | '&' | '\'' => format!("\\{:x} ", u32::from(letter)),
            letter if letter.is_control() => " ".to_owned(),
            letter => letter.to_string(),
        })
        .collect()
}

fn masthead(out: &mut String, report: &Report<'_>) {
    let _ = write!(
        out,
        "<a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n{}\n<div class=\"sheet\">\n\
         <header class=\"mast\"><span class=\"brand\">{}Plimsoll</span>\
         <span class=\"what\">{}</span>\
         <div class=\"theme\" role=\"group\" aria-label=\"Colour scheme\" hidden>\
         <button type=\"button\" data-set=\"\" aria-pressed=\"true\">Auto</button>\
         <button type=\"button\" data-set=\"light\" aria-pressed=\"false\">Light</button>\
         <button type=\"button\" data-set=\"dark\" aria-pressed=\"false\">Dark</button>\
         </div></header>\n",
        marks::PATTERNS,
        marks::BRAND,
        escape(&about(report)),
    );
}

fn answer(out: &mut String, report: &Report<'_>) {
    let answer = &report.answer;
    let _ = write!(
        out,
        "<div class=\"answer\" id=\"answer\">\n<div>\n<h1>{}</h1>\n<p class=\"deck\">{}</p>\n",
        escape(&answer.sentence),
        escape(&answer.deck),
    );
    for notice in &answer.notices {
        out.push_str("<p class=\"but\">");
        marks::severity(out, notice.severity, &notice.label);
        text(out, &notice.text);
        out.push_str("</p>\n");
    }
    out.push_str(
        "</div>\n<nav class=\"margin\" aria-label=\"In this report\"><ol class=\"toc\">\n",
    );
    for section in &report.sections {
        let _ =
            writeln!(out, "<li><a href=\"#{}\">{}</a></li>", section.id, escape(&section.topic),);
    }
    out.push_str("</ol></nav>\n<dl class=\"facts\">\n");
    for fact in &report.facts {
        let _ = writeln!(
            out,
            "<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>",
            escape(&fact.name),
            escape(&fact.value),
            escape(&fact.note),
        );
    }
    out.push_str("</dl>\n</div>\n");
}

fn section(out: &mut String, section: &Section, metadata: &str) {
    let id = section.id;
    let _ = write!(
        out,
        "\n<section class=\"part\" id=\"{id}\" aria-labelledby=\"h-{id}\">\n<header>\
         <p class=\"kicker\">{}</p><h2 id=\"h-{id}\">{}</h2>",
        escape(&section.topic),
        escape(&section.finding),
    );
    for paragraph in &section.lead {
        out.push_str("<p>");
        text(out, paragraph);
        out.push_str("</p>");
    }
    out.push_str("</header>\n<div class=\"body\">\n");
    for one in &section.blocks {
        blocks::block(out, one, metadata);
    }
    out.push_str("</div>\n");
    if !section.notes.is_empty() {
        let _ = writeln!(
            out,
            "<aside class=\"margin\" aria-label=\"Notes on: {}\">",
            escape(&section.topic),
        );
        for note in &section.notes {
            out.push_str("<div>");
            if !note.heading.is_empty() {
                let _ = write!(out, "<h3>{}</h3>", escape(&note.heading));
            }
            out.push_str("<p>");
            text(out, &note.text);
            out.push_str("</p></div>\n");
        }
        out.push_str("</aside>\n");
    }
    out.push_str("</section>\n");
}

/// Running text.
fn text(out: &mut String, text: &Text) {
    for span in &text.0 {
        let _ = match span {
            Span::Plain(words) => write!(out, "{}", escape(words)),
            Span::Strong(words) => write!(out, "<b>{}</b>", escape(words)),
            Span::Code(words) => write!(out, "<code>{}</code>", escape(words)),
            Span::Link { to, text } => write!(out, "<a href=\"#{to}\">{}</a>", escape(text)),
        };
    }
}

/// Text fit for an element or a quoted attribute.
#[must_use]
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let special = |letter: char| matches!(letter, '<' | '>' | '&' | '"' | '\'') || bad(letter);
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if bad(letter) => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    Cow::Owned(out)
}

/// Characters that neither HTML nor XML may hold.
fn bad(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<b a=\"1\">'&"), "&lt;b a=&quot;1&quot;&gt;&#39;&amp;");
        assert_eq!(escape("a\u{0}b"), "a\u{fffd}b");
        assert_eq!(css_string("a\"</style>"), "a\\22 \\3c /style\\3e ");
    }
}
