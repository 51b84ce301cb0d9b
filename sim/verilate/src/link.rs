//! Models linked into a program by its build script, for designs known when the program is built.
//!
//! ```text
//! // build.rs
//! stroma_verilate::build_static(&[("card_100g", &design)])?;
//! // ffi.rs
//! pub static CARD_100G: Linked = stroma_verilate::linked!("card_100g");
//! // anywhere
//! let card = Model::linked(&CARD_100G, &Options::default())?;
//! ```

use crate::cache::Artifact;
use crate::compile::{self, Naming, RUNTIME_LIBRARY};
use crate::manifest::{Verilog, is_identifier};
use crate::{Error, MODELS_VARIABLE, ROOT_VARIABLE};
use std::fs;
use std::path::{Path, PathBuf};

/// Static archives of some models and of the one runtime they share.
#[derive(Debug)]
pub struct Archives {
    /// Folder of all archives.
    pub folder: PathBuf,
    /// Library names in link order: models first, runtime last.
    pub libraries: Vec<String>,
    /// True when at least one model was not in the cache.
    pub built: bool,
}

/// Puts into `folder`, for each named design, `libstroma_model_NAME.a`, `NAME.v` and `NAME.ports`, and
/// the runtime archive. Each model exports the one C symbol `stroma_model_NAME`.
///
/// # Errors
/// What [`compile::shared_object`] reports; [`Error::Bundle`] for a name that C++ cannot spell.
pub fn archives(models: &[(&str, &Verilog)], folder: &Path) -> Result<Archives, Error> {
    let mut made = Archives { folder: folder.to_owned(), libraries: Vec::new(), built: false };
    for (name, design) in models {
        if !is_identifier(name) || name.contains('$') || name.contains("__") {
            let reason = "a linked model's name is a C identifier without double underscores".to_owned();
            return Err(Error::Bundle { instance: (*name).to_owned(), reason });
        }
        let symbol = format!("stroma_model_{name}");
        let naming = Naming { prefix: &format!("V{name}"), symbol: &symbol };
        let Artifact { path, built } = compile::archive(design, &naming)?;
        made.built |= built;
        copy(&path, &folder.join(format!("lib{symbol}.a")))?;
        for (ending, text) in [("v", &design.text), ("ports", &design.manifest.to_string())] {
            let path = folder.join(format!("{name}.{ending}"));
            fs::write(&path, text).map_err(Error::io("writing", &path))?;
        }
        made.libraries.push(symbol);
    }
    let library = format!("lib{RUNTIME_LIBRARY}.a");
    copy(&compile::runtime()?.join(&library), &folder.join(&library))?;
    made.libraries.push(RUNTIME_LIBRARY.to_owned());
    Ok(made)
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::copy(from, to).map(drop).map_err(Error::io("copying an archive to", to))
}

/// For build scripts: makes [`archives`] in `OUT_DIR` and tells Cargo to link them. Call it once, with
/// all models.
///
/// # Errors
/// As [`archives`].
///
/// # Panics
/// Outside a build script.
pub fn build_static(models: &[(&str, &Verilog)]) -> Result<(), Error> {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR for build scripts"));
    let made = archives(models, &folder)?;
    println!("cargo::rustc-link-search=native={}", made.folder.display());
    for library in &made.libraries {
        println!("cargo::rustc-link-lib=static={library}");
    }
    println!("cargo::rustc-link-lib=dylib=stdc++");
    for variable in [ROOT_VARIABLE, MODELS_VARIABLE, "CXX", "CXXFLAGS"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

/// The [`Linked`](crate::Linked) model of this name, made by [`build_static`] in the build script of
/// the same crate. Expands to an `extern` block and one unsafe call.
#[macro_export]
macro_rules! linked {
    ($name:literal) => {{
        unsafe extern "C" {
            #[link_name = concat!("stroma_model_", $name)]
            fn entry() -> *const $crate::Api;
        }
        // SAFETY: the build script of this crate exported the symbol for exactly these files.
        unsafe {
            $crate::Linked::new(
                entry,
                include_str!(concat!(env!("OUT_DIR"), "/", $name, ".v")),
                include_str!(concat!(env!("OUT_DIR"), "/", $name, ".ports")),
            )
        }
    }};
}
