//! Names and values, as lines and as tables.

use std::fmt;

/// What is shown in columns.
pub(crate) trait Columns {
    /// Names and values, the same names in the same order for all of a kind.
    fn columns(&self) -> Vec<(&str, String)>;
}

impl<T: Columns> Columns for &T {
    fn columns(&self) -> Vec<(&str, String)> {
        (**self).columns()
    }
}

/// A row: a struct whose fields have, for programs and above their column, the names that stand behind them.
macro_rules! row {
    ($(#[$doc:meta])* $row:ident { $($(#[$about:meta])* $field:ident: $value:ty = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $row {
            $($(#[$about])* #[serde(rename = $name)] pub $field: $value,)+
        }

        impl $crate::inspect::columns::Columns for $row {
            fn columns(&self) -> Vec<(&str, String)> {
                vec![$(($name, self.$field.to_string())),+]
            }
        }
    };
}

pub(super) use row;

/// One line: each name with its value behind it.
pub(super) fn line(out: &mut fmt::Formatter<'_>, columns: &[(&str, String)]) -> fmt::Result {
    let words: Vec<_> = columns.iter().map(|(name, value)| format!("{name} {value}")).collect();
    out.write_str(&words.join(" "))
}

/// A table: names above their values, all at the right of their column. A column of zeros behind the first `always` is
/// left out.
pub(super) fn table<T: Columns>(
    out: &mut fmt::Formatter<'_>,
    rows: impl IntoIterator<Item = T>,
    always: usize,
) -> fmt::Result {
    let rows: Vec<T> = rows.into_iter().collect();
    let rows: Vec<_> = rows.iter().map(T::columns).collect();
    let Some(first) = rows.first() else { return Ok(()) };
    let shown = |column: &usize| *column < always || rows.iter().any(|row| row[*column].1 != "0");
    let shown: Vec<_> = (0..first.len()).filter(shown).collect();
    let width =
        |column: usize| rows.iter().map(|row| row[column].1.len()).max().max(Some(first[column].0.len()));
    let widths: Vec<_> = shown.iter().map(|column| width(*column).unwrap_or(0)).collect();
    let mut write = |words: Vec<&str>| {
        for (index, (word, width)) in words.into_iter().zip(&widths).enumerate() {
            let gap = if index == 0 { "" } else { "  " };
            write!(out, "{gap}{word:>width$}")?;
        }
        writeln!(out)
    };
    write(shown.iter().map(|column| first[*column].0).collect())?;
    rows.iter().try_for_each(|row| write(shown.iter().map(|column| row[*column].1.as_str()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Row(u32, u32, u32);

    impl Columns for Row {
        fn columns(&self) -> Vec<(&str, String)> {
            vec![("n", self.0.to_string()), ("lost", self.1.to_string()), ("late", self.2.to_string())]
        }
    }

    struct Text(Vec<Row>, usize);

    impl fmt::Display for Text {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            table(out, self.0.iter().map(|row| Row(row.0, row.1, row.2)), self.1)
        }
    }

    #[test]
    fn values_stand_under_their_names_and_zeros_are_left_out() {
        let rows = || vec![Row(2, 0, 7), Row(1000, 0, 123_456)];
        assert_eq!(Text(rows(), 1).to_string(), "   n    late\n   2       7\n1000  123456\n");
        let all = "   n  lost    late\n   2     0       7\n1000     0  123456\n";
        assert_eq!(Text(rows(), 3).to_string(), all);
        assert_eq!(Text(Vec::new(), 1).to_string(), "");
    }
}
