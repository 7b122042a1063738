//! The table of tiers, and the sentence on the plan that came second.

use plimsoll_units::{Gib, MibPerSec};

use crate::carry::Carry;
use crate::choose::{Choice, OfferResult, violations};
use crate::scenario::Scenario;
use crate::shape::Shape;
use crate::types::TierOption;
use crate::words::{count, size, whole};

/// One row a tier: its best way of sharing throughput, at its best count.
pub(crate) fn table(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    choice: &Choice<'_>,
    chosen: &Shape<'_>,
) -> Vec<TierOption> {
    let mut rows: Vec<TierOption> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for result in &choice.offers {
        let id = result.offer.tier.id.as_str();
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let siblings = || choice.offers.iter().filter(|other| other.offer.tier.id == id);
        let own = siblings().find(|other| is_of(other, chosen));
        let Some(best) =
            own.or_else(|| siblings().min_by(|left, right| rank(left).total_cmp(&rank(right))))
        else {
            continue;
        };
        rows.extend(row(scenario, carry, chosen, best));
    }
    rows
}

/// Whether the chosen shape is one of this offer.
fn is_of(result: &OfferResult<'_>, chosen: &Shape<'_>) -> bool {
    result.offer.tier.id == chosen.offer.tier.id && result.offer.qos == chosen.offer.qos
}

/// Lower is better: feasible by price, then infeasible.
fn rank(result: &OfferResult<'_>) -> f64 {
    match &result.best {
        Some(shape) => shape.monthly.as_ref().map_or(1e15, |money| money.amount),
        None => f64::MAX,
    }
}

fn row(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    chosen: &Shape<'_>,
    result: &OfferResult<'_>,
) -> Option<TierOption> {
    let shape = if is_of(result, chosen) { chosen } else { result.shown()? };
    let found = violations(scenario, carry, shape);
    let feasible = found.is_empty();
    let mut notes: Vec<String> = Vec::new();
    notes.extend(result.refused.clone());
    if feasible {
        notes.extend(empty_space(scenario, shape));
    } else {
        notes.extend(found.into_iter().map(|violation| violation.words));
    }
    Some(TierOption {
        tier: result.offer.tier.id.clone(),
        name: result.offer.tier.name.clone(),
        qos: result.offer.qos.to_owned(),
        datastores: shape.datastores,
        pool_size_gib: Gib(shape.pool_gib),
        cap_mibps: shape.cap_mibps.map(MibPerSec),
        monthly_cost: shape.monthly.clone(),
        feasible: feasible && result.refused.is_none(),
        sized_by: shape.sized_by.text().to_owned(),
        note: notes.join("; "),
    })
}

/// What of a pool stays empty when the throughput sized it; what was bought apart.
fn empty_space(scenario: &Scenario<'_>, shape: &Shape<'_>) -> Option<String> {
    let empty = shape.pool_gib - scenario.need.capacity_gib();
    if shape.sized_by == crate::shape::SizedBy::Throughput && empty >= 1024.0 {
        return Some(format!("sized by throughput: {} stay empty", size(empty.floor())));
    }
    let bought = shape.provisioned_mibps?;
    Some(format!("capacity and throughput bought apart: {} MiB/s provisioned", whole(bought)))
}

/// The next best plan in words: the cheapest other tier, or the neighbouring count.
pub(crate) fn runner_up(choice: &Choice<'_>, chosen: &Shape<'_>) -> Option<String> {
    if !choice.feasible {
        return None;
    }
    let other = choice
        .offers
        .iter()
        .filter(|result| result.refused.is_none() && result.offer.tier.id != chosen.offer.tier.id)
        .filter_map(|result| result.best.as_ref())
        .min_by(|left, right| price(left).total_cmp(&price(right)));
    match other {
        Some(other) => {
            let words = format!(
                "{} of {} on {}",
                count(other.datastores, "datastore"),
                size(other.size_gib),
                other.offer.tier.name
            );
            match (&other.monthly, &chosen.monthly) {
                (Some(theirs), Some(ours)) => Some(format!(
                    "{words}, pool {}, for {} {} a month: {} more.",
                    size(other.pool_gib),
                    whole(theirs.amount),
                    theirs.currency,
                    whole(theirs.amount - ours.amount)
                )),
                _ => Some(format!("{words}.")),
            }
        }
        None => {
            let result = choice.offers.iter().find(|result| is_of(result, chosen))?;
            let best = result.best.as_ref()?;
            (best.datastores != chosen.datastores).then(|| {
                format!(
                    "{} of {} at the same price: it would hold, with the flows as its first limit.",
                    count(best.datastores, "datastore"),
                    size(best.size_gib)
                )
            })
        }
    }
}

fn price(shape: &Shape<'_>) -> f64 {
    shape.monthly.as_ref().map_or(f64::MAX, |money| money.amount)
}
