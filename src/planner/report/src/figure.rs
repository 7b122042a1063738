//! The data of each chart, apart from how it is drawn.
//!
//! All values are in the unit of the axis title ("Thousand IOPS" holds thousands), so that a
//! drawing needs no knowledge of the quantity.

use plimsoll_model::Resource;

use crate::document::Table;

/// A chart with its words and its table twin.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Running number in the report, from 1.
    pub number: u32,
    /// How to read it.
    pub caption: String,
    /// Short title for assistive technology.
    pub title: String,
    /// What it shows, with values, for assistive technology.
    pub description: String,
    /// Limits for the key above the drawing, in the order they appear.
    pub key: Vec<Resource>,
    /// The data.
    pub chart: Chart,
    /// The same as a table.
    pub twin: Table,
}

/// The charts.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// What each datastore count carries, and its price.
    Frontier(Frontier),
    /// The curve at several host counts.
    Hosts(Hosts),
    /// Connections per host and address.
    Slots(Slots),
    /// Capacity of each datastore.
    Stacks(Stacks),
    /// Reach of each assumption.
    Tornado(Tornado),
}

/// One count on a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// The 95 % level.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub high: f64,
    /// Height of the dotted line: the median without the planned failure, or what the hardware
    /// carries beyond a cap.
    pub dotted: f64,
    /// Limit that binds at the median.
    pub limit: Resource,
    /// Whether the 95 % level reaches what is needed.
    pub passes: bool,
}

/// One quantity over the datastore count.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePanel {
    /// Unit and quantity, such as `Thousand IOPS`.
    pub title: String,
    /// The condition after it.
    pub condition: String,
    /// One point per count.
    pub points: Vec<CurvePoint>,
    /// Load at the horizon.
    pub load: f64,
    /// Load with headroom.
    pub needed: f64,
    /// A hard cap of tier or gateway at the chosen count, with its name.
    pub cap: Option<(String, f64)>,
    /// What the dotted line is; `None` when there is none.
    pub dotted: Option<String>,
}

/// Price over the datastore count.
#[derive(Debug, Clone, PartialEq)]
pub struct PricePanel {
    /// Title.
    pub title: String,
    /// The condition after it; the drawing adds where the axis starts if not at zero.
    pub condition: String,
    /// One per count.
    pub values: Vec<f64>,
    /// Decimals of values in labels.
    pub decimals: usize,
}

/// The main picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Frontier {
    /// Datastore counts.
    pub counts: Vec<u32>,
    /// Position of the chosen one.
    pub chosen: usize,
    /// The small random load.
    pub random: CurvePanel,
    /// The large sequential load.
    pub stream: CurvePanel,
    /// Price.
    pub price: PricePanel,
}

/// The curve at several host counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Hosts {
    /// Unit and quantity.
    pub title: String,
    /// The condition after it.
    pub condition: String,
    /// Load with headroom.
    pub needed: f64,
    /// Host count, datastore counts, curve.
    pub panels: Vec<(u32, Vec<u32>, Vec<CurvePoint>)>,
}

/// A row of connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotRow {
    /// Host.
    pub name: String,
    /// Lost in the failure test.
    pub lost: bool,
    /// Text at the end.
    pub note: String,
}

/// A target address with its connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotAddress {
    /// Head.
    pub name: String,
    /// Second line.
    pub note: String,
    /// Labels of the connections in use.
    pub used: Vec<String>,
    /// Connections still free before mounts share.
    pub free: u32,
}

/// Connections per host and address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots {
    /// Hosts, those lost last.
    pub rows: Vec<SlotRow>,
    /// Addresses.
    pub addresses: Vec<SlotAddress>,
    /// Line below, for what was left out; may be empty.
    pub rest: String,
}

/// A bar of a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct StackBar {
    /// Name.
    pub name: String,
    /// Short name for narrow drawings.
    pub short: String,
    /// Used, growth, snapshot reserve.
    pub parts: [f64; 3],
    /// Texts below, one per line of [`Stacks::lines`].
    pub below: Vec<String>,
}

/// Capacity of each datastore.
#[derive(Debug, Clone, PartialEq)]
pub struct Stacks {
    /// Unit.
    pub title: String,
    /// The condition after it.
    pub condition: String,
    /// Size of each bar.
    pub size: f64,
    /// Height of the load line.
    pub load_line: f64,
    /// Its label.
    pub load_line_label: String,
    /// Labels of used, growth, snapshot reserve, slack.
    pub parts: [String; 4],
    /// Names of the lines below the bars, long and short.
    pub lines: Vec<(String, String)>,
    /// Bars.
    pub bars: Vec<StackBar>,
    /// Decimals of values.
    pub decimals: usize,
}

/// One assumption.
#[derive(Debug, Clone, PartialEq)]
pub struct TornadoRow {
    /// Assumption with its value in the plan.
    pub label: String,
    /// Margin at one end, percent, and the value there.
    pub lower: (f64, String),
    /// Margin at the other end.
    pub upper: (f64, String),
    /// Where a smaller plan would do.
    pub smaller_at: String,
    /// Where the plan no longer does.
    pub fails_at: String,
}

/// Reach of each assumption.
#[derive(Debug, Clone, PartialEq)]
pub struct Tornado {
    /// Title.
    pub title: String,
    /// The condition after it.
    pub condition: String,
    /// Margin of the plan, percent.
    pub plan: f64,
    /// Margin where the load itself is only just carried, percent.
    pub load_itself: f64,
    /// Heads of the two columns at the right.
    pub heads: [String; 2],
    /// Rows, widest first.
    pub rows: Vec<TornadoRow>,
}
