//! Sizes, shares and lists as people type them: `8k`, `1.5MiB`, `4k/60:8k/40`.

use crate::{Error, Result};

/// Bytes of `8k`, `64KiB`, `1M`, `2g`, `512`; binary multiples whatever the case or the `i`.
pub fn bytes(text: &str) -> Result<u64> {
    let refused =
        || Error::Text { text: text.to_owned(), wanted: "a size such as 8k, 64KiB or 1g" };
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let shift = match unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit) {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(refused()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift).ok_or_else(refused);
    }
    let value: f64 = number.parse().map_err(|_| refused())?;
    #[expect(clippy::cast_precision_loss, reason = "powers of two")]
    let scaled = value * (1u64 << shift) as f64;
    if !(0.0..9.0e18).contains(&scaled) {
        return Err(refused());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Ok(scaled.round() as u64)
}

/// A block size: bytes from 1 to 64 MiB.
pub fn block_bytes(text: &str) -> Result<u32> {
    match u32::try_from(bytes(text)?) {
        Ok(block) if (1..=MAX_BLOCK_BYTES).contains(&block) => Ok(block),
        _ => Err(Error::Text { text: text.to_owned(), wanted: "a block size up to 64 MiB" }),
    }
}

/// The largest block of a workload.
pub const MAX_BLOCK_BYTES: u32 = 64 << 20;

/// Seconds of `30`, `5s`, `2m`, `1h`, `500ms`.
pub fn seconds(text: &str) -> Result<f64> {
    let refused =
        || Error::Text { text: text.to_owned(), wanted: "a time such as 30, 5m or 500ms" };
    let trimmed = text.trim().to_ascii_lowercase();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let factor = match unit.trim() {
        "" | "s" | "sec" => 1.0,
        "us" | "usec" => 1e-6,
        "ms" | "msec" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(refused()),
    };
    let value: f64 = number.parse().map_err(|_| refused())?;
    Ok(value * factor)
}

/// A share in percent.
pub fn percent(text: &str) -> Result<f64> {
    let number = text.trim().trim_end_matches('%');
    match number.parse::<f64>() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err(Error::Text { text: text.to_owned(), wanted: "a percentage from 0 to 100" }),
    }
}

/// Blocks with their shares: `8k`, or `4k/60:8k/40`; blocks without a share divide what is left.
pub fn block_split(text: &str) -> Result<Vec<(u32, f64)>> {
    let refused = || Error::Text {
        text: text.to_owned(),
        wanted: "a split such as 4k/60:8k/40 that adds up to 100",
    };
    let mut parts = Vec::new();
    for part in text.split(':').filter(|part| !part.trim().is_empty()) {
        match part.split_once('/') {
            Some((block, share)) if !share.trim().is_empty() => {
                parts.push((block_bytes(block)?, Some(percent(share)?)));
            }
            Some((block, _)) => parts.push((block_bytes(block)?, None)),
            None => parts.push((block_bytes(part)?, None)),
        }
    }
    let given: f64 = parts.iter().filter_map(|part| part.1).sum();
    let open = parts.iter().filter(|part| part.1.is_none()).count();
    if parts.is_empty() || given > 100.0 + 1e-6 || (open == 0 && (given - 100.0).abs() > 1e-6) {
        return Err(refused());
    }
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let rest = (100.0 - given) / open.max(1) as f64;
    Ok(parts
        .into_iter()
        .map(|(block, share)| (block, share.unwrap_or(rest)))
        .filter(|part| part.1 > 0.0)
        .collect())
}

/// Bytes as people read them: `8 KiB`, `1.50 GiB`.
#[must_use]
pub fn show_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    #[expect(clippy::cast_precision_loss, reason = "for reading")]
    let mut value = bytes as f64;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.2} {}", UNITS[unit])
    }
}

/// A time as people read it: `850 ns`, `12.3 µs`, `1.20 ms`, `2.50 s`.
#[must_use]
pub fn show_nanos(nanos: f64) -> String {
    match nanos {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} µs", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_whatever_their_spelling() {
        for (text, wanted) in [
            ("8k", 8192),
            ("8K", 8192),
            ("64KiB", 65_536),
            ("64kb", 65_536),
            ("1.5MiB", 1_572_864),
            ("512", 512),
            (" 2 g ", 2 << 30),
        ] {
            assert_eq!(bytes(text).unwrap(), wanted, "{text}");
        }
        for text in ["", "k", "8x", "-8k", "1e99g", "99999999999999999999"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(block_bytes("0").is_err());
        assert!(block_bytes("65m").is_err());
    }

    #[test]
    fn splits_add_up() {
        assert_eq!(block_split("8k").unwrap(), [(8192, 100.0)]);
        assert_eq!(block_split("4k/60:8k/40").unwrap(), [(4096, 60.0), (8192, 40.0)]);
        assert_eq!(
            block_split("4k/50:8k:16k").unwrap(),
            [(4096, 50.0), (8192, 25.0), (16384, 25.0)]
        );
        assert_eq!(block_split("4k/50:8k/:16k/").unwrap().len(), 3);
        for text in ["4k/60:8k/30", "4k/70:8k/40", "", "4k/x"] {
            assert!(block_split(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        assert!((seconds("500ms").unwrap() - 0.5).abs() < 1e-12);
        assert!((seconds("2m").unwrap() - 120.0).abs() < 1e-12);
        assert!((seconds("30").unwrap() - 30.0).abs() < 1e-12);
        assert!(seconds("fast").is_err());
    }

    #[test]
    fn reads_well() {
        assert_eq!(show_bytes(8192), "8 KiB");
        assert_eq!(show_bytes(1_610_612_736), "1.50 GiB");
        assert_eq!(show_nanos(12_340.0), "12.3 µs");
    }
}
