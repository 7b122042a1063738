//! One export: a family's tabs over one or several vCenters, with the edits of a variation.

use std::borrow::Cow;

use crate::cell::Cell;
use crate::family::{Column, Family, Source};
use crate::site::{View, Vm};
use crate::tabs::{self, Context};

/// What somebody did to an export before sending it.
#[derive(Debug, Clone)]
pub enum Edit {
    /// A column taken out.
    DropColumn(&'static str, &'static str),
    /// A column put in before another, with this text in each row.
    InsertBefore(&'static str, &'static str, &'static str, &'static str),
    /// A header renamed.
    Rename(&'static str, &'static str, &'static str),
    /// A tab taken out.
    DropTab(&'static str),
    /// Only these tabs.
    OnlyTabs(Vec<String>),
    /// Sheet renamed.
    RenameSheet(&'static str, &'static str),
    /// When several vCenters are merged, the header row stands again before each further one.
    HeaderAgain,
    /// Numbers stored as text.
    NumbersAsText,
}

/// An export ready to be written.
#[derive(Debug, Clone)]
pub struct Export<'a> {
    /// Family.
    pub family: Family,
    /// vCenters in the order they were merged; usually one.
    pub views: Vec<View<'a>>,
    /// Edits.
    pub edits: Vec<Edit>,
}

/// A tab of an export.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// Name as written.
    pub name: String,
    tab: &'static str,
    columns: Vec<Column>,
}

impl Sheet {
    /// Canonical tab name.
    #[must_use]
    pub fn tab(&self) -> &'static str {
        self.tab
    }

    /// Number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.columns.len()
    }
}

impl<'a> Export<'a> {
    /// An unedited export of one view.
    #[must_use]
    pub fn new(family: Family, view: View<'a>) -> Self {
        Self { family, views: vec![view], edits: Vec::new() }
    }

    /// With edits.
    #[must_use]
    pub fn with(mut self, edits: impl IntoIterator<Item = Edit>) -> Self {
        self.edits.extend(edits);
        self
    }

    /// Its tabs in workbook order.
    #[must_use]
    pub fn sheets(&self) -> Vec<Sheet> {
        let attributes = self.views.first().map_or(&[][..], |view| &view.site.vm_attributes);
        tabs::TABS
            .iter()
            .filter(|tab| {
                !self.edits.iter().any(|edit| match edit {
                    Edit::DropTab(dropped) => dropped == *tab,
                    Edit::OnlyTabs(kept) => !kept.iter().any(|name| name == *tab),
                    _ => false,
                })
            })
            .filter_map(|tab| {
                let mut columns = self.family.columns(tab, attributes)?;
                let mut name = self.family.sheet_name(tab);
                for edit in &self.edits {
                    edit_columns(edit, tab, &mut columns);
                    if let Edit::RenameSheet(of, to) = edit
                        && of == tab
                    {
                        name = (*to).to_owned();
                    }
                }
                Some(Sheet { name, tab, columns })
            })
            .collect()
    }

    /// Calls `emit` with the header row and then each data row.
    pub fn rows(&self, sheet: &Sheet, emit: &mut dyn FnMut(&[Cell<'_>])) {
        let header: Vec<Cell<'_>> = sheet
            .columns
            .iter()
            .map(|column| Cell::Text(Cow::Borrowed(column.label.as_str())))
            .collect();
        emit(&header);
        let again = self.edits.iter().any(|edit| matches!(edit, Edit::HeaderAgain));
        for (position, view) in self.views.iter().enumerate() {
            if position > 0 {
                // A merge keeps the metadata of the leading file only.
                if sheet.tab == "vMetaData" {
                    break;
                }
                if again {
                    emit(&header);
                }
            }
            let context = Context {
                view: *view,
                smbios_as_uuid: self.family.smbios_as_uuid(),
                version: self.family.version(),
            };
            let mut row = Vec::with_capacity(sheet.columns.len());
            tabs::rows(&context, sheet.tab, &mut |cells, vm| {
                row.clear();
                row.extend(sheet.columns.iter().map(|column| self.value(column, cells, vm)));
                emit(&row);
            });
        }
    }

    fn value<'r>(&self, column: &'r Column, cells: &[Cell<'r>], vm: Option<&'r Vm>) -> Cell<'r> {
        let cell = match &column.source {
            Source::Index(index) => cells.get(*index).cloned().unwrap_or(Cell::Blank),
            Source::Attribute(index) => {
                vm.and_then(|vm| vm.attributes.get(*index)).map_or(Cell::Blank, Cell::from)
            }
            Source::Constant(text) => Cell::from(text),
        };
        let old = self.family.old_values();
        match cell {
            Cell::Blank if old => Cell::Text(Cow::Borrowed(" ")),
            Cell::Date(stamp) if old => Cell::Text(Cow::Owned(stamp.slashed())),
            Cell::Enum(_, number) if old => Cell::Int(number),
            Cell::Enum(text, _) => Cell::Text(Cow::Borrowed(text)),
            Cell::Int(number) if self.numbers_as_text() => {
                Cell::Text(Cow::Owned(number.to_string()))
            }
            other => other,
        }
    }

    fn numbers_as_text(&self) -> bool {
        self.edits.iter().any(|edit| matches!(edit, Edit::NumbersAsText))
    }
}

fn edit_columns(edit: &Edit, tab: &str, columns: &mut Vec<Column>) {
    match edit {
        Edit::DropColumn(of, header) if *of == tab => {
            columns.retain(|column| column.label != *header);
        }
        Edit::InsertBefore(of, before, header, text) if *of == tab => {
            let place =
                columns.iter().position(|column| column.label == *before).unwrap_or(columns.len());
            let column = Column {
                label: (*header).to_owned(),
                source: Source::Constant((*text).to_owned()),
            };
            columns.insert(place, column);
        }
        Edit::Rename(of, from, to) if *of == tab => {
            for column in columns.iter_mut().filter(|column| column.label == *from) {
                column.label = (*to).to_owned();
            }
        }
        _ => {}
    }
}
