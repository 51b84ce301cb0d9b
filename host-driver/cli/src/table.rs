//! Columns of text, as wide as what stands in them.

use std::fmt;

/// Rows under a header.
pub(crate) struct Table<const N: usize> {
    header: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// With these columns.
    pub(crate) fn new(header: [&'static str; N]) -> Self {
        Self { header, rows: Vec::new() }
    }

    /// One more row.
    pub(crate) fn row(&mut self, row: [String; N]) {
        self.rows.push(row);
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = self.header.map(str::to_owned);
        let line = self.header.map(|name| "-".repeat(name.chars().count()));
        let rows = || [&header, &line].into_iter().chain(&self.rows);
        let widths: [usize; N] =
            std::array::from_fn(|column| rows().map(|row| row[column].chars().count()).max().unwrap_or(0));
        for row in rows() {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}
