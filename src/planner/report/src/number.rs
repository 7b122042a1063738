//! Numbers as the report writes them: the only place where they become text.
//!
//! Modelled values have three significant digits, money is rounded to the unit, a certainty is
//! rounded down, a changed value carries its sign (U+2212 for minus), and a no-break space stands
//! between a number and its unit.

use plimsoll_units::{Gib, Money};

/// No-break space.
pub const NBSP: char = '\u{a0}';
/// What stands for a missing value.
pub const MISSING: &str = "–";

/// A value with `decimals` digits after the point and thousands separated.
#[must_use]
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::with_capacity(text.len() + 6);
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if value < 0.0 && !is_zero {
        out.push('\u{2212}');
    }
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A whole number.
#[must_use]
pub fn whole(value: f64) -> String {
    fixed(value, 0)
}

/// A count.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub fn count(value: u64) -> String {
    fixed(value as f64, 0)
}

/// `value` rounded to `digits` significant digits.
#[must_use]
pub fn round_significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // A logarithm of a finite, non-zero number lies within ±324.
    #[expect(clippy::cast_possible_truncation, reason = "within ±324")]
    let power = digits - 1 - value.abs().log10().floor() as i32;
    let scale = 10f64.powi(power.abs());
    if power >= 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}

/// A modelled value: three significant digits, at most two decimals.
#[must_use]
pub fn modelled(value: f64) -> String {
    let rounded = round_significant(value, 3);
    match rounded.abs() {
        size if size >= 100.0 || size == 0.0 => fixed(rounded, 0),
        size if size >= 10.0 => fixed(rounded, 1),
        _ => fixed(rounded, 2),
    }
}

/// A percentage with at most one decimal, trailing zero dropped: `18%`, `2.5%`.
#[must_use]
pub fn percent(value: f64) -> String {
    format!("{}%", short(value, 1))
}

/// A changed percentage with its sign: `+4.3%`, `−1.8%`, `±0%`.
#[must_use]
pub fn signed_percent(value: f64) -> String {
    format!("{}%", signed(value, 1))
}

/// A changed value with its sign: `+301`, `−12`, `±0`.
#[must_use]
pub fn signed(value: f64, decimals: usize) -> String {
    let text = short(value, decimals);
    match text.as_str() {
        "0" => "±0".to_owned(),
        _ if value > 0.0 => format!("+{text}"),
        _ => text,
    }
}

/// At most `decimals` digits after the point, trailing zeros dropped.
#[must_use]
pub fn short(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A probability (0-1) as certainty, rounded down: `97%`, `over 99%`, `<1%`.
#[must_use]
pub fn certainty(probability: f64) -> String {
    match probability {
        p if !p.is_finite() => MISSING.to_owned(),
        p if p < 0.01 => "<1%".to_owned(),
        p if p > 0.99 => "over 99%".to_owned(),
        // The small term keeps 0.95 from becoming 94 by its binary form.
        p => format!("{}%", whole((p * 100.0 + 1e-9).floor())),
    }
}

/// A share (0-1) as whole percent.
#[must_use]
pub fn share(value: f64) -> String {
    match value {
        v if v > 0.0 && v < 0.005 => "<1%".to_owned(),
        v => format!("{}%", whole(v * 100.0)),
    }
}

/// Money without its currency, rounded to the unit.
#[must_use]
pub fn amount(money: &Money) -> String {
    whole(money.amount)
}

/// Money with its currency.
#[must_use]
pub fn money(money: &Money) -> String {
    format!("{}{NBSP}{}", amount(money), money.currency)
}

/// A size in the unit that reads best, exact for whole TiB: `20 TiB`, `1.5 TiB`, `640 GiB`.
#[must_use]
pub fn size(size: Gib) -> String {
    if size.0 >= 1024.0 {
        format!("{}{NBSP}TiB", short(size.tib().0, 2))
    } else {
        format!("{}{NBSP}GiB", short(size.0, usize::from(size.0 < 10.0)))
    }
}

/// TiB with one decimal, two below ten.
#[must_use]
pub fn tib(size: Gib) -> String {
    let tib = size.tib().0;
    fixed(tib, if tib < 10.0 { 2 } else { 1 })
}

/// Bytes in the binary unit that reads best.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "for display")]
pub fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        b if b >= 1_073_741_824.0 => format!("{}{NBSP}GiB", fixed(b / 1_073_741_824.0, 1)),
        b if b >= 1_048_576.0 => format!("{}{NBSP}MiB", fixed(b / 1_048_576.0, 1)),
        b if b >= 1_024.0 => format!("{}{NBSP}KiB", fixed(b / 1_024.0, 0)),
        b => format!("{}{NBSP}bytes", fixed(b, 0)),
    }
}

/// Steps of 1, 2 or 5 times a power of ten that split `0..=top` into at most `parts` parts; the
/// last one is at or above `top`.
#[must_use]
pub fn ticks(top: f64, parts: usize) -> Vec<f64> {
    if top <= 0.0 || !top.is_finite() {
        return vec![0.0, 1.0];
    }
    #[expect(clippy::cast_precision_loss, reason = "a handful of parts")]
    let rough = top / parts.max(1) as f64;
    let magnitude = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * magnitude)
        .find(|step| *step >= rough * 0.999_999)
        .unwrap_or(10.0 * magnitude);
    let mut out = vec![0.0];
    let mut index = 0.0;
    while out.last().is_some_and(|last| *last < top * 0.999_999) && out.len() < 64 {
        index += 1.0;
        out.push(index * step);
    }
    out
}

/// Decimals that the step of `ticks` needs.
#[must_use]
pub fn tick_decimals(ticks: &[f64]) -> usize {
    match ticks {
        [first, second, ..] if second - first < 0.1 => 2,
        [first, second, ..] if second - first < 1.0 => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_and_signs() {
        assert_eq!(fixed(1_234_567.891, 2), "1,234,567.89");
        assert_eq!(fixed(-0.001, 1), "0.0");
        assert_eq!(fixed(-1_782.0, 0), "\u{2212}1,782");
        assert_eq!(signed(301.0, 0), "+301");
        assert_eq!(signed(0.04, 1), "±0");
        assert_eq!(signed_percent(-1.84), "\u{2212}1.8%");
    }

    #[test]
    fn three_significant_digits() {
        assert_eq!(modelled(357_812.0), "358,000");
        assert_eq!(modelled(3_465.0), "3,470");
        assert_eq!(modelled(99.96), "100");
        assert_eq!(modelled(45.83), "45.8");
        assert_eq!(modelled(0.938), "0.94");
        assert_eq!(modelled(0.0), "0");
    }

    #[test]
    fn certainty_is_rounded_down() {
        assert_eq!(certainty(0.979), "97%");
        assert_eq!(certainty(0.95), "95%");
        assert_eq!(certainty(0.004), "<1%");
        assert_eq!(certainty(0.9901), "over 99%");
    }

    #[test]
    fn sizes() {
        assert_eq!(size(Gib(20_480.0)), "20\u{a0}TiB");
        assert_eq!(size(Gib(1_536.0)), "1.5\u{a0}TiB");
        assert_eq!(size(Gib(640.0)), "640\u{a0}GiB");
        assert_eq!(bytes(63_963_136), "61.0\u{a0}MiB");
    }

    #[test]
    fn ticks_cover_the_top() {
        assert_eq!(ticks(538.0, 6), [0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0]);
        assert_eq!(ticks(0.0, 6), [0.0, 1.0]);
        assert!(ticks(1e-9, 4).len() <= 5);
    }

    #[test]
    fn what_is_no_number_is_missing() {
        assert_eq!(modelled(f64::NAN), MISSING);
        assert_eq!(certainty(f64::NAN), MISSING);
    }
}
