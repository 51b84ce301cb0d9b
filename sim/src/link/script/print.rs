//! Rules in words again: what is printed reads as the same rule.

use std::fmt::{Display, Formatter, Result};

use stroma_abi::wire::Role;

use super::Rules;
use super::packet::{Family, Kind, Noun};
use super::rule::{Action, Clauses, Rule, Which};

impl Display for Rules {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.rules.iter().try_for_each(|(rule, _)| writeln!(f, "{rule}"))
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { action, which, kind, clauses } = self;
        match (action, which) {
            (Action::Reorder, Which::Range { first, last }) if *first > 1 && *last == first + 1 => {
                write!(f, "swap the {} and the {} ", Ordinal(*first), Ordinal(*last))?;
                kind.print(f, false)?;
            }
            (Action::Corrupt { byte, bit, .. }, _) => {
                f.write_str("corrupt ")?;
                if *bit > 0 {
                    write!(f, "bit {bit} of ")?;
                }
                write!(f, "byte {byte} of ")?;
                which.print(f, kind)?;
            }
            _ => {
                write!(f, "{} ", verb(action))?;
                which.print(f, kind)?;
            }
        }
        match action {
            Action::Hold(hold) => {
                write!(f, " for {}", Time(hold.ns))?;
                match hold.frames {
                    0 => {}
                    1 => f.write_str(" until 1 other passed")?,
                    frames => write!(f, " until {frames} others passed")?,
                }
            }
            Action::Corrupt { is_caught: false, .. } => f.write_str(" undetected")?,
            _ => {}
        }
        write!(f, "{clauses}")
    }
}

fn verb(action: &Action) -> &'static str {
    match action {
        Action::Drop => "drop",
        Action::Duplicate => "duplicate",
        Action::Mark => "mark",
        Action::Reorder => "reorder",
        Action::Hold(_) => "hold",
        Action::Corrupt { .. } => "corrupt",
    }
}

impl Which {
    fn print(self, f: &mut Formatter<'_>, kind: &Kind) -> Result {
        let is_plural = match self {
            Self::Range { first, last } => last > first,
            Self::Every(step) => step == 1,
        };
        match self {
            Self::Every(1) => f.write_str("all ")?,
            Self::Every(step) => write!(f, "every {} ", Ordinal(step))?,
            Self::Range { first: 1, last: 1 } => f.write_str("the next ")?,
            Self::Range { first: 1, last } => write!(f, "the next {last} ")?,
            Self::Range { first, last } if first == last => write!(f, "the {} ", Ordinal(first))?,
            Self::Range { first, last } => {
                kind.print(f, true)?;
                return write!(f, " {first} to {last}");
            }
        }
        kind.print(f, is_plural)
    }
}

impl Kind {
    fn print(&self, f: &mut Formatter<'_>, is_plural: bool) -> Result {
        let role = self.role.map(|role| if role == Role::Request { "request" } else { "response" });
        let noun = match self.noun {
            // Names are names, however many packets have them.
            Noun::Opcode(row) => return f.write_str(row.name),
            Noun::Frame => "frame",
            Noun::Packet => role.unwrap_or("packet"),
            Noun::Family(family) => {
                Family::ALL.into_iter().find(|(one, _)| *one == family).map_or("", |row| row.1)
            }
        };
        f.write_str(noun)?;
        if let (Noun::Family(_), Some(role)) = (self.noun, role) {
            write!(f, " {role}")?;
        }
        self.position.map_or(Ok(()), |position| write!(f, " {position:?}"))?;
        f.write_str(if is_plural { "s" } else { "" })
    }
}

impl Display for Clauses {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { queue_pair, psn, larger_than, after_ns, until_ns, once } = self;
        queue_pair.map_or(Ok(()), |number| write!(f, " of QP {}", number.value()))?;
        psn.map_or(Ok(()), |psn| write!(f, " with PSN {psn}"))?;
        larger_than.map_or(Ok(()), |bytes| write!(f, " larger than {bytes} bytes"))?;
        after_ns.map_or(Ok(()), |start| write!(f, " after {}", Time(start)))?;
        until_ns.map_or(Ok(()), |end| write!(f, " until {}", Time(end)))?;
        once.map_or(Ok(()), |()| f.write_str(" once"))
    }
}

struct Ordinal(u32);

impl Display for Ordinal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let ending = match (self.0 % 10, self.0 % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        write!(f, "{}{ending}", self.0)
    }
}

/// Nanoseconds, in the largest unit that says them exactly.
struct Time(u32);

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let (size, name) =
            units.into_iter().find(|(size, _)| self.0.is_multiple_of(*size)).unwrap_or((1, "ns"));
        write!(f, "{} {name}", self.0 / size)
    }
}
