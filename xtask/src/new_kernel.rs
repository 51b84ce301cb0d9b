//! `new-kernel`: lays down a kernel that works, with its model, its typed request and its tests.

mod manifest;
mod name;
mod template;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::{process, workspace};
use name::Name;

/// What `cargo xtask new-kernel` accepts.
#[derive(Args)]
pub(crate) struct Options {
    /// Its name: small letters, digits and underscores
    name: String,
    /// Folder of a package of its own, outside the workspace [default: kernels/NAME, a member of the workspace]
    #[arg(long)]
    to: Option<PathBuf>,
}

/// Lays a kernel down, and tells what to do with it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let root = workspace::root();
    let name = Name::new(&options.name, &taken(&root)?)?;
    template::check(&name)?;
    let folder = match &options.to {
        Some(folder) => lay_down_alone(&root, &name, folder)?,
        None => lay_down_as_member(&root, &name)?,
    };
    format(&folder)?;
    println!("{}", next_steps(&name, &folder, options.to.is_some()));
    Ok(())
}

/// The stage of `ci`: a kernel is laid down, and its tests pass as they are. Seen from outside of the workspace our crates are other ones to
/// Cargo, which builds those of them anew that a kernel needs.
pub(crate) fn stage() -> Result<()> {
    let (root, target) = (workspace::root(), workspace::target());
    let folder = target.join("new-kernel/try_out");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    let name = Name::new("try_out", &taken(&root)?)?;
    lay_down_alone(&root, &name, &folder)?;
    format(&folder)?;
    let mut tests = Command::new("cargo");
    tests.args(["test", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    // What the workspace has built of others' crates is built; simulated blocks are found in the same place.
    tests.env("CARGO_TARGET_DIR", target).current_dir(root);
    process::aloud(tests)
}

/// A member of the workspace: its versions, lints and checks hold for it, too.
fn lay_down_as_member(root: &Path, name: &Name) -> Result<PathBuf> {
    let folder = root.join("kernels").join(name.snake());
    let file = root.join("Cargo.toml");
    let old = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let new = manifest::with_member(&old, &format!("kernels/{}", name.snake()))?;
    template::write(name, template::MANIFEST, &folder)?;
    fs::write(&file, new).with_context(|| format!("write {}", file.display()))?;
    Ok(folder)
}

/// A package that stands alone, with the versions, lints and profiles of this workspace written out.
fn lay_down_alone(root: &Path, name: &Name, folder: &Path) -> Result<PathBuf> {
    let of_root = read(&root.join("Cargo.toml"))?;
    let manifest = manifest::alone(template::MANIFEST, &of_root, root)?;
    template::write(name, &manifest, folder)?;
    for file in ["Cargo.lock", "rustfmt.toml", "clippy.toml"] {
        let (from, to) = (root.join(file), folder.join(file));
        fs::copy(&from, &to).with_context(|| format!("copy {} to {}", from.display(), to.display()))?;
    }
    Ok(folder.to_path_buf())
}

/// A name of another length breaks lines elsewhere.
fn format(folder: &Path) -> Result<()> {
    let mut command = Command::new("cargo");
    command.args(["fmt", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    process::aloud(command)
}

/// Names that are in use: packages of the workspace, what they depend on, and kernels.
fn taken(root: &Path) -> Result<Vec<String>> {
    let of_root = read(&root.join("Cargo.toml"))?;
    let mut names = manifest::dependencies(&of_root);
    for member in manifest::members(&of_root)? {
        names.push(manifest::package(&read(&root.join(member).join("Cargo.toml"))?)?);
    }
    let folder = root.join("kernels/src");
    let kernels = workspace::files(&folder, "rs")?;
    let kernels = kernels.iter().filter(|file| file.parent() == Some(folder.as_path()));
    names.extend(kernels.filter_map(|file| file.file_stem()).map(|name| name.to_string_lossy().into_owned()));
    Ok(names.iter().map(|name| name.replace('-', "_")).collect())
}

fn read(file: &Path) -> Result<toml::Table> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    text.parse().with_context(|| format!("parse {}", file.display()))
}

fn next_steps(name: &Name, folder: &Path, is_alone: bool) -> String {
    let (snake, camel, shown) = (name.snake(), name.camel(), workspace::shown(folder));
    let test = if is_alone {
        format!("cargo test --manifest-path {shown}/Cargo.toml")
    } else {
        format!("cargo test -p {snake}")
    };
    format!(
        "{shown}: a kernel that raises a word of memory and tells what it was, until you change it\n\
         \n\
         test it        {test}\n\
         change it      src/call.rs says what it is asked, src/model.rs what comes of it, src/lib.rs is the hardware\n\
         call it        caller.call({camel} {{ .. }}, key) of stroma-rpc; with Service::with_model where no card has it\n\
         put it in      a field and its streams in hw/top/src/kernels.rs give it a slot of the card\n\
         read on        docs/kernels.md"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty(name: &str) -> PathBuf {
        let folder = workspace::target().join("xtask-test-new-kernel").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn kernels_packages_and_dependencies_have_their_names() {
        let taken = taken(&workspace::root()).unwrap();
        for name in ["traversal", "prism", "xtask", "stroma_hw", "rust_hdl", "stroma_kernel_rig"] {
            assert!(taken.contains(&name.to_string()), "{name}: {taken:?}");
        }
        assert!(!taken.contains(&"tests".to_string()), "a part of a kernel is none");
    }

    #[test]
    fn a_member_is_laid_down_where_the_workspace_finds_it() {
        let root = empty("member");
        fs::write(root.join("Cargo.toml"), "[workspace]\nmembers = [\n    \"kernels/a\",\n    \"sim\",\n]\n")
            .unwrap();
        let name = Name::new("mine", &[]).unwrap();
        lay_down_as_member(&root, &name).unwrap();
        let members = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        assert!(members.contains("    \"kernels/a\",\n    \"kernels/mine\",\n    \"sim\",\n"), "{members}");
        let kernel = fs::read_to_string(root.join("kernels/mine/src/lib.rs")).unwrap();
        assert!(kernel.contains("pub struct MineKernel<const D: usize>"), "{kernel}");
    }

    /// Cargo reads the manifest, and the versions that the workspace has chosen are all it needs.
    #[test]
    fn a_package_that_stands_alone_has_all_it_depends_on() {
        let folder = empty("alone").join("mine");
        let name = Name::new("mine", &[]).unwrap();
        lay_down_alone(&workspace::root(), &name, &folder).unwrap();
        let mut tree = Command::new("cargo");
        tree.args(["tree", "--offline", "--prefix=none", "--manifest-path"]).arg(folder.join("Cargo.toml"));
        let output = tree.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let packages = String::from_utf8(output.stdout).unwrap();
        for package in ["mine ", "rust-hdl ", "stroma-hw ", "stroma-kernel-parts ", "stroma-kernel-rig "] {
            assert!(packages.lines().any(|line| line.starts_with(package)), "{package}: {packages}");
        }
    }

    #[test]
    fn an_existing_folder_is_left_alone() {
        let folder = empty("existing");
        fs::write(folder.join("precious.txt"), "mine").unwrap();
        let name = Name::new("existing", &[]).unwrap();
        let error = lay_down_alone(&workspace::root(), &name, &folder).unwrap_err().to_string();
        assert!(error.contains("xtask-test-new-kernel/existing is there already"), "{error}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
