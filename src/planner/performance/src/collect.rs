//! Where readers put what they find: objects, samples by counter and instance, summaries.
//!
//! A sample takes eight bytes. What the numbers mean together (instances, layers, counters that
//! grow) is `finish`'s business.

use plimsoll_ingest::Severity;
use polars::prelude::{InitHashMaps, PlHashMap};

use crate::catalog::{Kind, Stamp, catalog};
use crate::error::Error;
use crate::report::{Kind as Note, Report};
use crate::time::Moment;
use crate::types::{Benchmark, Entity, EntityId, EntityKind, ReadFile, Sample, Summary};

/// Samples of one run at most: 480 MB.
pub(crate) const MOST_SAMPLES: usize = 60_000_000;
/// Objects of one run at most.
const MOST_ENTITIES: usize = 1_000_000;

const NO_INTERVAL: Note = Note {
    code: "sample-without-interval",
    severity: Severity::Error,
    expected: "the length of the interval: a count over an unknown time is no rate",
    action: "left out; export the column of the interval (IntervalSecs) too",
};
const NEGATIVE: Note = Note {
    code: "sample-negative",
    severity: Severity::Error,
    expected: "a number of 0 or more; vSphere writes -1 for a value it does not have",
    action: "left out",
};

/// All samples of one counter, instance and interval of an object, in the order of the file.
#[derive(Debug)]
pub(crate) struct Raw {
    pub entity: EntityId,
    pub counter: u16,
    /// Index into [`Collector::instances`].
    pub instance: u32,
    /// Stated length of an interval, seconds; 0 when not stated.
    pub interval_s: u32,
    pub file: u32,
    pub stamp: Stamp,
    pub samples: Vec<Sample>,
    /// Samples in an hour that happens twice, and by how much the second pass is later.
    pub folds: Vec<(u32, u16)>,
}

/// Object, counter, instance, interval, file.
type RawKey = (u32, u16, u32, u32, u32);

/// How a file names an object.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Naming<'a> {
    pub name: &'a str,
    pub uuid: &'a str,
    pub id: &'a str,
    pub vcenter: &'a str,
}

/// What one sample is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement {
    pub entity: EntityId,
    pub counter: u16,
    pub instance: u32,
    /// Stated; 0 when not.
    pub interval_s: u32,
    pub stamp: Stamp,
    /// Factor from the file's unit to the metric's.
    pub factor: f64,
    pub row: u64,
}

/// Everything read so far.
#[derive(Debug)]
pub(crate) struct Collector {
    pub files: Vec<ReadFile>,
    pub entities: Vec<Entity>,
    entity_of: PlHashMap<String, EntityId>,
    key: String,
    pub raw: Vec<Raw>,
    raw_of: PlHashMap<RawKey, u32>,
    /// The raw series of each counter that was met last.
    recent: Vec<(RawKey, u32)>,
    pub instances: Vec<String>,
    instance_of: PlHashMap<String, u32>,
    pub summaries: Vec<Summary>,
    pub benchmarks: Vec<Benchmark>,
    pub report: Report,
    /// Times of this file that were taken for UTC: row and text of the first, and how many.
    pub assumed_utc: Option<(u64, String, u64)>,
    samples: usize,
}

impl Collector {
    pub fn new() -> Self {
        // Instance 0 is the object as a whole.
        Self {
            files: Vec::new(),
            entities: Vec::new(),
            entity_of: PlHashMap::new(),
            key: String::new(),
            raw: Vec::new(),
            raw_of: PlHashMap::new(),
            recent: vec![((u32::MAX, 0, 0, 0, 0), 0); catalog().counters.len()],
            instances: vec![String::new()],
            instance_of: PlHashMap::new(),
            summaries: Vec::new(),
            benchmarks: Vec::new(),
            report: Report::default(),
            assumed_utc: None,
            samples: 0,
        }
    }

    /// Index of the file being read.
    pub fn file(&self) -> u32 {
        u32::try_from(self.files.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Its name.
    pub fn file_name(&self) -> &str {
        self.files.last().map_or("", |file| &file.name)
    }

    /// One more of a kind in the file being read.
    pub fn note(
        &mut self,
        kind: Note,
        row: Option<u64>,
        column: &str,
        value: impl FnOnce() -> String,
    ) {
        let file = self.files.last().map_or("", |file| &file.name);
        self.report.note(kind, file, row, column, value);
    }

    /// The object of that name, listed at its first sight.
    pub fn entity(
        &mut self,
        kind: EntityKind,
        naming: Naming<'_>,
        row: u64,
    ) -> Result<EntityId, Error> {
        use std::fmt::Write as _;
        self.key.clear();
        let Naming { name, uuid, id, vcenter } = naming;
        let file = self.file();
        // Writing to a String does not fail.
        let _ = write!(self.key, "{file}\0{kind:?}\0{name}\0{uuid}\0{id}\0{vcenter}");
        if let Some(known) = self.entity_of.get(&self.key) {
            return Ok(*known);
        }
        if self.entities.len() >= MOST_ENTITIES {
            return Err(Error::too_large(
                self.file_name(),
                format!("names more than {MOST_ENTITIES} objects"),
            ));
        }
        let entity = EntityId(u32::try_from(self.entities.len()).unwrap_or(u32::MAX));
        let stated = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        self.entities.push(Entity {
            kind,
            name: name.trim().to_owned(),
            uuid: stated(uuid).map(|uuid| uuid.to_lowercase()),
            id: stated(id),
            vcenter: stated(vcenter),
            file,
            row,
        });
        self.entity_of.insert(self.key.clone(), entity);
        Ok(entity)
    }

    /// Index of an instance's name; blank is the object as a whole.
    pub fn instance(&mut self, name: &str) -> u32 {
        let name = name.trim();
        if name.is_empty() || name == "*" {
            return 0;
        }
        if let Some(known) = self.instance_of.get(name) {
            return *known;
        }
        let index = u32::try_from(self.instances.len()).unwrap_or(u32::MAX);
        self.instances.push(name.to_owned());
        self.instance_of.insert(name.to_owned(), index);
        index
    }

    /// One sample.
    pub fn sample(&mut self, what: Measurement, moment: Moment, value: f64) -> Result<(), Error> {
        let counter = &catalog().counters[usize::from(what.counter)];
        if value < 0.0 {
            self.note(NEGATIVE, Some(what.row), "", || value.to_string());
            return Ok(());
        }
        let mut scaled = value * what.factor;
        if counter.kind == Kind::PerInterval {
            if what.interval_s == 0 {
                self.note(NO_INTERVAL, Some(what.row), "", || value.to_string());
                return Ok(());
            }
            scaled /= f64::from(what.interval_s);
        }
        self.samples += 1;
        if self.samples > MOST_SAMPLES {
            return Err(Error::too_large(
                self.file_name(),
                format!("holds more than {MOST_SAMPLES} samples"),
            ));
        }
        let file = self.file();
        let key = (what.entity.0, what.counter, what.instance, what.interval_s, file);
        let next = u32::try_from(self.raw.len()).unwrap_or(u32::MAX);
        // Rows of one object mostly follow each other.
        let recent = &mut self.recent[usize::from(what.counter)];
        if recent.0 != key {
            *recent = (key, *self.raw_of.entry(key).or_insert(next));
        }
        let index = recent.1;
        if index == next {
            self.raw.push(Raw {
                entity: what.entity,
                counter: what.counter,
                instance: what.instance,
                interval_s: what.interval_s,
                file,
                stamp: what.stamp,
                samples: Vec::new(),
                folds: Vec::new(),
            });
        }
        let raw = &mut self.raw[index as usize];
        if moment.fold_s > 0 {
            raw.folds.push((u32::try_from(raw.samples.len()).unwrap_or(u32::MAX), moment.fold_s));
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "24 bits are more than counters are exact to"
        )]
        raw.samples.push(Sample { at_s: moment.at_s, value: scaled as f32 });
        if let Some(file) = self.files.last_mut() {
            file.used += 1;
        }
        Ok(())
    }
}
