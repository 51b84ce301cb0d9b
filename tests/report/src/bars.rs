//! Where the time of one request goes: a bar of host, card and wire for each.

use crate::document::Breakdown;
use crate::svg::{self, Anchor, WIDTH};

/// Where the bars begin; their names stand to the left.
const LEFT: f64 = 240.0;
/// Where the longest ends; their sums stand to the right.
const RIGHT: f64 = WIDTH - 64.0;
const TOP: f64 = 44.0;
/// From one bar to the next.
const STEP: f64 = 32.0;
const THICKNESS: f64 = 20.0;
const PARTS: [&str; 3] = ["host", "card", "wire"];

/// Draws the bars; nothing, if there are none.
pub(crate) fn draw(breakdowns: &[Breakdown]) -> Option<String> {
    let parts = |bar: &Breakdown| [bar.host, bar.card, bar.wire];
    let longest = breakdowns.iter().map(|bar| parts(bar).iter().sum()).reduce(f64::max)?;
    let ticks = svg::ticks(longest);
    let scale = (RIGHT - LEFT) / ticks.last().copied().unwrap_or(1.0);
    let bottom = breakdowns.iter().fold(TOP, |y, _| y + STEP);
    let mut content = String::new();
    for tick in ticks {
        let x = LEFT + tick * scale;
        content += &svg::line("grid", [x, TOP - 8.0], [x, bottom]);
        content += &svg::text(x, bottom + 18.0, Anchor::Middle, &svg::label(tick));
    }
    content += &svg::text(RIGHT + 12.0, bottom + 18.0, Anchor::Start, "us");
    for (x, (part, class)) in [LEFT, LEFT + 100.0, LEFT + 200.0].into_iter().zip(PARTS.iter().zip(0..)) {
        content += &svg::rectangle(&format!("fill colour{class}"), [x, 8.0], [12.0, 12.0], part);
        content += &svg::text(x + 18.0, 18.0, Anchor::Start, part);
    }
    let mut y = TOP;
    for bar in breakdowns {
        content += &svg::text(LEFT - 8.0, y + 15.0, Anchor::End, &bar.name);
        let mut x = LEFT;
        for ((part, class), length) in PARTS.iter().zip(0..).zip(parts(bar)) {
            let title = format!("{}, {part}: {length:.2} us", bar.name);
            content +=
                &svg::rectangle(&format!("fill colour{class}"), [x, y], [length * scale, THICKNESS], &title);
            x += length * scale;
        }
        let sum: f64 = parts(bar).iter().sum();
        content += &svg::text(x + 6.0, y + 15.0, Anchor::Start, &format!("{sum:.2}"));
        y += STEP;
    }
    Some(svg::frame(bottom + 32.0, "Latency of one request by host, card and wire", &content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_bar_follow_each_other_and_are_as_long_as_they_took() {
        let bar = Breakdown { name: "READ <64 B>".into(), host: 2.0, card: 1.0, wire: 2.0 };
        let drawn = draw(&[bar]).unwrap();
        // 5 us are 336 units, from 240 on.
        for part in [
            "x=\"240.0\" y=\"44.0\" width=\"134.4\"",
            "x=\"374.4\" y=\"44.0\" width=\"67.2\"",
            "x=\"441.6\" y=\"44.0\" width=\"134.4\"",
        ] {
            assert!(drawn.contains(part), "{part} is not in {drawn}");
        }
        assert!(drawn.contains(">5.00<") && drawn.contains("READ &lt;64 B&gt;"), "{drawn}");
    }

    #[test]
    fn without_bars_nothing_is_drawn() {
        assert_eq!(draw(&[]), None);
    }
}
