//! Advice: what to type on hosts, from files or from facts in the request; nothing is kept.

pub mod iser;
