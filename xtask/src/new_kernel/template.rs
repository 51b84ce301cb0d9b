//! The kernel that is laid down: files of `xtask/template/kernel`, under another name.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::name::Name;

/// Its manifest, for a member of the workspace.
pub(super) const MANIFEST: &str = include_str!("../../template/kernel/Cargo.toml");

/// Its other files.
const FILES: [(&str, &str); 4] = [
    ("src/call.rs", include_str!("../../template/kernel/src/call.rs")),
    ("src/lib.rs", include_str!("../../template/kernel/src/lib.rs")),
    ("src/model.rs", include_str!("../../template/kernel/src/model.rs")),
    ("tests/agreement.rs", include_str!("../../template/kernel/tests/agreement.rs")),
];

/// What stands for the name, its spelling as a type, and the op-code.
const SNAKE: &str = "kernel_name";
const CAMEL: &str = "KernelName";
const OPERATION: &str = "0xface";

/// Writes all of it into a folder that is not there yet.
pub(super) fn write(name: &Name, manifest: &str, folder: &Path) -> Result<()> {
    if folder.exists() {
        bail!(
            "{} is there already, and stays as it is\nnext step: another name, or `--to FOLDER`",
            folder.display()
        );
    }
    for (file, text) in FILES.into_iter().chain([("Cargo.toml", manifest)]) {
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        fs::write(&path, named(text, name)).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// Refuses a name that the template has for something else: the two would be confused.
pub(super) fn check(name: &Name) -> Result<()> {
    let camel = name.camel();
    let spellings = [name.snake().to_string(), format!("{camel}Kernel"), format!("{camel}Status"), camel];
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = FILES.iter().flat_map(|(_, text)| text.split(|letter| !is_part(letter)));
    match words.find(|word| spellings.iter().any(|spelling| spelling == word)) {
        Some(word) => bail!("`{}` would be confused with `{word}`, which every new kernel has", name.snake()),
        None => Ok(()),
    }
}

fn named(text: &str, name: &Name) -> String {
    let operation = format!("{:#06x}", name.operation());
    text.replace(SNAKE, name.snake()).replace(CAMEL, &name.camel()).replace(OPERATION, &operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_template_are_no_names() {
        for (name, word) in [
            ("reply", "reply"),
            ("slot_read", "SlotRead"),
            ("rpc", "RpcStatus"),
            ("model", "model"),
            ("kernel_name", "kernel_name"),
        ] {
            let error = check(&Name::new(name, &[]).unwrap()).unwrap_err().to_string();
            assert!(error.contains(&format!("with `{word}`")), "{error}");
        }
        for name in ["column_sum", "try_out", "mine", "count"] {
            check(&Name::new(name, &[]).unwrap()).unwrap();
        }
    }

    #[test]
    fn nothing_of_the_templates_own_names_is_left() {
        let name = Name::new("column_sum", &[]).unwrap();
        for (file, text) in FILES.into_iter().chain([("Cargo.toml", MANIFEST)]) {
            let named = named(text, &name);
            assert!([SNAKE, CAMEL, OPERATION].iter().all(|own| !named.contains(own)), "{file}: {named}");
            assert!(named.contains("column_sum"), "{file}");
        }
        let expected = format!("pub const OPERATION: u16 = {:#06x};", name.operation());
        assert!(named(FILES[0].1, &name).contains(&expected));
    }
}
