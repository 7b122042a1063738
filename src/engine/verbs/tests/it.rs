//! The program does not need rdma-core's libraries in order to start, and says what is missing.

use plimsoll_fabric::rdma::RdmaError;
use plimsoll_verbs::Verbs;

/// One test, since a library that was opened stays so.
#[test]
#[allow(clippy::unwrap_used, clippy::expect_used)]
fn the_libraries_are_opened_when_they_are_wanted_and_not_before() {
    let mapped = || std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!mapped().contains("libibverbs"), "libibverbs is among the needs of the program");
    assert!(!mapped().contains("librdmacm"), "librdmacm is among the needs of the program");
    match plimsoll_verbs::inventory() {
        // No library, or the wrong ones.
        Err(RdmaError::Unavailable(told)) => assert!(told.contains("libibverbs1"), "{told}"),
        Err(other) => panic!("{other}"),
        Ok(adapters) => {
            assert!(mapped().contains("libibverbs"));
            if adapters.is_empty() {
                let told = Verbs::load().expect_err("no adapter, but a fabric").to_string();
                assert!(
                    told.starts_with("RDMA cannot be used: there is no RDMA adapter"),
                    "{told}"
                );
            }
        }
    }
}
