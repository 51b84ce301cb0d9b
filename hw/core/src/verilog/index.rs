//! Array positions inside names: `lane[i + 1]$d` becomes `lane$3$d` once `i` is known.

use std::fmt::Write;

use super::error::Problem;

/// Replaces each `[expression]` in `name` by `$value`.
pub(crate) fn resolve(name: &str, variables: &[(String, i64)]) -> Result<String, Problem> {
    let mut done = String::new();
    let mut rest = name;
    while let Some(open) = rest.find('[') {
        let close =
            open + matching(&rest[open..]).ok_or_else(|| format!("`{name}` has an unclosed bracket"))?;
        let value = evaluate(&rest[open + 1..close], variables)
            .ok_or_else(|| format!("the position in `{name}` is not a constant of the loop"))?;
        let _ = write!(done, "{}${value}", &rest[..open]);
        rest = &rest[close + 1..];
    }
    Ok(done + rest)
}

fn matching(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '[') - i32::from(c == ']');
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The value of an expression over `+ - * / %`, parentheses, numbers and loop variables.
fn evaluate(text: &str, variables: &[(String, i64)]) -> Option<i64> {
    let mut reader = Reader { rest: text.trim(), variables };
    let value = reader.sum()?;
    reader.rest.trim().is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
    variables: &'a [(String, i64)],
}

impl Reader<'_> {
    fn take(&mut self, symbols: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let first = rest.chars().next().filter(|c| symbols.contains(c))?;
        self.rest = &rest[1..];
        Some(first)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let next = self.product()?;
            value = if sign == '+' { value.checked_add(next)? } else { value.checked_sub(next)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.term()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let next = self.term()?;
            value = match sign {
                '*' => value.checked_mul(next)?,
                '/' => value.checked_div(next)?,
                _ => value.checked_rem(next)?,
            };
        }
        Some(value)
    }

    fn term(&mut self) -> Option<i64> {
        if self.take(&['(']).is_some() {
            let value = self.sum()?;
            self.take(&[')'])?;
            return Some(value);
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        if let Some((_, value)) = self.variables.iter().rev().find(|(name, _)| name == word) {
            return Some(*value);
        }
        let number = word.trim_end_matches("usize").trim_end_matches("u64").replace('_', "");
        number.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_computed_from_the_innermost_loop_variable() {
        let variables = [("i".to_string(), 3), ("j".to_string(), 5), ("i".to_string(), 4)];
        assert_eq!(resolve("a[i]$d", &variables).unwrap(), "a$4$d");
        assert_eq!(resolve("a[(i+1)*2]$b[j%3]", &variables).unwrap(), "a$10$b$2");
        assert_eq!(resolve("plain", &variables).unwrap(), "plain");
    }

    #[test]
    fn a_position_that_is_not_constant_is_refused() {
        assert!(resolve("a[self$x]", &[]).is_err());
        assert!(resolve("a[1", &[]).is_err());
    }
}
