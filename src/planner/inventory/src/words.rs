//! Figures in sentences: sizes, counts and shares as findings and checks write them.

use plimsoll_units::Mib;

/// `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `3 VMs`, `1 VM`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `512 MiB`, `1.5 GiB`, `20.0 TiB`.
pub(crate) fn size(mib: Mib) -> String {
    match mib.0 {
        0..1_024 => format!("{} MiB", mib.0),
        1_024..1_048_576 => format!("{:.1} GiB", mib.gib().0),
        _ => format!("{:.1} TiB", mib.tib().0),
    }
}

/// Whole percent of a part, rounded down, as RVTools does it.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// Percent with one decimal.
#[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
pub(crate) fn fine_percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(count(100_000), "100,000");
        assert_eq!(size(Mib(20_971_520)), "20.0 TiB");
        assert_eq!(size(Mib(1_536)), "1.5 GiB");
        assert_eq!(size(Mib(1_023)), "1023 MiB");
        assert_eq!(percent(899, 1_000), 89);
        assert_eq!(fine_percent(1, 3), "33.3 %");
        assert_eq!(counted(1, "VM", "VMs"), "1 VM");
    }
}
