//! Words become a rule, from left to right; the grammar is that of the [module](super) above.

use stroma_abi::wire::{Opcode, Position, Role, opcode};

use super::clauses::{BEGINNINGS, clauses};
use super::numbers::{count, number, ordinal};
use super::packet::{Family, Kind, Noun};
use super::rule::{Action, Clauses, Rule, Which};
use super::words::{Result, Words};
use crate::link::{Hold, PATIENCE_NS};

const A_KIND: &str = "a kind of packets, such as WRITE, READ response or packet";

/// A whole line.
pub(super) fn rule(words: &mut Words<'_>) -> Result<Rule> {
    let expected = "`drop`, `duplicate`, `mark`, `hold`, `corrupt`, `reorder` or `swap`";
    let verb = words.read(expected, |word| Some(word.to_ascii_lowercase()))?;
    let default_hold = Hold { frames: 1, ns: PATIENCE_NS };
    let (action, (which, kind)) = match verb.as_str() {
        "drop" => (Action::Drop, target(words)?),
        "duplicate" => (Action::Duplicate, target(words)?),
        "mark" => (Action::Mark, target(words)?),
        "hold" => (Action::Hold(default_hold), target(words)?),
        "reorder" => (Action::Reorder, several(words)?),
        "swap" => (Action::Reorder, neighbours(words)?),
        "corrupt" => corrupt(words)?,
        _ => return Err(words.error_at(0, expected)),
    };
    let mut rule = Rule { action, which, kind, clauses: Clauses::default() };
    clauses(words, &mut rule)?;
    Ok(rule)
}

fn target(words: &mut Words<'_>) -> Result<(Which, Kind)> {
    if words.is_empty() || BEGINNINGS.iter().any(|word| words.is_next(word)) {
        return Ok((Which::ALL, Kind::of(Noun::Packet)));
    }
    if words.take("everything") {
        return Ok((Which::ALL, Kind::of(Noun::Frame)));
    }
    let which = which(words)?;
    let kind = kind(words)?;
    if which.is_some() || words.peek(0).and_then(number).is_none() {
        return Ok((which.unwrap_or(Which::ALL), kind));
    }
    let first = words.read("a number from 1", |word| number(word).filter(|first| *first > 0))?;
    words.demand("to")?;
    let last = words
        .read("a number no smaller than the first", |word| number(word).filter(|last| *last >= first))?;
    Ok((Which::Range { first, last }, kind))
}

fn which(words: &mut Words<'_>) -> Result<Option<Which>> {
    if words.take("all") {
        return Ok(Some(Which::ALL));
    }
    if words.take("every") {
        return Ok(Some(words.try_read(ordinal).map_or(Which::ALL, Which::Every)));
    }
    let has_article = words.take("the");
    if words.take("next") {
        return Ok(Some(Which::Range { first: 1, last: words.try_read(count).unwrap_or(1) }));
    }
    match words.try_read(ordinal) {
        Some(number) => Ok(Some(Which::Range { first: number, last: number })),
        None if has_article => Err(words.error("`next`, or an ordinal such as 2nd")),
        None => Ok(None),
    }
}

fn several(words: &mut Words<'_>) -> Result<(Which, Kind)> {
    let position = words.position();
    let found = target(words)?;
    match found.0 {
        Which::Range { first, last } if last > first => Ok(found),
        _ => Err(words.error_at(position, "several packets, as in `the next two ACKs` or `ACKs 3 to 5`")),
    }
}

fn neighbours(words: &mut Words<'_>) -> Result<(Which, Kind)> {
    words.take("the");
    let first = words.read("an ordinal such as 2nd", ordinal)?;
    words.demand("and")?;
    words.take("the");
    let last = words.read("the ordinal that follows: neighbours can be swapped", |word| {
        ordinal(word).filter(|last| first.checked_add(1) == Some(*last))
    })?;
    Ok((Which::Range { first, last }, kind(words)?))
}

fn corrupt(words: &mut Words<'_>) -> Result<(Action, (Which, Kind))> {
    let mut bit = 0;
    if words.take("bit") {
        bit = words.read("a bit from 0 to 7", |word| number(word).filter(|bit| *bit < 8))?;
        words.demand("of")?;
    }
    words.demand("byte")?;
    let byte = words.read("the number of a byte", number)?;
    // `of QP` is a filter on all packets.
    let is_filter = words.peek(1).is_some_and(|word| word.eq_ignore_ascii_case("QP"));
    if !is_filter && words.is_next("of") {
        words.take("of");
    }
    Ok((Action::Corrupt { byte, bit, is_caught: true }, target(words)?))
}

fn kind(words: &mut Words<'_>) -> Result<Kind> {
    let position = words.position();
    let mut kind = words.read(A_KIND, |word| singular(word, noun))?;
    match kind.noun {
        Noun::Frame | Noun::Opcode(_) => return Ok(kind),
        Noun::Family(_) => kind.role = words.try_read(|word| singular(word, role)),
        Noun::Packet => {}
    }
    kind.position = words.try_read(|word| singular(word, self::position));
    if kind.exists() { Ok(kind) } else { Err(words.error_at(position, "packets that some op-code makes")) }
}

/// Reads a word as it is, or without the "s" of its plural.
pub(super) fn singular<T>(word: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    read(word).or_else(|| read(word.strip_suffix(['s', 'S'])?))
}

fn noun(word: &str) -> Option<Kind> {
    if let Some(role) = role(word) {
        return Some(Kind { role: Some(role), ..Kind::of(Noun::Packet) });
    }
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    let plain = [(Noun::Frame, "frame"), (Noun::Packet, "packet")].into_iter();
    let family = Family::ALL.into_iter().map(|(family, name)| (Noun::Family(family), name));
    let opcode = opcode::TABLE.iter().map(|row: &'static Opcode| (Noun::Opcode(row), row.name));
    plain.chain(family).chain(opcode).find(|(_, name)| is(name)).map(|(noun, _)| Kind::of(noun))
}

fn role(word: &str) -> Option<Role> {
    let roles = [(Role::Request, "request"), (Role::Response, "response")];
    roles.into_iter().find(|(_, name)| word.eq_ignore_ascii_case(name)).map(|(role, _)| role)
}

fn position(word: &str) -> Option<Position> {
    let positions = [Position::First, Position::Middle, Position::Last, Position::Only];
    positions.into_iter().find(|position| word.eq_ignore_ascii_case(&format!("{position:?}")))
}
