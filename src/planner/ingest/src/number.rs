//! Numbers as exports and re-saved files write them, decided by the kind of the column.
//!
//! A column of whole numbers (MiB, counts) never holds decimals of its own, so a separator that
//! groups digits by three is a thousands mark whatever the locale; anything else behind the last
//! separator is a fraction that a generator or spreadsheet added, and is rounded.

use crate::cell::Cell;

/// What a cell of a numeric column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number<T> {
    /// Blank, `-` or an error value.
    Missing,
    /// A value.
    Value(T),
    /// A whole number was expected and a fraction was rounded away.
    Rounded(T),
    /// -1: unlimited or not applicable.
    Unlimited,
    /// Not a number of that kind.
    Unreadable,
}

/// 2^53: above it a spreadsheet's numbers are no longer exact.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// A whole number that is not negative; -1 means unlimited.
pub(crate) fn whole(cell: Cell<'_>) -> Number<u64> {
    match cell {
        Cell::Blank | Cell::Error => Number::Missing,
        Cell::Number(number) => whole_from_f64(number),
        Cell::Date(date) => whole_from_f64(date.as_f64()),
        Cell::Bool(_) => Number::Unreadable,
        Cell::Text(text) => whole_from_text(text),
    }
}

/// A number with decimals.
pub(crate) fn decimal(cell: Cell<'_>) -> Number<f64> {
    match cell {
        Cell::Blank | Cell::Error => Number::Missing,
        Cell::Number(number) if number.is_finite() => Number::Value(number),
        Cell::Date(date) if date.as_f64().is_finite() => Number::Value(date.as_f64()),
        Cell::Number(_) | Cell::Date(_) | Cell::Bool(_) => Number::Unreadable,
        Cell::Text(text) => match Digits::parse(text) {
            Some(digits) => Number::Value(digits.as_decimal()),
            None => Number::Unreadable,
        },
    }
}

/// A percentage as a whole number, with or without its sign; `0.45` in a cell is 0 %.
pub(crate) fn percent(cell: Cell<'_>) -> Number<u64> {
    match cell {
        Cell::Text(text) => {
            let bare = text.trim_end_matches(['%', '％']).trim_end();
            match Digits::parse(bare).map(|digits| digits.as_decimal()) {
                Some(number) => whole_from_f64(number.round()),
                None => Number::Unreadable,
            }
        }
        Cell::Number(number) => whole_from_f64(number.round()),
        other => whole(other),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "range checked above")]
fn whole_from_f64(number: f64) -> Number<u64> {
    #[expect(clippy::float_cmp, reason = "the sentinel is exact")]
    if number == -1.0 {
        return Number::Unlimited;
    }
    if !(0.0..=LARGEST_EXACT).contains(&number) {
        return Number::Unreadable;
    }
    let rounded = number.round();
    if (number - rounded).abs() < 1e-6 {
        Number::Value(rounded as u64)
    } else {
        Number::Rounded(rounded as u64)
    }
}

fn whole_from_text(text: &str) -> Number<u64> {
    // The common case first: plain digits.
    if text.len() <= 15 && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().map_or(Number::Unreadable, Number::Value);
    }
    let Some(digits) = Digits::parse(text) else { return Number::Unreadable };
    if let Some(grouped) = digits.as_grouped() {
        return whole_from_f64(grouped);
    }
    whole_from_f64(digits.as_decimal())
}

/// A number's text taken apart: sign, runs of digits, the separators between them, exponent.
#[derive(Debug, PartialEq)]
struct Digits {
    negative: bool,
    runs: Vec<String>,
    separators: Vec<char>,
    exponent: i32,
}

impl Digits {
    /// None when the text is no number. Blanks and apostrophes between digits are always
    /// thousands marks and vanish here.
    fn parse(text: &str) -> Option<Self> {
        const LONGEST: usize = 48;
        if text.len() > LONGEST {
            return None;
        }
        let mut digits =
            Self { negative: false, runs: vec![String::new()], separators: vec![], exponent: 0 };
        let mut chars = text.trim().chars().peekable();
        match chars.peek() {
            Some('-' | '\u{2212}' | '\u{ff0d}' | '\u{2013}') => {
                digits.negative = true;
                chars.next();
            }
            Some('+') => {
                chars.next();
            }
            _ => {}
        }
        while let Some(c) = chars.next() {
            let c = fold_width(c);
            match c {
                '0'..='9' => digits.runs.last_mut()?.push(c),
                '.' | ',' => {
                    digits.separators.push(c);
                    digits.runs.push(String::new());
                }
                '\'' | '\u{2019}' => {}
                c if c.is_whitespace() => {}
                'e' | 'E' if !digits.runs[0].is_empty() => {
                    let exponent: String = chars.by_ref().collect();
                    digits.exponent = exponent.parse().ok().filter(|e| (-20..=20).contains(e))?;
                }
                _ => return None,
            }
        }
        let any_digit = digits.runs.iter().any(|run| !run.is_empty());
        let inner_runs_filled =
            digits.runs.len() < 2 || digits.runs[1..].iter().all(|run| !run.is_empty());
        (any_digit && inner_runs_filled).then_some(digits)
    }

    /// The value when every separator is a thousands mark: one kind of separator, a first run of
    /// one to three digits that is not `0`, and runs of three (or, as in India, two and at last
    /// three).
    fn as_grouped(&self) -> Option<f64> {
        let first = self.runs.first()?;
        let one_kind = self.separators.windows(2).all(|pair| pair[0] == pair[1]);
        let (last, inner) = self.runs.get(1..)?.split_last()?;
        let grouped = one_kind
            && self.exponent == 0
            && (1..=3).contains(&first.len())
            && !first.starts_with('0')
            && last.len() == 3
            && (inner.iter().all(|run| run.len() == 3) || inner.iter().all(|run| run.len() == 2));
        if !grouped {
            return None;
        }
        self.signed(&self.runs.concat())
    }

    /// The value when the last separator, if it stands once, begins the decimals.
    fn as_decimal(&self) -> f64 {
        let last_mark = self.separators.last();
        let marks_of_that_kind =
            self.separators.iter().filter(|mark| Some(*mark) == last_mark).count();
        let text = if self.separators.is_empty() || marks_of_that_kind > 1 {
            self.runs.concat()
        } else {
            let (fraction, whole) = self.runs.split_last().map_or(("", &[][..]), |(f, w)| (f, w));
            format!("{}.{fraction}", whole.concat())
        };
        self.signed(&text).unwrap_or(f64::NAN)
    }

    fn signed(&self, text: &str) -> Option<f64> {
        let number: f64 = format!("{text}e{}", self.exponent).parse().ok()?;
        Some(if self.negative { -number } else { number })
    }
}

/// Full-width digits and signs to ASCII.
fn fold_width(c: char) -> char {
    match c {
        '\u{ff10}'..='\u{ff19}' => char::from_u32(c as u32 - 0xff10 + u32::from('0')).unwrap_or(c),
        '\u{ff0c}' => ',',
        '\u{ff0e}' => '.',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_every_locale() {
        for (text, expected) in [
            ("4096", 4096),
            ("1,234", 1234),
            ("1.234", 1234),
            ("1 234", 1234),
            ("1\u{202f}234\u{202f}567", 1_234_567),
            ("1\u{a0}234", 1234),
            ("1'234'567", 1_234_567),
            ("12,34,567", 1_234_567),
            ("1.234.567", 1_234_567),
            ("4194048.0", 4_194_048),
            ("4194048,00", 4_194_048),
            ("1,234.00", 1234),
            ("1.234,00", 1234),
            ("４０９６", 4096),
            ("1.7592186E7", 17_592_186),
            ("0", 0),
            ("000", 0),
        ] {
            assert_eq!(whole(Cell::Text(text)), Number::Value(expected), "{text}");
        }
    }

    #[test]
    fn fractions_are_rounded_and_said() {
        assert_eq!(whole(Cell::Text("9,99")), Number::Rounded(10));
        assert_eq!(whole(Cell::Text("0.123")), Number::Rounded(0));
        assert_eq!(whole(Cell::Number(1.5)), Number::Rounded(2));
    }

    #[test]
    fn what_is_no_number_is_not_read() {
        for text in ["abc", "12 GB", "1-2", "1..2", "--1", "0x10", "1e99", "∞"] {
            assert_eq!(whole(Cell::Text(text)), Number::Unreadable, "{text}");
        }
        assert_eq!(whole(Cell::Number(f64::NAN)), Number::Unreadable);
        assert_eq!(whole(Cell::Number(-5.0)), Number::Unreadable);
        assert_eq!(whole(Cell::Bool(true)), Number::Unreadable);
    }

    #[test]
    fn minus_one_is_unlimited() {
        assert_eq!(whole(Cell::Number(-1.0)), Number::Unlimited);
        assert_eq!(whole(Cell::Text("-1")), Number::Unlimited);
        assert_eq!(whole(Cell::Text("\u{2212}1")), Number::Unlimited);
    }

    #[test]
    fn percentages_and_decimals() {
        assert_eq!(percent(Cell::Text("1%")), Number::Value(1));
        assert_eq!(percent(Cell::Text("12,5 %")), Number::Value(13));
        assert_eq!(percent(Cell::Number(42.0)), Number::Value(42));
        assert_eq!(decimal(Cell::Text("2,375")), Number::Value(2.375));
        assert_eq!(decimal(Cell::Text("1.234,5")), Number::Value(1234.5));
    }

    proptest::proptest! {
        #[test]
        fn grouping_never_changes_a_whole_number(n in 0_u64..1_000_000_000_000, mark in proptest::sample::select(vec![",", ".", " ", "'", "\u{202f}", "\u{a0}"])) {
            let plain = n.to_string();
            let mut grouped = String::new();
            for (i, c) in plain.chars().enumerate() {
                if i > 0 && (plain.len() - i) % 3 == 0 {
                    grouped.push_str(mark);
                }
                grouped.push(c);
            }
            proptest::prop_assert_eq!(whole(Cell::Text(&grouped)), Number::Value(n));
        }

        #[test]
        fn any_text_is_handled(text in ".{0,60}") {
            let _ = (whole(Cell::Text(&text)), decimal(Cell::Text(&text)), percent(Cell::Text(&text)));
        }
    }
}
