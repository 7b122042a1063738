//! Values: each cell of a column in use to its field, and a problem for what cannot be read.

use std::sync::Arc;

use plimsoll_units::Mib;

use super::{Field, Step, TEXT_OVERHEAD, TabRow, Table};
use crate::cell::Cell;
use crate::date::{Date, date};
use crate::number::{Number, decimal, percent, whole};
use crate::problem::Severity;
use crate::rows::Text;
use crate::secrets;
use crate::words::{flag, power_state};

#[derive(Clone, Copy)]
enum TextKind {
    Repeating,
    Unique,
    Prose,
}

impl<R: TabRow> Table<R> {
    /// The shared text of a cell, without secrets when asked.
    fn take_text(&mut self, column: usize, cell: Cell<'_>, kind: TextKind) -> Option<Text> {
        let made;
        let text = match cell {
            Cell::Blank | Cell::Error => return None,
            Cell::Text(text) => text,
            Cell::Number(number) => {
                made = number.to_string();
                &made
            }
            Cell::Bool(flag) => {
                if flag {
                    "True"
                } else {
                    "False"
                }
            }
            Cell::Date(serial) => {
                made = match date(Cell::Date(serial), self.place.is_1904) {
                    Date::Value(at) => at.strftime("%Y/%m/%d %H:%M:%S").to_string(),
                    _ => serial.as_f64().to_string(),
                };
                &made
            }
        };
        let text = self.cut(column, text);
        match kind {
            TextKind::Repeating => {
                if let Some(Some(last)) = self.last.get(column)
                    && **last == *text
                {
                    return Some(Arc::clone(last));
                }
                let shared = self.texts.get(text, &mut self.memory);
                if let Some(last) = self.last.get_mut(column) {
                    *last = Some(Arc::clone(&shared));
                }
                Some(shared)
            }
            TextKind::Unique => {
                self.memory += TEXT_OVERHEAD + text.len() as u64;
                Some(Arc::from(text))
            }
            TextKind::Prose => {
                if let Some(Some(last)) = self.last.get(column)
                    && **last == *text
                {
                    return Some(Arc::clone(last));
                }
                let (clean, found) = secrets::redact(text);
                if found && let Some(row) = &mut self.row {
                    row.redacted = true;
                }
                let shared = self.texts.get(&clean, &mut self.memory);
                if !found && let Some(last) = self.last.get_mut(column) {
                    *last = Some(Arc::clone(&shared));
                }
                Some(shared)
            }
        }
    }

    /// Text beyond the cap is cut off and said.
    fn cut<'t>(&mut self, column: usize, text: &'t str) -> &'t str {
        let cap = self.place.limits.text_chars;
        if text.len() <= cap {
            return text;
        }
        if text.len() <= 4 * cap && text.chars().count() <= cap {
            return text;
        }
        let end = text.floor_char_boundary(cap);
        self.cell_problem(
            column,
            Severity::Warning,
            "text-too-long",
            "",
            &format!("at most {cap} characters"),
            "the rest was cut off",
        );
        &text[..end]
    }

    fn cell_problem(
        &mut self,
        column: usize,
        severity: Severity,
        code: &str,
        value: &str,
        expected: &str,
        action: &str,
    ) {
        let mut problem = self.problem(severity, code);
        problem.column = self.found.get(column).cloned().unwrap_or_default();
        problem.value = secrets::shown(value);
        expected.clone_into(&mut problem.expected);
        action.clone_into(&mut problem.action);
        if let Some(row) = &mut self.row {
            problem.row = Some(row.number);
            // A row of a thousand bad cells says nothing more than one of a hundred.
            const PER_ROW: usize = 100;
            if row.problems.len() < PER_ROW {
                row.problems.push(problem);
            }
        }
    }

    fn unreadable(&mut self, column: usize, cell: Cell<'_>, expected: &str) {
        let value = match cell {
            Cell::Text(text) => text.to_owned(),
            Cell::Number(number) => number.to_string(),
            Cell::Bool(flag) => flag.to_string(),
            Cell::Date(serial) => serial.as_f64().to_string(),
            Cell::Blank | Cell::Error => String::new(),
        };
        self.cell_problem(
            column,
            Severity::Error,
            "value-unreadable",
            &value,
            expected,
            "taken as missing",
        );
    }

    /// Reads a whole number and reports what is not one.
    fn take_whole(&mut self, column: usize, cell: Cell<'_>, read: Number<u64>) -> Option<u64> {
        match read {
            Number::Value(number) => Some(number),
            Number::Missing | Number::Unlimited => None,
            Number::Rounded(number) => {
                let value = match cell {
                    Cell::Text(text) => text.to_owned(),
                    Cell::Number(number) => number.to_string(),
                    _ => String::new(),
                };
                self.cell_problem(
                    column,
                    Severity::Note,
                    "fraction-rounded",
                    &value,
                    "a whole number",
                    &format!("rounded to {number}"),
                );
                Some(number)
            }
            Number::Unreadable => {
                self.unreadable(column, cell, "a whole number, not negative; -1 for unlimited");
                None
            }
        }
    }

    fn take_count(&mut self, column: usize, cell: Cell<'_>, read: Number<u64>) -> Option<u32> {
        let number = self.take_whole(column, cell, read)?;
        let count = u32::try_from(number).ok();
        if count.is_none() {
            self.unreadable(column, cell, "a whole number below 4,294,967,296");
        }
        count
    }

    pub(super) fn fill(&mut self, column: usize, cell: Cell<'_>) {
        let step = match self.steps.get(column) {
            Some(Step::Field(field)) => *field,
            Some(Step::Custom(name)) => {
                let name = Arc::clone(name);
                if let Some(value) = self.take_text(column, cell, TextKind::Prose)
                    && let Some(row) = &mut self.row
                    && let Some(custom) = row.value.custom()
                {
                    custom.push((name, value));
                    self.memory += size_of::<(Text, Text)>() as u64;
                }
                return;
            }
            Some(Step::Skip) | None => return,
        };
        if cell == Cell::Error {
            self.cell_problem(
                column,
                Severity::Warning,
                "error-value",
                "",
                "a value, not an error of the spreadsheet",
                "taken as missing",
            );
            return;
        }
        match step {
            Field::Text(field) => {
                let value = self.take_text(column, cell, TextKind::Repeating);
                self.set_once(field, value);
            }
            Field::Unique(field) => {
                let value = self.take_text(column, cell, TextKind::Unique);
                self.set_once(field, value);
            }
            Field::Prose(field) => {
                let value = self.take_text(column, cell, TextKind::Prose);
                self.set_once(field, value);
            }
            Field::Mib(field) => {
                let value = self.take_whole(column, cell, whole(cell)).map(Mib);
                self.set_once(field, value);
            }
            Field::Count(field) => {
                let value = self.take_count(column, cell, whole(cell));
                self.set_once(field, value);
            }
            Field::Wide(field) => {
                let value = self.take_whole(column, cell, whole(cell));
                self.set_once(field, value);
            }
            Field::Percent(field) => {
                let value = self.take_count(column, cell, percent(cell));
                self.set_once(field, value);
            }
            Field::Decimal(field) => match decimal(cell) {
                Number::Value(number) | Number::Rounded(number) => {
                    self.set_once(field, Some(number));
                }
                Number::Missing | Number::Unlimited => {}
                Number::Unreadable => self.unreadable(column, cell, "a number"),
            },
            Field::Flag(field) => match flag(cell) {
                Ok(value) => self.set_once(field, value),
                Err(()) => self.unreadable(column, cell, "True or False, in a known language"),
            },
            Field::Power(field) => match power_state(cell) {
                Ok(value) => self.set_once(field, value),
                Err(()) => self.unreadable(column, cell, "poweredOn, poweredOff or suspended"),
            },
            Field::Date(field) => match date(cell, self.place.is_1904) {
                Date::Value(value) => self.set_once(field, Some(value)),
                Date::Missing | Date::Epoch => {}
                Date::Unreadable => {
                    self.unreadable(
                        column,
                        cell,
                        "a date: a serial, ISO 8601 or yyyy/mm/dd hh:mm:ss",
                    );
                }
            },
            Field::List(field) => {
                if let Cell::Text(text) = cell {
                    let text = self.cut(column, text);
                    let parts: Vec<Text> = text
                        .split([',', ';', '\n', '\r'])
                        .map(str::trim)
                        .filter(|part| !part.is_empty())
                        .map(|part| self.texts.get(part, &mut self.memory))
                        .collect();
                    self.memory += (parts.len() * size_of::<Text>()) as u64;
                    if let Some(row) = &mut self.row {
                        *field(&mut row.value) = parts;
                    }
                } else if let Some(text) = self.take_text(column, cell, TextKind::Repeating)
                    && let Some(row) = &mut self.row
                {
                    *field(&mut row.value) = vec![text];
                }
            }
            Field::Path(field) => {
                if let Some(text) = self.take_text(column, cell, TextKind::Repeating)
                    && let Some(row) = &mut self.row
                {
                    field(&mut row.value).push((text, None));
                }
            }
            Field::PathState(field) => {
                if let Some(text) = self.take_text(column, cell, TextKind::Repeating)
                    && let Some(row) = &mut self.row
                    && let Some((_, state @ None)) = field(&mut row.value).last_mut()
                {
                    *state = Some(text);
                }
            }
        }
    }

    /// Two columns may fill one field: the first with a value stays.
    fn set_once<T>(&mut self, field: fn(&mut R) -> &mut Option<T>, value: Option<T>) {
        if let Some(row) = &mut self.row {
            let slot = field(&mut row.value);
            if slot.is_none() {
                *slot = value;
            }
        }
    }
}
