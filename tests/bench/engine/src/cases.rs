//! The figures: each measured in turn with what it is compared with, medians of the rounds.

use std::process::Command;
use std::time::Duration;

use plimsoll_initiator::{Digests, Options};
use plimsoll_support::figure::Figure;

use crate::load::{Direction, Load, Rate};
use crate::server::Server;
use crate::{Emit, Result, client, floor};

/// Rounds of every comparison.
const ROUNDS: usize = 5;
/// Length of one measurement.
const SPAN: Duration = Duration::from_millis(1_000);
/// The size of our volumes: the area that the floor answers from is as large.
const VOLUME: &str = "64MiB";

const COMMAND: &str = "./dev bench engine";

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Our client against a server: I/Os a second, and CPU of both ends per I/O.
fn ours(server: &Server, urls: &[String], options: &Options, load: &Load) -> Result<Rate> {
    let meter = || crate::cpu::process_cpu_seconds() + server.cpu_seconds();
    let (count, elapsed, cpu) = client::run(urls, options, load, SPAN, meter)?;
    Ok(Rate::new(count, elapsed, cpu))
}

/// A comparison where more of ours is better.
fn at_least(
    name: &str,
    reference: &str,
    unit: &'static str,
    ours: f64,
    theirs: f64,
    goal: f64,
) -> Figure {
    let ratio = ours / theirs;
    Figure {
        name: name.to_owned(),
        unit,
        ours,
        reference: reference.to_owned(),
        reference_value: Some(theirs),
        ratio: Some(ratio),
        goal: format!("at least {goal}"),
        met: Some(ratio >= goal),
        command: COMMAND.to_owned(),
    }
}

/// A figure with a ceiling of its own.
fn at_most(name: &str, unit: &'static str, ours: f64, goal: f64) -> Figure {
    Figure {
        name: name.to_owned(),
        unit,
        ours,
        reference: "goal".to_owned(),
        reference_value: Some(goal),
        ratio: Some(ours / goal),
        goal: format!("at most {goal} {unit}"),
        met: Some(ours <= goal),
        command: COMMAND.to_owned(),
    }
}

/// Two rates in turn, `ROUNDS` times: medians of each.
fn in_turn(
    mut one: impl FnMut() -> Result<f64>,
    mut other: impl FnMut() -> Result<f64>,
) -> Result<(f64, f64)> {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        others.push(other()?);
        ones.push(one()?);
    }
    Ok((median(ones), median(others)))
}

/// Against the loopback floor: memory-backed, both protocols.
pub fn floor_cases(emit: Emit<'_>) -> Result<()> {
    use Direction::{Read, Write};
    let cases = [
        ("8 KiB random read, QD 1", Load::random(Read, 8, 1), 0.85),
        ("8 KiB random read, QD 32", Load::random(Read, 8, 32), 0.6),
        ("8 KiB random read, QD 32, 4 connections", Load::random(Read, 8, 32).over(4), 0.5),
        ("8 KiB random write, QD 32", Load::random(Write, 8, 32), 0.6),
        ("64 KiB sequential read, QD 16", Load::sequential(Read, 64, 16), 0.8),
        ("64 KiB sequential write, QD 16", Load::sequential(Write, 64, 16), 0.7),
    ];
    let server = Server::ours(VOLUME, 1, &[])?;
    for (name, load, goal) in cases {
        for scheme in ["iscsi", "nfs"] {
            let urls = server.urls_of(scheme);
            let mut cpu = Vec::new();
            let (ours, floor) = in_turn(
                || {
                    let rate = ours(&server, &urls, &Options::default(), &load)?;
                    cpu.push(rate.cpu_us);
                    Ok(rate.iops)
                },
                || Ok(floor::run(&load, SPAN)?.iops),
            )?;
            emit(at_least(&format!("{scheme}: {name}"), "floor", "IOPS", ours, floor, goal));
            if load.depth == 32 && load.connections == 1 && load.direction == Read {
                emit(at_most(
                    &format!("{scheme}: {name}: CPU of both ends"),
                    "us per I/O",
                    median(cpu),
                    6.0,
                ));
            }
        }
    }
    Ok(())
}

/// Queue depth 1 with both ends polling.
pub fn spin_cases(emit: Emit<'_>) -> Result<()> {
    let server = Server::ours(VOLUME, 1, &["--spin-us", "50"])?;
    let options = Options { spin: Duration::from_micros(50), ..Options::default() };
    let load = Load::random(Direction::Read, 8, 1);
    for scheme in ["iscsi", "nfs"] {
        let urls = server.urls_of(scheme);
        let (ours, floor) = in_turn(
            || Ok(ours(&server, &urls, &options, &load)?.iops),
            || Ok(floor::run(&load, SPAN)?.iops),
        )?;
        let name = format!("{scheme}: 8 KiB random read, QD 1, spinning");
        emit(at_least(&name, "floor, blocking", "IOPS", ours, floor, 1.3));
    }
    Ok(())
}

/// A sparse file in the page cache against memory.
pub fn file_cases(emit: Emit<'_>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let backing = folder.path().to_string_lossy().into_owned();
    let memory = Server::ours(VOLUME, 1, &[])?;
    let file = Server::ours(VOLUME, 1, &["--backing", &backing])?;
    let load = Load::random(Direction::Read, 8, 32);
    // Blocks never written are answered from a page of zeros in both stores: write them first.
    let fill = Load::sequential(Direction::Write, 64, 16);
    for scheme in ["iscsi", "nfs"] {
        let (near, far) = (file.urls_of(scheme), memory.urls_of(scheme));
        for (server, urls) in [(&file, &near), (&memory, &far)] {
            ours(server, urls, &Options::default(), &fill)?;
        }
        let (ours, theirs) = in_turn(
            || Ok(ours(&file, &near, &Options::default(), &load)?.iops),
            || Ok(ours(&memory, &far, &Options::default(), &load)?.iops),
        )?;
        let name = format!("{scheme}: file in page cache, 8 KiB random read, QD 32");
        emit(at_least(&name, "memory-backed", "IOPS", ours, theirs, 0.8));
    }
    Ok(())
}

/// Data digests on against off.
pub fn digest_cases(emit: Emit<'_>) -> Result<()> {
    let server = Server::ours(VOLUME, 1, &[])?;
    let urls = server.urls_of("iscsi");
    let digests = Options { digests: Digests { header: false, data: true }, ..Options::default() };
    let cases = [
        ("8 KiB random read, QD 32", Load::random(Direction::Read, 8, 32), 0.65),
        ("64 KiB sequential read, QD 16", Load::sequential(Direction::Read, 64, 16), 0.85),
    ];
    for (name, load, goal) in cases {
        let (ours, theirs) = in_turn(
            || Ok(ours(&server, &urls, &digests, &load)?.iops),
            || Ok(ours(&server, &urls, &Options::default(), &load)?.iops),
        )?;
        emit(at_least(
            &format!("iscsi: data digests, {name}"),
            "no digests",
            "IOPS",
            ours,
            theirs,
            goal,
        ));
    }
    Ok(())
}

/// `iscsi-perf`, 8 KiB random reads at queue depth 32: I/Os a second, and its own CPU per I/O.
fn iscsi_perf(url: &str) -> Result<Rate> {
    let before = crate::cpu::children_cpu_seconds();
    let output =
        Command::new("iscsi-perf").args(["-m", "32", "-b", "16", "-t", "2", "-r", url]).output()?;
    let cpu = crate::cpu::children_cpu_seconds() - before;
    let text = String::from_utf8_lossy(&output.stdout);
    let average = text
        .rsplit("iops average ")
        .next()
        .and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok())
        .ok_or_else(|| format!("iscsi-perf said: {text}"))?;
    Ok(Rate { iops: average, cpu_us: cpu * 1e6 / (average * 2.0) })
}

/// Our target and our initiator against tgt and iscsi-perf.
pub fn tgt_cases(emit: Emit<'_>) -> Result<()> {
    let (tgt, target) = (Server::tgt(64)?, Server::ours(VOLUME, 1, &[])?);
    let (theirs, mine) = (tgt.urls_of("iscsi"), target.urls_of("iscsi"));
    let (ours_iops, tgt_iops) =
        in_turn(|| Ok(iscsi_perf(&mine[0])?.iops), || Ok(iscsi_perf(&theirs[0])?.iops))?;
    emit(at_least(
        "our target, client iscsi-perf, 8 KiB random read, QD 32",
        "tgt",
        "IOPS",
        ours_iops,
        tgt_iops,
        2.0,
    ));

    let load = Load::random(Direction::Read, 8, 32);
    let (mut our_cpu, mut perf_cpu) = (Vec::new(), Vec::new());
    let (ours_iops, perf_iops) = in_turn(
        || {
            let meter = crate::cpu::process_cpu_seconds;
            let (count, elapsed, cpu) =
                client::run(&theirs, &Options::default(), &load, SPAN, meter)?;
            let rate = Rate::new(count, elapsed, cpu);
            our_cpu.push(rate.cpu_us);
            Ok(rate.iops)
        },
        || {
            let rate = iscsi_perf(&theirs[0])?;
            perf_cpu.push(rate.cpu_us);
            Ok(rate.iops)
        },
    )?;
    emit(at_least(
        "our initiator against tgt, 8 KiB random read, QD 32",
        "iscsi-perf",
        "IOPS",
        ours_iops,
        perf_iops,
        1.0,
    ));
    let (ours, theirs) = (median(our_cpu), median(perf_cpu));
    emit(Figure {
        name: "our initiator against tgt: CPU of the client".to_owned(),
        unit: "us per I/O",
        ours,
        reference: "iscsi-perf".to_owned(),
        reference_value: Some(theirs),
        ratio: Some(ours / theirs),
        goal: "at most 0.5".to_owned(),
        met: Some(ours / theirs <= 0.5),
        command: COMMAND.to_owned(),
    });
    Ok(())
}

/// Our NFS server against nfs-ganesha, both with our client.
pub fn ganesha_cases(emit: Emit<'_>) -> Result<()> {
    let (ganesha, target) = (Server::ganesha()?, Server::ours(VOLUME, 1, &[])?);
    let (theirs, mine) = (ganesha.urls_of("nfs"), target.urls_of("nfs"));
    let load = Load::random(Direction::Read, 8, 32);
    let (ours_iops, their_iops) = in_turn(
        || Ok(ours(&target, &mine, &Options::default(), &load)?.iops),
        || Ok(ours(&ganesha, &theirs, &Options::default(), &load)?.iops),
    )?;
    emit(at_least(
        "our NFS server, our client, 8 KiB random read, QD 32",
        "nfs-ganesha",
        "IOPS",
        ours_iops,
        their_iops,
        3.0,
    ));
    Ok(())
}

/// A thousand sessions over 256 volumes: memory, and what they cost one busy session.
pub fn many_cases(emit: Emit<'_>) -> Result<()> {
    const SESSIONS: usize = 1_000;
    let load = Load::random(Direction::Read, 8, 32);
    let few = Server::ours(VOLUME, 1, &[])?;
    let many = Server::ours("4MiB", 256, &[])?;
    let urls = many.urls_of("iscsi");
    let mut idle = Vec::new();
    for session in 0..SESSIONS {
        let url = &urls[session % urls.len()];
        idle.push(plimsoll_initiator::open(url, &Options::default())?);
    }
    let single = few.urls_of("iscsi");
    let (with, without) = in_turn(
        || Ok(ours(&many, &urls[..1], &Options::default(), &load)?.iops),
        || Ok(ours(&few, &single, &Options::default(), &load)?.iops),
    )?;
    emit(at_least(
        "one busy session among 1,000 on 256 volumes",
        "alone",
        "IOPS",
        with,
        without,
        0.9,
    ));
    let mib = many.resident_bytes() as f64 / f64::from(1 << 20);
    emit(at_most("memory of the target with 1,000 sessions on 256 volumes", "MiB", mib, 512.0));
    drop(idle);
    Ok(())
}
