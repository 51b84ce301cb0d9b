//! A second model that gets the same inputs, and must give the same outputs.
//!
//! It is how two builds of one design are compared: whatever a test does with the first, the second lives through as well. Outputs are
//! compared after every evaluation, and at the end every register, memory and signal that both builds have under one name.

use std::collections::HashMap;
use std::env;
use std::fs::File;
use std::io::Write;

use crate::Model;
use crate::manifest::Direction;

/// Has every card of a program compared: `ungated` with itself without clock domains, `reference` with the reference text.
pub const SHADOW_VARIABLE: &str = "STROMA_SHADOW";

/// What a card is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shadow {
    /// The same build, of which every clock domain has every edge of its clock.
    Ungated,
    /// A build of the reference text, which has no clock domains.
    Reference,
}

impl Shadow {
    /// The value of [`SHADOW_VARIABLE`].
    ///
    /// # Panics
    /// When it is neither `ungated` nor `reference`.
    pub(crate) fn requested() -> Option<Self> {
        match env::var(SHADOW_VARIABLE).unwrap_or_default().as_str() {
            "" => None,
            "ungated" => Some(Self::Ungated),
            "reference" => Some(Self::Reference),
            other => panic!("{SHADOW_VARIABLE}={other}: it is `ungated` or `reference`"),
        }
    }
}

/// Names a file to which every pair of models adds a line when it ends: label, evaluations compared, variables compared.
pub const SHADOW_LOG_VARIABLE: &str = "STROMA_SHADOW_LOG";

/// The other model, and what has been compared.
pub(crate) struct Pair {
    pub(crate) shadow: Model,
    evaluations: u64,
}

impl Pair {
    pub(crate) fn new(shadow: Model) -> Self {
        Self { shadow, evaluations: 0 }
    }

    /// Lets the shadow settle as well, and compares outputs.
    ///
    /// # Panics
    /// When one differs.
    pub(crate) fn eval(&mut self, model: &Model) {
        self.shadow.eval();
        compare_outputs(model, &self.shadow);
        self.evaluations += 1;
    }

    /// Compares what both have kept.
    ///
    /// # Panics
    /// When a variable differs, or many are known to one of the two alone.
    pub(crate) fn end(self, model: &Model) {
        let (same, alone) = compare_variables(model, &self.shadow);
        assert!(alone * 50 <= same, "`{}`: of {same} variables {alone} have no partner", model.label());
        let Some(path) = env::var_os(SHADOW_LOG_VARIABLE) else { return };
        let file = File::options().create(true).append(true).open(&path);
        let line = format!("{} {} {same}\n", model.label(), self.evaluations);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written
            .unwrap_or_else(|error| panic!("writing to {SHADOW_LOG_VARIABLE}={}: {error}", path.display()));
    }
}

/// # Panics
/// When an output differs.
fn compare_outputs(model: &Model, shadow: &Model) {
    for port in model.all_ports().filter(|port| model.direction(*port) == Direction::Out) {
        let (ours, theirs) = (model.get_wide(port), shadow.get_wide(port));
        assert!(
            ours == theirs,
            "at time {} output `{}` of `{}` is {ours:x?}, and {theirs:x?} in the model it is compared with",
            model.time(),
            model.name(port),
            model.label(),
        );
    }
}

/// How many variables were compared, and how many of the shadow's have no partner.
///
/// # Panics
/// When one differs.
fn compare_variables(model: &Model, shadow: &Model) -> (usize, usize) {
    let ours: HashMap<String, Vec<u8>> =
        model.variables().into_iter().map(|(name, value)| (plain(&name), value)).collect();
    let (mut same, mut alone) = (0, 0);
    for (name, theirs) in shadow.variables() {
        match ours.get(&plain(&name)) {
            _ if is_of_domains(&name) => {}
            None => alone += 1,
            Some(value) => {
                assert!(
                    *value == theirs,
                    "at time {} variable `{name}` of `{}` is {value:x?}, and {theirs:x?} in the model it is compared with",
                    model.time(),
                    model.label(),
                );
                same += 1;
            }
        }
    }
    (same, alone)
}

/// Is it a signal between clock domains and the top? These have no meaning while nobody gates. Their names begin with
/// an underscore, as no other signal's does.
fn is_of_domains(name: &str) -> bool {
    let signal = name.rsplit_once("__DOT__").map_or(name, |(_, signal)| signal);
    signal.starts_with('_') && (signal.contains("_moves") || signal.contains("_edge"))
}

/// The name that a variable has in the reference text: the simulated one has a module more around it.
fn plain(name: &str) -> String {
    name.replacen("__DOT__gated__DOT__", "__DOT__", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_between_domains_are_known_by_the_underscore_before_them() {
        for name in [
            "_moves",
            "card__DOT__gated__DOT___edge12",
            "card__DOT__gated__DOT__host__DOT___held_moves_clock",
        ] {
            assert!(is_of_domains(name), "{name}");
        }
        for name in
            ["head_moves", "card__DOT__gated__DOT__lookup__DOT__head_moves", "card__DOT___other", "last_edge"]
        {
            assert!(!is_of_domains(name), "{name}");
        }
    }

    #[test]
    fn the_module_around_a_gated_text_is_no_part_of_a_name() {
        assert_eq!(plain("card__DOT__gated__DOT__host__DOT__q"), plain("card__DOT__host__DOT__q"));
        assert_ne!(plain("card__DOT__gate__DOT__q"), plain("card__DOT__q"));
    }
}
