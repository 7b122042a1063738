//! Measurements one can trust: workloads, histograms, steady state, sweeps, guards.
