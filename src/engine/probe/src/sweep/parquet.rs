//! Samples as a Parquet file: one row group, one column per field, no nulls, uncompressed.
//!
//! The columns are those of [`Sample`]; a column that is added there is added here.

use std::{fs::File, path::Path, sync::Arc};

use parquet::{
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type},
    file::{
        properties::WriterProperties,
        reader::{FileReader as _, SerializedFileReader},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    record::Field,
    schema::parser::parse_message_type,
};

use super::Sample;
use crate::{Error, Result};

type Written = std::result::Result<(), parquet::errors::ParquetError>;
type Group<'a> = SerializedRowGroupWriter<'a, File>;

/// A column: its name, its type in the schema, and how it is written.
struct Column {
    name: &'static str,
    kind: &'static str,
    write: fn(&mut Group<'_>, &[Sample]) -> Written,
}

macro_rules! column {
    ($field:ident, text) => {
        Column {
            name: stringify!($field),
            kind: "binary {} (UTF8)",
            write: |group, samples| {
                let values: Vec<ByteArray> =
                    samples.iter().map(|sample| ByteArray::from(sample.$field.as_str())).collect();
                put::<ByteArrayType>(group, &values)
            },
        }
    };
    ($field:ident, count32) => {
        Column {
            name: stringify!($field),
            kind: "int32 {} (INTEGER(32,false))",
            write: |group, samples| {
                let values: Vec<i32> =
                    samples.iter().map(|sample| sample.$field.cast_signed()).collect();
                put::<Int32Type>(group, &values)
            },
        }
    };
    ($field:ident, count64) => {
        Column {
            name: stringify!($field),
            kind: "int64 {} (INTEGER(64,false))",
            write: |group, samples| {
                let values: Vec<i64> =
                    samples.iter().map(|sample| sample.$field.cast_signed()).collect();
                put::<Int64Type>(group, &values)
            },
        }
    };
    ($field:ident, number) => {
        Column {
            name: stringify!($field),
            kind: "double {}",
            write: |group, samples| {
                let values: Vec<f64> = samples.iter().map(|sample| sample.$field).collect();
                put::<DoubleType>(group, &values)
            },
        }
    };
    ($field:ident, truth) => {
        Column {
            name: stringify!($field),
            kind: "boolean {}",
            write: |group, samples| {
                let values: Vec<bool> = samples.iter().map(|sample| sample.$field).collect();
                put::<BoolType>(group, &values)
            },
        }
    };
}

const COLUMNS: [Column; 33] = [
    column!(schema_version, count32),
    column!(point, text),
    column!(started_unix_ms, count64),
    column!(urls, text),
    column!(hosts, count32),
    column!(datastores, count32),
    column!(flows, count32),
    column!(flows_total, count32),
    column!(workers, count32),
    column!(depth, count32),
    column!(mode, text),
    column!(block_bytes, number),
    column!(read_pct, number),
    column!(random_pct, number),
    column!(measured_seconds, number),
    column!(iops, number),
    column!(mib_per_s, number),
    column!(read_iops, number),
    column!(write_iops, number),
    column!(latency_mean_ns, number),
    column!(latency_p50_ns, count64),
    column!(latency_p90_ns, count64),
    column!(latency_p99_ns, count64),
    column!(latency_p99_9_ns, count64),
    column!(latency_max_ns, count64),
    column!(in_flight, number),
    column!(errors, count64),
    column!(cpu_seconds, number),
    column!(steady, truth),
    column!(excursion_pct, number),
    column!(slope_pct, number),
    column!(warnings, text),
    column!(stopped, text),
];

fn put<T: parquet::data_type::DataType>(group: &mut Group<'_>, values: &[T::T]) -> Written {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}

/// Writes the file.
pub fn write(path: &Path, samples: &[Sample]) -> Result<()> {
    let failed = |error: parquet::errors::ParquetError| Error::Form {
        path: path.to_owned(),
        what: error.to_string(),
    };
    let fields: Vec<String> = COLUMNS
        .iter()
        .map(|column| format!("required {};", column.kind.replace("{}", column.name)))
        .collect();
    let message = format!("message sample {{ {} }}", fields.join(" "));
    let schema = Arc::new(parse_message_type(&message).map_err(failed)?);
    let file = File::create(path).map_err(|error| Error::file(path, error))?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(file, schema, properties).map_err(failed)?;
    let mut group = writer.next_row_group().map_err(failed)?;
    for column in &COLUMNS {
        (column.write)(&mut group, samples).map_err(failed)?;
    }
    group.close().map_err(failed)?;
    writer.close().map_err(failed)?;
    Ok(())
}

/// Reads a file back as rows of name and value, for checks.
pub fn read(path: &Path) -> Result<Vec<Vec<(String, String)>>> {
    let failed = |error: parquet::errors::ParquetError| Error::Form {
        path: path.to_owned(),
        what: error.to_string(),
    };
    let file = File::open(path).map_err(|error| Error::file(path, error))?;
    let reader = SerializedFileReader::new(file).map_err(failed)?;
    let mut rows = Vec::new();
    for row in reader.get_row_iter(None).map_err(failed)? {
        let row = row.map_err(failed)?;
        let show = |field: &Field| match field {
            Field::Str(text) => text.clone(),
            other => other.to_string(),
        };
        rows.push(row.get_column_iter().map(|(name, field)| (name.clone(), show(field))).collect());
    }
    Ok(rows)
}
