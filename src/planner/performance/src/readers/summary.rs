//! Tables with a row for each object and no time: Live Optics, Nutanix Collector, Azure Migrate, and
//! reports of scripts. They come as CSV or as sheets of a workbook.
//!
//! Means add up; percentiles and peaks of different objects do not, and are kept as what they are.

use std::collections::BTreeMap;

use super::{NO_NAME, NUMBER_UNREADABLE};
use crate::catalog::{SummaryTable, Value, catalog, normalise};
use crate::collect::{Collector, Naming};
use crate::error::Error;
use crate::number::{Number, number};
use crate::table::{Head, Text};
use crate::types::{Metric, Statistic, Summary};

/// The table that a header row is of.
pub(crate) fn recognise(headers: &[String]) -> Option<&'static SummaryTable> {
    let names: Vec<String> = headers.iter().map(|header| normalise(header)).collect();
    let has = |wanted: &String| {
        names.iter().any(|name| name == wanted || name.starts_with(&format!("{wanted} (")))
    };
    catalog().summaries.iter().find(|table| table.needs.iter().all(has))
}

/// Reads the rows below the header of a CSV.
pub(crate) fn read(
    text: Text,
    head: &Head,
    table: &'static SummaryTable,
    out: &mut Collector,
) -> Result<(), Error> {
    let reader = Reader::new(table, &head.headers, head.comma_is_decimal());
    let file = out.file_name().to_owned();
    let all: Vec<usize> = (0..head.headers.len()).collect();
    text.blocks(&file, head, &all, &mut |first, columns| {
        for at in 0..columns[0].len() {
            let fields: Vec<&str> =
                columns.iter().map(|column| column.get(at).unwrap_or("")).collect();
            reader.row(
                first + at as u64,
                |column| fields.get(column).copied().unwrap_or(""),
                out,
            )?;
        }
        Ok(())
    })
}

/// Reads a sheet of a workbook, if it is one of the tables; says whether it was.
pub(crate) fn read_sheet(
    sheet: &plimsoll_ingest::SheetTexts,
    out: &mut Collector,
) -> Result<Option<&'static SummaryTable>, Error> {
    const HEADER_ROWS: usize = 20;
    let found = sheet.rows.iter().take(HEADER_ROWS).enumerate().find_map(|(at, row)| {
        let width = row.cells.last().map_or(0, |(column, _)| *column as usize + 1);
        let mut headers = vec![String::new(); width];
        for (column, text) in &row.cells {
            headers[*column as usize] = text.clone();
        }
        Some((at, recognise(&headers)?, headers))
    });
    let Some((at, table, headers)) = found else { return Ok(None) };
    let reader = Reader::new(table, &headers, false);
    for row in &sheet.rows[at + 1..] {
        let cells: BTreeMap<u32, &str> =
            row.cells.iter().map(|(column, text)| (*column, text.as_str())).collect();
        let cell = |column: usize| {
            u32::try_from(column).ok().and_then(|column| cells.get(&column)).copied().unwrap_or("")
        };
        reader.row(u64::from(row.row), cell, out)?;
    }
    Ok(Some(table))
}

struct Reader {
    table: &'static SummaryTable,
    name: Option<usize>,
    id: Option<usize>,
    uuid: Option<usize>,
    values: Vec<(usize, String, &'static Value, f64)>,
    comma_is_decimal: bool,
}

impl Reader {
    fn new(table: &'static SummaryTable, headers: &[String], comma_is_decimal: bool) -> Self {
        let names: Vec<String> = headers.iter().map(|header| normalise(header)).collect();
        let column = |aliases: &[String]| {
            aliases.iter().find_map(|alias| names.iter().position(|name| name == alias))
        };
        let values = names
            .iter()
            .enumerate()
            .filter_map(|(at, name)| {
                let value = catalog().value(&table.format, name)?;
                let factor = catalog().factor(value.metric, &value.unit)?;
                Some((at, headers[at].clone(), value, factor))
            })
            .collect();
        Self {
            table,
            name: column(&table.name),
            id: column(&table.id),
            uuid: column(&table.uuid),
            values,
            comma_is_decimal,
        }
    }

    fn row<'a>(
        &self,
        row: u64,
        cell: impl Fn(usize) -> &'a str,
        out: &mut Collector,
    ) -> Result<(), Error> {
        let text = |column: Option<usize>| column.map_or("", &cell).trim();
        let naming =
            Naming { name: text(self.name), id: text(self.id), uuid: text(self.uuid), vcenter: "" };
        if naming.name.is_empty() && naming.id.is_empty() {
            if self.values.iter().any(|(at, ..)| !cell(*at).trim().is_empty()) {
                out.note(NO_NAME, Some(row), &self.table.name[0], String::new);
            }
            return Ok(());
        }
        // Disks of one server are added; a datastore's share of a VM too (scripts write a row each).
        let mut sums: BTreeMap<(Metric, Statistic), f64> = BTreeMap::new();
        for (at, header, value, factor) in &self.values {
            let text = cell(*at);
            match number(text, self.comma_is_decimal) {
                Number::Value(found) if found >= 0.0 => {
                    *sums.entry((value.metric, value.statistic)).or_insert(0.0) += found * factor;
                }
                Number::Missing => {}
                _ => out.note(NUMBER_UNREADABLE, Some(row), header, || text.to_owned()),
            }
        }
        if sums.is_empty() {
            return Ok(());
        }
        let entity = out.entity(self.table.object, naming, row)?;
        for ((metric, statistic), value) in sums {
            out.summaries.push(Summary { entity, metric, statistic, value });
            if let Some(file) = out.files.last_mut() {
                file.used += 1;
            }
        }
        Ok(())
    }
}
