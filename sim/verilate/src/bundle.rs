//! Several modules in one model: building C++ costs seconds a model and almost nothing a module.
//!
//! Each member keeps its own ports, its clock included, under `INSTANCE$PORT`; a member whose clock
//! never moves costs next to nothing. [`Model::view`](crate::Model::view) shows one member as if it were
//! alone.

use crate::Error;
use crate::manifest::{Direction, Manifest, Port, Verilog, is_identifier, is_identifier_char};
use std::fmt::Write;

/// Wraps all members into one design whose top module is `name`.
///
/// Module names may repeat between members: each distinct text gets a prefix of its own, and equal
/// texts are written once.
///
/// # Errors
/// [`Error::Bundle`] for an instance name that is not an identifier or occurs twice.
pub fn bundle(name: &str, members: &[(&str, &Verilog)]) -> Result<Verilog, Error> {
    let mut texts: Vec<&str> = Vec::new();
    let mut modules = String::new();
    let mut instances = String::new();
    let mut ports = Vec::new();
    for (position, &(instance, design)) in members.iter().enumerate() {
        let bad = |reason: &str| Error::Bundle { instance: instance.to_owned(), reason: reason.to_owned() };
        if !is_identifier(instance) {
            return Err(bad("the instance name is not a Verilog identifier"));
        }
        if members[..position].iter().any(|(other, _)| *other == instance) {
            return Err(bad("the instance name occurs twice"));
        }
        if !design.manifest.domains.is_empty() {
            return Err(bad("a text with clock domains is a model of its own"));
        }
        let known = texts.iter().position(|text| *text == design.text);
        let renamed = Renamed::new(&design.text, known.unwrap_or(texts.len()));
        if known.is_none() {
            texts.push(&design.text);
            modules.push_str(&renamed.text(&design.text));
            modules.push('\n');
        }
        // The bare `member` prefix keeps an instance from taking the name of one of its own ports.
        let wires: Vec<String> = design
            .manifest
            .ports
            .iter()
            .map(|port| format!("        .{}({instance}${})", renamed.word(&port.name), port.name))
            .collect();
        let top = renamed.word(&design.manifest.top);
        writeln!(instances, "    {top} member${instance} (\n{}\n    );", wires.join(",\n"))
            .expect("a String takes any text");
        ports.extend(
            design
                .manifest
                .ports
                .iter()
                .map(|port| Port { name: format!("{instance}${}", port.name), ..port.clone() }),
        );
    }
    let declarations: Vec<String> = ports.iter().map(declaration).collect();
    let wrapper = format!("module {name} (\n{}\n);\n{instances}endmodule\n", declarations.join(",\n"));
    Ok(Verilog {
        text: modules + &wrapper,
        manifest: Manifest { top: name.to_owned(), ports, domains: Vec::new() },
    })
}

fn declaration(port: &Port) -> String {
    let direction = if port.direction == Direction::Out { "output" } else { "input" };
    match port.width {
        1 => format!("    {direction} wire {}", port.name),
        width => format!("    {direction} wire [{}:0] {}", width - 1, port.name),
    }
}

/// New names for the modules of one text.
///
/// Every identifier equal to a module's name is renamed, signals too: within one text that is
/// consistent, because each declaration changes together with all its uses. Only top-level port names
/// are spoken outside, so the wrapper asks [`Renamed::word`] for them.
struct Renamed {
    modules: Vec<String>,
    prefix: String,
}

impl Renamed {
    fn new(text: &str, number: usize) -> Self {
        let mut words = text.split(|c| !is_identifier_char(c)).filter(|word| !word.is_empty());
        let mut modules = Vec::new();
        while let Some(word) = words.next() {
            if word == "module" {
                modules.extend(words.next().map(str::to_owned));
            }
        }
        Self { modules, prefix: format!("m{number}$") }
    }

    fn word(&self, word: &str) -> String {
        let is_module = self.modules.iter().any(|module| module == word);
        if is_module { format!("{}{word}", self.prefix) } else { word.to_owned() }
    }

    fn text(&self, text: &str) -> String {
        let mut renamed = String::with_capacity(text.len() + text.len() / 16);
        let mut rest = text;
        while let Some(start) = rest.find(is_identifier_char) {
            let length = rest[start..].find(|c| !is_identifier_char(c)).unwrap_or(rest.len() - start);
            let (before, word) = rest[..start + length].split_at(start);
            renamed.push_str(before);
            renamed.push_str(&self.word(word));
            rest = &rest[start + length..];
        }
        renamed + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_identifiers_are_renamed() {
        let text =
            "module cut(input wire cut$a);\nendmodule\nmodule top ();\ncut cut_1 (.cut$a(cut_a));\nendmodule";
        let expected = "module m3$cut(input wire cut$a);\nendmodule\nmodule m3$top ();\nm3$cut cut_1 (.cut$a(cut_a));\nendmodule";
        assert_eq!(Renamed::new(text, 3).text(text), expected);
    }

    #[test]
    fn instance_names_are_checked() {
        let design = Verilog::new("module t (input wire a);\nendmodule\n", "top t\nin a 1").unwrap();
        for (members, words) in [(vec!["a b"], "identifier"), (vec!["x", "y", "x"], "twice")] {
            let members: Vec<_> = members.into_iter().map(|name| (name, &design)).collect();
            let error = bundle("all", &members).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn equal_texts_are_written_once() {
        let design = Verilog::new("module t (input wire a);\nendmodule\n", "top t\nin a 1").unwrap();
        let both = bundle("all", &[("x", &design), ("y", &design)]).unwrap();
        assert_eq!(both.text.matches("module m0$t ").count(), 1);
        assert_eq!(both.text.matches("m0$t member$").count(), 2);
        let names: Vec<_> = both.manifest.ports.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names, ["x$a", "y$a"]);
    }
}
