//! The choice: for each tier and each count of datastores the hard limits, capacity, throughput
//! with hosts lost at the certainty asked, latency and price; then the cheapest tier, the smallest
//! count on it, and one more when that moves the limit off the flows at no price.

use plimsoll_model::{LatencyUnknown, Quantity, Resource};

use crate::carry::Carry;
use crate::scenario::Scenario;
use crate::shape::{Offer, Shape, Violation};
use crate::words;

/// Amounts closer than this are the same price, in units of the currency a month.
const SAME_PRICE: f64 = 0.005;

/// What a shape carries at the certainty asked, with the failure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Performance {
    /// IOPS, hard caps applied.
    pub iops: f64,
    /// MiB/s, hard caps applied.
    pub mibps: f64,
    /// First limit of IOPS.
    pub iops_binding: Resource,
    /// First limit of MiB/s.
    pub mibps_binding: Resource,
}

impl Performance {
    /// The quantity that is nearer its need.
    pub(crate) fn tighter(&self, needed_iops: f64, needed_mibps: f64) -> (Quantity, f64) {
        let iops = margin(self.iops, needed_iops);
        let mibps = margin(self.mibps, needed_mibps);
        if mibps < iops { (Quantity::Throughput, mibps) } else { (Quantity::Iops, iops) }
    }
}

/// Room above what is needed, as a share of it; at most 10 (1,000 %), also without any need.
pub(crate) fn margin(carried: f64, needed: f64) -> f64 {
    if needed <= 0.0 { 10.0 } else { (carried / needed - 1.0).min(10.0) }
}

/// What one offer comes to.
pub(crate) struct OfferResult<'a> {
    pub offer: Offer<'a>,
    /// Cheapest feasible shape, smallest count first.
    pub best: Option<Shape<'a>>,
    /// The shape that misses by least, when none is feasible.
    pub nearest: Option<Shape<'a>>,
    /// Why it may not be chosen although it is shown.
    pub refused: Option<String>,
}

impl<'a> OfferResult<'a> {
    /// The shape to show.
    pub(crate) fn shown(&self) -> Option<&Shape<'a>> {
        self.best.as_ref().or(self.nearest.as_ref())
    }
}

/// The outcome.
pub(crate) struct Choice<'a> {
    pub shape: Shape<'a>,
    pub feasible: bool,
    pub offers: Vec<OfferResult<'a>>,
}

/// What `shape` carries in `scenario`.
pub(crate) fn performance(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
) -> Performance {
    let alive = scenario.alive();
    if alive == 0 {
        return Performance {
            iops: 0.0,
            mibps: 0.0,
            iops_binding: Resource::Host,
            mibps_binding: Resource::Host,
        };
    }
    let configuration = scenario.configuration(alive, shape.datastores);
    let cap = shape.cap(scenario, alive);
    let block = scenario.need.block_kib;
    let mut ask = |quantity: Quantity, limit: Option<(Resource, f64)>| {
        let curve = carry.curve(quantity, &configuration, block);
        let level = curve.level(scenario.certainty);
        match limit {
            Some((resource, value)) if value < curve.level(0.5) => (level.min(value), resource),
            Some((_, value)) => (level.min(value), curve.binding().unwrap_or(Resource::Pool)),
            None => (level, curve.binding().unwrap_or(Resource::Pool)),
        }
    };
    let iops_cap = cap.map(|(resource, mibps)| (resource, scenario.need.mibps_as_iops(mibps)));
    let (iops, iops_binding) = ask(Quantity::Iops, iops_cap);
    let (mibps, mibps_binding) = ask(Quantity::Throughput, cap);
    Performance { iops, mibps, iops_binding, mibps_binding }
}

/// Everything that `shape` does not meet.
pub(crate) fn violations(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
) -> Vec<Violation> {
    let mut found = shape.violations.clone();
    let alive = scenario.alive();
    if alive == 0 {
        found.push(Violation {
            words: format!(
                "hosts: {} with {} lost leaves none to carry load",
                scenario.hosts, scenario.hosts_lost
            ),
            ratio: 1e6,
        });
        return found;
    }
    let reached = performance(scenario, carry, shape);
    let need = &scenario.need;
    let hosts = match scenario.hosts_lost {
        0 => words::count(alive, "host"),
        _ => format!("{alive} of {} hosts", scenario.hosts),
    };
    let mut short = |level: f64, needed: f64, unit: &str, binding: Resource| {
        if level < needed {
            found.push(Violation {
                words: format!(
                    "performance: {} {unit} carried with {} certainty on {hosts}, {} needed; \
                     the first limit is the {}",
                    words::modelled(level),
                    words::plain(scenario.certainty * 100.0) + "%",
                    words::whole(needed),
                    limit_name(binding)
                ),
                ratio: needed / level.max(1e-9),
            });
        }
    };
    short(reached.iops, need.needed_iops(), "IOPS", reached.iops_binding);
    short(reached.mibps, need.needed_mibps(), "MiB/s", reached.mibps_binding);
    if let Some(limit) = scenario.latency_limit_ms {
        found.extend(latency_violation(scenario, carry, shape, limit));
    }
    found
}

/// Median response time at the load with the failure.
pub(crate) fn latency(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
) -> Result<f64, LatencyUnknown> {
    let configuration = scenario.configuration(scenario.alive().max(1), shape.datastores);
    let block = scenario.need.block_kib;
    let own = carry.model.block_kib(Quantity::Iops).unwrap_or(block);
    // The model speaks of its own block: the load counts as the IOPS of that block which use the
    // limits as much.
    let at = |carry: &mut Carry<'_>, block| {
        carry.curve(Quantity::Iops, &configuration, block).level(0.5)
    };
    let load = scenario.need.load_iops * at(carry, own) / at(carry, block).max(1e-9);
    carry.model.latency_ms(Quantity::Iops, &configuration, load).map(|latency| latency.median_ms)
}

fn latency_violation(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
    limit: f64,
) -> Option<Violation> {
    match latency(scenario, carry, shape) {
        Ok(ms) if ms <= limit => None,
        Ok(ms) => Some(Violation {
            words: format!(
                "latency: {} ms at the load, {} ms asked",
                words::modelled(ms),
                words::plain(limit)
            ),
            ratio: ms / limit,
        }),
        Err(LatencyUnknown::TooCloseToTheLimit { utilisation }) => Some(Violation {
            words: format!(
                "latency: the load is {} of what is carried; above 85% no response time can be \
                 promised",
                words::certainty(utilisation)
            ),
            ratio: utilisation / 0.85,
        }),
        // Said as a remark: nothing is known that speaks against it.
        Err(_) => None,
    }
}

/// Name of a limit in a sentence.
pub(crate) fn limit_name(resource: Resource) -> &'static str {
    match resource {
        Resource::Flow => "flow between a host and a datastore",
        Resource::Host => "host",
        Resource::Volume => "volume behind a datastore",
        Resource::Vm => "single machine",
        Resource::Pool => "capacity pool",
        Resource::Concurrency => "number of outstanding operations",
        Resource::Tier => "service tier",
        Resource::Gateway => "gateway",
    }
}

/// Price for ordering; none counts as the highest where others have one.
fn amount(shape: &Shape<'_>) -> f64 {
    shape.monthly.as_ref().map_or(f64::MAX, |money| money.amount)
}

/// Make the choice; `None` only when the scenario has no tier at all.
pub(crate) fn choose<'a>(scenario: &'a Scenario<'_>, carry: &mut Carry<'_>) -> Option<Choice<'a>> {
    let offers: Vec<OfferResult<'a>> =
        scenario.offers().into_iter().map(|offer| settle(scenario, carry, offer)).collect();
    let mut chosen: Option<&Shape<'a>> = None;
    for result in offers.iter().filter(|result| result.refused.is_none()) {
        let Some(shape) = &result.best else { continue };
        if chosen.is_none_or(|best| amount(shape) < amount(best) - SAME_PRICE) {
            chosen = Some(shape);
        }
    }
    if let Some(shape) = chosen {
        let shape = off_the_flow(scenario, carry, shape.clone());
        return Some(Choice { shape, feasible: true, offers });
    }
    let nearest = offers
        .iter()
        .filter(|result| result.refused.is_none())
        .chain(offers.iter())
        .filter_map(|result| result.nearest.as_ref().or(result.best.as_ref()))
        .map(|shape| (off(&violations(scenario, carry, shape)), shape))
        .min_by(|left, right| {
            left.0.total_cmp(&right.0).then(amount(left.1).total_cmp(&amount(right.1)))
        })
        .map(|(_, shape)| shape.clone())?;
    Some(Choice { shape: nearest, feasible: false, offers })
}

/// How far all constraints are off together: the product of their ratios, in logarithms.
fn off(violations: &[Violation]) -> f64 {
    violations.iter().map(|violation| violation.ratio.max(1.0).ln()).sum()
}

/// Best and nearest count of one offer.
fn settle<'a>(
    scenario: &'a Scenario<'_>,
    carry: &mut Carry<'_>,
    offer: Offer<'a>,
) -> OfferResult<'a> {
    let refused = scenario.not_choosable(&offer);
    let mut best: Option<Shape<'a>> = None;
    let mut nearest: Option<(f64, Shape<'a>)> = None;
    for datastores in 1..=scenario.max_datastores {
        let shape = scenario.shape(offer, datastores);
        let found = violations(scenario, carry, &shape);
        if found.is_empty() {
            if best.as_ref().is_none_or(|best| amount(&shape) < amount(best) - SAME_PRICE) {
                best = Some(shape);
            }
        } else if best.is_none() {
            let ratio = off(&found);
            if nearest.as_ref().is_none_or(|(least, _)| ratio < *least - 1e-9) {
                nearest = Some((ratio, shape));
            }
        }
    }
    let nearest = if best.is_some() { None } else { nearest.map(|(_, shape)| shape) };
    OfferResult { offer, best, nearest, refused }
}

/// One datastore more when the flows bind, that moves the limit elsewhere and costs nothing.
fn off_the_flow<'a>(
    scenario: &'a Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: Shape<'a>,
) -> Shape<'a> {
    let binding = |carry: &mut Carry<'_>, shape: &Shape<'_>| {
        let reached = performance(scenario, carry, shape);
        match reached.tighter(scenario.need.needed_iops(), scenario.need.needed_mibps()).0 {
            Quantity::Iops => reached.iops_binding,
            Quantity::Throughput => reached.mibps_binding,
        }
    };
    if shape.datastores >= scenario.max_datastores || binding(carry, &shape) != Resource::Flow {
        return shape;
    }
    let more = scenario.shape(shape.offer, shape.datastores + 1);
    let same_price = amount(&more) <= amount(&shape) + SAME_PRICE;
    if same_price
        && binding(carry, &more) != Resource::Flow
        && violations(scenario, carry, &more).is_empty()
    {
        more
    } else {
        shape
    }
}
