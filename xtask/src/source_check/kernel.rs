//! The walk through one kernel: statements and the values they compute.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Block, Expr, ExprCall, ExprForLoop, ExprMatch, ExprMethodCall, Lit, Macro, Pat, Stmt};

use super::rules::{self, Rule};
use super::{CAST_PREFIXES, CASTS, Finding, last_word, places};

/// Everything refused in the body of a kernel, in the order of the text.
pub(crate) fn check(body: &Block) -> Vec<Finding> {
    let mut kernel = Kernel { findings: Vec::new(), loops: Vec::new(), fields: places::fields(body) };
    kernel.visit_block(body);
    kernel.block(body);
    kernel.findings.sort_by_key(|finding| (finding.span.start().line, finding.span.start().column));
    kernel.findings
}

pub(super) struct Kernel {
    findings: Vec<Finding>,
    /// The loop variables in scope.
    pub(super) loops: Vec<String>,
    /// The fields of the block that the kernel mentions.
    fields: Vec<String>,
}

/// Attributes may stand on any node, so they are looked for everywhere at once.
impl<'ast> Visit<'ast> for Kernel {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr") {
            self.refuse(&rules::CONDITIONAL, attribute.span());
        }
    }
}

impl Kernel {
    pub(super) fn refuse(&mut self, rule: &'static Rule, span: Span) {
        self.findings.push(Finding { rule, span });
    }

    fn block(&mut self, block: &Block) {
        for statement in &block.stmts {
            match statement {
                Stmt::Expr(expression, _) => self.statement(expression),
                Stmt::Macro(call) => self.call_macro(&call.mac),
                // The macro refuses definitions aloud.
                Stmt::Local(_) | Stmt::Item(_) => {}
            }
        }
    }

    fn statement(&mut self, expression: &Expr) {
        match expression {
            Expr::Assign(assign) => {
                self.target(&assign.left);
                self.value(places::packed(&assign.right).unwrap_or(&assign.right));
            }
            Expr::If(condition) => {
                self.value(&condition.cond);
                self.block(&condition.then_branch);
                if let Some((_, otherwise)) = &condition.else_branch {
                    self.statement(otherwise);
                }
            }
            Expr::Block(block) => self.block(&block.block),
            Expr::Match(choice) => self.choice(choice),
            Expr::ForLoop(turn) => self.turns(turn),
            Expr::Call(call) => self.call(call),
            Expr::Macro(call) => self.call_macro(&call.mac),
            Expr::MethodCall(call) => self.refuse(&rules::SETTER, call.method.span()),
            _ => {}
        }
    }

    fn call_macro(&mut self, call: &Macro) {
        if ["assert", "println"].contains(&last_word(&call.path).as_str()) {
            self.refuse(&rules::ONLY_IN_RUST, call.path.span());
        }
    }

    fn turns(&mut self, turn: &ExprForLoop) {
        if let Expr::Range(range) = &*turn.expr
            && matches!(range.limits, syn::RangeLimits::Closed(_))
        {
            self.refuse(&rules::INCLUSIVE_RANGE, range.limits.span());
        }
        let Pat::Ident(variable) = &*turn.pat else { return };
        let name = variable.ident.to_string();
        if self.fields.contains(&name) || self.loops.contains(&name) {
            self.refuse(&rules::LOOP_SHADOW, variable.ident.span());
        }
        self.loops.push(name);
        self.block(&turn.body);
        self.loops.pop();
    }

    fn choice(&mut self, choice: &ExprMatch) {
        self.position(&choice.expr);
        for arm in &choice.arms {
            self.pattern(&arm.pat);
            self.statement(&arm.body);
        }
    }

    fn pattern(&mut self, pattern: &Pat) {
        match pattern {
            Pat::Guard(guarded) => {
                self.refuse(&rules::GUARD, guarded.if_token.span());
                self.pattern(&guarded.pat);
            }
            Pat::Ident(binding) => self.refuse(&rules::BINDING, binding.span()),
            Pat::Lit(literal) => {
                let text = match &literal.lit {
                    Lit::Int(number) => number.to_string(),
                    _ => String::new(),
                };
                if text.is_empty() || !text.chars().all(|digit| digit.is_ascii_digit()) {
                    self.refuse(&rules::PATTERN_LITERAL, literal.span());
                }
            }
            Pat::Path(path) => self.path(path.qself.is_some(), &path.path),
            _ => {}
        }
    }

    /// A name in the place of a value: a loop variable, or a state of an enumeration.
    fn path(&mut self, qualified: bool, path: &syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|word| word.ident.to_string()).collect();
        let is_constant =
            |word: &String| word.len() > 1 && !word.contains(|letter: char| letter.is_ascii_lowercase());
        match &words[..] {
            [one] if self.loops.contains(one) => {}
            [_] => self.refuse(&rules::CONSTANT, path.span()),
            [.., last] if is_constant(last) => self.refuse(&rules::CONSTANT, path.span()),
            [kind, _]
                if kind != "Self"
                    && !qualified
                    && path.segments.iter().all(|word| word.arguments.is_none()) => {}
            _ => self.refuse(&rules::ENUM_PATH, path.span()),
        }
    }

    pub(super) fn value(&mut self, expression: &Expr) {
        match expression {
            Expr::Paren(inner) => self.value(&inner.expr),
            Expr::Group(inner) => self.value(&inner.expr),
            Expr::Unary(operation) => self.value(&operation.expr),
            Expr::Binary(operation) => {
                self.operand(&operation.left, places::compares(&operation.op));
                self.operand(
                    &operation.right,
                    places::compares(&operation.op) || places::shifts(&operation.op),
                );
            }
            Expr::Path(path) => self.path(path.qself.is_some(), &path.path),
            Expr::Field(field) => self.field(field),
            Expr::Index(_) => self.refuse(&rules::BARE_FIELD, expression.span()),
            Expr::Cast(cast) => self.refuse(&rules::CAST, cast.as_token.span()),
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => self.method(call),
            _ => {}
        }
    }

    fn method(&mut self, call: &ExprMethodCall) {
        let name = call.method.to_string();
        match name.as_str() {
            "val" => self.signal(&call.receiver),
            "into" if !places::is_literal(&call.receiver) => self.refuse(&rules::INTO, call.method.span()),
            "to_bits" | "to_signed_bits" if !places::is_literal(&call.receiver) => {
                self.refuse(&rules::TO_BITS, call.method.span());
            }
            "index" => self.refuse(&rules::INDEX_VALUE, call.method.span()),
            "get_bit" | "get_bits" | "replace_bit" => {
                self.value(&call.receiver);
                call.args.iter().take(1).for_each(|position| self.position(position));
                call.args.iter().skip(1).for_each(|value| self.value(value));
            }
            _ if name.contains("get_value_") || name.contains("set_value_") => {
                self.refuse(&rules::SETTER, call.method.span());
            }
            _ => self.value(&call.receiver),
        }
    }

    fn operand(&mut self, expression: &Expr, is_position: bool) {
        if is_position {
            self.position(expression);
        } else {
            self.value(expression);
        }
    }

    /// A bit position, a shift amount, a side of a comparison or what a match looks at. `.index()` may come last: the
    /// sum before it wraps in both languages.
    fn position(&mut self, expression: &Expr) {
        match bare(expression) {
            Expr::MethodCall(call) if call.method == "index" => self.value(&call.receiver),
            other => self.value(other),
        }
    }

    fn call(&mut self, call: &ExprCall) {
        let Expr::Path(function) = &*call.func else { return };
        let words: Vec<String> = function.path.segments.iter().map(|word| word.ident.to_string()).collect();
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
        if CAST_PREFIXES.iter().any(|prefix| first.starts_with(prefix)) {
            if words.len() > 1 || !CASTS.contains(&first.as_str()) {
                self.refuse(&rules::LOOKALIKE, function.span());
            } else if first == "signed_bit_cast" && !places::keeps_width(&function.path) {
                self.refuse(&rules::SIGNED_RESIZE, function.span());
            }
            call.args.iter().for_each(|argument| self.value(argument));
        } else if last.starts_with("join") || last.starts_with("link") {
            let exact = last == "join" || last == "link";
            let ends = call.args.iter().filter_map(places::lent).collect::<Vec<_>>();
            if exact && call.args.len() == 2 && ends.len() == 2 {
                for end in ends {
                    self.signal(end);
                }
            } else {
                self.refuse(&rules::LINK, function.span());
            }
        }
    }
}

/// The expression without the parentheses around it.
pub(super) fn bare(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => bare(&inner.expr),
        Expr::Group(inner) => bare(&inner.expr),
        other => other,
    }
}
