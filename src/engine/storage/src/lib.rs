//! What is served: pools, tiers, volumes with limits, backing stores, the file namespace of an export.
