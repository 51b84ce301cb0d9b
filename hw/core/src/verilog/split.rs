//! Cuts a kernel into pieces that can stand alone: `assign` where a signal is assigned once, and one `always_comb` for
//! each set of statements that must stay together.
//!
//! One big `always_comb` would be right and slow: Verilator would run all of it whenever anything changes, and see
//! loops where none are.

use std::collections::HashMap;

use super::expr::Expr;
use super::lower::Stmt;
use super::scope::{Span, SymbolId};

/// A piece of a kernel: positions of its top-level statements, in order.
pub(crate) enum Piece {
    /// One unconditional assignment.
    Continuous(usize),
    /// Statements that run in order.
    Procedural(Vec<usize>),
}

#[derive(Default)]
struct Uses {
    writes: Vec<SymbolId>,
    reads: Vec<SymbolId>,
}

impl Uses {
    fn of(statement: &Stmt) -> Self {
        let mut uses = Self::default();
        uses.add(statement);
        uses.writes.sort_unstable();
        uses.writes.dedup();
        uses.reads.sort_unstable();
        uses.reads.dedup();
        uses
    }

    fn expr(&mut self, expr: &Expr) {
        self.reads.extend(expr.reads.iter().map(|span| span.symbol));
    }

    fn add(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign { target, value } => {
                self.writes.push(target.symbol);
                self.expr(value);
            }
            Stmt::If { test, then, otherwise } => {
                self.expr(test);
                then.iter().chain(otherwise).for_each(|inner| self.add(inner));
            }
            Stmt::Case { test, arms, default } => {
                self.expr(test);
                arms.iter().flat_map(|arm| &arm.body).chain(default).for_each(|inner| self.add(inner));
            }
        }
    }
}

/// Splits the top-level statements of a kernel.
pub(crate) fn split(kernel: &[Stmt]) -> Vec<Piece> {
    let uses: Vec<Uses> = kernel.iter().map(Uses::of).collect();
    let mut writers: HashMap<SymbolId, Vec<usize>> = HashMap::new();
    for (at, use_) in uses.iter().enumerate() {
        for symbol in &use_.writes {
            writers.entry(*symbol).or_default().push(at);
        }
    }
    let mut groups = Groups::new(kernel.len());
    let procedural: HashMap<SymbolId, (usize, usize)> = writers
        .iter()
        .filter(|(_, at)| !written_once(kernel, at))
        .map(|(symbol, at)| (*symbol, (at[0], at[at.len() - 1])))
        .collect();
    for symbol in procedural.keys() {
        writers[symbol].windows(2).for_each(|pair| groups.join(pair[0], pair[1]));
    }
    for (at, use_) in uses.iter().enumerate() {
        for symbol in &use_.reads {
            // Between first and last assignment the value is still in the making: whoever reads it there must stay.
            if let Some((first, last)) = procedural.get(symbol)
                && (*first..=*last).contains(&at)
            {
                groups.join(at, *first);
            }
        }
    }
    // A signal is driven either by `assign` or from one `always_comb`, never by both.
    while writers.values().any(|at| groups.gather(at)) {}
    groups.pieces(kernel)
}

/// Whether each bit of a signal is assigned by one unconditional statement.
fn written_once(kernel: &[Stmt], at: &[usize]) -> bool {
    let mut spans: Vec<Span> = Vec::new();
    at.iter().all(|position| {
        let Stmt::Assign { target, .. } = &kernel[*position] else { return false };
        let free = spans
            .iter()
            .all(|span| target.low + target.width <= span.low || span.low + span.width <= target.low);
        spans.push(*target);
        free
    })
}

/// Union-find over statement positions.
struct Groups {
    parent: Vec<usize>,
    size: Vec<usize>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Self { parent: (0..count).collect(), size: vec![1; count] }
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            let (low, high) = (a.min(b), a.max(b));
            self.parent[high] = low;
            self.size[low] += self.size[high];
        }
    }

    /// Joins all writers of a signal if one of them already shares a group with others; tells whether it changed.
    fn gather(&mut self, at: &[usize]) -> bool {
        let roots: Vec<usize> = at.iter().map(|position| self.root(*position)).collect();
        let apart = roots.windows(2).any(|pair| pair[0] != pair[1]);
        let shared = roots.iter().any(|root| self.size[*root] > 1);
        if apart && shared {
            at.windows(2).for_each(|pair| self.join(pair[0], pair[1]));
        }
        apart && shared
    }

    fn pieces(&mut self, kernel: &[Stmt]) -> Vec<Piece> {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); kernel.len()];
        for at in 0..kernel.len() {
            let root = self.root(at);
            members[root].push(at);
        }
        members.retain(|group| !group.is_empty());
        let piece = |group: Vec<usize>| match (&group[..], &kernel[group[0]]) {
            ([only], Stmt::Assign { .. }) => Piece::Continuous(*only),
            _ => Piece::Procedural(group),
        };
        members.into_iter().map(piece).collect()
    }
}
