//! Worker processes: the test starts itself again as one.

use plimsoll_probe::{
    Workload,
    client::Rdma,
    command::{Request, execute},
    host::{self, Program},
};

use crate::arrays::{Array, request, short};

const CHILD: &str = "PLIMSOLL_PROBE_TEST_WORKER";

/// Not a test of its own: the worker process of the others.
#[test]
fn worker_process() {
    if std::env::var_os(CHILD).is_some() {
        let input = std::io::BufReader::new(std::io::stdin());
        host::work(input, std::io::stdout(), &Rdma::default()).unwrap();
    }
}

pub fn with_hosts(request: Request, names: &[&str]) -> Request {
    Request {
        netns: names.iter().map(|name| (*name).to_owned()).collect(),
        program: Program {
            path: std::env::current_exe().unwrap(),
            arguments: ["--exact", "hosts::worker_process", "--nocapture", "--test-threads=1"]
                .map(str::to_owned)
                .to_vec(),
            variables: vec![(CHILD.to_owned(), "1".to_owned())],
        },
        ..request
    }
}

#[test]
fn two_processes_are_merged_as_one() {
    let array = Array::start();
    let workload = Workload { workers: 2, ..short(Workload::simple(8192, 100.0, 100.0)) };
    let one = request(&[&array.iscsi], vec![workload], &[]);
    // `-` is a process in this namespace.
    let mut request = with_hosts(one, &["-", "-"]);
    // Preparation enters the first namespace, which is none here.
    let seen = std::cell::Cell::new(0);
    request.stages[0].seconds = 2.0;
    let set = execute(&request, &mut |_| {
        seen.set(seen.get() + 1);
        true
    })
    .unwrap();
    assert_eq!(set.hosts, ["-", "-"]);
    let result = &set.results[0];
    assert_eq!((result.workers, result.flows.len()), (4, 4));
    assert!(result.figures.ios > 0 && result.figures.errors == 0);
    assert_eq!(result.figures.latency_ns.count, result.figures.ios);
    assert!(
        result.figures.littles_law.in_flight_measured > 20.0,
        "{:?}",
        result.figures.littles_law
    );
    assert_eq!(result.seconds.iter().filter(|second| !second.ramp).count(), 2);
    assert!(seen.get() >= 3);
}

#[test]
fn a_namespace_that_is_not_there_is_told() {
    let array = Array::start();
    let one = request(&[&array.iscsi], vec![short(Workload::default())], &[]);
    let error = execute(&with_hosts(one, &["no-such-namespace"]), &mut |_| true).unwrap_err();
    assert!(error.to_string().contains("no-such-namespace"), "{error}");
}

#[test]
fn a_process_that_dies_is_told() {
    let array = Array::start();
    let one = request(&[&array.iscsi], vec![short(Workload::default())], &[]);
    let mut request = with_hosts(one, &["-"]);
    request.program =
        Program { path: "/bin/false".into(), arguments: Vec::new(), variables: Vec::new() };
    let error = execute(&request, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("host -"), "{error}");
}
