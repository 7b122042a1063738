//! The SCSI device server: logical units, sense, reservations, VAAI.
