//! Values that must never leave the reader: planted here, looked for by the tests.

/// Licence keys written into vLicense and into vHost `Assigned License(s)`.
pub const LICENCE_KEYS: &[&str] =
    &["PLIM5-FAKE1-KEY00-NOT01-REAL7", "PLIM5-FAKE2-KEY00-NOT02-REAL8"];

/// Secrets written into annotations, each with the whole annotation around it.
pub const ANNOTATIONS: &[(&str, &str)] = &[
    ("Fx-Tr0ub4dor-1", "Service account svc_sql, password=Fx-Tr0ub4dor-1 (change me)"),
    ("Fx-C0rrectHorse-2", "local admin pwd: Fx-C0rrectHorse-2"),
    ("fxtok_9f8e7d6c5b4a3210", "monitoring token=fxtok_9f8e7d6c5b4a3210, owner: operations"),
];
