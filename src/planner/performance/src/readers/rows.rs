//! Tables with a row for each object and time: PowerCLI Get-Stat, Aria Operations, Azure Monitor.
//!
//! Two shapes: a column names the counter and another holds the value, or each counter has a column.
//! Which column is what stands in the catalogue.

use polars::prelude::StringChunked;

use super::{COUNTER_NOT_USED, EXTREME_NOT_USED, LATEST, NO_NAME, NUMBER_UNREADABLE, UNIT_UNKNOWN};
use crate::catalog::{Header, Kind, Role, RollUp, SeriesTable, Stamp, catalog, normalise};
use crate::collect::{Collector, Measurement, Naming};
use crate::error::Error;
use crate::number::{Number, number};
use crate::table::{Head, Text};
use crate::time::{Clock, duration_s, order_of};
use crate::types::{EntityId, EntityKind};

/// The table whose columns a header row has.
pub(crate) fn recognise(headers: &[String]) -> Option<&'static SeriesTable> {
    let names: Vec<String> = headers.iter().map(|header| normalise(header)).collect();
    let is_counter = |header: &String| catalog().counter(&Header::parse(header).name).is_some();
    catalog().series.iter().find(|table| {
        table.needs.iter().all(|role| match role {
            Role::Counter => headers.iter().any(is_counter),
            role => table.column(*role, &names).is_some(),
        })
    })
}

/// Positions of the roles within the projection.
struct Columns {
    roles: [Option<usize>; 14],
}

impl Columns {
    fn text<'a>(&self, role: Role, columns: &[&'a StringChunked], at: usize) -> &'a str {
        self.roles[role as usize].and_then(|place| columns[place].get(at)).unwrap_or("").trim()
    }
}

/// A column of a counter.
struct CounterColumn {
    place: usize,
    counter: u16,
    factor: f64,
    header: String,
}

/// Reads the rows below the header.
pub(crate) fn read(
    text: Text,
    head: &Head,
    table: &'static SeriesTable,
    clock: &mut Clock,
    out: &mut Collector,
) -> Result<(), Error> {
    let names = head.normalised();
    const ROLES: [Role; 13] = [
        Role::Name,
        Role::Id,
        Role::Uuid,
        Role::Vcenter,
        Role::Object,
        Role::Instance,
        Role::Metric,
        Role::Time,
        Role::Value,
        Role::Average,
        Role::Total,
        Role::Unit,
        Role::Interval,
    ];
    let found: Vec<(Role, usize)> =
        ROLES.iter().filter_map(|role| Some((*role, table.column(*role, &names)?))).collect();
    let is_long = table.needs.contains(&Role::Metric);
    let mut wanted: Vec<(usize, u16, f64)> = Vec::new();
    if !is_long {
        for (index, header) in head.headers.iter().enumerate() {
            if !found.iter().any(|(_, column)| *column == index) {
                wanted.extend(counter_column(index, header, out));
            }
        }
    }
    let mut projection: Vec<usize> =
        found.iter().map(|(_, c)| *c).chain(wanted.iter().map(|(c, ..)| *c)).collect();
    projection.sort_unstable();
    projection.dedup();
    let place = |column: usize| projection.binary_search(&column).ok();
    let mut roles = [None; 14];
    for (role, column) in &found {
        roles[*role as usize] = place(*column);
    }
    let counters = wanted
        .iter()
        .filter_map(|(column, counter, factor)| {
            let header = head.headers[*column].clone();
            Some(CounterColumn {
                place: place(*column)?,
                counter: *counter,
                factor: *factor,
                header,
            })
        })
        .collect();
    let mut reader = Reader {
        columns: Columns { roles },
        counters,
        table,
        comma_is_decimal: head.comma_is_decimal(),
        is_long,
        last: None,
        metrics: Vec::new(),
        header_of: |role: Role| -> String {
            found
                .iter()
                .find(|(r, _)| *r == role)
                .map_or(String::new(), |(_, c)| head.headers[*c].clone())
        },
        time_header: found
            .iter()
            .find(|(role, _)| *role == Role::Time)
            .map_or(String::new(), |(_, column)| head.headers[*column].clone()),
        file_stem: stem(out.file_name()),
    };
    let file = out.file_name().to_owned();
    text.blocks(&file, head, &projection, &mut |first, columns| {
        reader.block(first, columns, clock, out)
    })
}

/// The counter of a header, with its factor; problems for what is a counter and not used.
fn counter_column(index: usize, header: &str, out: &mut Collector) -> Option<(usize, u16, f64)> {
    let parsed = Header::parse(header);
    let Some(counter) = catalog().counter(&parsed.name) else {
        if header.contains('|') {
            out.note(COUNTER_NOT_USED, None, "", || header.to_owned());
        }
        return None;
    };
    let known = &catalog().counters[usize::from(counter)];
    let fits = match parsed.roll_up {
        RollUp::Extreme => false,
        RollUp::Sum => known.kind == Kind::PerInterval,
        RollUp::Mean => true,
    };
    if !fits {
        out.note(EXTREME_NOT_USED, None, "", || header.to_owned());
        return None;
    }
    let unit = parsed.unit.as_deref().unwrap_or(&known.unit);
    let factor = catalog().factor(known.metric, unit);
    if factor.is_none() {
        out.note(UNIT_UNKNOWN, None, header, || unit.to_owned());
    }
    Some((index, counter, factor?))
}

/// `volume-1` of `exports/volume-1.csv`: names the object where no column does.
fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.split('.').next().unwrap_or(name).to_owned()
}

/// Name and unit as written, and the counter with its factor if it is used.
type KnownMetric = (String, String, Option<(u16, f64)>);

struct Reader<F> {
    columns: Columns,
    counters: Vec<CounterColumn>,
    table: &'static SeriesTable,
    comma_is_decimal: bool,
    is_long: bool,
    /// The object of the last row: rows of one object mostly follow each other.
    last: Option<(String, String, EntityId)>,
    /// Counters met by the texts of metric and unit.
    metrics: Vec<KnownMetric>,
    header_of: F,
    time_header: String,
    file_stem: String,
}

impl<F: Fn(Role) -> String> Reader<F> {
    fn block(
        &mut self,
        first: u64,
        columns: &[&StringChunked],
        clock: &mut Clock,
        out: &mut Collector,
    ) -> Result<(), Error> {
        let Some(rows) = columns.first().map(|column| column.len()) else { return Ok(()) };
        if clock.order == crate::time::DateOrder::Unknown
            && let Some(place) = self.columns.roles[Role::Time as usize]
        {
            clock.order = order_of(columns[place].iter().flatten());
        }
        for at in 0..rows {
            let row = first + at as u64;
            let time = self.columns.text(Role::Time, columns, at);
            if time.is_empty() && self.columns.text(Role::Name, columns, at).is_empty() {
                continue;
            }
            if self.is_long {
                self.long_row(row, at, columns, time, clock, out)?;
            } else {
                self.wide_row(row, at, columns, time, clock, out)?;
            }
        }
        Ok(())
    }

    fn long_row(
        &mut self,
        row: u64,
        at: usize,
        columns: &[&StringChunked],
        time: &str,
        clock: &mut Clock,
        out: &mut Collector,
    ) -> Result<(), Error> {
        let metric = self.columns.text(Role::Metric, columns, at);
        let unit = self.columns.text(Role::Unit, columns, at);
        let Some((counter, factor)) = self.metric(metric, unit, row, out) else { return Ok(()) };
        let known = &catalog().counters[usize::from(counter)];
        let (role, text) = if self.columns.roles[Role::Value as usize].is_some() {
            (Role::Value, self.columns.text(Role::Value, columns, at))
        } else if known.kind == Kind::PerInterval {
            (Role::Total, self.columns.text(Role::Total, columns, at))
        } else {
            (Role::Average, self.columns.text(Role::Average, columns, at))
        };
        let value = match number(text, self.comma_is_decimal) {
            Number::Value(value) => value,
            Number::Missing => return Ok(()),
            Number::Unreadable => {
                out.note(NUMBER_UNREADABLE, Some(row), &(self.header_of)(role), || text.to_owned());
                return Ok(());
            }
        };
        let Some(moment) = out.moment(clock.read(time), time, row, &self.time_header) else {
            return Ok(());
        };
        let Some(entity) = self.entity(row, at, columns, known.object, out)? else { return Ok(()) };
        let interval_s = self.interval_s(columns, at);
        let instance = out.instance(self.columns.text(Role::Instance, columns, at));
        let stamp = self.table.stamp;
        out.sample(
            Measurement { entity, counter, instance, interval_s, stamp, factor, row },
            moment,
            value,
        )
    }

    fn wide_row(
        &mut self,
        row: u64,
        at: usize,
        columns: &[&StringChunked],
        time: &str,
        clock: &mut Clock,
        out: &mut Collector,
    ) -> Result<(), Error> {
        let Some(moment) = out.moment(clock.read(time), time, row, &self.time_header) else {
            return Ok(());
        };
        let object =
            self.counters.iter().find_map(|c| catalog().counters[usize::from(c.counter)].object);
        let Some(entity) = self.entity(row, at, columns, object, out)? else { return Ok(()) };
        let interval_s = self.interval_s(columns, at);
        let stamp: Stamp = self.table.stamp;
        for column in &self.counters {
            let Some(text) = columns[column.place].get(at) else { continue };
            let value = match number(text, self.comma_is_decimal) {
                Number::Value(value) => value,
                Number::Missing => continue,
                Number::Unreadable => {
                    out.note(NUMBER_UNREADABLE, Some(row), &column.header, || text.to_owned());
                    continue;
                }
            };
            let (counter, factor) = (column.counter, column.factor);
            let what = Measurement { entity, counter, instance: 0, interval_s, stamp, factor, row };
            out.sample(what, moment, value)?;
        }
        Ok(())
    }

    fn interval_s(&self, columns: &[&StringChunked], at: usize) -> u32 {
        match self.columns.text(Role::Interval, columns, at) {
            "" => 0,
            text => duration_s(text).unwrap_or(0),
        }
    }

    /// The counter that a metric's name and unit stand for.
    fn metric(
        &mut self,
        name: &str,
        unit: &str,
        row: u64,
        out: &mut Collector,
    ) -> Option<(u16, f64)> {
        let known = self.metrics.iter().find(|(n, u, _)| n == name && u == unit);
        if let Some((.., found)) = known {
            return *found;
        }
        let normalised = normalise(name);
        let column = (self.header_of)(Role::Metric);
        let found = match catalog().counter(&normalised) {
            None => {
                let is_extreme =
                    normalised.ends_with(".maximum") || normalised.ends_with(".minimum");
                let kind = if is_extreme { EXTREME_NOT_USED } else { COUNTER_NOT_USED };
                out.note(kind, Some(row), &column, || name.to_owned());
                None
            }
            Some(counter) => {
                let known = &catalog().counters[usize::from(counter)];
                if known.latest {
                    out.note(LATEST, Some(row), &column, || name.to_owned());
                }
                let unit = if unit.is_empty() { &known.unit } else { unit };
                let factor = catalog().factor(known.metric, unit);
                if factor.is_none() {
                    out.note(UNIT_UNKNOWN, Some(row), &(self.header_of)(Role::Unit), || {
                        format!("{unit} for {name}")
                    });
                }
                factor.map(|factor| (counter, factor))
            }
        };
        if self.metrics.len() < 10_000 {
            self.metrics.push((name.to_owned(), unit.to_owned(), found));
        }
        found
    }

    fn entity(
        &mut self,
        row: u64,
        at: usize,
        columns: &[&StringChunked],
        object: Option<EntityKind>,
        out: &mut Collector,
    ) -> Result<Option<EntityId>, Error> {
        let name = self.columns.text(Role::Name, columns, at);
        let id = self.columns.text(Role::Id, columns, at);
        if let Some((last_name, last_id, entity)) = &self.last
            && last_name == name
            && is_same(last_id, id)
        {
            return Ok(Some(*entity));
        }
        let stated = kind_of(self.columns.text(Role::Object, columns, at));
        let (by_id, bare_id, id_name) = managed_object(id);
        let has_name_column = self.columns.roles[Role::Name as usize].is_some();
        let shown = match (name, id_name) {
            ("", Some(id_name)) => id_name,
            ("", None) if bare_id.is_empty() && !has_name_column => &self.file_stem,
            (name, _) => name,
        };
        if shown.is_empty() && bare_id.is_empty() {
            out.note(NO_NAME, Some(row), &(self.header_of)(Role::Name), String::new);
            return Ok(None);
        }
        let naming = Naming {
            name: shown,
            id: bare_id,
            uuid: self.columns.text(Role::Uuid, columns, at),
            vcenter: self.columns.text(Role::Vcenter, columns, at),
        };
        let kind = stated.or(by_id).or(object).unwrap_or(EntityKind::Vm);
        let entity = out.entity(kind, naming, row)?;
        self.last = Some((name.to_owned(), id.to_owned(), entity));
        Ok(Some(entity))
    }
}

/// Equality without a look at the bytes of empty texts: comparing nothing at the address of nothing
/// costs a processor with masked loads a fault each time, a fifth of the whole reading.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

/// `Virtual Machine`, `Datastore`, `HostSystem`.
fn kind_of(text: &str) -> Option<EntityKind> {
    let text = normalise(text);
    if text.is_empty() {
        None
    } else if text.contains("datastore") || text.contains("volume") {
        Some(EntityKind::Datastore)
    } else if text.contains("host") {
        Some(EntityKind::Host)
    } else {
        Some(EntityKind::Vm)
    }
}

/// Kind, bare id, and name of an id: `VirtualMachine-vm-12`, or the path of an Azure resource.
pub(crate) fn managed_object(id: &str) -> (Option<EntityKind>, &str, Option<&str>) {
    for (prefix, kind) in [
        ("VirtualMachine-", EntityKind::Vm),
        ("Datastore-", EntityKind::Datastore),
        ("HostSystem-", EntityKind::Host),
    ] {
        if let Some(bare) = id.strip_prefix(prefix) {
            return (Some(kind), bare, None);
        }
    }
    if id.contains('/') {
        let lower = id.to_lowercase();
        let name = id.rsplit('/').find(|part| !part.is_empty());
        let kind = if lower.contains("/volumes/") {
            Some(EntityKind::Datastore)
        } else if lower.contains("/virtualmachines/") {
            Some(EntityKind::Vm)
        } else {
            None
        };
        return (kind, "", name);
    }
    let kind = if id.starts_with("datastore-") {
        Some(EntityKind::Datastore)
    } else if id.starts_with("host-") {
        Some(EntityKind::Host)
    } else if id.starts_with("vm-") {
        Some(EntityKind::Vm)
    } else {
        None
    };
    (kind, id, None)
}
