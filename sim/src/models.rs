//! Models of cards: shared objects, made when a program first asks for one.
//!
//! | where | what | who puts it there |
//! |---|---|---|
//! | `../lib/stroma` beside the program's folder | cards of an installation | `cargo xtask install`, `dist` |
//! | the model cache | cards of this machine, and the Verilog they are made of | the first program that asks |
//!
//! A file is named by what it is, its kernels and the hash of the sources it is made of: a program loads no card but that of
//! its own sources. With waves asked for, a card is made of the reference text, which has every signal under its own name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use stroma_hw::verilog::{EmitError, Rtl};
use stroma_top::kernels::Chosen;
use stroma_top::{Profile, SOURCES};
use stroma_verilate::{Error, Model, Options, SHADOW_VARIABLE, Shadow, Speed, Variant, Verilog};

/// Where an installation keeps its cards, from the folder of its programs.
const INSTALLED: &str = "../lib/stroma";

/// Which card: a profile, and the kernels in its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its datapath, clock and sizes.
    pub profile: Profile,
    /// What is in its slots.
    pub kernels: Chosen,
}

impl From<Profile> for Kind {
    /// With every kernel.
    fn from(profile: Profile) -> Self {
        Self { profile, kernels: Chosen::all() }
    }
}

/// A text that is Verilated.
#[derive(Clone, Copy)]
enum Text {
    /// A card, with clock domains.
    Simulated,
    /// A card, without.
    Reference,
    /// The front ends alone.
    Fronts,
}

impl Kind {
    /// A model of the card, built if this machine has none.
    ///
    /// # Errors
    /// When the card cannot be emitted or built.
    ///
    /// # Panics
    /// When waves are to be written and the card is to be compared: one with waves has no clock domains.
    pub fn model(&self, options: &Options) -> Result<Model, Error> {
        if let (Some(folder), Some(shadow)) = (&options.waves, options.shadow) {
            let folder = folder.display();
            panic!(
                "waves in {folder} show a card without clock domains, and {SHADOW_VARIABLE} ({shadow:?}) compares one with \
                 them; next step: unset one of the two"
            );
        }
        if options.waves.is_some() {
            return Model::load_with(&self.verilog(Text::Reference)?, options);
        }
        if options.reference {
            return Model::load_file(&self.file_of(Text::Reference)?, options);
        }
        let simulated = |options| Model::load_file(&self.file()?, options);
        Ok(match options.shadow {
            None => simulated(options)?,
            Some(Shadow::Ungated) => {
                let mut shadow = simulated(options)?;
                shadow.gate(false);
                simulated(options)?.with_shadow(shadow)
            }
            Some(Shadow::Reference) => {
                // Noise at the start depends on the names of variables, and those on the text: so there is none.
                let options = &Options { seed: 0, ..options.clone() };
                let shadow = Model::load_file(&self.file_of(Text::Reference)?, options)?;
                simulated(options)?.with_shadow(shadow)
            }
        })
    }

    /// The shared object of the card, built if this machine has none.
    ///
    /// # Errors
    /// As [`model`](Self::model).
    pub fn file(&self) -> Result<PathBuf, Error> {
        self.file_of(Text::Simulated)
    }

    fn file_of(&self, text: Text) -> Result<PathBuf, Error> {
        known(&self.name(text), || self.verilog(text))
    }

    /// Copies the shared object of the card to a folder, made if it is missing, under the name by which an installation finds it.
    ///
    /// # Errors
    /// As [`model`](Self::model), and when it cannot be copied.
    pub fn install(&self, folder: &Path) -> Result<PathBuf, Error> {
        fs::create_dir_all(folder).map_err(Error::io("creating", folder))?;
        let file = folder.join(format!("{}.so", self.name(Text::Simulated)));
        fs::copy(self.file()?, &file).map_err(Error::io("copying a card to", &file))?;
        Ok(file)
    }

    /// The ports of the card.
    ///
    /// # Errors
    /// When the card cannot be emitted.
    pub fn verilog_reference(&self) -> Result<Verilog, Error> {
        self.verilog(Text::Reference)
    }

    fn name(&self, text: Text) -> String {
        let (card, fronts) = (self.profile.top(), self.profile.fronts_top());
        match text {
            Text::Simulated => format!("{card}-{}-{SOURCES}", self.kernels.name()),
            Text::Reference => format!("{card}-reference-{}-{SOURCES}", self.kernels.name()),
            Text::Fronts => format!("{fronts}-{SOURCES}"),
        }
    }

    /// The Verilog: as kept from an earlier time, or emitted, which takes seconds.
    fn verilog(&self, text: Text) -> Result<Verilog, Error> {
        stroma_verilate::kept(&self.name(text), || {
            let rtl = self.emit(text).map_err(|error| Error::Emit { reason: error.to_string() })?;
            Verilog::new(rtl.text.clone(), &rtl.manifest())
        })
    }

    fn emit(&self, text: Text) -> Result<Rtl, EmitError> {
        match text {
            Text::Simulated => self.profile.emit_simulated(&self.kernels),
            Text::Reference => self.profile.emit_with(&self.kernels),
            Text::Fronts => self.profile.emit_fronts(),
        }
    }
}

/// A model of the front ends of a profile alone.
pub(crate) fn fronts(profile: Profile, options: &Options) -> Result<Model, Error> {
    let kind = Kind::from(profile);
    match options.waves {
        Some(_) => Model::load_with(&kind.verilog(Text::Fronts)?, options),
        None => Model::load_file(&kind.file_of(Text::Fronts)?, options),
    }
}

/// The shared object of this name: found once a program, since its text is long and looking it up takes a while.
fn known(name: &str, verilog: impl FnOnce() -> Result<Verilog, Error>) -> Result<PathBuf, Error> {
    static KNOWN: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let files = known.get_or_insert_default();
    if let Some(file) = files.get(name) {
        return Ok(file.clone());
    }
    let file = match installed(name) {
        Some(file) => file,
        None => stroma_verilate::shared_object(&verilog()?, Variant::Plain, Speed::Full)?.path,
    };
    files.insert(name.to_owned(), file.clone());
    Ok(file)
}

fn installed(name: &str) -> Option<PathBuf> {
    let program = env::current_exe().and_then(fs::canonicalize).ok()?;
    let file = program.parent()?.join(INSTALLED).join(format!("{name}.so"));
    file.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_card_is_preferred_to_one_of_the_cache() {
        let name = format!("installed-test-{}", std::process::id());
        let missing = || Err(Error::Emit { reason: "it was asked for".into() });
        assert!(matches!(known(&name, missing), Err(Error::Emit { .. })), "none is installed");

        // Where programs look that lie beside this one.
        let program = fs::canonicalize(env::current_exe().unwrap()).unwrap();
        let folder = program.parent().unwrap().join(INSTALLED);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{name}.so"));
        fs::write(&file, "").unwrap();
        let found = known(&name, || panic!("an installed card is not made"));
        assert_eq!(fs::canonicalize(found.unwrap()).unwrap(), fs::canonicalize(&file).unwrap());
        fs::remove_file(&file).unwrap();
        known(&name, || panic!("a program looks once")).unwrap();
    }

    #[test]
    #[should_panic(expected = "unset one of the two")]
    fn a_card_with_waves_is_not_compared() {
        let options =
            Options { waves: Some(env::temp_dir()), shadow: Some(Shadow::Ungated), ..Options::default() };
        let _ = Kind::from(Profile::TenGig).model(&options);
    }

    #[test]
    fn cards_that_differ_have_names_that_differ() {
        let mut names = Vec::new();
        for profile in Profile::ALL {
            for kernels in [Chosen::all(), Chosen::named(&["get"]).unwrap()] {
                let kind = Kind { profile, kernels };
                names.extend([Text::Simulated, Text::Reference].map(|text| kind.name(text)));
            }
            names.push(Kind::from(profile).name(Text::Fronts));
        }
        assert!(names.iter().all(|name| name.ends_with(SOURCES)), "{names:?}");
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }
}
