//! The port manifest: which ports a Verilog text has, in a form that needs no Verilog parser.
//!
//! ```text
//! top skid
//! clock clock 1
//! in reset 1
//! in sink$payload 512
//! out sink$ready 1
//! domain clock
//! ```
//!
//! The first line names the top module. Every other line is one port: direction (`in`, `out`, or
//! `clock` for an input that carries edges), name, width in bits. Fields are separated by blanks,
//! empty lines mean nothing, order is kept. Names are Verilog identifiers and may contain `$`.
//!
//! A text with clock domains has a line `domain CLOCK` for each, and ports of 64 bits beside those listed, `_edgesN` and `_movesN`,
//! with a bit per domain: at an edge of the clock from which it is derived, a domain has one if it moves. A line `domain INPUT` is
//! that of a register which holds the input, and has an edge when that has been written.

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// Which way a port points, seen from the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// An ordinary input.
    In,
    /// An output.
    Out,
    /// An input that is a clock.
    Clock,
}

/// Begin of the names of inputs that give clock domains their edges.
pub(crate) const EDGES: &str = "_edges";
/// Begin of the names of outputs that say which clock domains an edge would change.
pub(crate) const MOVES: &str = "_moves";
/// Clock domains to a port.
pub(crate) const WORD: usize = 64;
/// Most clock domains that a text may have.
const MOST_DOMAINS: usize = 5 * WORD;

/// The words of the text form.
const WORDS: [(&str, Direction); 3] =
    [("in", Direction::In), ("out", Direction::Out), ("clock", Direction::Clock)];

/// One port of the top module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Port {
    /// Verilog name.
    pub name: String,
    /// Which way it points.
    pub direction: Direction,
    /// Width in bits, at least 1.
    pub width: u32,
}

/// The ports of one Verilog text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Manifest {
    /// Name of the top module.
    pub top: String,
    /// Its ports, in the order of the text.
    pub ports: Vec<Port>,
    /// For each clock domain, the clock from which it is derived, or the input that it holds; empty for a text without domains.
    pub domains: Vec<String>,
}

impl Manifest {
    /// The ports by which a simulator drives clock domains, if there are any.
    pub(crate) fn domain_ports(&self) -> Vec<Port> {
        let port = |name, direction| Port { name, direction, width: 64 };
        let ports = |word| {
            [port(format!("{EDGES}{word}"), Direction::In), port(format!("{MOVES}{word}"), Direction::Out)]
        };
        (0..self.domain_words()).flat_map(ports).collect()
    }

    /// How many ports of each kind there are for clock domains.
    pub(crate) fn domain_words(&self) -> usize {
        self.domains.len().div_ceil(WORD)
    }
}

/// A design: Verilog text and the ports of its top module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Verilog {
    /// One or more modules.
    pub text: String,
    /// The ports of the top one.
    pub manifest: Manifest,
}

impl Verilog {
    /// Joins a text with its manifest, the latter in text form.
    ///
    /// # Errors
    /// [`Error::Manifest`] when the manifest cannot be read.
    pub fn new(text: impl Into<String>, manifest: &str) -> Result<Self, Error> {
        Ok(Self { text: text.into(), manifest: manifest.parse()? })
    }
}

/// Is this a plain Verilog identifier?
pub(crate) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_identifier_char)
}

pub(crate) fn is_identifier_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

impl FromStr for Manifest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut manifest: Option<Self> = None;
        for (index, line) in text.lines().enumerate() {
            let bad = |reason| Error::Manifest { line: index + 1, text: line.to_owned(), reason };
            let fields: Vec<&str> = line.split_whitespace().collect();
            match (&mut manifest, fields.as_slice()) {
                (_, []) => {}
                (None, ["top", name]) if is_identifier(name) => {
                    manifest = Some(Self { top: (*name).to_owned(), ports: Vec::new(), domains: Vec::new() });
                }
                (None, _) => return Err(bad("the first line must be `top NAME`")),
                (Some(known), ["domain", source]) => {
                    let is_it = |port: &Port| port.name == *source && port.direction != Direction::Out;
                    if !known.ports.iter().any(is_it) {
                        return Err(bad("a domain is that of a clock or an input listed above"));
                    }
                    if known.domains.len() == MOST_DOMAINS {
                        return Err(bad("there are at most 320 domains"));
                    }
                    known.domains.push((*source).to_owned());
                }
                (Some(known), fields) => {
                    let port = parse_port(fields).map_err(bad)?;
                    if known.ports.iter().any(|other| other.name == port.name) {
                        return Err(bad("this port is listed twice"));
                    }
                    known.ports.push(port);
                }
            }
        }
        manifest.ok_or(Error::Manifest { line: 1, text: String::new(), reason: "the manifest is empty" })
    }
}

fn parse_port(fields: &[&str]) -> Result<Port, &'static str> {
    let &[word, name, width] = fields else { return Err("a port is `in|out|clock NAME WIDTH`") };
    let &(_, direction) =
        WORDS.iter().find(|(known, _)| *known == word).ok_or("the direction is in, out or clock")?;
    if !is_identifier(name) {
        return Err("the name is not a Verilog identifier");
    }
    match width.parse() {
        Ok(width) if width > 0 => Ok(Port { name: name.to_owned(), direction, width }),
        _ => Err("the width is a number of bits, at least 1"),
    }
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "top {}", self.top)?;
        for port in &self.ports {
            writeln!(f, "{} {} {}", port.direction, port.name, port.width)?;
        }
        for clock in &self.domains {
            writeln!(f, "domain {clock}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, _) = WORDS.iter().find(|(_, known)| known == self).expect("every direction has a word");
        f.write_str(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_survives_printing_and_reading() {
        let text = "top skid\nclock clock 1\nin sink$payload 512\nout sink$ready 1\ndomain clock\n";
        let manifest: Manifest = text.parse().unwrap();
        assert_eq!(manifest.top, "skid");
        let payload = Port { name: "sink$payload".into(), direction: Direction::In, width: 512 };
        assert_eq!(manifest.ports[1], payload);
        assert_eq!(manifest.domains, ["clock"]);
        assert_eq!(manifest.to_string(), text);
    }

    #[test]
    fn every_malformed_line_is_named_with_its_reason() {
        let crowded = format!("top t\nclock c 1\n{}", "domain c\n".repeat(321));
        let cases = [
            ("", 1, "empty"),
            ("in a 1", 1, "first line"),
            ("top 1x", 1, "first line"),
            ("top t\nin a", 2, "in|out|clock NAME WIDTH"),
            ("top t\n\ninout a 1", 3, "in, out or clock"),
            ("top t\nin a-b 1", 2, "identifier"),
            ("top t\nin a 0", 2, "at least 1"),
            ("top t\nin a x", 2, "at least 1"),
            ("top t\nin a 1\nout a 1", 3, "twice"),
            ("top t\nout a 1\ndomain a", 3, "a clock or an input"),
            ("top t\nclock c 1\ndomain a", 3, "a clock or an input"),
            (&crowded, 323, "at most 320"),
        ];
        for (text, at, words) in cases {
            match text.parse::<Manifest>() {
                Err(Error::Manifest { line, reason, .. }) => {
                    assert_eq!(line, at, "{text:?}");
                    assert!(reason.contains(words), "{text:?} gave {reason:?}");
                }
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }
}
