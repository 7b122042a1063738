//! A target that breaks the protocol, stalls or vanishes: each operation still ends exactly once, and rightly.

use std::sync::atomic::Ordering;

use plimsoll_initiator::{Error, LostReason, Outcome, iscsi};
use plimsoll_wire::iscsi::pdu::LoginStatus;

use super::fake::{Act, Fake, LoginAct, Setting};
use super::*;

const MIX: Load = Load { operations: 400, depth: 16, writes: 40, max_blocks: 48, seconds: 30 };

/// The act strikes every 20th command; everything must be done all the same, by reissues on new sessions.
fn survives(act: Act) {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(move |_, number| if number % 20 == 10 { act } else { Act::Serve });
    run(&mut *store, &mut ledger, &MIX);
    assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize, "{act:?}");
    assert!(*fake.shared.blocks.lock().unwrap() == ledger.content, "{act:?}: the unit differs");
    let flow = &store.flows()[0];
    // Some acts are none for a read or none for a write, and strike about half of twenty times.
    assert!(flow.reconnects >= 2, "{act:?}: {} reconnects", flow.reconnects);
    // After a second answer to the only command under way there is nothing to reissue.
    assert!(flow.reissued > 0 || act == Act::Twice, "{act:?}");
    assert_eq!(flow.reads + flow.writes, MIX.operations, "{act:?}: reissues are not counted");
    assert_eq!(fake.shared.logins.load(Ordering::SeqCst) as u64, flow.reconnects + 1);
    let isids = fake.shared.isids.lock().unwrap();
    assert!(isids.iter().all(|isid| *isid == isids[0]), "a session is reinstated by its ISID");
}

#[test]
fn a_connection_closed_without_an_answer() {
    survives(Act::Close);
}

#[test]
fn an_answer_cut_in_the_middle() {
    survives(Act::Truncate);
}

#[test]
fn rfc7143_4_2_2_2_a_statsn_that_skips_is_a_lost_status() {
    survives(Act::WrongStatSn);
}

#[test]
fn rfc7143_11_2_1_8_an_answer_under_a_tag_nobody_gave() {
    survives(Act::WrongTag);
}

#[test]
fn rfc7143_11_7_3_more_data_than_was_asked_for() {
    survives(Act::TooMuch);
}

#[test]
fn rfc7143_13_12_a_length_beyond_what_was_declared_is_not_waited_for() {
    survives(Act::Oversized);
}

#[test]
fn rfc7143_11_7_5_data_at_another_place_than_due() {
    survives(Act::WrongOffset);
}

#[test]
fn rfc7143_11_4_a_second_answer_to_the_same_command() {
    survives(Act::Twice);
}

#[test]
fn rfc7143_11_2_1_2_an_opcode_that_no_target_has() {
    survives(Act::Garbage);
}

#[test]
fn rfc7143_11_9_1_the_target_says_that_it_drops_the_session() {
    survives(Act::Drop);
}

#[test]
fn rfc7143_11_18_silence_is_noticed_by_a_ping_and_what_was_under_way_is_reissued() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(|_, number| if number == 20 { Act::Stall } else { Act::Serve });
    let start = Instant::now();
    run(&mut *store, &mut ledger, &Load { operations: 100, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 100);
    assert!(start.elapsed() >= Duration::from_millis(500), "two keepalive times of 300 ms");
    assert_eq!(store.flows()[0].reconnects, 1);
}

#[test]
fn rfc7143_11_8_an_r2t_beyond_the_end_of_the_write_ends_the_connection() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(|_, number| if number == 0 { Act::WildR2t } else { Act::Serve });
    submit(&mut *store, &mut ledger, &write_op(0, 0, 512), 1);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&0], Outcome::Done);
    assert_eq!(store.flows()[0].reconnects, 1);
}

#[test]
fn rfc7143_11_9_1_a_logout_that_is_asked_for_is_given_and_the_session_made_anew() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(|_, number| if number == 20 { Act::AskLogout } else { Act::Serve });
    run(&mut *store, &mut ledger, &Load { operations: 200, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 200);
    assert_eq!(store.flows()[0].reconnects, 1);
}

#[test]
fn fewer_bytes_than_asked_for_are_short_and_not_done() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(|_, _| Act::Short);
    submit(&mut *store, &mut ledger, &read_op(0, 0, 64), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&0], Outcome::Short);
    assert_eq!(ledger.completions[0].bytes, 64 * 256);
    let flow = &store.flows()[0];
    assert_eq!((flow.reads, flow.errors, flow.reconnects), (0, 1, 0));
}

#[test]
fn rfc7143_11_5_a_task_without_an_answer_is_aborted_and_lost() {
    let patience = Options { op_timeout: Duration::from_millis(500), ..options() };
    let (fake, mut store, mut ledger) = opened(Setting::default(), &patience);
    fake.set_script(|_, number| if number == 5 { Act::Forget } else { Act::Serve });
    run(&mut *store, &mut ledger, &Load { operations: 50, writes: 0, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 49);
    assert_eq!(ledger.count(Outcome::Lost(LostReason::Timeout)), 1);
    assert_eq!(fake.shared.aborts.load(Ordering::SeqCst), 1);
    assert_eq!(store.flows()[0].reconnects, 0, "an abort that works needs no new session");
}

#[test]
fn an_operation_that_kills_every_connection_is_given_up() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    // Block 7 is poison.
    fake.set_script(|command, _| if command.cdb[9] == 7 { Act::Close } else { Act::Serve });
    submit(&mut *store, &mut ledger, &read_op(0, 7, 1), 0);
    settle(&mut *store, &mut ledger, 20);
    assert_eq!(ledger.outcomes[&0], Outcome::Lost(LostReason::Reissues));
    submit(&mut *store, &mut ledger, &read_op(1, 8, 1), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&1], Outcome::Done);
}

fn login_fails(act: LoginAct) -> Error {
    let fake = Fake::start(Setting::default());
    *fake.shared.login.lock().unwrap() = act;
    let start = Instant::now();
    let error = open(&fake.url(), &options()).err().expect("the login must fail");
    assert!(start.elapsed() < Duration::from_secs(4), "{act:?} took {:?}", start.elapsed());
    let url = match plimsoll_initiator::Url::parse(&fake.url()).unwrap() {
        plimsoll_initiator::Url::Iscsi(url) => url,
        plimsoll_initiator::Url::Nfs(_) => unreachable!(),
    };
    assert!(iscsi::Device::connect(&url, &options()).is_err(), "{act:?}: helpers fail as well");
    error
}

#[test]
fn rfc7143_6_3_logins_without_end_are_given_up() {
    assert!(matches!(login_fails(LoginAct::Loop), Error::Protocol { .. }));
    assert!(matches!(login_fails(LoginAct::Endless), Error::Protocol { .. }));
}

#[test]
fn rfc7143_6_3_a_target_that_says_nothing_is_not_waited_for() {
    assert!(matches!(login_fails(LoginAct::Silence), Error::Timeout { .. }));
}

#[test]
fn rfc7143_6_3_malformed_login_responses_are_told() {
    assert!(matches!(login_fails(LoginAct::Oversized), Error::Protocol { .. }));
    assert!(matches!(login_fails(LoginAct::WrongStage), Error::Protocol { .. }));
}

#[test]
fn rfc7143_11_13_5_refusals_are_told_in_words() {
    let refused = |status| login_fails(LoginAct::Refuse(status)).to_string();
    assert!(refused(LoginStatus::NOT_FOUND).contains("there is no such target"));
    assert!(refused(LoginStatus::FORBIDDEN).contains("may not use"));
    let error = login_fails(LoginAct::Refuse(LoginStatus::AUTHENTICATION_FAILED));
    assert!(matches!(error, Error::Authentication { .. }), "{error}");
}

#[test]
fn rfc7143_11_13_5_a_target_that_keeps_moving_is_given_up() {
    let error = login_fails(LoginAct::MovedToSelf);
    assert!(error.to_string().contains("moving"), "{error}");
}

#[test]
fn nobody_listens() {
    let fake = Fake::start(Setting::default());
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = fake.url().replace(&fake.portals[0].address.to_string(), &unused.to_string());
    let error = open(&url, &options()).err().expect("nobody listens");
    assert!(matches!(error, Error::Connect { .. }), "{error}");
}
