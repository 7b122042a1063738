//! The matrix: every combination of its lists, an empty list standing for the request's own value.

use crate::{
    Error, Result,
    command::Request,
    workload::{Access, Workload, describe},
};

/// Lists of values; empty ones are not varied.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// Numbers of hosts, of the request's namespaces in their order.
    pub hosts: Vec<u32>,
    /// Numbers of datastores, of the request's URLs in their order.
    pub datastores: Vec<u32>,
    /// Numbers of flows per host and datastore.
    pub flows: Vec<u16>,
    /// Block sizes.
    pub blocks: Vec<u32>,
    /// Shares of reads, percent.
    pub read_pcts: Vec<f64>,
    /// Depths per worker.
    pub depths: Vec<u32>,
}

/// One combination.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Name that tells it from all others.
    pub id: String,
    /// Hosts.
    pub hosts: u32,
    /// Datastores.
    pub datastores: u32,
    /// Flows per host and datastore.
    pub flows: u16,
    /// What is run.
    pub workload: Workload,
}

impl Matrix {
    /// All points: hosts change slowest, depth fastest.
    pub fn points(&self, request: &Request) -> Result<Vec<Point>> {
        let base = request
            .stages
            .first()
            .ok_or_else(|| Error::Run("a sweep needs a workload".to_owned()))?;
        let refuse = |what: String| Error::Workload { name: "sweep".to_owned(), what };
        let all_hosts = u32::try_from(request.netns.len().max(1)).unwrap_or(u32::MAX);
        let all_datastores = u32::try_from(request.urls.len()).unwrap_or(u32::MAX);
        let hosts = or(&self.hosts, all_hosts);
        let datastores = or(&self.datastores, all_datastores);
        if let Some(count) = hosts.iter().find(|count| !(1..=all_hosts).contains(*count)) {
            return Err(refuse(format!(
                "{count} hosts were asked for, {all_hosts} are there (--netns)"
            )));
        }
        if let Some(count) = datastores.iter().find(|count| !(1..=all_datastores).contains(*count))
        {
            return Err(refuse(format!(
                "{count} datastores were asked for, {all_datastores} URLs are given"
            )));
        }
        let flows = or(&self.flows, request.client.connections);
        let depths = or(&self.depths, base.depth);
        // A mix of several rows stays as it is unless the matrix has blocks or mixes of its own.
        let blocks = or(&self.blocks, 0);
        let mixes = or(&self.read_pcts, f64::NAN);
        let mut points = Vec::new();
        for &hosts in &hosts {
            for &datastores in &datastores {
                for &flows in &flows {
                    for &block in &blocks {
                        for &mix in &mixes {
                            for &depth in &depths {
                                let workload = on(base, block, mix, depth);
                                workload.check_alone()?;
                                let id = id(hosts, datastores, flows, &workload);
                                points.push(Point { id, hosts, datastores, flows, workload });
                            }
                        }
                    }
                }
            }
        }
        let mut ids: Vec<&str> = points.iter().map(|point| point.id.as_str()).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(refuse(format!("the point {} comes twice", pair[0])));
        }
        Ok(points)
    }
}

fn or<T: Copy>(list: &[T], own: T) -> Vec<T> {
    if list.is_empty() { vec![own] } else { list.to_vec() }
}

fn on(base: &Workload, block: u32, mix: f64, depth: u32) -> Workload {
    let mut workload = Workload { depth, ..base.clone() };
    if block != 0 || !mix.is_nan() {
        let first = base.accesses.first();
        let block_bytes =
            if block == 0 { first.map_or(8192, |row| row.block_bytes) } else { block };
        let read_pct = if mix.is_nan() { base.read_pct() } else { mix };
        workload.accesses = vec![Access::new(block_bytes, read_pct, base.random_pct())];
        workload.name = describe(&workload.accesses);
    }
    workload
}

fn id(hosts: u32, datastores: u32, flows: u16, workload: &Workload) -> String {
    format!(
        "h{hosts}-d{datastores}-f{flows}-b{:.0}-r{:.0}-x{:.0}-q{}",
        workload.mean_block_bytes(),
        workload.read_pct(),
        workload.random_pct(),
        workload.depth
    )
}

impl Point {
    /// The run of this point.
    #[must_use]
    pub fn request(&self, base: &Request) -> Request {
        let mut request = base.clone();
        request.urls.truncate(self.datastores as usize);
        request.netns.truncate(self.hosts as usize);
        request.client.connections = self.flows;
        request.stages = vec![self.workload.clone()];
        request
    }
}
