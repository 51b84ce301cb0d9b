//! What stands behind action and target: filters, bounds, and how a frame is held or broken.

use stroma_abi::{Psn, Qpn};

use super::numbers::{number, time};
use super::parse::singular;
use super::rule::{Action, Rule};
use super::words::{Result, Words};
use crate::link::{Hold, PATIENCE_NS};

/// Words with which clauses begin.
pub(super) const BEGINNINGS: [&str; 8] =
    ["of", "with", "larger", "after", "until", "once", "for", "undetected"];
/// Numbers of queue pairs and packets.
const NUMBER_MAX: u32 = 0xff_ffff;

const A_CLAUSE: &str =
    "`of QP`, `with PSN`, `larger than`, `after`, `until`, `once`, or what belongs to the action";

/// Takes all that is left of a line.
pub(super) fn clauses(words: &mut Words<'_>, rule: &mut Rule) -> Result<()> {
    let (mut others, mut patience, mut undetected) = (None, None, None);
    while let Some(word) = words.peek(0) {
        let begin = words.position();
        let clauses = &mut rule.clauses;
        let is_second = match (word.to_ascii_lowercase().as_str(), &rule.action) {
            ("of", _) => {
                let value = twenty_four_bits(words, ["of", "QP"])?;
                clauses.queue_pair.replace(Qpn::new(value)).is_some()
            }
            ("with", _) => clauses.psn.replace(Psn::new(twenty_four_bits(words, ["with", "PSN"])?)).is_some(),
            ("larger", _) => {
                words.demand("larger")?;
                words.demand("than")?;
                let bytes = words.read("a number of bytes", number)?;
                words.demand("bytes")?;
                clauses.larger_than.replace(bytes).is_some()
            }
            ("after", _) => clauses.after_ns.replace(time(words, "after")?).is_some(),
            ("until", Action::Hold(_)) if is_others(words) => others.replace(until_passed(words)?).is_some(),
            ("until", _) => clauses.until_ns.replace(time(words, "until")?).is_some(),
            ("for", Action::Hold(_)) => patience.replace(time(words, "for")?).is_some(),
            ("once", _) => clauses.once.replace(words.demand("once")?).is_some(),
            ("undetected", Action::Corrupt { .. }) => {
                undetected.replace(words.demand("undetected")?).is_some()
            }
            _ => return Err(words.error(A_CLAUSE)),
        };
        if is_second {
            return Err(words.error_at(begin, "each clause once"));
        }
    }
    match &mut rule.action {
        Action::Hold(hold) if others.is_some() || patience.is_some() => {
            *hold = Hold { frames: others.unwrap_or(0), ns: patience.unwrap_or(PATIENCE_NS) };
        }
        Action::Corrupt { is_caught, .. } => *is_caught = undetected.is_none(),
        _ => {}
    }
    Ok(())
}

fn twenty_four_bits(words: &mut Words<'_>, before: [&str; 2]) -> Result<u32> {
    before.into_iter().try_for_each(|word| words.demand(word))?;
    words.read("a number of 24 bits", |word| number(word).filter(|value| *value <= NUMBER_MAX))
}

/// Is this `until 3 others`, and not `until 3 us`?
fn is_others(words: &Words<'_>) -> bool {
    words
        .peek(2)
        .is_some_and(|word| singular(word, |one| one.eq_ignore_ascii_case("other").then_some(())).is_some())
}

fn until_passed(words: &mut Words<'_>) -> Result<u32> {
    words.demand("until")?;
    let frames = words.read("a number from 1", |word| number(word).filter(|frames| *frames > 0))?;
    words.read("`others`", |word| Some(word.len()))?;
    words.demand("passed")?;
    Ok(frames)
}
