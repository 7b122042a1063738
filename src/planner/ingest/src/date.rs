//! Dates: Excel serials (1900 and 1904), ISO 8601, `yyyy/mm/dd hh:mm:ss`, and the regional forms
//! that cannot be mistaken. All are local times of the exporting machine without a zone.

use calamine::{ExcelDateTime, ExcelDateTimeType};
use jiff::civil::DateTime;

use crate::cell::Cell;

/// What a cell of a date column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Date {
    /// Blank or an error value.
    Missing,
    /// A date.
    Value(DateTime),
    /// The Unix epoch, shifted by a zone: RVTools writes it for "unknown".
    Epoch,
    /// Not a date, or one whose day and month cannot be told apart.
    Unreadable,
}

/// Reads a date; `is_1904` is the workbook's date system for serials without a date format.
pub(crate) fn date(cell: Cell<'_>, is_1904: bool) -> Date {
    let found = match cell {
        Cell::Blank | Cell::Error => return Date::Missing,
        Cell::Bool(_) => None,
        Cell::Date(serial) => from_serial(serial),
        Cell::Number(serial) => {
            from_serial(ExcelDateTime::new(serial, ExcelDateTimeType::DateTime, is_1904))
        }
        Cell::Text(text) => from_text(text),
    };
    match found {
        None => Date::Unreadable,
        Some(date) if matches!(date.year(), 1969 | 1970) => Date::Epoch,
        Some(date) => Date::Value(date),
    }
}

fn from_serial(serial: ExcelDateTime) -> Option<DateTime> {
    // Serials of 1900-01-01 and of the year 10000.
    if !(1.0..2_958_466.0).contains(&serial.as_f64()) {
        return None;
    }
    let (year, month, day, hour, minute, second, milli) = serial.to_ymd_hms_milli();
    // Serials are fractions of a day: half a second of error is rounded to the second.
    let date = civil(year.into(), month, day, hour, minute, second)?;
    if milli >= 500 {
        date.checked_add(jiff::SignedDuration::from_secs(1)).ok()
    } else {
        Some(date)
    }
}

fn civil(year: u32, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> Option<DateTime> {
    let signed = |n: u8| i8::try_from(n).ok();
    DateTime::new(
        i16::try_from(year).ok()?,
        signed(month)?,
        signed(day)?,
        signed(hour)?,
        signed(minute)?,
        signed(second)?,
        0,
    )
    .ok()
}

fn from_text(text: &str) -> Option<DateTime> {
    const LONGEST: usize = 40;
    if text.len() > LONGEST {
        return None;
    }
    let upper = text.to_ascii_uppercase();
    let afternoon = upper.ends_with("PM");
    let twelve_hours = afternoon || upper.ends_with("AM");
    let bare = if twelve_hours { upper[..upper.len() - 2].trim_end() } else { upper.as_str() };
    // Zone and fraction of ISO 8601 are cut off: the local time is kept as it stands.
    let bare = bare.trim_end_matches('Z');
    let (day_part, time_part) = match bare.find(['T', ' ']) {
        Some(at) => (&bare[..at], bare[at + 1..].trim()),
        None => (bare, ""),
    };
    let mut marks = day_part.chars().filter(|c| !c.is_ascii_digit());
    let mark = marks.next()?;
    if !matches!(mark, '-' | '/' | '.') || marks.next() != Some(mark) || marks.next().is_some() {
        return None;
    }
    let mut parts = day_part.split(mark);
    let (a, b, c) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = if a.len() == 4 {
        (a, b, c)
    } else if c.len() == 4 {
        // 31.12.2024 is day first wherever dots are used; with slashes only a number above 12
        // tells, and an undecidable date is not guessed.
        let (first, second): (u8, u8) = (a.parse().ok()?, b.parse().ok()?);
        if mark == '.' || first > 12 {
            (c, b, a)
        } else if second > 12 || first == second {
            (c, a, b)
        } else {
            return None;
        }
    } else {
        return None;
    };
    let (mut hour, minute, second) = time_of_day(time_part)?;
    if twelve_hours {
        if !(1..=12).contains(&hour) {
            return None;
        }
        hour = hour % 12 + if afternoon { 12 } else { 0 };
    }
    civil(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?, hour, minute, second)
}

/// `hh:mm`, `hh:mm:ss`, with a fraction or a zone behind; nothing means midnight.
fn time_of_day(text: &str) -> Option<(u8, u8, u8)> {
    let clock = text.find(['+', '.', ',', '-']).map_or(text, |at| &text[..at]);
    if clock.is_empty() {
        return Some((0, 0, 0));
    }
    let mut parts = clock.trim().split(':');
    let hour = parts.next()?.parse().ok()?;
    let minute = parts.next()?.parse().ok()?;
    let second = parts.next().map_or(Some(0), |s| s.parse().ok())?;
    parts.next().is_none().then_some((hour, minute, second))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jiff::civil::date as day;

    use super::*;

    #[test]
    fn texts_of_all_versions() {
        let noon = day(2018, 10, 5).at(12, 22, 47, 0);
        for text in [
            "2018/10/05 12:22:47",
            "2018-10-05T12:22:47",
            "2018-10-05T12:22:47.920Z",
            "2018-10-05 12:22:47+02:00",
            "05.10.2018 12:22:47",
            "2018/10/5 12:22:47 PM",
        ] {
            assert_eq!(date(Cell::Text(text), false), Date::Value(noon), "{text}");
        }
        assert_eq!(
            date(Cell::Text("10/25/2018"), false),
            Date::Value(day(2018, 10, 25).at(0, 0, 0, 0))
        );
    }

    #[test]
    fn a_day_that_could_be_a_month_is_not_guessed() {
        assert_eq!(date(Cell::Text("05/10/2018"), false), Date::Unreadable);
    }

    #[test]
    fn serials_of_both_systems() {
        // 45943.541 is 2025-10-13 12:59:02 in the 1900 system (the reader's own documentation).
        let expected = Date::Value(day(2025, 10, 13).at(12, 59, 2, 0));
        assert_eq!(date(Cell::Number(45_943.541), false), expected);
        // The 1904 system counts 1,462 days fewer.
        assert_eq!(date(Cell::Number(45_943.541 - 1462.0), true), expected);
    }

    #[test]
    fn the_epoch_is_unknown() {
        assert_eq!(date(Cell::Text("1969-12-31 22:00:00"), false), Date::Epoch);
        assert_eq!(date(Cell::Text("1970/01/01 01:00:00"), false), Date::Epoch);
    }

    #[test]
    fn nonsense_is_unreadable() {
        for text in ["yesterday", "2018-13-01", "2018/1", "99", "2018-10-05T25:00:00"] {
            assert_eq!(date(Cell::Text(text), false), Date::Unreadable, "{text}");
        }
        assert_eq!(date(Cell::Number(-4.0), false), Date::Unreadable);
        assert_eq!(date(Cell::Number(f64::NAN), false), Date::Unreadable);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_handled(text in ".{0,60}") {
            let _ = date(Cell::Text(&text), false);
        }
    }
}
