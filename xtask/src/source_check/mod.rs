//! `source-check`: refuses kernels that `RustHDL`'s macro would translate into something else than Rust runs.
//!
//! The emitter sees what the macro left of a kernel. What the macro drops or rewrites is gone by then, so it is looked
//! for here, in the sources. What the macro refuses by itself is left to the compiler.

mod kernel;
mod places;
mod rules;
#[cfg(test)]
mod tests;

use anyhow::{Result, bail};
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItemFn, ItemFn, ItemMacro, UseRename};

use crate::workspace;
use rules::Rule;

/// Where kernels live.
const FOLDERS: [&str; 4] = ["hw", "kernels", "examples", "xtask/template"];

/// What the macro takes for a cast when a call starts with it.
const CAST_PREFIXES: [&str; 6] =
    ["bit_cast", "bits", "Bits", "unsigned_cast", "signed_bit_cast", "signed_cast"];
/// The casts that are `RustHDL`'s own.
const CASTS: [&str; 5] = ["bit_cast", "bits", "signed_cast", "unsigned_cast", "signed_bit_cast"];

/// A refusal at its place.
pub(crate) struct Finding {
    rule: &'static Rule,
    span: Span,
}

/// Checks every kernel of the workspace.
pub(crate) fn run() -> Result<()> {
    let mut kernels = 0;
    let mut refused = Vec::new();
    for source in workspace::sources(&FOLDERS)? {
        let mut file = FileCheck::default();
        file.visit_file(&source.syntax);
        kernels += file.kernels;
        for Finding { rule, span } in file.findings {
            let start = span.start();
            refused.push(format!(
                "{}:{}:{}: {}\n  why: {}\n  write: {}",
                source.shown,
                start.line,
                start.column + 1,
                rule.what,
                rule.why,
                rule.instead
            ));
        }
    }
    if !refused.is_empty() {
        bail!("{}\n{} refused", refused.join("\n"), refused.len());
    }
    println!("source-check: {kernels} kernels say only what their Verilog says");
    Ok(())
}

/// One file: finds the kernels, and names that would hide `RustHDL`'s own.
#[derive(Default)]
struct FileCheck {
    findings: Vec<Finding>,
    kernels: usize,
    /// The macros defined so far that make test functions.
    test_macros: Vec<String>,
}

impl FileCheck {
    fn function(&mut self, attributes: &[Attribute], signature: &syn::Signature, block: &syn::Block) {
        let is_kernel = |attribute: &Attribute| last_word(attribute.path()) == "hdl_gen";
        if attributes.iter().any(is_kernel) {
            self.kernels += 1;
            if signature.ident != "update" {
                self.refuse(&rules::NOT_UPDATE, signature.ident.span());
            }
            self.findings.extend(kernel::check(block));
        }
        self.definition(&signature.ident);
    }

    /// A function of ours under the name of a cast would be called in its place.
    fn definition(&mut self, name: &Ident) {
        if CASTS.iter().any(|cast| name == cast) {
            self.refuse(&rules::LOOKALIKE, name.span());
        }
    }

    fn refuse(&mut self, rule: &'static Rule, span: Span) {
        self.findings.push(Finding { rule, span });
    }
}

impl<'ast> Visit<'ast> for FileCheck {
    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.function(&function.attrs, &function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.function(&function.attrs, &function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_use_rename(&mut self, rename: &'ast UseRename) {
        self.definition(&rename.rename);
    }

    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        let body = &item.mac.tokens;
        let makes_tests = match &item.ident {
            Some(definition) if mentions(body.clone(), "test") => {
                self.test_macros.push(definition.to_string());
                true
            }
            Some(_) => false,
            None => self.test_macros.contains(&last_word(&item.mac.path)),
        };
        if mentions(body.clone(), "hdl_gen") && !makes_tests {
            self.refuse(&rules::IN_MACRO, item.mac.path.span());
        }
    }
}

fn mentions(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}

fn last_word(path: &syn::Path) -> String {
    path.segments.last().map(|word| word.ident.to_string()).unwrap_or_default()
}
