//! One file a source. Each reader sends what it finds to the [`Collector`](crate::collect::Collector).

pub(crate) mod azure;
pub(crate) mod esxtop;
pub(crate) mod fio;
pub(crate) mod iometer;
pub(crate) mod prometheus;
pub(crate) mod rows;
pub(crate) mod summary;

use plimsoll_ingest::Severity;

use crate::report::Kind;
use crate::time::{Fault, Moment};

pub(crate) const TIME_UNREADABLE: Kind = Kind {
    code: "time-unreadable",
    severity: Severity::Error,
    expected: "a date and time such as 2026-07-21T14:05:00Z or 07/21/2026 2:05:00 PM",
    action: "the row was left out",
};
pub(crate) const DATE_UNDECIDED: Kind = Kind {
    code: "date-order-undecided",
    severity: Severity::Error,
    expected: "a date whose day and month can be told apart: no day in the file is above 12",
    action: "the row was left out; state the order of day and month (date order), or export ISO dates",
};
pub(crate) const ASSUMED_UTC: Kind = Kind {
    code: "time-zone-assumed",
    severity: Severity::Note,
    expected: "times with a zone, or a stated time zone",
    action: "read as UTC; state the time zone of the export if it is another, or clock changes are missed",
};
pub(crate) const IN_GAP: Kind = Kind {
    code: "time-does-not-exist",
    severity: Severity::Warning,
    expected: "local times of the stated zone: this hour was skipped when clocks went forward",
    action: "read with the offset before the change; check the stated time zone",
};
pub(crate) const NUMBER_UNREADABLE: Kind = Kind {
    code: "number-unreadable",
    severity: Severity::Error,
    expected: "a number",
    action: "the value was left out; nothing else of the row was",
};
pub(crate) const UNIT_UNKNOWN: Kind = Kind {
    code: "unit-unknown",
    severity: Severity::Error,
    expected: "a unit of the counter's kind, such as KBps, MBps, ms or Number",
    action: "the values were left out",
};
pub(crate) const COUNTER_NOT_USED: Kind = Kind {
    code: "counter-not-used",
    severity: Severity::Note,
    expected: "counters of storage: IOPS, throughput, latency, used space",
    action: "not read",
};
pub(crate) const EXTREME_NOT_USED: Kind = Kind {
    code: "extreme-not-used",
    severity: Severity::Note,
    expected: "means of intervals: maxima and minima of different objects do not happen at one moment",
    action: "not read",
};
pub(crate) const LATEST: Kind = Kind {
    code: "latest-is-no-mean",
    severity: Severity::Note,
    expected: "a mean of the interval; this counter gives its last sample only",
    action: "read as it is",
};
pub(crate) const NO_NAME: Kind = Kind {
    code: "object-without-name",
    severity: Severity::Error,
    expected: "a name or id of the object",
    action: "the row was left out",
};

impl crate::collect::Collector {
    /// The time of a row, or a problem.
    pub fn moment(
        &mut self,
        read: Result<Moment, Fault>,
        text: &str,
        row: u64,
        column: &str,
    ) -> Option<Moment> {
        match read {
            Ok(moment) => {
                if moment.is_assumed_utc {
                    let first = self.assumed_utc.get_or_insert_with(|| (row, text.to_owned(), 0));
                    first.2 += 1;
                }
                if moment.is_in_gap {
                    self.note(IN_GAP, Some(row), column, || text.to_owned());
                }
                Some(moment)
            }
            Err(Fault::Unreadable) => {
                self.note(TIME_UNREADABLE, Some(row), column, || text.to_owned());
                None
            }
            Err(Fault::Undecided) => {
                self.note(DATE_UNDECIDED, Some(row), column, || text.to_owned());
                None
            }
        }
    }

    /// Says how many times of the file were taken for UTC: one note a row would cost more than the row.
    pub fn end_file(&mut self) {
        let Some((row, text, times)) = self.assumed_utc.take() else { return };
        let file = self.files.last().map_or("", |file| &file.name);
        self.report.note_times(ASSUMED_UTC, file, Some(row), "", times, || text);
    }
}
