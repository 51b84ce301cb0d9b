//! A window of a VCD file: all signals as they are at its beginning, then what changes.

use std::collections::BTreeMap;
use std::io::{self, Write};

/// Where in the file we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Which signals there are.
    Header,
    /// Before the window: values are remembered.
    Before,
    /// In it.
    Inside,
    /// Behind it.
    Behind,
}

/// Bytes of a file in, a window of it out.
pub(super) struct Cut<W: Write> {
    out: W,
    /// The first and the last time.
    first: u64,
    last: u64,
    phase: Phase,
    /// What each signal was last, by its short name: the line that says so.
    values: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The beginning of a line.
    rest: Vec<u8>,
    reached: Option<u64>,
}

impl<W: Write> Cut<W> {
    /// From the first to the last time, both included.
    pub(super) fn new(out: W, first: u64, last: u64) -> Self {
        Self {
            out,
            first,
            last,
            phase: Phase::Header,
            values: BTreeMap::new(),
            rest: Vec::new(),
            reached: None,
        }
    }

    /// The latest time that was seen.
    pub(super) fn reached(&self) -> Option<u64> {
        self.reached
    }

    /// Takes what comes next; `true` when the window is full.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<bool> {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.line(line)?;
        }
        Ok(self.phase == Phase::Behind)
    }

    /// Writes what is still to be written.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.phase == Phase::Before {
            self.begin()?;
        }
        self.out.flush()
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let time =
            line.strip_prefix(b"#").and_then(|text| str::from_utf8(text).ok()?.trim_end().parse().ok());
        match (self.phase, time) {
            (Phase::Behind, _) => return Ok(()),
            (Phase::Header, _) => {
                if line.starts_with(b"$enddefinitions") {
                    self.phase = Phase::Before;
                }
                return self.out.write_all(line);
            }
            (_, Some(time)) => {
                self.reached = Some(time);
                if self.phase == Phase::Before && time >= self.first {
                    self.begin()?;
                }
                if time > self.last {
                    self.phase = Phase::Behind;
                    return Ok(());
                }
            }
            (Phase::Before, None) => {
                if let Some(name) = name(line) {
                    self.values.insert(name.to_vec(), line.to_vec());
                }
            }
            (Phase::Inside, None) => {}
        }
        // The time of the beginning is there already.
        let is_beginning = time == Some(self.first);
        if self.phase == Phase::Inside && !is_beginning { self.out.write_all(line) } else { Ok(()) }
    }

    /// All signals as they are.
    fn begin(&mut self) -> io::Result<()> {
        self.phase = Phase::Inside;
        writeln!(self.out, "#{}\n$dumpvars", self.first)?;
        for line in std::mem::take(&mut self.values).into_values() {
            self.out.write_all(&line)?;
        }
        writeln!(self.out, "$end")
    }
}

/// The short name of the signal whose value a line tells: `1!`, or `b0101 "`.
fn name(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_end();
    match line.first()? {
        b'b' | b'B' | b'r' | b'R' => line.split(|byte| *byte == b' ').nth(1),
        b'0' | b'1' | b'x' | b'X' | b'z' | b'Z' => line.get(1..),
        _ => None,
    }
    .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
$timescale 1ps $end
$var wire 1 ! a $end
$var wire 4 # b $end
$enddefinitions $end

#0
0!
b0000 #
#1
1!
#2
b0101 #
#3
0!
#5
1!
#6
b1111 #
";

    /// The window, when the file comes in pieces of so many bytes.
    fn window(first: u64, last: u64, piece: usize) -> (String, bool) {
        let mut out = Vec::new();
        let mut cut = Cut::new(&mut out, first, last);
        let is_full = FILE.as_bytes().chunks(piece).fold(false, |_, bytes| cut.take(bytes).unwrap());
        cut.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        (
            text.split_once("$end\n\n")
                .unwrap_or_else(|| text.split_once("$enddefinitions $end\n").unwrap())
                .1
                .to_owned(),
            is_full,
        )
    }

    #[test]
    fn a_window_begins_with_all_values_and_ends_in_time() {
        for piece in [1, 7, 1000] {
            let (text, is_full) = window(2, 4, piece);
            assert_eq!(text, "#2\n$dumpvars\n1!\nb0000 #\n$end\nb0101 #\n#3\n0!\n");
            assert!(is_full);
        }
    }

    #[test]
    fn a_window_may_begin_between_two_times() {
        let (text, is_full) = window(4, 5, 1000);
        assert_eq!(text, "#4\n$dumpvars\n0!\nb0101 #\n$end\n#5\n1!\n");
        assert!(is_full);
    }

    #[test]
    fn a_window_that_is_not_full_holds_what_there_is() {
        let (text, is_full) = window(6, 100, 3);
        assert_eq!((text.as_str(), is_full), ("#6\n$dumpvars\n1!\nb0101 #\n$end\nb1111 #\n", false));
        let (text, is_full) = window(50, 100, 3);
        assert_eq!((text.as_str(), is_full), ("#50\n$dumpvars\n1!\nb1111 #\n$end\n", false));
    }
}
