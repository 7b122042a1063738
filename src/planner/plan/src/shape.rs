//! One way of building it: a tier, its quality of service, a count of datastores, their size, the
//! pool behind them, the throughput that this allows and the price.

use plimsoll_model::Resource;
use plimsoll_units::{Gib, MibPerSec, Money};

use crate::catalog::{Fact, Tier, TierRates, TierThroughput};
use crate::scenario::Scenario;
use crate::{price, words};

/// A constraint that a shape does not meet, with how far it is off.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Violation {
    /// In words with numbers.
    pub words: String,
    /// What is asked over what there is; above 1.
    pub ratio: f64,
}

/// A tier with one of its ways of sharing throughput.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub tier: &'a Tier,
    /// `auto`, `manual` or empty.
    pub qos: &'a str,
    pub rates: Option<TierRates>,
}

/// What sized the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizedBy {
    Capacity,
    Throughput,
    Both,
}

impl SizedBy {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Throughput => "throughput",
            Self::Both => "both",
        }
    }
}

/// One way of building it.
#[derive(Debug, Clone)]
pub(crate) struct Shape<'a> {
    pub offer: Offer<'a>,
    pub datastores: u32,
    /// Size of each, whole GiB.
    pub size_gib: f64,
    /// Billed pool, GiB.
    pub pool_gib: f64,
    /// Throughput bought apart from the size.
    pub provisioned_mibps: Option<f64>,
    /// Throughput that the tier allows over all datastores.
    pub cap_mibps: Option<f64>,
    pub sized_by: SizedBy,
    pub monthly: Option<Money>,
    /// Limits of sizes and counts that it breaks.
    pub violations: Vec<Violation>,
}

impl Shape<'_> {
    /// Hard cap in MiB/s with `hosts` up: the tier, the host ports or the gateway.
    pub(crate) fn cap(&self, scenario: &Scenario<'_>, hosts: u32) -> Option<(Resource, f64)> {
        let tier = self.cap_mibps.map(|cap| (Resource::Tier, cap / scenario.imbalance_of(self)));
        [tier, scenario.wire_cap(hosts)]
            .into_iter()
            .flatten()
            .min_by(|left, right| left.1.total_cmp(&right.1))
    }

    /// Throughput that one datastore may use.
    pub(crate) fn volume_cap_mibps(&self, scenario: &Scenario<'_>) -> Option<f64> {
        let most = value(&scenario.platform.limits.volume_max_mibps);
        let own = match (self.offer.tier.throughput, self.offer.qos) {
            (TierThroughput::WithSize { mibps_per_tib }, "auto") => {
                Some(self.size_gib / 1024.0 * mibps_per_tib)
            }
            _ => self.cap_mibps,
        };
        [own, most].into_iter().flatten().min_by(f64::total_cmp)
    }
}

impl Scenario<'_> {
    /// Unevenness that a tier's throttle feels: with automatic quality of service each datastore
    /// has its own share; with manual the shares follow the load.
    fn imbalance_of(&self, shape: &Shape<'_>) -> f64 {
        if shape.offer.qos == "auto" { self.imbalance } else { 1.0 }
    }

    /// Every tier and way of sharing throughput that may be chosen, in catalogue order.
    pub(crate) fn offers(&self) -> Vec<Offer<'_>> {
        let mut offers = Vec::new();
        for &tier in &self.tiers {
            let rates = self.prices.and_then(|prices| prices.tiers.get(&tier.id).copied());
            if tier.qos.is_empty() {
                offers.push(Offer { tier, qos: "", rates });
            }
            for qos in &tier.qos {
                if self.qos.as_ref().is_none_or(|asked| asked == qos) {
                    offers.push(Offer { tier, qos, rates });
                }
            }
        }
        offers
    }

    /// Why an offer is shown and not chosen; `None` when it may be chosen.
    pub(crate) fn not_choosable(&self, offer: &Offer<'_>) -> Option<String> {
        if self.tier_forced {
            return None;
        }
        if offer.tier.preview {
            return Some("in preview, so it is not chosen".to_owned());
        }
        if self.prices.is_some() && offer.rates.is_none() {
            return Some(format!("no price in {}, so it is not chosen", self.region_name()));
        }
        None
    }

    /// Size an offer for a count of datastores.
    pub(crate) fn shape<'b>(&'b self, offer: Offer<'b>, datastores: u32) -> Shape<'b> {
        let limits = &self.platform.limits;
        let need = &self.need;
        let count = f64::from(datastores);
        let mut violations = Vec::new();

        let capacity_gib = need.capacity_gib();
        let volume_min = value(&limits.volume_min_gib).unwrap_or(1.0);
        let volume_needed = (capacity_gib / count).max(need.smallest_volume_gib()).max(volume_min);
        let volume_max = value(&limits.volume_max_gib);
        if let Some(most) = volume_max.filter(|most| volume_needed > *most) {
            violations.push(Violation {
                words: format!(
                    "capacity: {} over {} is {} each; a volume holds at most {}",
                    words::size(capacity_gib),
                    words::count(datastores, "datastore"),
                    words::size(volume_needed),
                    words::size(most)
                ),
                ratio: volume_needed / most,
            });
        }
        let volume_share = volume_max.map_or(volume_needed, |most| volume_needed.min(most));

        let throughput = need.throttled_mibps();
        let step_gib = value(&limits.pool_step_tib).map(|tib| tib * 1024.0);
        let for_capacity = match step_gib {
            Some(_) => round_up(volume_share * count, step_gib),
            None => volume_share.ceil() * count,
        };
        let mut provisioned_mibps = None;
        let (mut pool_gib, sized_by) = match offer.tier.throughput {
            TierThroughput::WithSize { mibps_per_tib } => {
                let for_load = round_up(
                    throughput * self.imbalance_for(offer.qos) / mibps_per_tib * 1024.0,
                    step_gib,
                );
                if for_load > for_capacity {
                    (for_load, SizedBy::Throughput)
                } else {
                    (for_capacity, SizedBy::Capacity)
                }
            }
            TierThroughput::Bought { included_mibps, max_mibps_per_tib, step_mibps } => {
                let bought = (throughput / step_mibps).ceil() * step_mibps;
                provisioned_mibps = Some(bought.max(included_mibps));
                let for_load = round_up(bought / max_mibps_per_tib * 1024.0, step_gib);
                match (for_load > for_capacity, bought > included_mibps) {
                    (true, _) => (for_load, SizedBy::Throughput),
                    (false, true) => (for_capacity, SizedBy::Both),
                    (false, false) => (for_capacity, SizedBy::Capacity),
                }
            }
            TierThroughput::None => (for_capacity, SizedBy::Capacity),
        };
        if let Some(least) = value(&limits.pool_min_tib) {
            pool_gib = pool_gib.max(least * 1024.0);
        }
        // The pool is billed whole, so the datastores share all of it, in whole GiB: each may be
        // short of its share by less than one.
        let mut size_gib = volume_share.ceil();
        if let Some(step) = step_gib {
            size_gib = share(pool_gib, count, volume_max);
            // Whole GiB may leave automatic shares a trace short of what the load needs.
            if offer.qos == "auto"
                && let TierThroughput::WithSize { mibps_per_tib } = offer.tier.throughput
                && sized_by == SizedBy::Throughput
                && size_gib * count / 1024.0 * mibps_per_tib
                    < throughput * self.imbalance_for(offer.qos)
                && volume_max.is_none_or(|most| size_gib < most)
            {
                pool_gib += step;
                size_gib = share(pool_gib, count, volume_max);
            }
        }
        let cap_mibps = self.tier_cap(&offer, count, size_gib, pool_gib, provisioned_mibps);
        self.check_sizes(&offer, datastores, size_gib * count, pool_gib, &mut violations);
        if let Some(cap) = cap_mibps
            && cap / self.imbalance_for(offer.qos) < throughput - 1e-6
        {
            violations.push(Violation {
                words: format!(
                    "throughput: {} allows {} MiB/s over {}, {} are needed",
                    offer.tier.name,
                    words::whole(cap),
                    words::count(datastores, "datastore"),
                    words::whole(throughput)
                ),
                ratio: throughput * self.imbalance_for(offer.qos) / cap.max(1e-9),
            });
        }
        // Space of the user's own array is priced before it is rounded to whole GiB, so that the price
        // does not depend on the count.
        let monthly = self.monthly(&offer, pool_gib, volume_share * count, provisioned_mibps);
        Shape {
            offer,
            datastores,
            size_gib,
            pool_gib,
            provisioned_mibps,
            cap_mibps,
            sized_by,
            monthly,
            violations,
        }
    }

    fn imbalance_for(&self, qos: &str) -> f64 {
        if qos == "auto" { self.imbalance } else { 1.0 }
    }

    fn tier_cap(
        &self,
        offer: &Offer<'_>,
        count: f64,
        size_gib: f64,
        pool_gib: f64,
        provisioned: Option<f64>,
    ) -> Option<f64> {
        let volume_most = value(&self.platform.limits.volume_max_mibps);
        let all_volumes = volume_most.map(|most| most * count);
        let pool = match offer.tier.throughput {
            TierThroughput::WithSize { mibps_per_tib } if offer.qos == "auto" => {
                Some(size_gib * count / 1024.0 * mibps_per_tib)
            }
            TierThroughput::WithSize { mibps_per_tib } => Some(pool_gib / 1024.0 * mibps_per_tib),
            TierThroughput::Bought { .. } => provisioned,
            TierThroughput::None => None,
        };
        [pool, all_volumes].into_iter().flatten().min_by(f64::total_cmp)
    }

    fn check_sizes(
        &self,
        offer: &Offer<'_>,
        datastores: u32,
        volumes_gib: f64,
        pool_gib: f64,
        violations: &mut Vec<Violation>,
    ) {
        let limits = &self.platform.limits;
        let mut check = |ratio: f64, words: String| {
            if ratio > 1.0 + 1e-9 {
                violations.push(Violation { words, ratio });
            }
        };
        let pool_max = [offer.tier.pool_max_tib, value(&limits.pool_max_tib)]
            .into_iter()
            .flatten()
            .min_by(f64::total_cmp);
        if let Some(most) = pool_max {
            check(
                pool_gib / 1024.0 / most,
                format!(
                    "pool: {} are needed, one pool of {} holds at most {}",
                    words::size(pool_gib),
                    offer.tier.name,
                    words::size(most * 1024.0)
                ),
            );
        }
        if let Some(tib) = self.array.and_then(|array| array.array_tib) {
            check(
                volumes_gib / 1024.0 / tib.max(1e-9),
                format!(
                    "capacity: {} are needed, the array holds {}",
                    words::size(volumes_gib),
                    words::size(tib * 1024.0)
                ),
            );
        }
        let count = f64::from(datastores);
        if let Some(most) = value(&limits.volumes_per_pool) {
            check(
                count / most,
                format!("volumes: {datastores} in one pool, at most {}", words::whole(most)),
            );
        }
        if let Some(limit) = self.platform.datastore_limit() {
            check(
                count / f64::from(limit.value),
                format!("datastores: {datastores} in one cluster, at most {}", limit.value),
            );
        }
        check(
            count / f64::from(self.connections.mounts_max),
            format!("mounts: {datastores} on a host, at most {}", self.connections.mounts_max),
        );
        check(
            count * f64::from(self.nconnect) / f64::from(self.connections.per_host),
            format!(
                "connections: {datastores} datastores with nConnect {} open {} on a host, at most {}",
                self.nconnect,
                datastores.saturating_mul(self.nconnect),
                self.connections.per_host
            ),
        );
        if let Some(most) = self.max_vms_per_datastore {
            let each = (f64::from(self.need.vms_placed) / count).ceil();
            check(
                each / f64::from(most),
                format!("machines: {} a datastore, at most {most} asked", words::whole(each)),
            );
        }
        if datastores < self.min_datastores {
            check(
                f64::from(self.min_datastores) / count,
                format!("datastores: at least {} asked", self.min_datastores),
            );
        }
        if let Some(most) = value(&limits.hosts_max) {
            check(
                f64::from(self.hosts) / most,
                format!("hosts: {}, the platform takes at most {}", self.hosts, words::whole(most)),
            );
        }
        if let Some(least) = value(&limits.hosts_min) {
            check(
                least / f64::from(self.hosts.max(1)),
                format!("hosts: {}, the platform starts at {}", self.hosts, words::whole(least)),
            );
        }
    }

    fn monthly(
        &self,
        offer: &Offer<'_>,
        pool_gib: f64,
        volumes_gib: f64,
        provisioned: Option<f64>,
    ) -> Option<Money> {
        if let Some(usd) = self.array.and_then(|array| array.usd_per_gib_month) {
            return Some(Money::usd(volumes_gib * usd * (1.0 - self.discount_pct / 100.0)));
        }
        let included = match offer.tier.throughput {
            TierThroughput::Bought { included_mibps, .. } => included_mibps,
            _ => 0.0,
        };
        Some(price::monthly(
            offer.rates?,
            Gib(pool_gib),
            provisioned.map(MibPerSec),
            MibPerSec(included),
            self.discount_pct,
        ))
    }
}

/// The figure of a fact.
pub(crate) fn value(fact: &Option<Fact>) -> Option<f64> {
    fact.as_ref().map(|fact| fact.value)
}

/// Whole GiB that each of `count` datastores gets of a pool.
fn share(pool_gib: f64, count: f64, most: Option<f64>) -> f64 {
    let share = (pool_gib / count).floor();
    most.map_or(share, |most| share.min(most))
}

/// Up to the next step; without steps, to whole GiB. A thousandth of a GiB is rounding, not need.
fn round_up(gib: f64, step_gib: Option<f64>) -> f64 {
    let step = step_gib.unwrap_or(1.0);
    ((gib - 1e-3) / step).ceil().max(1.0) * step
}
