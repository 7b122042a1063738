//! Writes fixture files: every variation of an inventory export.
