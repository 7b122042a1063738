//! Dates without a zone, as an export stores them: seconds since 1970 on the exporter's clock.

/// A naive local date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(pub i64);

impl Stamp {
    /// From calendar fields (proleptic Gregorian).
    #[must_use]
    pub fn of(year: i64, month: i64, day: i64, hour: i64, minute: i64) -> Self {
        // Days from civil, with March as the first month of the year.
        let y = if month <= 2 { year - 1 } else { year };
        let era = y.div_euclid(400);
        let year_of_era = y - era * 400;
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        Self(days * 86_400 + hour * 3_600 + minute * 60)
    }

    /// This many seconds earlier.
    #[must_use]
    pub fn minus_seconds(self, seconds: u64) -> Self {
        Self(self.0 - seconds as i64)
    }

    /// This many days earlier.
    #[must_use]
    pub fn minus_days(self, days: u64) -> Self {
        self.minus_seconds(days * 86_400)
    }

    /// The serial number a spreadsheet stores (1900 date system).
    #[must_use]
    pub fn serial(self) -> f64 {
        self.0 as f64 / 86_400.0 + 25_569.0
    }

    fn civil(self) -> (i64, i64, i64) {
        let days = self.0.div_euclid(86_400) + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days - era * 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (year, month, day)
    }

    /// `2018/10/05 12:22:47`, the text of RVTools 3.7 to 3.10 and of CSV.
    #[must_use]
    pub fn slashed(self) -> String {
        let (year, month, day) = self.civil();
        let second = self.0.rem_euclid(86_400);
        format!(
            "{year:04}/{month:02}/{day:02} {:02}:{:02}:{:02}",
            second / 3_600,
            second / 60 % 60,
            second % 60
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Stamp;

    #[test]
    fn dates_match_known_values() {
        // 2018-10-05 12:22 is 1538742120 seconds after 1970; its serial number is 43378.515…
        let stamp = Stamp::of(2018, 10, 5, 12, 22);
        assert_eq!(stamp.0, 1_538_742_120);
        assert_eq!(stamp.slashed(), "2018/10/05 12:22:00");
        assert!((stamp.serial() - 43_378.515_277).abs() < 1e-5);
        assert_eq!(Stamp::of(2024, 2, 29, 0, 0).slashed(), "2024/02/29 00:00:00");
        assert_eq!(Stamp(-7_200).slashed(), "1969/12/31 22:00:00");
    }
}
