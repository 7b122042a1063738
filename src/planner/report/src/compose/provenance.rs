//! What the report stands on, so that it can be made again.

use super::Context;
use crate::document::{Block, Section, Text};
use crate::number;
use crate::words;

/// The section.
pub fn section(context: &Context<'_>, document_sha256: &str) -> Section {
    let input = context.input;
    let plan = input.plan;
    let mut items: Vec<(String, Text)> =
        vec![("Report".to_owned(), Text::default().plain("sha256 ").code(document_sha256))];
    for file in input.files.iter().take(40) {
        items.push((
            "Input".to_owned(),
            Text::default()
                .code(words::foreign(&file.name, 120))
                .plain(format!(", {} · sha256 ", number::bytes(file.bytes)))
                .code(&file.sha256),
        ));
    }
    if input.files.len() > 40 {
        items.push((
            "Input".to_owned(),
            format!("{} more files, listed in the JSON form", input.files.len() - 40).into(),
        ));
    }
    items.push(("Platform".to_owned(), Text::default().code(&plan.platform)));
    items.push(("Model".to_owned(), Text::default().code(&plan.model)));
    items.push(("Catalogue".to_owned(), words::iso_date(&plan.catalog_date).into()));
    items.push((
        "Evidence".to_owned(),
        format!("grade {}, {}", plan.grade.letter(), plan.grade.meaning()).into(),
    ));
    items.push(("Tool".to_owned(), format!("Plimsoll {}", input.tool_version).into()));
    let mut options = Vec::new();
    flatten("", &input.options, &mut options);
    items.push(("Options".to_owned(), Text::default().code(options.join(" · "))));
    Section {
        id: "provenance",
        topic: "Provenance".to_owned(),
        finding: "Same inputs, same report, byte for byte.".to_owned(),
        lead: Vec::new(),
        blocks: vec![Block::Definitions(items)],
        notes: Vec::new(),
    }
}

/// Options as `name value`, nested names joined by a point, unset ones left out.
pub fn flatten(prefix: &str, value: &serde_json::Value, out: &mut Vec<String>) {
    match value {
        serde_json::Value::Null => {}
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                let name =
                    if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&name, value, out);
            }
        }
        serde_json::Value::String(text) => {
            out.push(format!("{prefix} {}", words::foreign(text, 80)));
        }
        other => out.push(format!("{prefix} {}", words::foreign(&other.to_string(), 80))),
    }
}
