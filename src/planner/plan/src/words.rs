//! Numbers in sentences: three significant digits for modelled values, whole units for money.

/// A number with thousands separators and no decimals: `343,200`.
pub(crate) fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 { format!("-{text}") } else { text }
}

/// A modelled value at three significant digits: `358,000`, `5,120`, `0.94`.
pub(crate) fn modelled(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return whole(0.0);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the exponent of a finite f64 is small")]
    let magnitude = value.abs().log10().floor() as i32;
    let step = 10_f64.powi(magnitude - 2);
    let rounded = (value / step).round() * step;
    if magnitude >= 2 { whole(rounded) } else { decimals(rounded, (2 - magnitude).max(0)) }
}

/// A plain input, without needless zeros: `20`, `0.85`, `79.5`.
pub(crate) fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() >= 1_000.0 {
        return whole(value);
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A size in TiB from GiB, with at most two decimals: `20 TiB`, `26.67 TiB`; GiB below one TiB.
pub(crate) fn size(gib: f64) -> String {
    if gib < 1024.0 {
        return format!("{} GiB", whole(gib.ceil()));
    }
    let text = format!("{:.2}", gib / 1024.0);
    format!("{} TiB", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A percentage rounded down to whole numbers, as certainty is: `97%`, `<1%`, `over 99%`.
pub(crate) fn certainty(probability: f64) -> String {
    let percent = (probability * 100.0 + 1e-9).floor();
    if percent < 1.0 {
        "<1%".to_owned()
    } else if probability > 0.99 + 1e-9 {
        "over 99%".to_owned()
    } else {
        format!("{percent:.0}%")
    }
}

/// `1 datastore`, `4 datastores`.
pub(crate) fn count(number: u32, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn decimals(value: f64, digits: i32) -> String {
    let digits = usize::try_from(digits).unwrap_or(0);
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_report_writes_them() {
        assert_eq!(whole(343_200.4), "343,200");
        assert_eq!(whole(-1_782.0), "-1,782");
        assert_eq!(whole(999.0), "999");
        assert_eq!(modelled(357_812.0), "358,000");
        assert_eq!(modelled(5_121.0), "5,120");
        assert_eq!(modelled(0.944), "0.944");
        assert_eq!(plain(0.85), "0.85");
        assert_eq!(plain(20.0), "20");
        assert_eq!(size(20_480.0), "20 TiB");
        assert_eq!(size(27_306.0), "26.67 TiB");
        assert_eq!(size(50.0), "50 GiB");
        assert_eq!(certainty(0.9799), "97%");
        assert_eq!(certainty(0.001), "<1%");
        assert_eq!(certainty(0.99), "99%");
        assert_eq!(certainty(0.9951), "over 99%");
        assert_eq!(count(1, "datastore"), "1 datastore");
    }
}
