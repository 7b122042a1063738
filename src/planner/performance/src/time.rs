//! Times as exports write them, to UTC.
//!
//! A time with a zone is taken as it is. A time without one is local to whoever exported it: it is
//! read in the zone that the options state, else in UTC, and that is said. When clocks go back an
//! hour happens twice: such times are marked, and `finish` tells the first pass from the second by
//! the order of the samples. When clocks go forward an hour does not happen: a time in it shows that
//! the stated zone is not the file's.
//!
//! `07/08/2026` is two dates. Which one is decided once for a file, by a day above 12 anywhere in it.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use polars::prelude::{InitHashMaps, PlHashMap};

/// Texts remembered; files have far fewer different times.
const REMEMBERED: usize = 200_000;

/// Order of day and month in dates with a slash or dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DateOrder {
    /// No date has shown it.
    #[default]
    Unknown,
    MonthFirst,
    DayFirst,
}

/// A time in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Seconds since 1970.
    pub at_s: u32,
    /// The hour happens twice: the second pass is this many seconds later. 0: it does not.
    pub fold_s: u16,
    /// The hour does not happen in the stated zone.
    pub is_in_gap: bool,
    /// Local time, read as UTC because no zone was stated.
    pub is_assumed_utc: bool,
}

/// Why a time could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not a time.
    Unreadable,
    /// Day and month cannot be told apart anywhere in the file.
    Undecided,
}

/// Reads the times of one file.
#[derive(Debug)]
pub(crate) struct Clock {
    zone: Option<TimeZone>,
    pub order: DateOrder,
    known: PlHashMap<String, Result<Moment, Fault>>,
}

impl Clock {
    pub fn new(zone: Option<TimeZone>, order: DateOrder) -> Self {
        Self { zone, order, known: PlHashMap::new() }
    }

    /// A time in UTC; each different text is read once.
    pub fn read(&mut self, text: &str) -> Result<Moment, Fault> {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let moment = self.parse(text);
        if self.known.len() < REMEMBERED {
            self.known.insert(text.to_owned(), moment);
        }
        moment
    }

    fn parse(&self, text: &str) -> Result<Moment, Fault> {
        if let Some(seconds) = unix_seconds(text.trim()) {
            return utc(seconds);
        }
        let parts = Parts::of(text).ok_or(Fault::Unreadable)?;
        let local = parts.local(self.order)?;
        if let Some(offset_s) = parts.offset_s {
            let seconds =
                TimeZone::UTC.to_timestamp(local).map_err(|_| Fault::Unreadable)?.as_second();
            return utc(seconds - i64::from(offset_s));
        }
        let zone = self.zone.clone().unwrap_or(TimeZone::UTC);
        let ambiguous = zone.to_ambiguous_timestamp(local);
        let (offset, fold_s, is_in_gap) = match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { offset } => (offset, 0, false),
            AmbiguousOffset::Gap { before, .. } => (before, 0, true),
            AmbiguousOffset::Fold { before, after } => {
                (before, u16::try_from(before.seconds() - after.seconds()).unwrap_or(0), false)
            }
        };
        let seconds = offset.to_timestamp(local).map_err(|_| Fault::Unreadable)?.as_second();
        let moment = utc(seconds)?;
        Ok(Moment { fold_s, is_in_gap, is_assumed_utc: self.zone.is_none(), ..moment })
    }
}

/// What the dates of a file show about day and month.
pub(crate) fn order_of<'t>(texts: impl Iterator<Item = &'t str>) -> DateOrder {
    for text in texts {
        match Parts::of(text).and_then(|parts| parts.date) {
            Some(Date::Marked(first, _, _)) if first > 12 => return DateOrder::DayFirst,
            Some(Date::Marked(_, second, _)) if second > 12 => return DateOrder::MonthFirst,
            // A file has one form of date, and this one leaves nothing to decide.
            Some(Date::Plain(..)) => break,
            _ => {}
        }
    }
    DateOrder::Unknown
}

/// Seconds of an ISO 8601 duration such as `PT5M`, of `00:05:00`, or of a plain number.
pub(crate) fn duration_s(text: &str) -> Option<u32> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        let is_whole = (1.0..=1e8).contains(&seconds) && seconds.fract() == 0.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "range checked"
        )]
        return is_whole.then_some(seconds as u32);
    }
    let seconds = if text.contains(':') {
        let mut parts = text.split(':').map(|part| part.parse::<u32>().ok());
        let (hours, minutes) = (parts.next()??, parts.next()??);
        let seconds = parts.next().unwrap_or(Some(0))?;
        hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?
    } else {
        let span: jiff::SignedDuration = text.to_uppercase().parse().ok().or_else(|| {
            let days: i64 =
                text.to_uppercase().strip_prefix('P')?.strip_suffix('D')?.parse().ok()?;
            (0..=366).contains(&days).then(|| jiff::SignedDuration::from_hours(24 * days))
        })?;
        u32::try_from(span.as_secs()).ok()?
    };
    (seconds > 0).then_some(seconds)
}

fn utc(seconds: i64) -> Result<Moment, Fault> {
    // Before 2000 it is an epoch that stands for "unknown".
    const YEAR_2000: u32 = 946_684_800;
    match u32::try_from(seconds) {
        Ok(at_s) if at_s >= YEAR_2000 => {
            Ok(Moment { at_s, fold_s: 0, is_in_gap: false, is_assumed_utc: false })
        }
        _ => Err(Fault::Unreadable),
    }
}

/// Unix seconds, milliseconds or fractions, as monitoring systems write them.
fn unix_seconds(text: &str) -> Option<i64> {
    let whole = text.split('.').next()?;
    if !whole.bytes().all(|b| b.is_ascii_digit())
        || !text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    match whole.len() {
        9..=10 => Some(number),
        12..=13 => Some(number / 1000),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Date {
    /// Year, month, day.
    Plain(i16, i8, i8),
    /// Two numbers of unknown order, and the year.
    Marked(i8, i8, i16),
}

/// A time taken apart.
#[derive(Debug, Default)]
struct Parts {
    date: Option<Date>,
    /// Hour, minute, second.
    clock: (i8, i8, i8),
    is_afternoon: Option<bool>,
    offset_s: Option<i32>,
}

impl Parts {
    fn of(text: &str) -> Option<Self> {
        const LONGEST: usize = 48;
        if text.len() > LONGEST {
            return None;
        }
        let mut parts = Self::default();
        let (mut day, mut month, mut year) = (None, None, None);
        let bytes = text.as_bytes();
        let split = |(at, c): (usize, char)| {
            let between_digits = |b: u8| {
                at > 0
                    && b == b'T'
                    && bytes[at - 1].is_ascii_digit()
                    && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
            };
            c.is_whitespace() || matches!(c, ',' | '[' | ']' | '"') || between_digits(bytes[at])
        };
        let mut start = 0;
        let mut tokens = Vec::new();
        for (at, c) in text.char_indices() {
            if split((at, c)) {
                tokens.push(&text[start..at]);
                start = at + c.len_utf8();
            }
        }
        tokens.push(&text[start..]);
        for token in tokens.into_iter().filter(|token| !token.is_empty()) {
            let lower = token.to_ascii_lowercase();
            match lower.as_str() {
                "am" | "a.m." => parts.is_afternoon = Some(false),
                "pm" | "p.m." => parts.is_afternoon = Some(true),
                "z" | "utc" | "gmt" | "(utc)" => parts.offset_s = Some(0),
                _ if lower.starts_with(['+', '-']) => parts.offset_s = Some(offset_s(&lower)?),
                _ if lower.contains(':') => parts.read_clock(&lower)?,
                _ if month_of(&lower).is_some() => month = month_of(&lower),
                _ if is_weekday(&lower) => {}
                _ if lower.len() == 4 && lower.bytes().all(|b| b.is_ascii_digit()) => {
                    year = Some(lower.parse().ok()?);
                }
                _ if lower.bytes().all(|b| b.is_ascii_digit()) => day = Some(lower.parse().ok()?),
                _ => parts.date = Some(marked_date(&lower)?),
            }
        }
        if let (Some(day), Some(month), Some(year)) = (day, month, year) {
            parts.date = Some(Date::Plain(year, month, day));
        }
        parts.date.is_some().then_some(parts)
    }

    /// `12:00`, `12:00:00.5`, `12:00:00Z`, `12:00:00+02:00`, `12:00PM`.
    fn read_clock(&mut self, token: &str) -> Option<()> {
        let mut token = token;
        if let Some(rest) = token.strip_suffix('z') {
            self.offset_s = Some(0);
            token = rest;
        } else if let Some(at) = token.find(['+', '-']) {
            self.offset_s = Some(offset_s(&token[at..])?);
            token = &token[..at];
        }
        for (suffix, afternoon) in [("am", false), ("pm", true)] {
            if let Some(rest) = token.strip_suffix(suffix) {
                self.is_afternoon = Some(afternoon);
                token = rest;
            }
        }
        let clock = token.split('.').next()?;
        let mut fields = clock.split(':').map(|field| field.parse::<i8>().ok());
        self.clock = (fields.next()??, fields.next()??, fields.next().unwrap_or(Some(0))?);
        fields.next().is_none().then_some(())
    }

    fn local(&self, order: DateOrder) -> Result<DateTime, Fault> {
        let (year, month, day) = match self.date.ok_or(Fault::Unreadable)? {
            Date::Plain(year, month, day) => (year, month, day),
            Date::Marked(first, second, year) => match order {
                DateOrder::MonthFirst => (year, first, second),
                DateOrder::DayFirst => (year, second, first),
                DateOrder::Unknown if first == second => (year, first, second),
                // Only the United States and a few others write AM and PM with slashes.
                DateOrder::Unknown if self.is_afternoon.is_some() => (year, first, second),
                DateOrder::Unknown => return Err(Fault::Undecided),
            },
        };
        let (hour, minute, second) = self.clock;
        let hour = match self.is_afternoon {
            None => hour,
            Some(_) if !(1..=12).contains(&hour) => return Err(Fault::Unreadable),
            Some(afternoon) => hour % 12 + if afternoon { 12 } else { 0 },
        };
        DateTime::new(year, month, day, hour, minute, second, 0).map_err(|_| Fault::Unreadable)
    }
}

/// `2026-07-21`, `21.07.2026`, `07/21/26`, `21-jul-2026`.
fn marked_date(token: &str) -> Option<Date> {
    let mark = token.chars().find(|c| matches!(c, '-' | '/' | '.'))?;
    let mut fields = token.split(mark);
    let (first, second, third) = (fields.next()?, fields.next()?, fields.next()?);
    if fields.next().is_some() {
        return None;
    }
    if first.len() == 4 {
        let month = second.parse().ok().or_else(|| month_of(second))?;
        return Some(Date::Plain(first.parse().ok()?, month, third.parse().ok()?));
    }
    let year = match third.len() {
        4 => third.parse().ok()?,
        2 => 2000 + third.parse::<i16>().ok()?,
        _ => return None,
    };
    if let Some(month) = month_of(second) {
        return Some(Date::Plain(year, month, first.parse().ok()?));
    }
    let (first, second) = (first.parse().ok()?, second.parse().ok()?);
    // Wherever dots are used the day comes first.
    if mark == '.' {
        return Some(Date::Plain(year, second, first));
    }
    Some(Date::Marked(first, second, year))
}

fn month_of(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.trim_end_matches('.');
    let at = MONTHS.iter().position(|month| word.len() >= 3 && month.starts_with(word))?;
    i8::try_from(at + 1).ok()
}

fn is_weekday(word: &str) -> bool {
    const DAYS: [&str; 7] =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    word.len() >= 3 && DAYS.iter().any(|day| day.starts_with(word))
}

/// `+02:00`, `-0530`, `+2`.
fn offset_s(text: &str) -> Option<i32> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: i32 = digits.parse().ok()?;
    let (hours, minutes) =
        if digits.len() <= 2 { (number, 0) } else { (number / 100, number % 100) };
    (hours <= 15 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn clock(zone: &str, order: DateOrder) -> Clock {
        Clock::new(Some(TimeZone::get(zone).unwrap()), order)
    }

    fn plain(text: &str) -> u32 {
        clock("UTC", DateOrder::MonthFirst).read(text).unwrap().at_s
    }

    #[test]
    fn times_of_all_exports() {
        // date -u -d '2026-07-21 14:05:00' +%s
        let expected = 1_784_642_700;
        for text in [
            "2026-07-21T14:05:00Z",
            "2026-07-21 14:05:00",
            "2026-07-21T16:05:00.000+02:00",
            "2026-07-21T08:35:00-0530",
            "07/21/2026 14:05:00",
            "7/21/2026 2:05:00 PM",
            "7/21/2026, 2:05:00.000 PM",
            "21.07.2026 14:05:00",
            "2:05 PM 21 July 2026",
            "Jul 21, 2026 2:05 PM",
            "Tue 21 Jul 2026 14:05",
            "21-Jul-2026 14:05",
            "2026/07/21 14:05:00",
            "1784642700",
            "1784642700.123",
            "1784642700000",
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
        assert_eq!(plain("12:00 AM 21 July 2026"), 1_784_592_000);
        assert_eq!(plain("12:00 PM 21 July 2026"), 1_784_635_200);
    }

    #[test]
    fn nonsense_is_unreadable() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "25:00 1 July 2026",
            "13:00 PM 1 July 2026",
            "99",
            "1970-01-01 00:00:00",
        ] {
            let read = clock("UTC", DateOrder::MonthFirst).read(text);
            assert_eq!(read, Err(Fault::Unreadable), "{text}");
        }
    }

    #[test]
    fn day_and_month_are_decided_by_the_whole_file() {
        let texts = ["05/06/2026 00:00", "21/06/2026 00:00"];
        assert_eq!(order_of(texts.into_iter()), DateOrder::DayFirst);
        assert_eq!(order_of(["05/06/2026", "06/21/2026"].into_iter()), DateOrder::MonthFirst);
        assert_eq!(order_of(["05/06/2026"].into_iter()), DateOrder::Unknown);
        let undecided = clock("UTC", DateOrder::Unknown).read("05/06/2026 10:00");
        assert_eq!(undecided, Err(Fault::Undecided));
        let five_june = clock("UTC", DateOrder::DayFirst).read("05/06/2026 00:00").unwrap();
        assert_eq!(five_june.at_s, plain("2026-06-05"));
    }

    #[test]
    fn an_hour_that_happens_twice_is_marked() {
        let mut paris = clock("Europe/Paris", DateOrder::DayFirst);
        // Clocks went back at 01:00 UTC on 2026-10-25.
        let first = paris.read("2026-10-25 02:30:00").unwrap();
        assert_eq!((first.at_s, first.fold_s), (plain("2026-10-25 00:30:00"), 3600));
        let after = paris.read("2026-10-25 03:00:00").unwrap();
        assert_eq!((after.at_s, after.fold_s), (plain("2026-10-25 02:00:00"), 0));
    }

    #[test]
    fn an_hour_that_does_not_happen_is_marked() {
        let gap = clock("Europe/Paris", DateOrder::DayFirst).read("2026-03-29 02:30:00").unwrap();
        assert!(gap.is_in_gap);
        assert!(
            Clock::new(None, DateOrder::Unknown).read("2026-03-29 02:30").unwrap().is_assumed_utc
        );
    }

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("300", 300),
            ("PT5M", 300),
            ("PT1H", 3600),
            ("P1D", 86_400),
            ("00:05:00", 300),
            ("20.0", 20),
        ] {
            assert_eq!(duration_s(text), Some(seconds), "{text}");
        }
        for text in ["", "0", "-5", "PT0S", "soon", "1e30", "99999999:00"] {
            assert_eq!(duration_s(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_handled(text in ".{0,60}") {
            let _ = Clock::new(None, DateOrder::Unknown).read(&text);
            let _ = duration_s(&text);
        }
    }
}
