//! Every signal is assigned on every path, and read only after it was.
//!
//! In Rust an unassigned signal keeps its old value; in Verilog that is a latch. A `Local` or output read before its
//! assignment shows last round's value in Rust and the settled one in Verilog. Both are refused here.

use std::collections::HashMap;

use num_bigint::BigUint;

use super::error::Problem;
use super::expr::Expr;
use super::lower::Stmt;
use super::scope::{Role, Scope, Span, SymbolId};

/// Bits known to be assigned, layer over layer: one layer for each branch that is open.
struct Assigned<'a> {
    scope: &'a Scope,
    layers: Vec<HashMap<SymbolId, BigUint>>,
}

/// Checks one kernel.
pub(crate) fn check(kernel: &[Stmt], scope: &Scope) -> Result<(), Problem> {
    let mut assigned = Assigned { scope, layers: vec![HashMap::new()] };
    assigned.block(kernel)?;
    for (id, symbol) in scope.symbols.iter().enumerate() {
        if symbol.role.is_assigned_here()
            && !assigned.covers(Span { symbol: id, low: 0, width: symbol.width })
        {
            // A Local that is never touched at all is harmless, yet dead: refuse it as well.
            return Err(format!("`{}` is not assigned on every path (a latch)", symbol.name));
        }
    }
    Ok(())
}

fn mask(span: Span) -> BigUint {
    ((BigUint::from(1_u8) << span.width) - 1_u8) << span.low
}

impl Assigned<'_> {
    fn covers(&self, span: Span) -> bool {
        let wanted = mask(span);
        let mut held = BigUint::from(0_u8);
        for layer in &self.layers {
            if let Some(bits) = layer.get(&span.symbol) {
                held |= bits;
            }
        }
        &held & &wanted == wanted
    }

    fn reads(&self, expr: &Expr) -> Result<(), Problem> {
        for span in &expr.reads {
            let symbol = &self.scope.symbols[span.symbol];
            if matches!(symbol.role, Role::Local | Role::Output) && !self.covers(*span) {
                return Err(format!("`{}` is read before it is assigned", symbol.name));
            }
        }
        Ok(())
    }

    fn block(&mut self, statements: &[Stmt]) -> Result<(), Problem> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt) -> Result<(), Problem> {
        match statement {
            Stmt::Assign { target, value } => {
                self.reads(value)?;
                let layer = self.layers.last_mut().expect("one layer is always open");
                *layer.entry(target.symbol).or_default() |= mask(*target);
                Ok(())
            }
            Stmt::If { test, then, otherwise } => {
                self.reads(test)?;
                self.branches(&[then, otherwise])
            }
            Stmt::Case { test, arms, default } => {
                self.reads(test)?;
                let bodies: Vec<&Vec<Stmt>> = arms.iter().map(|arm| &arm.body).chain([default]).collect();
                self.branches(&bodies)
            }
        }
    }

    /// Walks each branch on its own; what all of them assign is assigned after.
    fn branches(&mut self, bodies: &[&Vec<Stmt>]) -> Result<(), Problem> {
        let mut common: Option<HashMap<SymbolId, BigUint>> = None;
        for body in bodies {
            self.layers.push(HashMap::new());
            self.block(body)?;
            let layer = self.layers.pop().expect("the layer pushed above");
            common = Some(match common {
                None => layer,
                Some(before) => before
                    .into_iter()
                    .filter_map(|(symbol, bits)| layer.get(&symbol).map(|other| (symbol, bits & other)))
                    .collect(),
            });
        }
        let layer = self.layers.last_mut().expect("one layer is always open");
        for (symbol, bits) in common.unwrap_or_default() {
            *layer.entry(symbol).or_default() |= bits;
        }
        Ok(())
    }
}
