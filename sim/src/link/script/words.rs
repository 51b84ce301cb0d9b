//! A line of a script as words, and what is wrong with one of them.

/// Why a script is none: where, and what should stand there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column} of the script: expected {expected}, found {found}")]
pub struct ScriptError {
    /// Line, from 1.
    pub line: usize,
    /// Column of the word's first character, from 1; behind the last word if there is none.
    pub column: usize,
    /// What should stand there.
    pub expected: String,
    /// What does: a word in quotes, or the end of the line.
    pub found: String,
}

pub(super) type Result<T> = std::result::Result<T, ScriptError>;

/// The words of a line, taken one by one.
pub(super) struct Words<'a> {
    line: usize,
    /// With their columns.
    list: Vec<(usize, &'a str)>,
    at: usize,
    /// Column behind the last word.
    end: usize,
}

fn length(text: &str) -> usize {
    text.chars().count()
}

impl<'a> Words<'a> {
    /// A line without its comment.
    pub(super) fn of(line: usize, text: &'a str) -> Self {
        let mut rest = text.split('#').next().unwrap_or_default();
        let (mut list, mut column, mut end) = (Vec::new(), 1, 1);
        loop {
            let word = rest.trim_start();
            column += length(rest) - length(word);
            if word.is_empty() {
                return Self { line, list, at: 0, end };
            }
            let (word, behind) = word.split_at(word.find(char::is_whitespace).unwrap_or(word.len()));
            list.push((column, word));
            column += length(word);
            (rest, end) = (behind, column);
        }
    }

    /// Is nothing left?
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.list.len()
    }

    /// How many were taken.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Takes nothing yet; the word that many places ahead.
    pub(super) fn peek(&self, ahead: usize) -> Option<&'a str> {
        self.list.get(self.at + ahead).map(|(_, word)| *word)
    }

    /// Is this the next word?
    pub(super) fn is_next(&self, word: &str) -> bool {
        self.peek(0).is_some_and(|next| next.eq_ignore_ascii_case(word))
    }

    /// Takes the next word if it can be read so.
    pub(super) fn try_read<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let value = read(self.peek(0)?)?;
        self.at += 1;
        Some(value)
    }

    /// Takes the next word if it is this one; whether it is.
    pub(super) fn take(&mut self, word: &str) -> bool {
        self.try_read(|next| next.eq_ignore_ascii_case(word).then_some(())).is_some()
    }

    /// Takes the next word, which must be readable.
    pub(super) fn read<T>(&mut self, expected: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        self.try_read(read).ok_or_else(|| self.error(expected))
    }

    /// Takes the next word, which must be this one.
    pub(super) fn demand(&mut self, word: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { Err(self.error(&format!("`{word}`"))) }
    }

    /// The next word is wrong.
    pub(super) fn error(&self, expected: &str) -> ScriptError {
        self.error_at(self.at, expected)
    }

    /// A word is wrong.
    pub(super) fn error_at(&self, position: usize, expected: &str) -> ScriptError {
        let word = self.list.get(position);
        ScriptError {
            line: self.line,
            column: word.map_or(self.end, |(column, _)| *column),
            expected: expected.to_owned(),
            found: word.map_or_else(|| "the end of the line".to_owned(), |(_, word)| format!("`{word}`")),
        }
    }
}
