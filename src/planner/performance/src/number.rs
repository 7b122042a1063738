//! Numbers as exports write them: `1,791,567.26`, `1.234,5`, `12`, `-` for missing.

/// What a cell holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Missing,
    Value(f64),
    Unreadable,
}

/// Reads a number; `comma_is_decimal` where a lone comma could be either (files with `;`).
pub(crate) fn number(text: &str, comma_is_decimal: bool) -> Number {
    let text = text.trim();
    if is_missing(text) {
        return Number::Missing;
    }
    let plain = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    let one_dot = text.bytes().filter(|b| *b == b'.').count() <= 1;
    let parsed = if plain && one_dot {
        text.parse().ok()
    } else {
        cleaned(text, comma_is_decimal).and_then(|text| text.parse().ok())
    };
    match parsed {
        Some(value) if f64::is_finite(value) => Number::Value(value),
        _ => Number::Unreadable,
    }
}

fn is_missing(text: &str) -> bool {
    matches!(text.len(), 0..=4)
        && (text.is_empty()
            || matches!(text, "-" | "–" | "—")
            || ["n/a", "null", "none", "nan"].iter().any(|word| text.eq_ignore_ascii_case(word)))
}

fn cleaned(text: &str, comma_is_decimal: bool) -> Option<String> {
    const LONGEST: usize = 40;
    if text.len() > LONGEST {
        return None;
    }
    let bare: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '\'' | '\u{2019}' | '%'))
        .collect();
    let count = |mark: char| bare.chars().filter(|c| *c == mark).count();
    let (commas, dots) = (count(','), count('.'));
    let last_is_comma = bare.rfind(',') > bare.rfind('.');
    let decimal = if commas > 0 && dots > 0 {
        if last_is_comma { ',' } else { '.' }
    } else if commas == 1 {
        let groups = bare.rsplit(',').next().is_some_and(|tail| tail.len() == 3);
        if comma_is_decimal || !groups { ',' } else { '.' }
    } else if commas > 1 {
        '.'
    } else if dots > 1 {
        ','
    } else {
        '.'
    };
    let mut out = String::with_capacity(bare.len());
    for c in bare.chars() {
        match c {
            c if c == decimal => out.push('.'),
            ',' | '.' => {}
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_exports() {
        for (text, comma, expected) in [
            ("12", false, Number::Value(12.0)),
            ("1,791,567.26", false, Number::Value(1_791_567.26)),
            ("1.791.567,26", true, Number::Value(1_791_567.26)),
            ("1,500", false, Number::Value(1500.0)),
            ("1,500", true, Number::Value(1.5)),
            ("1,5", false, Number::Value(1.5)),
            ("1 234.5", false, Number::Value(1234.5)),
            ("1.5E3", false, Number::Value(1500.0)),
            ("-", false, Number::Missing),
            ("", false, Number::Missing),
            ("NaN", false, Number::Missing),
            ("N/A", false, Number::Missing),
            ("12 GB", false, Number::Unreadable),
            ("inf", false, Number::Unreadable),
            ("1e999", false, Number::Unreadable),
        ] {
            assert_eq!(number(text, comma), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_handled(text in ".{0,60}", comma in proptest::bool::ANY) {
            let _ = number(&text, comma);
        }
    }
}
