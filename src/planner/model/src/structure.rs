//! Which ceilings a series can have: what its axes tell apart.

use crate::beliefs::PriorTable;
use crate::series::SeriesData;
use crate::types::Resource;

/// Resources that the axes of a series can tell apart.
///
/// Decided by counts and listed priors alone, never by values. Two resources whose counts are
/// proportional over all points are one ceiling, unless a prior is listed for the second. `named`
/// (from `data/reference/fits.csv`) overrides.
pub(crate) fn resources_of(
    series: &SeriesData,
    priors: &PriorTable,
    named: Option<&[Resource]>,
) -> Vec<Resource> {
    const ORDER: [Resource; 6] = [
        Resource::Concurrency,
        Resource::Pool,
        Resource::Host,
        Resource::Flow,
        Resource::Volume,
        Resource::Vm,
    ];
    let counts = |resource: Resource| -> Vec<Option<f64>> {
        series.observations.iter().map(|o| o.instances(resource)).collect()
    };
    let mut chosen: Vec<Resource> = Vec::new();
    for resource in ORDER {
        let own = counts(resource);
        if own.iter().all(Option::is_none) {
            continue;
        }
        if let Some(named) = named {
            if named.contains(&resource) {
                chosen.push(resource);
            }
            continue;
        }
        let listed = priors.find(series, Some(resource)).is_some();
        let twin = chosen.iter().any(|&other| proportional(&own, &counts(other)));
        if listed || !twin {
            chosen.push(resource);
        }
    }
    if chosen.is_empty() {
        chosen.push(Resource::Pool);
    }
    chosen
}

fn proportional(left: &[Option<f64>], right: &[Option<f64>]) -> bool {
    let mut factor: Option<f64> = None;
    for pair in left.iter().zip(right) {
        match pair {
            (Some(l), Some(r)) => {
                let ratio = l / r;
                if factor.is_some_and(|known: f64| (known / ratio - 1.0).abs() > 1e-9) {
                    return false;
                }
                factor = Some(ratio);
            }
            (None, None) => {}
            _ => return false,
        }
    }
    true
}
