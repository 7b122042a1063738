//! Benchmarks with their peers, as ratios.
