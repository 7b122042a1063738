//! A plan to html, json, xlsx, csv and md.
//!
//! A report's document knows no format; a format knows no domain. Identical input and options give
//! byte-identical output.
