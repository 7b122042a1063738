//! Whether unequal loads are carried.
//!
//! The model's ceilings hold for an even load. After placement each datastore has its own, and what
//! goes to it passes its flows, its volume, the hosts and the pool: it is carried when the sum of
//! `(load / ceiling)^p` over these is below 1, where the load of hosts and pool is that of all
//! datastores together.

/// Ceilings on the way to one datastore, in the unit of the load; `f64::INFINITY` for none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathCeilings {
    /// All flows to one datastore.
    pub flows: f64,
    /// Its volume.
    pub volume: f64,
    /// All hosts together.
    pub hosts: f64,
    /// The pool or array.
    pub pool: f64,
    /// Sharpness of the bend, as stored with the model.
    pub p: f64,
}

/// `sum of (load / ceiling)^p` for each datastore: carried when below 1. Loads are those of each
/// datastore.
#[must_use]
pub fn path_use(loads: &[f64], ceilings: &PathCeilings) -> Vec<f64> {
    let total: f64 = loads.iter().sum();
    let part = |load: f64, ceiling: f64| (load / ceiling).powf(ceilings.p);
    let common = part(total, ceilings.hosts) + part(total, ceilings.pool);
    loads
        .iter()
        .map(|&load| part(load, ceilings.flows) + part(load, ceilings.volume) + common)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // (60/100)^2 + (60/200)^2 + (80/400)^2 + 0 = 0.36 + 0.09 + 0.04 and
        // (20/100)^2 + (20/200)^2 + 0.04 = 0.09.
        let ceilings =
            PathCeilings { flows: 100.0, volume: 200.0, hosts: 400.0, pool: f64::INFINITY, p: 2.0 };
        let used = path_use(&[60.0, 20.0], &ceilings);
        assert!((used[0] - 0.49).abs() < 1e-12 && (used[1] - 0.09).abs() < 1e-12, "{used:?}");
    }

    #[test]
    fn an_even_load_can_be_carried_where_the_same_total_on_one_cannot() {
        let ceilings =
            PathCeilings { flows: 75.0, volume: 160.0, hosts: 800.0, pool: 470.0, p: 2.5 };
        assert!(path_use(&[40.0; 4], &ceilings).iter().all(|used| *used < 1.0));
        assert!(path_use(&[160.0, 0.0, 0.0, 0.0], &ceilings)[0] > 1.0);
    }
}
