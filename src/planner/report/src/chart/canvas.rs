//! The only place that calls plotters.
//!
//! plotters places shapes in whole pixels and knows neither style classes nor accessibility. So
//! everything is drawn ten times as large and in sentinel colours; afterwards each element gets
//! the class that its colour stands for, coordinates in tenths of a pixel, and the drawing gets
//! its title, description and metadata. Colours, strokes and fonts then come from the style sheet,
//! so one drawing serves light and dark pages, print, and (with the sheet put in) a lone file.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Once;

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, EmptyElement, PathElement, Polygon, Rectangle, Text};
use plotters::prelude::{AreaSeries, Cartesian2d, LineSeries};
use plotters::series::PointSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBColor, ShapeStyle, TextStyle, register_font};

use crate::html::escape;

/// Tenths of a pixel.
const SCALE: f64 = 10.0;
/// Family under which the measuring font is known to plotters.
const FONT: &str = "plimsoll-measure";
/// Red of every sentinel colour; green and blue hold the number of the style.
const SENTINEL: u8 = 0x5e;
/// Size of chart text.
const TEXT_PX: f64 = 12.0;
/// From widths that plotters measures in the light font of the crate to those of the fonts that the
/// page asks for. plotters takes a size for the height of a line, 1.121 em in that font; Noto Sans
/// is 1.06 and DejaVu Sans 1.15 times as wide as it (medians over chart labels in Chromium). The
/// value stands between, so that labels keep their distance in both.
const WIDER: f64 = 1.24;
/// Widening of bold text.
const BOLD: f64 = 1.06;

/// A style: the class that the style sheet gives colours, strokes and fonts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style(pub &'static str);

/// Where text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// At its start.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// Identity and words of a drawing.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    /// Prefix of the ids, unique in the page.
    pub id: &'a str,
    /// What it is.
    pub title: &'a str,
    /// What it shows.
    pub description: &'a str,
    /// Model, data hash, version.
    pub metadata: &'a str,
}

/// Draws within pixel coordinates, origin at top left.
pub struct Pen<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    styles: Rc<RefCell<Vec<&'static str>>>,
    failed: Rc<RefCell<Option<String>>>,
}

/// Draws within data coordinates.
pub struct Plot<'p, 'a> {
    pen: &'p Pen<'a>,
    chart: RefCell<ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>>,
}

#[expect(clippy::cast_possible_truncation, reason = "pixels of a drawing, far below 2^31")]
fn tenths(pixels: f64) -> i32 {
    (pixels * SCALE).round() as i32
}

fn point((x, y): (f64, f64)) -> (i32, i32) {
    (tenths(x), tenths(y))
}

/// Width of chart text in pixels.
#[must_use]
pub fn text_width(text: &str, bold: bool) -> f64 {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // A font that a crate ships and tests parse; without it the estimate below holds.
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    let measured = (FONT, TEXT_PX * SCALE).into_font().box_size(text);
    #[expect(clippy::cast_precision_loss, reason = "characters of a label")]
    let estimate = text.chars().count() as f64 * TEXT_PX * 0.58;
    let width = measured.map_or(estimate, |(width, _)| f64::from(width) / SCALE * WIDER);
    if bold { width * BOLD } else { width }
}

/// Runs `paint` over a drawing of the given size and returns accessible SVG.
///
/// # Errors
/// When plotters refuses an element; with a drawing in memory that is a defect of the chart.
pub fn draw(
    width: f64,
    height: f64,
    words: Words<'_>,
    paint: impl FnOnce(&Pen<'_>),
) -> Result<String, String> {
    let mut raw = String::new();
    let styles = Rc::new(RefCell::new(Vec::new()));
    let failed = Rc::new(RefCell::new(None));
    {
        let size = (tenths(width).unsigned_abs(), tenths(height).unsigned_abs());
        let area = SVGBackend::with_string(&mut raw, size).into_drawing_area();
        let pen = Pen { area, styles: Rc::clone(&styles), failed: Rc::clone(&failed) };
        paint(&pen);
        pen.keep(pen.area.present());
    }
    if let Some(reason) = failed.take() {
        return Err(reason);
    }
    Ok(tidy(&raw, width, height, words, &styles.borrow()))
}

impl<'a> Pen<'a> {
    fn keep<E: std::fmt::Display>(&self, outcome: Result<(), E>) {
        if let Err(error) = outcome {
            self.failed.borrow_mut().get_or_insert_with(|| error.to_string());
        }
    }

    fn colour(&self, style: Style) -> RGBColor {
        let mut styles = self.styles.borrow_mut();
        let number = styles.iter().position(|known| *known == style.0).unwrap_or_else(|| {
            styles.push(style.0);
            styles.len() - 1
        });
        let [green, blue] = u16::try_from(number).unwrap_or(u16::MAX).to_be_bytes();
        RGBColor(SENTINEL, green, blue)
    }

    fn shape(&self, style: Style) -> ShapeStyle {
        self.colour(style).filled()
    }

    /// A straight line.
    pub fn line(&self, style: Style, from: (f64, f64), to: (f64, f64)) {
        self.path(style, &[from, to]);
    }

    /// A line through points.
    pub fn path(&self, style: Style, points: &[(f64, f64)]) {
        let points: Vec<_> = points.iter().copied().map(point).collect();
        self.keep(self.area.draw(&PathElement::new(points, self.shape(style))));
    }

    /// A filled shape.
    pub fn polygon(&self, style: Style, points: &[(f64, f64)]) {
        let points: Vec<_> = points.iter().copied().map(point).collect();
        self.keep(self.area.draw(&Polygon::new(points, self.shape(style))));
    }

    /// A rectangle.
    pub fn rect(&self, style: Style, x: f64, y: f64, width: f64, height: f64) {
        let corners = [point((x, y)), point((x + width.max(0.0), y + height.max(0.0)))];
        self.keep(self.area.draw(&Rectangle::new(corners, self.shape(style))));
    }

    /// A circle.
    pub fn circle(&self, style: Style, centre: (f64, f64), radius: f64) {
        self.keep(self.area.draw(&Circle::new(point(centre), tenths(radius), self.shape(style))));
    }

    /// One line of text; `y` is its baseline.
    pub fn text(&self, style: Style, hold: Hold, x: f64, y: f64, text: &str) {
        let horizontal = match hold {
            Hold::Start => HPos::Left,
            Hold::Middle => HPos::Center,
            Hold::End => HPos::Right,
        };
        let colour = self.colour(style);
        let font = TextStyle::from((FONT, TEXT_PX * SCALE).into_font())
            .color(&colour)
            .pos(Pos::new(horizontal, VPos::Bottom));
        self.keep(self.area.draw(&Text::new(text.to_owned(), point((x, y)), font)));
    }

    /// A rectangle of the drawing (left, top, right, bottom in pixels) with data coordinates.
    pub fn plot<'p>(
        &'p self,
        x: Range<f64>,
        y: Range<f64>,
        (left, top, right, bottom): (f64, f64, f64, f64),
    ) -> Option<Plot<'p, 'a>> {
        let size = (tenths(right - left).unsigned_abs(), tenths(bottom - top).unsigned_abs());
        let area = self.area.clone().shrink(point((left, top)), size);
        match ChartBuilder::on(&area).build_cartesian_2d(x, y) {
            Ok(chart) => Some(Plot { pen: self, chart: RefCell::new(chart) }),
            Err(error) => {
                self.keep(Err(error));
                None
            }
        }
    }
}

impl Plot<'_, '_> {
    /// Where a data point lies in the drawing, pixels.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let (left, top) = self.chart.borrow().backend_coord(&(x, y));
        (f64::from(left) / SCALE, f64::from(top) / SCALE)
    }

    /// A line through data points.
    pub fn line(&self, style: Style, points: &[(f64, f64)]) {
        let series = LineSeries::new(points.iter().copied(), self.pen.shape(style));
        self.pen.keep(self.chart.borrow_mut().draw_series(series).map(|_| ()));
    }

    /// The area between a line and zero.
    pub fn area(&self, style: Style, points: &[(f64, f64)]) {
        let series = AreaSeries::new(points.iter().copied(), 0.0, self.pen.colour(style));
        self.pen.keep(self.chart.borrow_mut().draw_series(series).map(|_| ()));
    }

    /// The area between two lines.
    pub fn band(&self, style: Style, low: &[(f64, f64)], high: &[(f64, f64)]) {
        let outline: Vec<_> = low.iter().chain(high.iter().rev()).copied().collect();
        let shape = std::iter::once(Polygon::new(outline, self.pen.shape(style)));
        self.pen.keep(self.chart.borrow_mut().draw_series(shape).map(|_| ()));
    }

    /// A round dot at each data point.
    pub fn dots(&self, style: Style, radius: f64, points: &[(f64, f64)]) {
        let series = PointSeries::<_, _, Circle<_, _>, _>::new(
            points.iter().copied(),
            tenths(radius),
            self.pen.shape(style),
        );
        self.pen.keep(self.chart.borrow_mut().draw_series(series).map(|_| ()));
    }

    /// The same outline (offsets in pixels) at each data point.
    pub fn marks(&self, style: Style, outline: &[(f64, f64)], points: &[(f64, f64)]) {
        let outline: Vec<_> = outline.iter().copied().map(point).collect();
        let mark = |at: (f64, f64), _: i32, shape: ShapeStyle| {
            EmptyElement::at(at) + Polygon::new(outline.clone(), shape)
        };
        let shape = self.pen.shape(style);
        let series = PointSeries::of_element(points.iter().copied(), tenths(1.0), shape, &mark);
        self.pen.keep(self.chart.borrow_mut().draw_series(series).map(|_| ()));
    }
}

/// Rewrites what plotters wrote: classes for colours, tenths for whole pixels, words for readers.
fn tidy(raw: &str, width: f64, height: f64, words: Words<'_>, styles: &[&str]) -> String {
    let id = words.id;
    let mut out = String::with_capacity(raw.len() / 2);
    let (width, height) = (number(width), number(height));
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n<title id=\"{id}-t\">{}</title>\n\
         <desc id=\"{id}-d\">{}</desc>\n<metadata>{}</metadata>\n",
        escape(words.title),
        escape(words.description),
        escape(words.metadata),
    );
    let mut lines = raw.lines();
    while let Some(line) = lines.next() {
        let Some((tag, attributes)) = line.strip_prefix('<').and_then(|rest| rest.split_once(' '))
        else {
            continue;
        };
        if tag == "svg" {
            continue;
        }
        element(&mut out, tag, attributes, styles);
        if tag == "text" {
            out.push('>');
            out.push_str(lines.next().unwrap_or_default());
            out.push_str("</text>\n");
        } else {
            out.push_str("/>\n");
        }
    }
    out.push_str("</svg>");
    out
}

fn element(out: &mut String, tag: &str, attributes: &str, styles: &[&str]) {
    let mut class = "";
    let mut anchor = "";
    out.push('<');
    out.push_str(tag);
    let mut rest = attributes;
    while let Some((name, after)) = rest.split_once("=\"") {
        let Some((value, tail)) = after.split_once('"') else { break };
        rest = tail.trim_start();
        match name {
            "fill" | "stroke" => {
                if let Some(number) = sentinel(value) {
                    class = styles.get(number).copied().unwrap_or_default();
                }
            }
            "text-anchor" => {
                anchor = match value {
                    "middle" => " m",
                    "end" => " e",
                    _ => "",
                };
            }
            "points" => {
                out.push_str(" points=\"");
                for (position, coordinate) in value.split_whitespace().enumerate() {
                    if position > 0 {
                        out.push(' ');
                    }
                    let (x, y) = coordinate.split_once(',').unwrap_or((coordinate, "0"));
                    let _ = write!(out, "{},{}", tenth(x), tenth(y));
                }
                out.push('"');
            }
            "x" | "y" | "x1" | "y1" | "x2" | "y2" | "cx" | "cy" | "r" | "width" | "height" => {
                let _ = write!(out, " {name}=\"{}\"", tenth(value));
            }
            _ => {}
        }
    }
    let class = [class, anchor].concat();
    if !class.trim().is_empty() {
        let _ = write!(out, " class=\"{}\"", class.trim());
    }
}

fn sentinel(colour: &str) -> Option<usize> {
    let value = u32::from_str_radix(colour.strip_prefix('#')?, 16).ok()?;
    let [_, red, green, blue] = value.to_be_bytes();
    (red == SENTINEL).then(|| usize::from(u16::from_be_bytes([green, blue])))
}

fn tenth(value: &str) -> String {
    value.parse::<f64>().map_or_else(|_| "0".to_owned(), |value| number(value / SCALE))
}

fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const WORDS: Words<'static> =
        Words { id: "f1w", title: "A < B", description: "d", metadata: "m" };

    #[test]
    fn colours_become_classes_and_pixels_keep_a_tenth() {
        let svg = draw(100.0, 50.0, WORDS, |pen| {
            pen.line(Style("grid"), (1.0, 2.05), (3.0, 4.0));
            pen.text(Style("in halo"), Hold::End, 5.0, 6.5, "a & b");
        })
        .unwrap();
        assert!(svg.contains("viewBox=\"0 0 100 50\""), "{svg}");
        assert!(svg.contains("<title id=\"f1w-t\">A &lt; B</title>"), "{svg}");
        assert!(svg.contains("points=\"1,2.1 3,4\" class=\"grid\""), "{svg}");
        assert!(svg.contains("x=\"5\" y=\"6.5\" class=\"in halo e\">a &amp; b</text>"), "{svg}");
        assert!(!svg.to_ascii_lowercase().contains("#5e"), "a sentinel colour is left: {svg}");
    }

    #[test]
    fn data_coordinates_map_to_pixels() {
        let svg = draw(100.0, 100.0, WORDS, |pen| {
            let plot = pen.plot(0.0..10.0, 0.0..100.0, (10.0, 0.0, 90.0, 80.0)).unwrap();
            let (x, y) = plot.at(5.0, 50.0);
            assert!((x - 50.0).abs() < 0.2 && (y - 40.0).abs() < 0.2, "{x} {y}");
        });
        assert!(svg.is_ok());
    }

    #[test]
    fn wide_letters_are_wider_than_narrow_ones() {
        assert!(text_width("WWWW", false) > 2.0 * text_width("iiii", false));
        assert!(text_width("é", false) < 2.0 * text_width("e", false));
    }
}
