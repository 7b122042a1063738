//! Small drawings that are not charts: the mark, severities, limit keys, patterns.

use std::fmt::Write as _;

use plimsoll_inventory::FindingSeverity;
use plimsoll_model::Resource;

use super::escape;
use crate::chart::limit_class;
use crate::words;

/// The load line mark.
pub const BRAND: &str = "<svg viewBox=\"0 0 26 18\" aria-hidden=\"true\"><circle cx=\"13\" \
    cy=\"9\" r=\"7\" fill=\"none\" stroke=\"var(--accent)\" stroke-width=\"2\"/>\
    <path d=\"M1 9h24\" stroke=\"var(--accent)\" stroke-width=\"2\"/></svg>";

/// Patterns shared by all drawings; not `display: none`, or they would not paint.
pub const PATTERNS: &str = "<svg width=\"0\" height=\"0\" style=\"position:absolute\" \
    aria-hidden=\"true\" focusable=\"false\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" \
    patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><line x1=\"0\" y1=\"0\" \
    x2=\"0\" y2=\"6\" stroke=\"var(--edge)\" stroke-width=\"1.6\"/></pattern>\
    <pattern id=\"dots\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
    <circle cx=\"3\" cy=\"3\" r=\"1\" fill=\"var(--paper)\"/></pattern></defs></svg>";

/// A severity: its mark and its word.
pub fn severity(out: &mut String, severity: FindingSeverity, label: &str) {
    let (class, shape) = match severity {
        FindingSeverity::Stops => ("stop", "<path d=\"M4 1h6l3 3v6l-3 3H4l-3-3V4z\"/>"),
        FindingSeverity::Care => ("warn", "<path d=\"M7 1l6.5 12h-13z\"/>"),
        FindingSeverity::Note => ("note", "<circle cx=\"7\" cy=\"7\" r=\"5.2\"/>"),
        FindingSeverity::Passed => ("ok", "<path d=\"M2 7.5l3.5 3.5L12 3.5\"/>"),
    };
    let _ = write!(
        out,
        "<span class=\"sev {class}\"><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">{shape}</svg>\
         {}</span> ",
        escape(label),
    );
}

/// The key of limits above a drawing.
pub fn key(out: &mut String, limits: &[Resource]) {
    if limits.is_empty() {
        return;
    }
    out.push_str(
        "<ul class=\"key\" aria-label=\"Colour and shape name the limit that binds\">\
         <li><b>Binding limit</b></li>",
    );
    for limit in limits {
        let (stroke, fill) = limit_class(*limit);
        let shape = match limit {
            Resource::Flow => format!("<circle cx=\"13\" cy=\"6\" r=\"4.2\" class=\"{fill}\"/>"),
            Resource::Host => {
                format!("<rect x=\"9.1\" y=\"2.1\" width=\"7.7\" height=\"7.7\" class=\"{fill}\"/>")
            }
            Resource::Volume => {
                format!("<polygon points=\"13,1 17.7,9.6 8.3,9.6\" class=\"{fill}\"/>")
            }
            Resource::Pool => {
                format!("<polygon points=\"13,0.6 18.4,6 13,11.4 7.6,6\" class=\"{fill}\"/>")
            }
            Resource::Tier => format!(
                "<rect x=\"7.8\" y=\"3.9\" width=\"10.5\" height=\"4.2\" class=\"{fill}\"/>"
            ),
            Resource::Vm | Resource::Concurrency | Resource::Gateway => format!(
                "<polygon points=\"13,1.5 14.3,4.7 17.5,6 14.3,7.3 13,10.5 11.7,7.3 8.5,6 \
                 11.7,4.7\" class=\"{fill}\"/>"
            ),
        };
        let _ = write!(
            out,
            "<li><svg viewBox=\"0 0 26 12\" aria-hidden=\"true\"><line x1=\"0\" y1=\"6\" \
             x2=\"26\" y2=\"6\" class=\"{stroke}\"/>{shape}</svg>{}</li>",
            words::limit(*limit),
        );
    }
    out.push_str("</ul>\n");
}
