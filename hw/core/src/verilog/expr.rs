//! Expressions on their way to Verilog: their type, their text, what they depend on.

use num_bigint::{BigInt, Sign};
use rust_hdl::core::ast::VerilogOp as Op;

use super::error::Problem;
use super::scope::Span;

/// The type of an expression. `Int` is a constant without a width of its own: it takes the other operand's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ty {
    Bits(usize),
    Signed(usize),
    Int,
}

impl Ty {
    pub(crate) fn width(self) -> Option<usize> {
        match self {
            Self::Bits(width) | Self::Signed(width) => Some(width),
            Self::Int => None,
        }
    }
}

/// A translated expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) ty: Ty,
    pub(crate) text: String,
    pub(crate) value: Option<BigInt>,
    /// Set when the text is a signal or a constant slice of one, so that it can be sliced further or connected.
    pub(crate) place: Option<Span>,
    pub(crate) reads: Vec<Span>,
    /// Labels of enumerations the text names.
    pub(crate) labels: Vec<String>,
}

pub(crate) fn sized(value: &BigInt, width: usize) -> String {
    let unsigned =
        if value.sign() == Sign::Minus { value + (BigInt::from(1) << width) } else { value.clone() };
    format!("{width}'h{unsigned:x}")
}

pub(crate) fn int(value: BigInt) -> Expr {
    Expr {
        ty: Ty::Int,
        text: value.to_string(),
        value: Some(value),
        place: None,
        reads: vec![],
        labels: vec![],
    }
}

pub(crate) fn derived(ty: Ty, text: String, from: &[&Expr]) -> Expr {
    let reads = from.iter().flat_map(|part| part.reads.iter().copied()).collect();
    let labels = from.iter().flat_map(|part| part.labels.iter().cloned()).collect();
    Expr { ty, text, value: None, place: None, reads, labels }
}

/// Gives a constant without width the type `ty`, or fails when it does not fit.
pub(crate) fn adapt(expr: Expr, ty: Ty) -> Result<Expr, Problem> {
    if expr.ty != Ty::Int {
        return if expr.ty == ty { Ok(expr) } else { Err(mismatch("operands", expr.ty, ty, &expr.text)) };
    }
    let value = expr.value.as_ref().ok_or("a constant without value")?;
    let (low, high) = match ty {
        Ty::Bits(width) => (BigInt::from(0), BigInt::from(1) << width),
        Ty::Signed(width) => (-(BigInt::from(1) << (width - 1)), BigInt::from(1) << (width - 1)),
        Ty::Int => return Ok(expr),
    };
    if *value < low || *value >= high {
        return Err(format!("the literal {value} does not fit {ty:?}"));
    }
    let text = sized(value, ty.width().expect("Int returned above"));
    Ok(Expr { ty, text, ..expr })
}

fn mismatch(what: &str, left: Ty, right: Ty, text: &str) -> Problem {
    format!("{what} differ in type: {left:?} against {right:?}, near `{text}`")
}

pub(crate) fn unify(left: Expr, right: Expr) -> Result<(Expr, Expr), Problem> {
    match (left.ty, right.ty) {
        (Ty::Int, ty) => Ok((adapt(left, ty)?, right)),
        (ty, Ty::Int) => Ok((left, adapt(right, ty)?)),
        (a, b) if a == b => Ok((left, right)),
        (a, b) => Err(mismatch("operands", a, b, &format!("{} and {}", left.text, right.text))),
    }
}

/// Computes with constants that have no width.
pub(crate) fn fold(left: &Expr, op: &Op, right: &Expr) -> Result<Expr, Problem> {
    let (Some(a), Some(b)) = (&left.value, &right.value) else {
        return Err("a constant without value".into());
    };
    let truth = |value: bool| adapt(int(u8::from(value).into()), Ty::Bits(1));
    let amount = || u32::try_from(b).map_err(|_| format!("a constant shift by {b}"));
    match op {
        Op::Add => Ok(int(a + b)),
        Op::Sub => Ok(int(a - b)),
        Op::Mul => Ok(int(a * b)),
        Op::BitXor => Ok(int(a ^ b)),
        Op::BitAnd => Ok(int(a & b)),
        Op::BitOr => Ok(int(a | b)),
        Op::Shl => Ok(int(a << amount()?)),
        Op::Shr => Ok(int(a >> amount()?)),
        Op::Eq => truth(a == b),
        Op::Ne => truth(a != b),
        Op::Lt => truth(a < b),
        Op::Le => truth(a <= b),
        Op::Gt => truth(a > b),
        Op::Ge => truth(a >= b),
        Op::LogicalAnd | Op::LogicalOr => Err(format!("{op:?} of numbers")),
    }
}
