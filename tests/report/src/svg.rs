//! The little of SVG that plots need: a frame, texts, ticks. Colours are classes, so that the page's style, light or dark,
//! gives them; a picture that stands alone brings the light ones with it.

use crate::html::escape;

/// Colours, light ones first, and all of a page that is no plot.
pub(crate) const PAGE_STYLE: &str = include_str!("style.css");
/// What plots alone need.
pub(crate) const PLOT_STYLE: &str = include_str!("plot.css");

/// Width of a plot, in its own units.
pub(crate) const WIDTH: f64 = 640.0;

/// What a text is drawn from.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A plot of so many units in height; `title` is read aloud instead of it.
pub(crate) fn frame(height: f64, title: &str, content: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n{content}</svg>\n",
        escape(title)
    )
}

/// The same as a file of its own, on a ground of its own: whoever shows it may be light or dark.
pub(crate) fn picture(height: f64, title: &str, content: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-label=\"{}\">\n<style>\n{}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n{content}</svg>\n",
        escape(title),
        light()
    )
}

/// The style of plots with the colours of the light page: not every program that shows SVG knows variables.
fn light() -> String {
    let palette = PAGE_STYLE.split('}').next().unwrap_or_default();
    let declarations = palette.split(['{', ';']).filter_map(|part| part.trim().split_once(": "));
    let colours = declarations.filter(|(name, _)| name.starts_with("--"));
    colours
        .fold(PLOT_STYLE.to_owned(), |style, (name, colour)| style.replace(&format!("var({name})"), colour))
}

pub(crate) fn text(x: f64, y: f64, anchor: Anchor, text: &str) -> String {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escape(text))
}

pub(crate) fn line(class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) -> String {
    format!("<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n")
}

/// A rectangle that tells what it stands for when it is pointed at.
pub(crate) fn rectangle(class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2], title: &str) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"><title>{}</title></rect>\n",
        escape(title)
    )
}

/// A line with a corner at each place.
pub(crate) fn polyline(class: &str, places: &[[f64; 2]]) -> String {
    let corners: Vec<String> = places.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
    format!("<polyline class=\"{class}\" points=\"{}\"/>\n", corners.join(" "))
}

/// A square that stands on a corner, around a place; tells what it stands for when it is pointed at.
pub(crate) fn diamond(class: &str, [x, y]: [f64; 2], title: &str) -> String {
    format!(
        "<path class=\"{class}\" d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\"><title>{}</title></path>\n",
        y - 5.0,
        escape(title)
    )
}

/// Steps of 1, 2 or 5 times a power of ten from 0 to at least `largest`, five of them or fewer.
pub(crate) fn ticks(largest: f64) -> Vec<f64> {
    let largest = if largest > 0.0 { largest } else { 1.0 };
    let power = 10_f64.powf((largest / 5.0).log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| step * 5.0 >= largest);
    let step = step.unwrap_or(power * 10.0);
    (0..=5).map(|at| f64::from(at) * step).take_while(|tick| *tick < largest + step).collect()
}

/// A tick as it is written, without what the sum of binary fractions adds to 0.3.
pub(crate) fn label(tick: f64) -> String {
    let text = format!("{tick:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_largest_value() {
        assert_eq!(ticks(98.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(32.1), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(ticks(5.0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(ticks(0.0).first(), Some(&0.0));
        for largest in [0.003, 0.9, 1.0, 1.01, 7.3, 77.2, 149.5, 1e6] {
            let ticks = ticks(largest);
            assert!(ticks.len() <= 6 && *ticks.last().unwrap() >= largest, "{largest}: {ticks:?}");
        }
    }

    #[test]
    fn a_picture_that_stands_alone_brings_its_colours_and_asks_for_nothing() {
        let drawn = picture(100.0, "A & B", "<g/>");
        assert!(
            drawn.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"100\""),
            "{drawn}"
        );
        assert!(drawn.contains("A &amp; B") && drawn.ends_with("<g/></svg>\n"), "{drawn}");
        assert!(drawn.contains(".ground { fill: #ffffff; }"), "the light ground: {drawn}");
        for way in ["var(", "url(", "href", "@import"] {
            assert!(!drawn.contains(way), "{way}: {drawn}");
        }
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.0, 100.0, 0.1 + 0.2, 2.5].map(label), ["0", "100", "0.3", "2.5"]);
    }

    #[test]
    fn a_text_cannot_end_its_element() {
        let drawn = text(1.0, 2.0, Anchor::End, "a</text><script>");
        assert_eq!(
            drawn,
            "<text x=\"1.0\" y=\"2.0\" text-anchor=\"end\">a&lt;/text&gt;&lt;script&gt;</text>\n"
        );
    }
}
