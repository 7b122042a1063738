//! What workbooks of both kinds have in common: named sheets whose cells go to a sink.

use crate::table::Sink;

/// A sheet by name.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    pub(crate) name: String,
    pub(crate) visible: bool,
}

/// Why a sheet was not read to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SheetFault {
    /// Too much without a value; what stands above is read.
    Barren,
    /// The sheet is damaged.
    Unreadable(String),
    /// The caller asked to stop.
    Cancelled,
}

/// Called now and then with the bytes gone through so far; answers false to stop.
pub(crate) type Tick<'t> = dyn FnMut(&dyn Sink, u64) -> bool + 't;

/// An opened workbook.
pub(crate) trait Book {
    /// The sheets in order.
    fn sheets(&self) -> &[Sheet];
    /// Days are counted from 1904.
    fn is_1904(&self) -> bool;
    /// Sends the cells of a sheet, by its place in [`Book::sheets`], to the sink.
    fn read_sheet(
        &mut self,
        at: usize,
        sink: &mut dyn Sink,
        tick: &mut Tick<'_>,
    ) -> Result<(), SheetFault>;
}
