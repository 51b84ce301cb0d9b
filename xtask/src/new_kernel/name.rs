//! Names of kernels: what they may be, and their two spellings.

use anyhow::{Result, bail};

/// Most letters: longer names make unreadable signals.
const LENGTH_MAX: usize = 32;
/// Names of crates that every crate sees.
const BUILT_IN: [&str; 5] = ["alloc", "core", "proc_macro", "std", "test"];

/// A name that a new kernel may have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name(String);

impl Name {
    /// The name, if it is one, and is not among those `taken`.
    pub(super) fn new(name: &str, taken: &[String]) -> Result<Self> {
        let is_snake = name.starts_with(|letter: char| letter.is_ascii_lowercase())
            && name
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
            && !name.contains("__")
            && !name.ends_with('_');
        if !is_snake {
            bail!(
                "`{name}` is no name for a kernel: it begins with a small letter, and goes on with small letters, digits and single underscores, as `column_sum` does"
            );
        }
        if name.len() > LENGTH_MAX {
            bail!("`{name}` has {} letters, and the name of a kernel at most {LENGTH_MAX}", name.len());
        }
        // Since the edition of 2024 `gen` is one, whatever the parser says.
        if syn::parse_str::<syn::Ident>(name).is_err() || name == "gen" {
            bail!("`{name}` is a keyword of Rust, and cannot name a package");
        }
        if BUILT_IN.contains(&name) {
            bail!("`{name}` is a crate of Rust itself, and would hide it");
        }
        if taken.iter().any(|other| other == name) {
            bail!(
                "`{name}` is taken: a kernel, a package of the workspace or one that it depends on has that name"
            );
        }
        Ok(Self(name.to_string()))
    }

    /// As files, packages and functions spell it.
    pub(super) fn snake(&self) -> &str {
        &self.0
    }

    /// As types spell it.
    pub(super) fn camel(&self) -> String {
        let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
        self.0.split('_').map(capital).collect()
    }

    /// An RPC op-code of the upper half, which is for kernels outside the catalogue; by the name, so that two seldom meet.
    pub(super) fn operation(&self) -> u16 {
        let spread = |state: u16, letter: u8| state.wrapping_mul(31).wrapping_add(u16::from(letter));
        self.0.bytes().fold(0, spread) | 0x8000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str) -> String {
        Name::new(name, &["traversal".to_string(), "rust_hdl".to_string()]).unwrap_err().to_string()
    }

    #[test]
    fn names_are_spelt_as_packages_and_as_types() {
        for (name, camel) in [("count", "Count"), ("column_sum", "ColumnSum"), ("crc32_of_2", "Crc32Of2")] {
            let name = Name::new(name, &[]).unwrap();
            assert_eq!(name.camel(), camel);
        }
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_reason() {
        for name in
            ["", "Count", "count-words", "2nd", "_count", "count_", "a__b", "größe", "a b", "../up", "r#fn"]
        {
            assert!(refusal(name).contains("is no name for a kernel"), "{name}");
        }
        assert!(refusal(&"a".repeat(33)).contains("has 33 letters"));
        for name in ["match", "async", "self", "abstract", "gen"] {
            assert!(refusal(name).contains("is a keyword"), "{name}");
        }
        assert!(refusal("core").contains("is a crate of Rust itself"));
        assert!(refusal("traversal").contains("is taken"));
        assert!(refusal("rust_hdl").contains("is taken"));
    }

    #[test]
    fn op_codes_are_of_the_upper_half_and_differ() {
        let of = |name: &str| Name::new(name, &[]).unwrap().operation();
        let operations = ["count", "column_sum", "mine", "yours"].map(of);
        assert!(operations.iter().all(|operation| *operation >= 0x8000), "{operations:x?}");
        assert!((1..4).all(|at| operations[at] != operations[at - 1]), "{operations:x?}");
    }
}
