//! As much of JSON Schema 2020-12 as the report's schema uses.

use serde_json::Value;

/// Everything in `document` that `schema` does not allow, with its place.
pub fn faults(schema: &Value, document: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, schema, document, "$", &mut faults);
    faults
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, faults: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "$ref" => {
                let pointer = rule.as_str().unwrap().trim_start_matches('#');
                let target = root.pointer(pointer).expect("a reference has its target");
                check(root, target, value, place, faults);
            }
            "type" => {
                let names: Vec<&str> = match rule {
                    Value::String(name) => vec![name],
                    Value::Array(names) => {
                        names.iter().map(|name| name.as_str().unwrap()).collect()
                    }
                    _ => unreachable!("type is a name or a list of names"),
                };
                if !names.iter().any(|name| is(name, value)) {
                    faults.push(format!("{place}: is no {}", names.join(" or ")));
                }
            }
            "const" if rule != value => faults.push(format!("{place}: is not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                faults.push(format!("{place}: {value} is none of {rule}"));
            }
            "anyOf" => {
                let fits = rule.as_array().unwrap().iter().any(|one| {
                    let mut own = Vec::new();
                    check(root, one, value, place, &mut own);
                    own.is_empty()
                });
                if !fits {
                    faults.push(format!("{place}: fits none of the alternatives"));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    let name = name.as_str().unwrap();
                    if value.is_object() && value.get(name).is_none() {
                        faults.push(format!("{place}.{name}: is missing"));
                    }
                }
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(member) = value.get(name) {
                        check(root, rule, member, &format!("{place}.{name}"), faults);
                    }
                }
            }
            "additionalProperties" => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    check(root, rule, member, &format!("{place}.{name}"), faults);
                }
            }
            "items" => {
                for (index, member) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, member, &format!("{place}[{index}]"), faults);
                }
            }
            "prefixItems" => {
                let rules = rule.as_array().unwrap();
                let members = value.as_array().into_iter().flatten();
                for (index, (member, rule)) in members.zip(rules).enumerate() {
                    check(root, rule, member, &format!("{place}[{index}]"), faults);
                }
            }
            "minItems"
                if value
                    .as_array()
                    .is_some_and(|list| (list.len() as u64) < rule.as_u64().unwrap()) =>
            {
                faults.push(format!("{place}: has fewer than {rule} items"));
            }
            "maxItems"
                if value
                    .as_array()
                    .is_some_and(|list| list.len() as u64 > rule.as_u64().unwrap()) =>
            {
                faults.push(format!("{place}: has more than {rule} items"));
            }
            _ => {}
        }
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "null" => value.is_null(),
        other => unreachable!("no type {other}"),
    }
}
