//! `programs`: whatever the sources start from outside is on the list in `tools.toml`.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, Lit};

use crate::tools::Tools;
use crate::workspace;

/// What a `Command::new` starts.
#[derive(Debug, Eq, PartialEq)]
enum Started {
    /// The program of this name.
    Named(String),
    /// A program of this workspace, by the path Cargo gives.
    Ours,
    /// A program that must not exist, in the test of an error.
    Absent,
    /// Something only known at run time.
    Computed,
}

/// Checks every source of the workspace against the list.
pub(crate) fn run() -> Result<()> {
    let tools = Tools::load()?;
    let listed = tools.programs();
    let mut faults = Vec::new();
    let mut count = 0;
    for source in workspace::sources(&workspace::FOLDERS)? {
        let computed_here = tools.computed.iter().any(|entry| entry.file == source.shown);
        for (span, started) in starts(&source.syntax) {
            count += 1;
            if let Some(fault) = fault(&started, &listed, computed_here) {
                let start = span.start();
                faults.push(format!("{}:{}:{}: {fault}", source.shown, start.line, start.column + 1));
            }
        }
    }
    for entry in &tools.computed {
        if !workspace::root().join(&entry.file).exists() {
            faults.push(format!("tools.toml: there is no {}: the entry is out of date", entry.file));
        }
        for program in entry.programs.iter().filter(|program| !listed.contains(*program)) {
            faults.push(format!("tools.toml: {} starts `{program}`, which no package provides", entry.file));
        }
    }
    if count == 0 {
        bail!("no started program was found, and xtask itself starts some: the check is broken");
    }
    if !faults.is_empty() {
        bail!(
            "{}\nnext step: add the program and the package that brings it to tools.toml",
            faults.join("\n")
        );
    }
    println!("programs: {count} places start programs, all listed in tools.toml");
    Ok(())
}

fn fault(started: &Started, listed: &BTreeSet<String>, computed_here: bool) -> Option<String> {
    match started {
        Started::Ours | Started::Absent => None,
        Started::Named(name) => (!listed.contains(name)).then(|| format!("`{name}` is not in tools.toml")),
        Started::Computed => (!computed_here).then(|| {
            "a program by a computed path, and tools.toml has no [[computed]] entry for this file".into()
        }),
    }
}

fn starts(file: &syn::File) -> Vec<(Span, Started)> {
    let mut finder = Finder { found: Vec::new() };
    finder.visit_file(file);
    finder.found
}

struct Finder {
    found: Vec<(Span, Started)>,
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(function) = &*call.func {
            let words: Vec<String> =
                function.path.segments.iter().map(|word| word.ident.to_string()).collect();
            if words.ends_with(&["Command".into(), "new".into()]) {
                self.found.push((call.span(), what(call.args.first())));
            }
        }
        visit::visit_expr_call(self, call);
    }
}

fn what(argument: Option<&Expr>) -> Started {
    match argument {
        Some(Expr::Lit(literal)) => match &literal.lit {
            Lit::Str(name) if name.value().starts_with("no-such-") => Started::Absent,
            Lit::Str(name) => Started::Named(name.value()),
            _ => Started::Computed,
        },
        Some(Expr::Macro(call)) if call.mac.path.is_ident("env") => {
            let ours = call.mac.tokens.to_string().starts_with("\"CARGO_BIN_EXE_");
            if ours { Started::Ours } else { Started::Computed }
        }
        _ => Started::Computed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Vec<Started> {
        let file = syn::parse_file(&format!("fn f() {{ {body} }}")).unwrap();
        starts(&file).into_iter().map(|(_, started)| started).collect()
    }

    #[test]
    fn started_programs_are_found_wherever_they_stand() {
        let body = r#"
            let a = std::process::Command::new("qemu-system-x86_64").arg("-h").output();
            if x { run(Command::new(env!("CARGO_BIN_EXE_stroma"))); }
            Command::new(path.join("tool"));
            Command::new("no-such-tool");
            Other::new("not a program");"#;
        let expected =
            [Started::Named("qemu-system-x86_64".into()), Started::Ours, Started::Computed, Started::Absent];
        assert_eq!(found(body), expected);
    }

    #[test]
    fn a_program_off_the_list_is_a_fault_and_one_on_it_is_not() {
        let listed = BTreeSet::from(["cargo".to_string()]);
        let named = |name: &str| Started::Named(name.into());
        assert_eq!(fault(&named("cargo"), &listed, false), None);
        assert_eq!(fault(&named("perl"), &listed, false).unwrap(), "`perl` is not in tools.toml");
        assert_eq!(fault(&Started::Computed, &listed, true), None);
        assert!(fault(&Started::Computed, &listed, false).unwrap().contains("[[computed]]"));
    }
}
