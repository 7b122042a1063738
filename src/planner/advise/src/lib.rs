//! What to type on ESXi hosts, in which order, with the check after each step.
//!
//! ```text
//! Export (or flags) ──facts──▶ Host ──iser::advise──▶ Advice ──▶ text · markdown · JSON
//! data/catalog/iser_*.toml ────────────▲
//! ```
//!
//! Nothing here talks to a host: the advice is text for a person or a change request. What the sources
//! leave open is said as such, what they say against each other is shown with its dates.

pub mod iser;
