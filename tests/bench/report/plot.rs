//! Curves over a logarithmic axis.

use super::document::{Curve, Plot};
use super::svg::{self, Anchor, WIDTH};

const HEIGHT: f64 = 340.0;
/// Edges of the plane between the axes.
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = HEIGHT - 48.0;
/// Colours that the page's style knows.
const COLOURS: usize = 4;

impl Plot {
    /// In the order of the page.
    pub(crate) const ALL: [Self; 3] = [Self::PayloadGoodput, Self::PayloadRate, Self::QueuePairs];

    /// What it shows.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::PayloadGoodput => "Goodput over payload, 32 queue pairs (simulated)",
            Self::PayloadRate => "Messages a second over payload, 32 queue pairs (simulated)",
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

/// Draws the curves that belong to a plot; nothing, if there are none.
pub(crate) fn draw(plot: Plot, curves: &[Curve]) -> Option<String> {
    let curves: Vec<&Curve> = curves.iter().filter(|curve| curve.plot == plot).collect();
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let logs = || points().map(|[x, _]| x.log2());
    let (first, last) = (logs().reduce(f64::min)?, logs().reduce(f64::max)?);
    let ticks = svg::ticks(points().map(|[_, y]| *y).fold(0.0, f64::max));
    let top = ticks.last().copied().unwrap_or(1.0);
    // A single point stands in the middle.
    let across = |x: f64| if last > first { (x.log2() - first) / (last - first) } else { 0.5 };
    let place = |[x, y]: [f64; 2]| [LEFT + across(x) * (RIGHT - LEFT), BOTTOM - y / top * (BOTTOM - TOP)];

    let [x_title, y_title] = plot.axes();
    let mut content = svg::text(0.0, TOP - 14.0, Anchor::Start, y_title);
    content += &svg::text(f64::midpoint(LEFT, RIGHT), HEIGHT - 8.0, Anchor::Middle, x_title);
    for tick in ticks {
        let y = BOTTOM - tick / top * (BOTTOM - TOP);
        content += &svg::line("grid", [LEFT, y], [RIGHT, y]);
        content += &svg::text(LEFT - 8.0, y + 4.0, Anchor::End, &svg::label(tick));
    }
    let mut places: Vec<f64> = points().map(|[x, _]| *x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    for x in places {
        let at = place([x, 0.0])[0];
        content += &svg::line("axis", [at, BOTTOM], [at, BOTTOM + 4.0]);
        content += &svg::text(at, BOTTOM + 18.0, Anchor::Middle, &short(x));
    }
    content += &svg::line("axis", [LEFT, BOTTOM], [RIGHT, BOTTOM]);
    for (index, curve) in curves.iter().enumerate() {
        content += &series(curve, index, plot.axes(), place);
    }
    Some(svg::frame(HEIGHT, plot.title(), &content))
}

fn series(
    curve: &Curve,
    index: usize,
    [x_title, y_title]: [&str; 2],
    place: impl Fn([f64; 2]) -> [f64; 2],
) -> String {
    let class = format!("colour{}", index % COLOURS);
    let corner = |point: &[f64; 2]| {
        let [x, y] = place(*point);
        format!("{x:.1},{y:.1}")
    };
    let corners: Vec<String> = curve.points.iter().map(corner).collect();
    let mut drawn = format!("<polyline class=\"curve {class}\" points=\"{}\"/>\n", corners.join(" "));
    for point in &curve.points {
        let ([x, y], [across, up]) = (place(*point), *point);
        let title = format!("{}: {across} {x_title}, {up:.2} {y_title}", curve.name);
        drawn += &svg::rectangle(&format!("fill {class}"), [x - 3.0, y - 3.0], [6.0, 6.0], &title);
    }
    let x = LEFT + f64::from(u16::try_from(index).unwrap_or(u16::MAX)) * 220.0;
    drawn += &svg::rectangle(&format!("fill {class}"), [x, 12.0], [12.0, 12.0], &curve.name);
    drawn + &svg::text(x + 18.0, 22.0, Anchor::Start, &curve.name)
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

    #[test]
    fn large_numbers_are_short() {
        assert_eq!([8.0, 1022.0, 1024.0, 4096.0, 65536.0].map(short), ["8", "1022", "1024", "4Ki", "64Ki"]);
    }
}
