//! The header row: finds it by name and gives each column its meaning once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Field, HEADER_ROWS, SURE_HEADERS, Sink, Step, TabRow, Table};
use crate::cell::{Cell, OwnedCell};
use crate::headers::{self, Meaning};
use crate::problem::Severity;
use crate::tab::Tab;

impl<R: TabRow> Table<R> {
    /// Keeps a cell until the header is known.
    pub(super) fn wait(&mut self, row: u32, column: u32, cell: Cell<'_>) {
        let is_new = self.waiting.last().is_none_or(|(number, _)| *number != row);
        if is_new {
            if self.waiting.last().is_some_and(|(_, cells)| self.score(cells) >= SURE_HEADERS)
                || self.waiting.len() >= HEADER_ROWS
            {
                self.settle_header();
                self.cell(row, column, cell);
                return;
            }
            self.waiting.push((row, Vec::new()));
        }
        if let Some((_, cells)) = self.waiting.last_mut() {
            cells.push((column, cell.into()));
        }
    }

    fn score(&self, cells: &[(u32, OwnedCell)]) -> usize {
        self.headers.score(cells.iter().filter_map(|(_, cell)| match cell {
            OwnedCell::Text(text) => Some(text.as_str()),
            _ => None,
        }))
    }

    /// Takes the waiting row with the most known headers, then plays the rows below it.
    pub(super) fn settle_header(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let scores: Vec<usize> = waiting.iter().map(|(_, cells)| self.score(cells)).collect();
        let best = scores.iter().copied().max().unwrap_or(0);
        self.header_known = true;
        if best == 0 {
            self.closed = true;
            if !waiting.is_empty() {
                let mut problem = self.problem(Severity::Error, "header-missing");
                problem.expected = format!(
                    "within the first {HEADER_ROWS} filled rows one with headers such as {}",
                    self.headers.order.iter().take(4).cloned().collect::<Vec<_>>().join(", ")
                );
                problem.action = "the tab was left out".to_owned();
                self.problems.push(problem);
            }
            return;
        }
        let at = scores.iter().position(|score| *score == best).unwrap_or(0);
        let mut rows = waiting.into_iter().skip(at);
        if let Some((_, cells)) = rows.next() {
            self.plan(&cells);
        }
        for (number, cells) in rows {
            for (column, cell) in &cells {
                self.cell(number, *column, cell.borrow());
            }
        }
    }

    /// Gives each column its step.
    fn plan(&mut self, header: &[(u32, OwnedCell)]) {
        let width = header.iter().map(|(column, _)| *column as usize + 1).max().unwrap_or(0);
        let mut found = vec![String::new(); width];
        for (column, cell) in header {
            found[*column as usize] = match cell {
                OwnedCell::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
                OwnedCell::Number(number) => number.to_string(),
                _ => String::new(),
            };
        }
        let mut meanings: Vec<Meaning> =
            found.iter().map(|header| self.headers.meaning(header)).collect();
        self.recover_key(&found, &mut meanings);
        let mut columns_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut db_names = 0;
        for (column, meaning) in meanings.iter().enumerate() {
            if let Meaning::Known { place, db_name } = meaning {
                columns_of.entry(*place).or_default().push(column);
                db_names += usize::from(*db_name);
            }
        }
        self.db_names = db_names * 2 > columns_of.len();
        let fields: BTreeMap<&str, Field<R>> = R::COLUMNS.iter().copied().collect();
        let keeps_custom = R::default().custom().is_some();
        self.steps = meanings
            .iter()
            .enumerate()
            .map(|(column, meaning)| match meaning {
                Meaning::Extra | Meaning::Dropped => Step::Skip,
                Meaning::Unknown if found[column].is_empty() => Step::Skip,
                Meaning::Unknown => {
                    self.custom_columns.push(found[column].clone());
                    if keeps_custom {
                        Step::Custom(Arc::from(custom_name(&found[column], self.place.tab)))
                    } else {
                        Step::Skip
                    }
                }
                Meaning::Known { place, .. } => {
                    let candidates = columns_of.get(place).map_or(&[][..], Vec::as_slice);
                    let canonical = self.headers.order[*place].as_str();
                    let own = match candidates {
                        [only] => *only,
                        several => self.headers.own_column(*place, several, &meanings),
                    };
                    if own == column {
                        fields.get(canonical).map_or(Step::Skip, |field| Step::Field(*field))
                    } else {
                        self.custom_columns.push(found[column].clone());
                        Step::Custom(Arc::from(found[column].as_str()))
                    }
                }
            })
            .collect();
        for (place, candidates) in &columns_of {
            if candidates.len() > 1 {
                let own = self.headers.own_column(*place, candidates, &meanings);
                self.report_duplicate(&self.headers.order[*place].clone(), candidates, own, &found);
            }
        }
        if !keeps_custom {
            for step in &mut self.steps {
                if matches!(step, Step::Custom(_)) {
                    *step = Step::Skip;
                }
            }
        }
        let present = |header: &str| {
            self.headers
                .order
                .iter()
                .position(|known| known == header)
                .is_some_and(|place| columns_of.contains_key(&place))
        };
        let mut missing = Vec::new();
        for wanted in R::WANTED {
            if !wanted.any_of.iter().any(|header| present(header)) {
                let mut problem = self.problem(Severity::Warning, "column-missing");
                problem.column = wanted.any_of.join(" or ");
                let accepted: Vec<String> =
                    wanted.any_of.iter().map(|header| self.headers.accepted(header)).collect();
                problem.expected = format!("a column {}", accepted.join(" | "));
                problem.action = wanted.loss.to_owned();
                missing.push(problem);
            }
        }
        for problem in missing {
            self.problems.push(problem);
        }
        self.last = vec![None; width];
        self.keys = found.iter().map(|header| headers::normalise(header)).collect();
        self.found = found;
    }

    /// A find-and-replace over the workbook may have hit the first header: the column that stands
    /// where the key stands, right before the second header of the tab, is taken for it.
    fn recover_key(&mut self, found: &[String], meanings: &mut [Meaning]) {
        let has_key = meanings.iter().any(|m| matches!(m, Meaning::Known { place: 0, .. }));
        let before_second = meanings
            .windows(2)
            .position(|pair| {
                pair[0] == Meaning::Unknown && matches!(pair[1], Meaning::Known { place: 1, .. })
            })
            .filter(|column| !has_key && !found[*column].is_empty());
        let Some(column) = before_second else { return };
        meanings[column] = Meaning::Known { place: 0, db_name: false };
        let key = self.headers.order.first().cloned().unwrap_or_default();
        let next = self.headers.order.get(1).cloned().unwrap_or_default();
        let mut problem = self.problem(Severity::Warning, "header-replaced");
        problem.column.clone_from(&found[column]);
        problem.expected = format!("the header {}", self.headers.accepted(&key));
        problem.action = format!("the column was taken for {key}, since it stands before {next}");
        self.problems.push(problem);
    }

    fn report_duplicate(&mut self, header: &str, columns: &[usize], own: usize, found: &[String]) {
        let in_use = R::COLUMNS.iter().any(|(name, _)| *name == header);
        let severity = if in_use { Severity::Warning } else { Severity::Note };
        let mut problem = self.problem(severity, "duplicate-column");
        problem.column = header.to_owned();
        problem.value = columns
            .iter()
            .map(|column| format!("{} ({})", found[*column], column_letters(*column)))
            .collect::<Vec<_>>()
            .join(", ");
        problem.expected = "one column of that name".to_owned();
        problem.action = format!(
            "column {} was used, the others count as custom attributes",
            column_letters(own)
        );
        self.problems.push(problem);
    }
}

/// Tags of the internal names, `vInfo_tags_X`, are shown as `X`.
fn custom_name(header: &str, tab: Tab) -> &str {
    header
        .strip_prefix(tab.name())
        .and_then(|rest| rest.strip_prefix("_tags_"))
        .filter(|name| !name.is_empty())
        .unwrap_or(header)
}

/// Spreadsheet letters of a column that counts from 0.
fn column_letters(column: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = column + 1;
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + u8::try_from(rest % 26).unwrap_or(0)));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_as_a_spreadsheet_does() {
        assert_eq!(column_letters(0), "A");
        assert_eq!(column_letters(25), "Z");
        assert_eq!(column_letters(26), "AA");
        assert_eq!(column_letters(701), "ZZ");
        assert_eq!(column_letters(702), "AAA");
    }
}
