//! Statements: loops unrolled, constant conditions folded, names and types settled.

use num_bigint::BigInt;
use rust_hdl::core::ast::{
    VerilogBlockOrConditional as Otherwise, VerilogConditional, VerilogExpression as Ast, VerilogLink,
    VerilogMatch, VerilogStatement,
};

use super::Style;
use super::error::Problem;
use super::expr::{Expr, Ty, adapt, sized};
use super::index;
use super::scope::{Scope, Span};
use super::translate::Translator;

/// A statement whose every name and width is known.
#[derive(Debug)]
pub(crate) enum Stmt {
    Assign { target: Span, value: Expr },
    If { test: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt> },
    Case { test: Expr, arms: Vec<Arm>, default: Vec<Stmt> },
}

/// One arm of a case: its label as printed, and what it does.
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) label: Expr,
    pub(crate) body: Vec<Stmt>,
}

/// Lowers one kernel.
pub(crate) fn lower(kernel: &[VerilogStatement], scope: &Scope, style: Style) -> Result<Vec<Stmt>, Problem> {
    let mut lowering = Lowering { translator: Translator { scope, loops: Vec::new(), style } };
    lowering.block(kernel)
}

struct Lowering<'a> {
    translator: Translator<'a>,
}

impl Lowering<'_> {
    fn block(&mut self, statements: &[VerilogStatement]) -> Result<Vec<Stmt>, Problem> {
        let mut done = Vec::new();
        for statement in statements {
            self.statement(statement, &mut done)?;
        }
        Ok(done)
    }

    fn statement(&mut self, statement: &VerilogStatement, done: &mut Vec<Stmt>) -> Result<(), Problem> {
        match statement {
            VerilogStatement::Assignment(target, value) => {
                let target = self.target(target)?;
                let value = self.translator.expr(value)?;
                done.push(self.assign(target, value)?);
            }
            VerilogStatement::SliceAssignment { base, width, offset, replacement } => {
                let whole = self.target(base)?;
                let offset = self.translator.expr(offset)?.value.ok_or("a field at no constant place")?;
                let low = usize::try_from(&offset).map_err(|_| format!("a field at {offset}"))?;
                let value = self.translator.expr(replacement)?;
                done.push(self.assign(Span { low, width: *width, ..whole }, value)?);
            }
            VerilogStatement::If(conditional) => self.conditional(conditional, done)?,
            VerilogStatement::Match(found) => done.push(self.case(found)?),
            VerilogStatement::Loop(repeat) => {
                for position in repeat.from.as_usize()..repeat.to.as_usize() {
                    let position = i64::try_from(position).map_err(|_| format!("a loop to {position}"))?;
                    self.translator.loops.push((repeat.index.clone(), position));
                    let outcome = self.block(&repeat.block);
                    self.translator.loops.pop();
                    done.extend(outcome?);
                }
            }
            VerilogStatement::Comment(_) => {}
            VerilogStatement::Link(links) => {
                for link in links {
                    done.push(self.link(link)?);
                }
            }
            VerilogStatement::Macro(statements) => {
                let statements = self.block(statements)?;
                done.extend(statements);
            }
        }
        Ok(())
    }

    /// The signal an assignment writes: `x$next` in the tree, `x` in the text.
    fn target(&self, ast: &Ast) -> Result<Span, Problem> {
        let Ast::Signal(raw) = ast else { return Err(format!("an assignment to the expression {ast:?}")) };
        self.target_named(raw.strip_suffix("$next").unwrap_or(raw))
    }

    fn target_named(&self, raw: &str) -> Result<Span, Problem> {
        let scope = self.translator.scope;
        let name = index::resolve(raw, &self.translator.loops)?;
        let symbol =
            scope.find(&name).ok_or_else(|| format!("an assignment to `{name}`, which is no signal here"))?;
        let role = scope.symbols[symbol].role;
        if !role.is_assigned_here() {
            return Err(format!("an assignment to `{name}`, which is {role:?}"));
        }
        Ok(Span { symbol, low: 0, width: scope.symbols[symbol].width })
    }

    fn assign(&self, target: Span, value: Expr) -> Result<Stmt, Problem> {
        let symbol = &self.translator.scope.symbols[target.symbol];
        let whole = target.width == symbol.width;
        let ty = if symbol.signed && whole { Ty::Signed(target.width) } else { Ty::Bits(target.width) };
        let value =
            adapt(value, ty).map_err(|problem| format!("assignment to `{}`: {problem}", symbol.name))?;
        Ok(Stmt::Assign { target, value })
    }

    fn conditional(&mut self, conditional: &VerilogConditional, done: &mut Vec<Stmt>) -> Result<(), Problem> {
        let test = self.translator.expr(&conditional.test)?;
        if test.ty != Ty::Bits(1) {
            return Err(format!("`if` of {:?} `{}`", test.ty, test.text));
        }
        let then = self.block(&conditional.then)?;
        let mut otherwise = Vec::new();
        match &conditional.otherwise {
            Otherwise::Block(block) => otherwise = self.block(block)?,
            Otherwise::Conditional(next) => self.statement(next, &mut otherwise)?,
            Otherwise::None => {}
        }
        match &test.value {
            Some(value) => done.extend(if *value == BigInt::from(0) { otherwise } else { then }),
            None => done.push(Stmt::If { test, then, otherwise }),
        }
        Ok(())
    }

    fn case(&mut self, found: &VerilogMatch) -> Result<Stmt, Problem> {
        let test = self.translator.expr(&found.test)?;
        let Ty::Bits(width) = test.ty else {
            return Err(format!("`match` on {:?} `{}`", test.ty, test.text));
        };
        let mut arms: Vec<Arm> = Vec::new();
        let mut default = None;
        let mut all_labels = 0;
        for case in &found.cases {
            if default.is_some() {
                return Err(format!("`match` on `{}` has arms after `_`", test.text));
            }
            let body = self.block(&case.block)?;
            if case.condition == "default" {
                default = Some(body);
                continue;
            }
            let (label, of) = self.label(&case.condition, width)?;
            all_labels = of.unwrap_or(0);
            if arms.iter().any(|arm| arm.label.value == label.value) {
                return Err(format!("`match` on `{}` names {} twice", test.text, case.condition));
            }
            arms.push(Arm { label, body });
        }
        // Without `_` Rust has proved that every variant is there; codes that are no variant take the last arm, so
        // that no latch is asked for.
        let complete = arms.len() == 1 << width.min(20) || (all_labels > 0 && arms.len() == all_labels);
        let default = match default {
            Some(default) => default,
            None if complete => arms.pop().map(|arm| arm.body).unwrap_or_default(),
            None => return Err(format!("`match` on `{}` is not complete", test.text)),
        };
        Ok(Stmt::Case { test, arms, default })
    }

    /// A pattern as a sized constant, and how many labels its enumeration has.
    fn label(&self, pattern: &str, width: usize) -> Result<(Expr, Option<usize>), Problem> {
        if let Some(label) = self.translator.scope.label(pattern)? {
            let count = label.count;
            return Ok((self.translator.expr(&Ast::Signal(pattern.to_string()))?, Some(count)));
        }
        let digits = pattern.replace('_', "");
        let digits = digits.trim_end_matches("usize").trim_end_matches("u64");
        let value = match digits.strip_prefix("0x") {
            Some(hex) => BigInt::parse_bytes(hex.as_bytes(), 16),
            None => BigInt::parse_bytes(digits.as_bytes(), 10),
        };
        let value =
            value.ok_or_else(|| format!("the pattern `{pattern}` is neither a label nor a number"))?;
        if value.bits() > width as u64 {
            return Err(format!("the pattern {value} does not fit {width} bits"));
        }
        let text = sized(&value, width);
        let value = Some(value);
        Ok((Expr { ty: Ty::Bits(width), text, value, place: None, reads: vec![], labels: vec![] }, None))
    }

    fn link(&self, link: &VerilogLink) -> Result<Stmt, Problem> {
        let (details, forward) = match link {
            VerilogLink::Forward(details) => (details, true),
            VerilogLink::Backward(details) => (details, false),
            VerilogLink::Bidirectional(details) => return Err(format!("a two-way link {details:?}")),
        };
        let field = details.my_name.replace('.', "$");
        let full = |owner: &str| if field.is_empty() { owner.to_string() } else { format!("{owner}{field}") };
        let (owner, other) = (full(&details.owner_name), full(&details.other_name));
        let (to, from) = if forward { (other, owner) } else { (owner, other) };
        let value = self.translator.expr(&Ast::Signal(from))?;
        let target = self.target_named(&to)?;
        self.assign(target, value)
    }
}
