//! Files that are compiled here once more see by this that they are not in their own crate.

fn main() {
    println!("cargo::rustc-cfg=loom");
    println!("cargo::rerun-if-changed=build.rs");
}
