//! `plimsoll probe`, without its arguments and its printing: prepares the targets, runs, cleans up.
//!
//! Before anything is written, each target must have been named, must not look used, and must not be
//! reserved by others. On NFS exports the probe works in its own directory, and removes it whatever happens.

use plimsoll_initiator::Url;

use crate::{
    Error, Result,
    client::ClientOptions,
    curve,
    guard::{Permission, check_reservations, workspace::Workspace},
    host::{HERE, ProcessHost, Program, netns},
    measure::Seat,
    result::ResultSet,
    run::{Budget, Host, Local, Observer, Runner, Target},
    workload::Workload,
};

/// What to do.
#[derive(Debug, Clone)]
pub struct Request {
    /// URLs of the datastores.
    pub urls: Vec<String>,
    /// Workloads, one after the other.
    pub stages: Vec<Workload>,
    /// Run the first as a curve: the highest rate, then shares of it.
    pub is_curve: bool,
    /// How to open datastores.
    pub client: ClientOptions,
    /// What may be written.
    pub permission: Permission,
    /// What the whole run may use.
    pub budget: Budget,
    /// Network namespaces to drive the load from, a worker process in each ([`HERE`]: a process in this
    /// namespace); none: threads of this process.
    pub netns: Vec<String>,
    /// How a worker process is started.
    pub program: Program,
    /// Do not write a new NFS file before it is read.
    pub no_prefill: bool,
}

/// A target ready to be opened by workers.
struct Prepared {
    target: Target,
    client: ClientOptions,
    workspace: Option<Workspace>,
}

/// Prepares, runs and cleans up.
pub fn execute(request: &Request, observer: &mut Observer<'_>) -> Result<ResultSet> {
    let mut stages = request.stages.clone();
    for stage in &stages {
        stage.check_alone()?;
    }
    let prepared = prepare(request, &stages)?;
    let own_files = prepared.iter().any(|target| target.workspace.is_some());
    let reads = stages.iter().any(Workload::reads);
    if own_files && reads && !request.no_prefill {
        // A new file has no blocks: reading it would measure nothing. Once is enough, except for stamps.
        let is_stamped = stages.iter().any(|stage| stage.integrity);
        let count = if is_stamped { stages.len() } else { 1 };
        stages.iter_mut().take(count).for_each(|stage| stage.prefill = true);
    }
    let outcome = drive(request, &prepared, &stages, observer);
    let mut left = Vec::new();
    for target in prepared {
        if let Some(workspace) = target.workspace {
            let directory = workspace.directory().to_owned();
            if let Err(error) = in_namespace(request.netns.first(), move || workspace.remove()) {
                left.push(format!(
                    "left_behind: {} on {}: {error}",
                    directory, target.target.shown
                ));
            }
        }
    }
    let mut set = outcome?;
    set.warnings.extend(left);
    Ok(set)
}

fn drive(
    request: &Request,
    prepared: &[Prepared],
    stages: &[Workload],
    observer: &mut Observer<'_>,
) -> Result<ResultSet> {
    let open = |seat: &Seat| {
        let target = &prepared[seat.target];
        let depth = seat.workload.depth;
        target.client.open(&target.target.url, &target.target.shown, depth)
    };
    let local = Local::new(&open);
    let places: Vec<(String, ClientOptions)> =
        prepared.iter().map(|target| (target.target.url.clone(), target.client.clone())).collect();
    let processes: Vec<ProcessHost> = request
        .netns
        .iter()
        .map(|name| ProcessHost::new(name, &request.program, &places))
        .collect();
    let hosts: Vec<&dyn Host> = if processes.is_empty() {
        vec![&local]
    } else {
        processes.iter().map(|host| host as &dyn Host).collect()
    };
    let targets = prepared.iter().map(|target| target.target.clone()).collect();
    let mut runner = Runner::new(hosts, targets);
    runner.spins = request.client.spin_us > 0;
    runner.budget = request.budget;
    if request.is_curve {
        let first = stages.first().ok_or_else(|| Error::Run("no workload".to_owned()))?;
        return curve::run(&runner, first, &curve::STEPS_PCT, observer);
    }
    runner.run(stages, observer)
}

fn prepare(request: &Request, stages: &[Workload]) -> Result<Vec<Prepared>> {
    let writes = stages.iter().any(Workload::writes);
    let mut prepared = Vec::new();
    for url in &request.urls {
        let target = Target::new(url);
        let parsed = Url::parse(url)
            .map_err(|source| Error::Datastore { url: target.shown.clone(), source })?;
        let request = request.clone();
        let stages = stages.to_vec();
        let ready = in_namespace(request.netns.clone().first(), move || match parsed {
            Url::Iscsi(_) => prepare_block(&request, target, writes),
            Url::Nfs(nfs) => prepare_export(&request, target, &nfs.export, &stages, writes),
        })?;
        prepared.push(ready);
    }
    Ok(prepared)
}

fn prepare_block(request: &Request, target: Target, writes: bool) -> Result<Prepared> {
    if writes {
        let mut datastore = request.client.open(&target.url, &target.shown, 1)?;
        request.permission.demand(&target.shown, datastore.identity())?;
        check_reservations(&target, &request.client)?;
        request.permission.demand_unused(&target.shown, &mut *datastore)?;
        datastore.close(&mut Ignore);
    }
    Ok(Prepared { target, client: request.client.clone(), workspace: None })
}

fn prepare_export(
    request: &Request,
    target: Target,
    export: &str,
    stages: &[Workload],
    writes: bool,
) -> Result<Prepared> {
    let mut client = request.client.clone();
    if !writes && !request.permission.covers(export) {
        // Opened here once so that an empty export is told with the way out.
        let opened = client.open(&target.url, &target.shown, 1);
        return match opened {
            Ok(mut datastore) => {
                datastore.close(&mut Ignore);
                Ok(Prepared { target, client, workspace: None })
            }
            Err(Error::Datastore {
                source: source @ plimsoll_initiator::Error::Refused { .. },
                ..
            }) => {
                let what =
                    format!("{source}; with --allow-write {export} the probe makes its own file");
                Err(Error::WriteRefused { url: target.shown, what })
            }
            Err(error) => Err(error),
        };
    }
    request.permission.demand(&target.shown, export)?;
    let wanted = stages
        .iter()
        .filter_map(|stage| {
            stage.working_set_bytes.map(|size| size.saturating_add(stage.offset_bytes))
        })
        .max();
    let planned: f64 = stages.iter().map(Workload::planned_seconds).sum();
    let options = client.options(1)?;
    let workspace = Workspace::make(&target.url, &target.shown, &options, wanted, planned)?;
    client.file = Some(workspace.file());
    Ok(Prepared { target, client, workspace: Some(workspace) })
}

struct Ignore;

impl plimsoll_initiator::Sink for Ignore {
    fn data(&mut self, _tag: u64, _at: u32, _bytes: &[u8]) {}
    fn done(&mut self, _completion: plimsoll_initiator::Completion) {}
}

/// Runs something inside of a network namespace, or here.
fn in_namespace<T: Send + 'static>(
    name: Option<&String>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match name.map(String::as_str) {
        None | Some(HERE) => work(),
        Some(name) => netns::within(name, work),
    }
}
