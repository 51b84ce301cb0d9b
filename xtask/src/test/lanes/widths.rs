//! Which of two tests that tell one story, each at one width of the card, is run.

use std::collections::BTreeSet;

/// How the names of such tests end.
const WIDTHS: [&str; 2] = ["_10g", "_100g"];

/// Of these tests, those whose story another of them tells.
pub(super) fn left_out<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: BTreeSet<&str> = names.collect();
    let stories = names.iter().filter_map(|name| name.strip_suffix(WIDTHS[0]));
    let pairs = stories.filter(|story| names.contains(format!("{story}{}", WIDTHS[1]).as_str()));
    pairs.map(|story| format!("{story}{}", WIDTHS[1 - chosen(story)])).collect()
}

/// The place of a story's width: the same in every run, and of many stories half at each.
fn chosen(story: &str) -> usize {
    story.bytes().map(usize::from).sum::<usize>() % WIDTHS.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_told_at_one_of_its_widths() {
        let names = [
            "walks::far_10g",
            "walks::far_100g",
            "walks::near_100g",
            "walks::near_10g",
            "plain",
            "wide_100g",
        ];
        let left_out = left_out(names.into_iter());
        assert_eq!(left_out.len(), 2, "{left_out:?}");
        for story in ["walks::far", "walks::near"] {
            assert_eq!(left_out.iter().filter(|name| name.starts_with(story)).count(), 1, "{left_out:?}");
        }
    }

    #[test]
    fn stories_are_spread_over_the_widths() {
        let wide = ('a'..='z').filter(|letter| chosen(&letter.to_string()) == 1).count();
        assert_eq!(wide, 13);
    }
}
