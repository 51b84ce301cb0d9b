//! Curves over a logarithmic axis, what others have published beside them, and what the wire allows.

use anyhow::{Result, ensure};

use crate::anchors::{ANCHORS, Anchor as Published, Place};
use crate::document::{Curve, Document, Plot, over_payload};
use crate::limit;
use crate::svg::{self, Anchor, WIDTH};

const HEIGHT: f64 = 340.0;
/// Edges of the plane between the axes.
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = HEIGHT - 48.0;
/// Colours that the page's style knows.
const COLOURS: usize = 4;
/// Entries of the legend in a row, and the units that each has.
const LEGEND: (usize, f64) = (3, 196.0);

impl Plot {
    /// In the order of the page.
    pub(crate) const ALL: [Self; 3] = [Self::PayloadGoodput, Self::PayloadRate, Self::QueuePairs];

    /// What it shows.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::PayloadGoodput => "Goodput over payload (simulated)",
            Self::PayloadRate => "Messages a second over payload (simulated)",
            Self::QueuePairs => "Messages of 64 bytes a second over queue pairs (simulated)",
        }
    }

    const fn axes(self) -> [&'static str; 2] {
        match self {
            Self::PayloadGoodput => ["bytes of a message", "Gb/s"],
            Self::PayloadRate => ["bytes of a message", "M msg/s"],
            Self::QueuePairs => ["queue pairs", "M msg/s"],
        }
    }
}

/// The plot of goodput over payload as a file of its own.
///
/// # Errors
/// When a curve is missing.
pub fn goodput(document: &Document) -> Result<String> {
    let plot = Plot::PayloadGoodput;
    for name in over_payload::ALL {
        let is_there = document.curves.iter().any(|curve| curve.plot == plot && curve.name == name);
        ensure!(is_there, "there is no curve `{name}` of goodput over payload");
    }
    let content = content(plot, &document.curves).unwrap_or_default();
    Ok(svg::picture(HEIGHT, plot.title(), &content))
}

/// Draws the curves that belong to a plot; nothing, if there are none.
pub(crate) fn draw(plot: Plot, curves: &[Curve]) -> Option<String> {
    content(plot, curves).map(|content| svg::frame(HEIGHT, plot.title(), &content))
}

/// Axes, curves and legend.
fn content(plot: Plot, curves: &[Curve]) -> Option<String> {
    let curves: Vec<&Curve> = curves.iter().filter(|curve| curve.plot == plot).collect();
    let published = published(plot, &curves);
    let measured = || curves.iter().flat_map(|curve| &curve.points).copied();
    let points = || measured().chain(published.iter().map(|(_, place)| place.point));
    measured().next()?;
    let logs = || points().map(|[x, _]| x.log2());
    let (first, last) = (logs().reduce(f64::min)?, logs().reduce(f64::max)?);
    let ticks = svg::ticks(points().map(|[_, y]| y).fold(0.0, f64::max));
    let top = ticks.last().copied().unwrap_or(1.0);
    // A single point stands in the middle.
    let across = |x: f64| if last > first { (x.log2() - first) / (last - first) } else { 0.5 };
    let place = |[x, y]: [f64; 2]| [LEFT + across(x) * (RIGHT - LEFT), BOTTOM - y / top * (BOTTOM - TOP)];

    let mut places: Vec<f64> = points().map(|[x, _]| x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut content = axes(plot.axes(), &ticks, &places, place);
    for (index, curve) in curves.iter().enumerate() {
        content += &series(curve, index, plot.axes(), place);
    }
    if !published.is_empty() {
        content += &wire(&places, curves.len(), place);
        content += &marks(&published, &curves, place);
    }
    Some(content)
}

/// What others have published of curves that are there.
fn published(plot: Plot, curves: &[&Curve]) -> Vec<(&'static Published, Place)> {
    let placed = ANCHORS.iter().filter_map(|anchor| Some((anchor, anchor.place?)));
    let is_there = |place: &Place| curves.iter().any(|curve| curve.name == place.curve);
    placed.filter(|(_, place)| plot == Plot::PayloadGoodput && is_there(place)).collect()
}

fn axes(
    [x_title, y_title]: [&str; 2],
    ticks: &[f64],
    places: &[f64],
    place: impl Fn([f64; 2]) -> [f64; 2],
) -> String {
    let mut content = svg::text(0.0, TOP - 14.0, Anchor::Start, y_title);
    content += &svg::text(f64::midpoint(LEFT, RIGHT), HEIGHT - 8.0, Anchor::Middle, x_title);
    for tick in ticks {
        let y = place([1.0, *tick])[1];
        content += &svg::line("grid", [LEFT, y], [RIGHT, y]);
        content += &svg::text(LEFT - 8.0, y + 4.0, Anchor::End, &svg::label(*tick));
    }
    for x in places {
        let at = place([*x, 0.0])[0];
        content += &svg::line("axis", [at, BOTTOM], [at, BOTTOM + 4.0]);
        content += &svg::text(at, BOTTOM + 18.0, Anchor::Middle, &short(*x));
    }
    content + &svg::line("axis", [LEFT, BOTTOM], [RIGHT, BOTTOM])
}

fn series(
    curve: &Curve,
    index: usize,
    [x_title, y_title]: [&str; 2],
    place: impl Fn([f64; 2]) -> [f64; 2],
) -> String {
    let class = colour(index);
    let corners: Vec<[f64; 2]> = curve.points.iter().map(|point| place(*point)).collect();
    let mut drawn = svg::polyline(&format!("curve {class}"), &corners);
    for (point, [x, y]) in curve.points.iter().zip(corners) {
        let [across, up] = point;
        let title = format!("{}: {across} {x_title}, {up:.2} {y_title}", curve.name);
        drawn += &svg::rectangle(&format!("fill {class}"), [x - 3.0, y - 3.0], [6.0, 6.0], &title);
    }
    let [x, y] = legend(index);
    drawn += &svg::rectangle(&format!("fill {class}"), [x, y], [12.0, 12.0], &curve.name);
    drawn + &svg::text(x + 18.0, y + 10.0, Anchor::Start, &curve.name)
}

/// The most that WRITEs can carry, at the places of the axis; `entry` is its own in the legend.
fn wire(places: &[f64], entry: usize, place: impl Fn([f64; 2]) -> [f64; 2]) -> String {
    let corners: Vec<[f64; 2]> = places.iter().map(|x| place([*x, limit::write(*x)])).collect();
    let [x, y] = legend(entry);
    svg::polyline("limit", &corners)
        + &svg::line("limit", [x - 4.0, y + 6.0], [x + 14.0, y + 6.0])
        + &svg::text(x + 18.0, y + 10.0, Anchor::Start, "limit of the wire for WRITE")
}

/// What others have published, each beside its curve and with its name.
fn marks(
    published: &[(&Published, Place)],
    curves: &[&Curve],
    place: impl Fn([f64; 2]) -> [f64; 2],
) -> String {
    let mut drawn = String::new();
    let mut named: Vec<(&str, [f64; 2])> = Vec::new();
    for (anchor, Place { curve, point }) in published {
        let beside = curves.iter().position(|one| one.name == *curve).unwrap_or_default();
        let (who, at) = (anchor.who(), place(*point));
        let title = format!("published: {}, {}; {}", anchor.source, anchor.value, anchor.measured);
        drawn += &svg::diamond(&format!("mark {}", colour(beside)), at, &title);
        // Two marks on one spot share a name.
        let is_near = |(name, [x, y]): &(&str, [f64; 2])| {
            *name == who && (x - at[0]).abs() < 1.0 && (y - at[1]).abs() < 12.0
        };
        if !named.iter().any(is_near) {
            named.push((who, at));
            drawn += &svg::text(at[0], at[1] - 9.0, Anchor::Middle, who);
        }
    }
    let [x, y] = legend(curves.len() + 1);
    drawn += &svg::diamond("mark axis", [x + 5.0, y + 6.0], "published");
    drawn + &svg::text(x + 18.0, y + 10.0, Anchor::Start, "published, of hardware")
}

fn colour(index: usize) -> String {
    format!("colour{}", index % COLOURS)
}

/// Where an entry of the legend begins.
fn legend(index: usize) -> [f64; 2] {
    let (columns, width) = LEGEND;
    let count = |number: usize| f64::from(u16::try_from(number).unwrap_or(u16::MAX));
    [LEFT + count(index % columns) * width, 12.0 + count(index / columns) * 20.0]
}

/// A number of bytes or queue pairs, in few characters.
fn short(value: f64) -> String {
    if value >= 2048.0 { format!("{}Ki", value / 1024.0) } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: Vec<[f64; 2]>) -> Curve {
        Curve { plot: Plot::PayloadRate, name: "WRITE & READ".into(), points }
    }

    #[test]
    fn points_are_placed_by_the_logarithm_of_x_and_by_y() {
        let drawn = draw(Plot::PayloadRate, &[curve(vec![[8.0, 0.0], [64.0, 5.0], [512.0, 10.0]])]).unwrap();
        // The plane is from 56 to 616 across, and from 292 up to 56; 64 lies half way between 8 and 512.
        assert!(drawn.contains("points=\"56.0,292.0 336.0,174.0 616.0,56.0\""), "{drawn}");
        assert!(drawn.contains("WRITE &amp; READ") && !drawn.contains("WRITE & READ"), "{drawn}");
    }

    #[test]
    fn a_plot_without_curves_is_not_drawn_and_one_with_a_single_point_is() {
        assert_eq!(draw(Plot::QueuePairs, &[curve(vec![[8.0, 1.0]])]), None);
        assert_eq!(draw(Plot::PayloadRate, &[curve(vec![])]), None);
        let drawn = draw(Plot::PayloadRate, &[curve(vec![[8.0, 1.0]])]).unwrap();
        assert!(drawn.contains("points=\"336.0,56.0\""), "{drawn}");
    }

    fn sweep(name: &str) -> Curve {
        let points = vec![[64.0, 10.0], [65_536.0, 90.0]];
        Curve { plot: Plot::PayloadGoodput, name: name.into(), points }
    }

    fn document(curves: Vec<Curve>) -> Document {
        Document { curves, ..Document::new(Vec::new(), String::new()) }
    }

    #[test]
    fn published_points_stand_beside_their_curve_and_below_the_limit_of_the_wire() {
        let drawn = goodput(&document(over_payload::ALL.map(sweep).into())).unwrap();
        // From 64 bytes to the 256 KiB of the largest published one are 560 units, so that 8 KiB lie at 7/12 of them; 66.7 of 100
        // Gb/s are 157.4 of 236 units above 292.
        assert!(
            drawn.contains("<path class=\"mark colour2\" d=\"M382.7 129.6l5 5l-5 5l-5 -5z\">"),
            "{drawn}"
        );
        assert_eq!(drawn.matches("<path class=\"mark colour").count(), 6);
        // The two of 64 bytes lie on each other.
        assert_eq!(drawn.matches(">BALBOA<").count(), 4, "{drawn}");
        assert_eq!(drawn.matches(">ConnectX-5<").count(), 1);
        // 64 bytes: 39.5 Gb/s. 64 KiB: 98.0.
        let (_, limit) =
            drawn.split_once("class=\"limit\" points=\"56.0,198.8 ").expect("the limit of 64 bytes");
        let (limit, _) = limit.split_once('"').unwrap();
        assert!(limit.contains("522.7,60.7"), "{limit}");
        assert!(drawn.contains(">published, of hardware<") && drawn.contains("OSDI 2026"), "{drawn}");
    }

    #[test]
    fn other_plots_have_neither_published_points_nor_a_limit() {
        let drawn = draw(Plot::PayloadRate, &[curve(vec![[64.0, 1.0]])]).unwrap();
        assert!(!drawn.contains("limit") && !drawn.contains("published"), "{drawn}");
    }

    #[test]
    fn a_missing_curve_is_named() {
        let error = goodput(&document([over_payload::WRITE_ONE, over_payload::READ_MANY].map(sweep).into()));
        assert!(error.unwrap_err().to_string().contains("`WRITE, 32 queue pairs`"));
    }

    #[test]
    fn large_numbers_are_short() {
        assert_eq!([8.0, 1022.0, 1024.0, 4096.0, 65536.0].map(short), ["8", "1022", "1024", "4Ki", "64Ki"]);
    }
}
