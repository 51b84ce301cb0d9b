//! Faults in words: a test that says what goes wrong on a wire should read like the sentence in its name.
//!
//! A script has one rule a line; `#` begins a comment, and capitals do not matter.
//!
//! ```text
//! drop the 2nd READ response of QP 3
//! corrupt byte 70 of the next SEND Last
//! corrupt bit 5 of byte 20 undetected        # the FCS does not tell; the ICRC must
//! duplicate every 7th WRITE
//! swap the 2nd and the 3rd SEND
//! hold the 4th packet until 3 others passed
//! drop all ACKs until 2 ms
//! ```
//!
//! ```text
//! rule     = action { clause }
//! action   = ( "drop" | "duplicate" | "mark" | "hold" | "reorder" ) [ target ]
//!          | "swap" [ "the" ] ordinal "and" [ "the" ] ordinal kind
//!          | "corrupt" [ "bit" number "of" ] "byte" number [ "of" target ]
//! target   = "everything" | [ which ] kind | kind number "to" number
//! which    = "all" | "every" [ ordinal ] | [ "the" ] ordinal | [ "the" ] "next" [ count ]
//! kind     = "frame" | op-code | noun [ position ]           (* any word of it may end in "s" *)
//! noun     = "packet" | "request" | "response" | family [ "request" | "response" ]
//! family   = "WRITE" | "READ" | "SEND" | "ACK" | "NAK" | "RNR" | "ATOMIC" | "CNP" | "RPC"
//! position = "First" | "Middle" | "Last" | "Only"
//! clause   = "of" "QP" number | "with" "PSN" number | "larger" "than" number "bytes"
//!          | "after" time | "until" time | "once"
//!          | "for" time | "until" number ( "other" | "others" ) "passed"   (* of "hold" *)
//!          | "undetected"                                                  (* of "corrupt" *)
//! time     = number ( "ns" | "us" | "ms" | "s" )             (* below 4.29 s *)
//! ordinal  = digits ( "st" | "nd" | "rd" | "th" )
//! count    = number | "two" | ... | "nine"
//! ```
//!
//! - What is left out means all: without `which` all of a kind, without a target all packets.
//! - A frame is whatever is on the line. A packet is RoCE v2 with a right ICRC; op-codes have the names of
//!   [`stroma_abi::wire::opcode`]. An ACK, a NAK or an RNR is an acknowledgement with such a syndrome: READ data are none.
//! - `of QP` is the destination, `larger than` looks at the frame without FCS.
//! - Times count from the first frame that the script sees: `until` excludes its end, `after` includes it.
//! - A rule counts what its kind and its clauses describe, from 1, as it leaves the sender and whatever other rules do to it.
//!   Rules do not see each other; of those that strike a frame the first decides.
//! - A frame that is held `for` a time and `until` others passed comes with whichever is sooner; without a time it waits
//!   [`PATIENCE_NS`](super::PATIENCE_NS) at most. Without either, one other passes it.
//! - `reorder` puts the first of several behind the last of them; `swap` does so with two neighbours.
//! - `corrupt` flips one bit, bit 0 if none is named, counted around the frame's end. `mark` is ECN's.

mod clauses;
mod numbers;
mod packet;
mod parse;
mod print;
mod rule;
mod words;

use std::str::FromStr;

use super::faults::Verdict;
use rule::Rule;
pub use words::ScriptError;
use words::Words;

/// The rules of a script, and what they have counted.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<(Rule, rule::Count)>,
    /// When the first frame was seen, in nanoseconds.
    start_ns: Option<u64>,
}

impl Rules {
    /// What the rules say of a frame that starts to leave at a time, in nanoseconds.
    pub(super) fn judge(&mut self, frame: &[u8], now_ns: u64) -> Verdict {
        if self.rules.is_empty() {
            return Verdict::Pass;
        }
        let start_ns = *self.start_ns.get_or_insert(now_ns);
        let seen = packet::Seen::new(frame);
        let mut decided = None;
        for (pair, (rule, count)) in (0..).zip(&mut self.rules) {
            let verdict = count.strike(rule, &seen, now_ns - start_ns, pair);
            decided = decided.or(verdict);
        }
        decided.unwrap_or(Verdict::Pass)
    }
}

impl FromStr for Rules {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let lines = (1..).zip(text.lines()).map(|(number, line)| Words::of(number, line));
        let rules = lines.filter(|words| !words.is_empty()).map(|mut words| parse::rule(&mut words));
        let rules = rules.map(|rule| Ok((rule?, rule::Count::default()))).collect::<Result<_, _>>()?;
        Ok(Self { rules, start_ns: None })
    }
}

#[cfg(test)]
mod tests;
