//! Task management: RFC 7143 sections 11.5 and 11.6.

use plimsoll_storage::Limit;
use plimsoll_wire::iscsi::pdu::{
    LoginRequest, LoginResponse, LoginStatus, ScsiCommand, Stage, TaskFunction, TaskRequest,
    TaskResponse, TaskResult,
};
use plimsoll_wire::iscsi::{Isid, Opcode};
use plimsoll_wire::scsi::LunField;

use crate::array::Array;
use crate::raw::{Direction, Raw, pattern, read10, write10};

impl Raw {
    fn request(&mut self, function: TaskFunction, lun: LunField, referenced: u32) -> TaskRequest {
        TaskRequest {
            immediate: true,
            function,
            lun,
            itt: self.next_itt(),
            referenced_itt: referenced,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            ref_cmd_sn: 0,
            exp_data_sn: 0,
        }
    }

    /// The answer to a request.
    fn managed(&mut self, request: &TaskRequest) -> TaskResult {
        let reply = self.receive().expect("an answer to task management");
        assert_eq!(reply.opcode(), Opcode::TaskResponse, "{:02x?}", reply.bhs);
        let response = TaskResponse::parse(&reply.bhs);
        assert_eq!(response.itt, request.itt);
        response.result
    }

    pub fn manage(&mut self, function: TaskFunction, lun: LunField, referenced: u32) -> TaskResult {
        let request = self.request(function, lun, referenced);
        self.send(&request.build(), &[]);
        self.managed(&request)
    }
}

const LUN: LunField = LunField::unit(0);
const NO_LUN: LunField = LunField::unit(77);

#[test]
fn rfc7143_11_5_abort_task_takes_a_write_that_waits_for_data() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[("ImmediateData", "No")]);
    raw.ready();
    let command = raw.command(&write10(0, 1), Direction::Write, 512);
    let itt = raw.send_command(command, &[]);
    let r2t = raw.r2t(itt);
    assert_eq!(raw.manage(TaskFunction::AbortTask, LUN, itt), TaskResult::Complete);
    raw.answer(&r2t, &pattern(512, 1), 512);
    assert!(raw.is_silent(), "an aborted task has no status");
    assert_eq!(raw.read(0, 1).data, [0; 512], "and its data goes nowhere");
    assert_eq!(raw.manage(TaskFunction::AbortTask, LUN, itt), TaskResult::TaskDoesNotExist);
}

#[test]
fn rfc7143_11_5_abort_task_takes_reads_and_writes_that_the_limiter_holds_back() {
    let limit = Limit { iops: Some(1.0), burst_ms: Some(1000), ..Limit::default() };
    let array = Array::with(|builder| builder.limit = limit);
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    assert!(raw.read(0, 1).is_good(), "the first passes");
    let read = raw.command(&read10(0, 1), Direction::Read, 512);
    raw.send_command(read, &[]);
    let write = raw.command(&write10(0, 1), Direction::Write, 512);
    raw.send_command(write, &[1; 512]);
    assert!(raw.is_silent(), "the others wait");
    assert_eq!(raw.manage(TaskFunction::AbortTask, LUN, read.itt), TaskResult::Complete);
    assert_eq!(raw.manage(TaskFunction::AbortTaskSet, LUN, 0), TaskResult::Complete);
    assert_eq!(raw.manage(TaskFunction::AbortTask, LUN, write.itt), TaskResult::TaskDoesNotExist);
    raw.ready();
}

#[test]
fn rfc7143_11_5_abort_task_takes_a_command_before_its_turn() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    let first = raw.command(&[0; 6], Direction::None, 0);
    let early = raw.command(&write10(0, 1), Direction::Write, 512);
    let last = raw.command(&read10(0, 1), Direction::Read, 512);
    raw.send_command(early, &[1; 512]);
    raw.send_command(last, &[]);
    assert_eq!(raw.manage(TaskFunction::AbortTask, LUN, early.itt), TaskResult::Complete);
    raw.send_command(first, &[]);
    assert!(raw.end_of(first.itt).is_good());
    assert_eq!(raw.end_of(last.itt).data, [0; 512], "its number counts, its data does not");
}

#[test]
fn rfc7143_11_6_1_answers() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    let cases = [
        (TaskFunction::AbortTask, LUN, TaskResult::TaskDoesNotExist),
        (TaskFunction::AbortTaskSet, LUN, TaskResult::Complete),
        (TaskFunction::AbortTaskSet, NO_LUN, TaskResult::LunDoesNotExist),
        (TaskFunction::ClearTaskSet, LUN, TaskResult::Complete),
        (TaskFunction::ClearTaskSet, NO_LUN, TaskResult::LunDoesNotExist),
        (TaskFunction::LogicalUnitReset, LUN, TaskResult::Complete),
        (TaskFunction::LogicalUnitReset, NO_LUN, TaskResult::LunDoesNotExist),
        (TaskFunction::TargetWarmReset, LUN, TaskResult::Complete),
        (TaskFunction::ClearAca, LUN, TaskResult::NotSupported),
        (TaskFunction::TaskReassign, LUN, TaskResult::ReassignmentNotSupported),
        (TaskFunction::Unknown(99), LUN, TaskResult::NotSupported),
    ];
    for (function, lun, result) in cases {
        assert_eq!(raw.manage(function, lun, 12345), result, "{function:?}");
    }
    raw.ready();
}

#[test]
fn rfc7143_11_5_1_a_reset_of_the_unit_takes_the_tasks_of_all_sessions() {
    let array = Array::start();
    let mut one = Raw::login(array.address(), &[("ImmediateData", "No")]);
    let mut two = Raw::connect(array.address());
    two.isid = Isid::random([7, 7, 7], 7);
    two.log_in(&[("ImmediateData", "No")]);
    one.ready();
    two.ready();
    let command = two.command(&write10(0, 1), Direction::Write, 512);
    let itt = two.send_command(command, &[]);
    let r2t = two.r2t(itt);
    assert_eq!(one.manage(TaskFunction::LogicalUnitReset, LUN, 0), TaskResult::Complete);
    crate::array::await_that("the other session to hear of it", || {
        array.server.sessions().iter().all(|session| session.stats.outstanding == 0)
    });
    two.answer(&r2t, &pattern(512, 1), 512);
    assert!(two.is_silent());
    let ended = two.read(0, 1);
    assert_eq!((ended.status, ended.sense.map(|sense| (sense.0, sense.1))), (2, Some((6, 0x29))));
    assert_eq!(two.read(0, 1).data, [0; 512]);
}

#[test]
fn rfc7143_11_5_1_a_cold_reset_ends_all_sessions_of_the_target() {
    let array = Array::start();
    let mut one = Raw::login(array.address(), &[]);
    let mut two = Raw::connect(array.address());
    two.isid = Isid::random([7, 7, 7], 7);
    two.log_in(&[]);
    assert_eq!(one.manage(TaskFunction::TargetColdReset, LUN, 0), TaskResult::Complete);
    one.expect_closed();
    two.expect_closed();
    array.await_sessions(0);
}

/// Holds up both threads of the pool until what is returned is dropped.
fn hold_pool(array: &Array) -> std::sync::mpsc::Sender<()> {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Arc::new(std::sync::Mutex::new(held));
    for _ in 0..2 {
        let held = std::sync::Arc::clone(&held);
        array.blocking().run(move || assert!(held.lock().unwrap().recv().is_err())).unwrap();
    }
    release
}

/// A write with FUA: its flush goes to the pool.
fn write_fua(raw: &mut Raw) -> ScsiCommand {
    let mut cdb = write10(0, 1);
    cdb[1] = 0x08;
    let write = raw.command(&cdb, Direction::Write, 512);
    raw.send_command(write, &[1; 512]);
    write
}

#[test]
fn rfc7143_4_2_3_3_the_answer_waits_for_an_aborted_task_in_the_pool() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    let release = hold_pool(&array);
    let write = write_fua(&mut raw);
    let request = raw.request(TaskFunction::AbortTask, LUN, write.itt);
    raw.send(&request.build(), &[]);
    assert!(raw.is_silent(), "the flush has not been done yet");
    drop(release);
    assert_eq!(raw.managed(&request), TaskResult::Complete);
    raw.ready();
}

#[test]
fn rfc7143_4_2_3_3_a_reset_waits_for_the_tasks_of_other_sessions() {
    let array = Array::start();
    let mut one = Raw::login(array.address(), &[]);
    let mut two = Raw::connect(array.portals[1].address());
    two.log_in(&[]);
    one.ready();
    two.ready();
    let release = hold_pool(&array);
    write_fua(&mut two);
    let request = one.request(TaskFunction::LogicalUnitReset, LUN, 0);
    crate::array::await_that("the write to reach the pool", || array.blocking().queued() == 1);
    one.send(&request.build(), &[]);
    assert!(one.is_silent(), "the other session has a task in the pool");
    drop(release);
    assert_eq!(one.managed(&request), TaskResult::Complete);
    two.ready();
}

#[test]
fn rfc7143_6_3_5_a_new_session_waits_for_the_tasks_of_the_one_it_replaces() {
    let array = Array::start();
    let mut old = Raw::login(array.address(), &[]);
    old.ready();
    let release = hold_pool(&array);
    write_fua(&mut old);
    crate::array::await_that("the write to reach the pool", || array.blocking().queued() == 1);
    let mut new = Raw::connect(array.address());
    let names = new.names();
    let request = new.login_request(Stage::Operational, Some(Stage::FullFeature));
    let request = LoginRequest { data_len: names.len() as u32, ..request };
    new.send(&request.build(), &names);
    old.expect_closed();
    assert!(new.is_silent(), "the old session has a task in the pool");
    drop(release);
    let reply = new.receive().unwrap();
    assert_eq!(LoginResponse::parse(&reply.bhs).status, LoginStatus::SUCCESS);
    new.ready();
}

#[test]
fn rfc7143_11_5_1_a_command_that_is_still_to_come_can_be_aborted() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    let lost = raw.command(&write10(0, 1), Direction::Write, 512);
    let next = raw.command(&read10(0, 1), Direction::Read, 512);
    raw.send_command(next, &[]);
    assert!(raw.is_silent());
    let mut request = raw.request(TaskFunction::AbortTask, LUN, lost.itt);
    request.ref_cmd_sn = lost.cmd_sn;
    raw.send(&request.build(), &[]);
    // The number counts as received, so the command behind it has its turn.
    assert_eq!(raw.end_of(next.itt).data, [0; 512]);
    assert_eq!(raw.managed(&request), TaskResult::Complete);
    raw.send_command(lost, &[1; 512]);
    assert_eq!(raw.read(0, 1).data, [0; 512], "too late: ignored");
}
