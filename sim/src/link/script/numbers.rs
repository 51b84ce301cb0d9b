//! Numbers, ordinals, counts and times.

use super::words::{Result, Words};

const COUNTS: [&str; 8] = ["two", "three", "four", "five", "six", "seven", "eight", "nine"];

/// Decimal, or hexadecimal behind `0x`.
pub(super) fn number(word: &str) -> Option<u32> {
    let (digits, radix) = word.strip_prefix("0x").map_or((word, 10), |digits| (digits, 16));
    // The library would take a sign as well.
    let is_plain = digits.chars().all(|digit| digit.is_digit(radix));
    u32::from_str_radix(digits, radix).ok().filter(|_| is_plain)
}

/// A place, from 1.
pub(super) fn ordinal(word: &str) -> Option<u32> {
    let (digits, ending) = word.split_at_checked(word.len().checked_sub(2)?)?;
    let is_ending = ["st", "nd", "rd", "th"].iter().any(|known| ending.eq_ignore_ascii_case(known));
    number(digits).filter(|number| is_ending && *number > 0)
}

/// How many, in digits or as a word.
pub(super) fn count(word: &str) -> Option<u32> {
    let named = COUNTS.iter().position(|name| word.eq_ignore_ascii_case(name));
    let named = named.and_then(|place| u32::try_from(place + 2).ok());
    named.or_else(|| number(word).filter(|count| *count > 0))
}

/// Behind this word, a time in nanoseconds.
pub(super) fn time(words: &mut Words<'_>, before: &str) -> Result<u32> {
    words.demand(before)?;
    let value = words.read("a number", number)?;
    words.read("ns, us, ms or s, and less than 4.29 s in all", |word| {
        let unit = match word.to_ascii_lowercase().as_str() {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            _ => return None,
        };
        value.checked_mul(unit)
    })
}
