//! iSER over the soft fabric: the target against a scripted initiator, well-behaved and not.

mod data;
mod hostile;
mod initiator;
mod login;
mod management;
mod pitfalls;
