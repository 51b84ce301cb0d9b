//! Port manifests, as the emitter writes them beside the Verilog: `top NAME`, then a line for each port.

/// Which way a port goes, from its module's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Into it, and it is a clock.
    Clock,
    /// Into it.
    In,
    /// Out of it.
    Out,
}

impl Way {
    /// Does it drive what it is connected to?
    #[must_use]
    pub fn drives(self) -> bool {
        self == Self::Out
    }
}

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its name.
    pub name: String,
    /// Which way.
    pub way: Way,
    /// Bits.
    pub width: u16,
}

/// A module and its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The module.
    pub top: String,
    /// Its ports, in order.
    pub ports: Vec<Signal>,
}

/// Why a text is no manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unclear {
    /// It does not say whose it is.
    #[error("line 1: expected `top NAME`, found {0:?}")]
    Nameless(String),
    /// A line is none of a port.
    #[error("line {line}: expected `clock|in|out NAME WIDTH`, found {text:?}")]
    Line {
        /// Which.
        line: usize,
        /// What it says.
        text: String,
    },
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// When the text is none.
    pub fn parse(text: &str) -> Result<Self, Unclear> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let top = first.strip_prefix("top ").map(str::trim).filter(|name| !name.is_empty());
        let top = top.ok_or_else(|| Unclear::Nameless(first.to_owned()))?.to_owned();
        let ports = lines
            .enumerate()
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(index, text)| {
                port(text).ok_or_else(|| Unclear::Line { line: index + 2, text: text.to_owned() })
            })
            .collect::<Result<Vec<Signal>, Unclear>>()?;
        Ok(Self { top, ports })
    }

    /// The port of a name.
    #[must_use]
    pub fn port(&self, name: &str) -> Option<&Signal> {
        self.ports.iter().find(|port| port.name == name)
    }
}

fn port(text: &str) -> Option<Signal> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [way, name, width] = words[..] else { return None };
    let way = match way {
        "clock" => Way::Clock,
        "in" => Way::In,
        "out" => Way::Out,
        _ => return None,
    };
    let width = width.parse().ok().filter(|width| *width > 0)?;
    Some(Signal { name: name.to_owned(), way, width })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_with_their_ways_and_widths() {
        let manifest = Manifest::parse("top card\nclock clock 1\nin tx_tready 1\nout counts$1 32\n").unwrap();
        assert_eq!(manifest.top, "card");
        let found: Vec<_> =
            manifest.ports.iter().map(|port| (port.name.as_str(), port.way, port.width)).collect();
        assert_eq!(found, [("clock", Way::Clock, 1), ("tx_tready", Way::In, 1), ("counts$1", Way::Out, 32)]);
    }

    #[test]
    fn what_is_no_manifest_is_told_by_its_line() {
        let cases = [
            ("module card", "line 1: expected `top NAME`, found \"module card\""),
            ("top card\nin a 1\nin b", "line 3: expected `clock|in|out NAME WIDTH`, found \"in b\""),
            ("top card\ninout a 1", "line 2: expected `clock|in|out NAME WIDTH`, found \"inout a 1\""),
            ("top card\nin a 0", "line 2: expected `clock|in|out NAME WIDTH`, found \"in a 0\""),
        ];
        for (text, expected) in cases {
            assert_eq!(Manifest::parse(text).unwrap_err().to_string(), expected);
        }
    }
}
