//! What a pool costs in a month.
//!
//! Billed is the provisioned pool, in whole steps, by GiB-hour; on a tier that sells throughput
//! apart, also each MiB/s beyond those included (vendor's cost page of 2026-06-15:
//! `TiB x 1,024 x rate x h + max(0, MiB/s - 128) x throughput rate x h`).

use plimsoll_units::{Gib, MibPerSec, Money};

use crate::catalog::{HOURS_PER_MONTH, TierRates};

/// Price of a pool for some hours, USD, before discount.
#[must_use]
pub fn pool_usd(
    rates: TierRates,
    pool: Gib,
    provisioned: Option<MibPerSec>,
    included: MibPerSec,
    hours: f64,
) -> f64 {
    let capacity = pool.0 * rates.usd_per_gib_hour * hours;
    let beyond = provisioned.map_or(0.0, |rate| (rate.0 - included.0).max(0.0));
    capacity + beyond * rates.usd_per_mibps_hour.unwrap_or(0.0) * hours
}

/// Price of a pool for a month after discount.
#[must_use]
pub fn monthly(
    rates: TierRates,
    pool: Gib,
    provisioned: Option<MibPerSec>,
    included: MibPerSec,
    discount_pct: f64,
) -> Money {
    let list = pool_usd(rates, pool, provisioned, included, HOURS_PER_MONTH);
    Money::usd(list * (1.0 - discount_pct / 100.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    //! The worked examples of the vendor's cost page of 2026-06-15, to the dollar (East US rates).

    use plimsoll_units::Tib;

    use super::*;
    use crate::Catalog;

    fn eastus(tier: &str, tib: f64, mibps: Option<f64>, hours: f64) -> f64 {
        let catalog = Catalog::built_in().unwrap();
        let platform = catalog.platform("azure-vmware-solution-av36-anf").unwrap();
        let rates = catalog.region(platform, "eastus").unwrap().unwrap().tiers[tier];
        pool_usd(rates, Tib(tib).gib(), mibps.map(MibPerSec), MibPerSec(128.0), hours)
    }

    fn dollars(amount: f64) -> i64 {
        #[expect(clippy::cast_possible_truncation)]
        let rounded = amount.round() as i64;
        rounded
    }

    #[test]
    fn four_tib_of_ultra_against_one_tib_of_flexible_at_512() {
        assert_eq!(dollars(eastus("ultra", 4.0, None, 730.0)), 1_609);
        // The page prints 976 and cuts off the cents: 112.88 + 384 x 0.003082 x 730 = 976.83.
        assert_eq!(eastus("flexible", 1.0, Some(512.0), 730.0).floor(), 976.0);
    }

    #[test]
    fn thirty_six_tib_of_ultra_against_seven_of_flexible_at_4480() {
        assert_eq!(dollars(eastus("ultra", 36.0, None, 730.0)), 14_478);
        assert_eq!(dollars(eastus("flexible", 7.0, Some(4_480.0), 730.0)), 10_582);
    }

    #[test]
    fn hundred_tib_of_premium_against_75_of_flexible_at_6400() {
        assert_eq!(dollars(eastus("premium", 100.0, None, 730.0)), 30_125);
        assert_eq!(dollars(eastus("flexible", 75.0, Some(6_400.0), 730.0)), 22_577);
    }

    #[test]
    fn the_included_throughput_is_free_and_never_negative() {
        assert_eq!(dollars(eastus("standard", 175.0, None, 730.0)), 26_425);
        assert_eq!(dollars(eastus("flexible", 175.0, Some(128.0), 730.0)), 19_753);
        assert_eq!(dollars(eastus("flexible", 175.0, Some(1.0), 730.0)), 19_753);
    }

    #[test]
    fn twenty_four_tib_of_premium_for_720_hours_to_the_cent() {
        assert_eq!((eastus("premium", 24.0, None, 720.0) * 100.0).round() / 100.0, 7_130.97);
    }

    #[test]
    fn a_discount_takes_its_share() {
        let rates = TierRates { usd_per_gib_hour: 0.001, usd_per_mibps_hour: None };
        let full = monthly(rates, Gib(1024.0), None, MibPerSec(0.0), 0.0);
        let less = monthly(rates, Gib(1024.0), None, MibPerSec(0.0), 18.0);
        assert!((less.amount / full.amount - 0.82).abs() < 1e-12);
    }
}
