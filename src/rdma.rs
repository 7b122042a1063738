//! The provider of RDMA of this build on this machine, or the sentence that says why there is none.
//!
//! The only place that knows whether the feature `rdma` is on: targets and probes take what [`fabric`] returns.

use std::sync::Arc;

use plimsoll_fabric::rdma::Fabric;

/// Why there is none in a build without the feature.
#[cfg(not(feature = "rdma"))]
pub const NOT_BUILT_IN: &str = "this build is without RDMA; build with the feature `rdma` where libibverbs and librdmacm can be had";

/// The fabric, or why there is none.
///
/// # Errors
/// A sentence that says what is missing and how to get it.
#[cfg(feature = "rdma")]
pub fn fabric() -> Result<Arc<dyn Fabric>, String> {
    match plimsoll_verbs::Verbs::load() {
        Ok(verbs) => Ok(verbs),
        Err(error) => Err(error.to_string()),
    }
}

/// The fabric, or why there is none.
///
/// # Errors
/// A sentence that says what is missing and how to get it.
#[cfg(not(feature = "rdma"))]
pub fn fabric() -> Result<Arc<dyn Fabric>, String> {
    Err(NOT_BUILT_IN.to_owned())
}
