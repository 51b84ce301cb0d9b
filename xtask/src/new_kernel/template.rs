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

fn named(text: &str, name: &Name) -> String {
    let operation = format!("{:#06x}", name.operation());
    text.replace(SNAKE, name.snake()).replace(CAMEL, &name.camel()).replace(OPERATION, &operation)
}

#[cfg(test)]
mod tests {
    use super::*;

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
