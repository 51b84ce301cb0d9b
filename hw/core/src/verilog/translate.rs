//! Gives every expression the type Rust gives it, and Verilog text that keeps it.
//!
//! Every node is parenthesised. Whatever could grow (sum, difference, complement, left shift) is cut back to its
//! width at once, by a cast whose operand is self-determined; widening is a concatenation with zeros.

use num_bigint::BigInt;
use rust_hdl::core::ast::{VerilogExpression as Ast, VerilogOp as Op, VerilogOpUnary as Unary};

use super::Style;
use super::error::Problem;
use super::expr::{Expr, Ty, adapt, derived, fold, int, sized, unify};
use super::index;
use super::scope::{Role, Scope, Span, parse_literal};

/// Width of shift amounts: no sum of a few of them wraps.
const AMOUNT_BITS: usize = 32;

/// Translates expressions of one kernel.
pub(crate) struct Translator<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) loops: Vec<(String, i64)>,
    pub(crate) style: Style,
}

impl Translator<'_> {
    pub(crate) fn expr(&self, ast: &Ast) -> Result<Expr, Problem> {
        match ast {
            Ast::Signal(name) => self.name(name),
            Ast::Literal(literal) => {
                let (value, width) = parse_literal(&format!("{literal:x}"))?;
                // Only `true` and `false` come with one bit; numbers carry the width of their Rust type.
                if width == 1 { adapt(int(value), Ty::Bits(1)) } else { Ok(int(value)) }
            }
            Ast::Paren(inner) => self.expr(inner),
            Ast::Cast(inner, width) => self.cast(inner, *width),
            Ast::Signed(inner) => self.signed(inner),
            Ast::Unsigned(inner) => {
                let inner = self.expr(inner)?;
                match inner.ty {
                    Ty::Signed(width) => {
                        Ok(derived(Ty::Bits(width), format!("($unsigned({}))", inner.text), &[&inner]))
                    }
                    other => Err(format!("unsigned_cast of {other:?}")),
                }
            }
            Ast::Binary(left, op, right) => self.binary(left, op, right),
            Ast::Unary(op, inner) => self.unary(op, inner),
            Ast::Index(base, position) => self.slice(base, 1, position),
            Ast::Slice(base, width, offset) => self.slice(base, *width, offset),
            Ast::IndexReplace(base, position, bit) => self.replace_bit(base, position, bit),
        }
    }

    fn name(&self, raw: &str) -> Result<Expr, Problem> {
        if let Some((_, value)) = self.loops.iter().rev().find(|(name, _)| name == raw) {
            return Ok(int((*value).into()));
        }
        if let Some(label) = self.scope.label(raw)? {
            let value = Some(BigInt::from(label.value));
            let ty = Ty::Bits(label.width);
            return Ok(Expr {
                ty,
                text: raw.into(),
                value,
                place: None,
                reads: vec![],
                labels: vec![raw.into()],
            });
        }
        let name = index::resolve(raw, &self.loops)?;
        let id = self.scope.find(&name).ok_or_else(|| {
            format!(
                "`{name}` is no signal here (a Rust const or const generic must enter as a Constant field)"
            )
        })?;
        let symbol = &self.scope.symbols[id];
        if symbol.role == Role::ChildInput {
            return Err(format!(
                "`{name}` is the input of an inner block: Rust would read its settled value and Verilog the one in \
                 the making; read the signal it was assigned from"
            ));
        }
        let ty = if symbol.signed { Ty::Signed(symbol.width) } else { Ty::Bits(symbol.width) };
        let place = Span { symbol: id, low: 0, width: symbol.width };
        let (text, value) = (symbol.name.clone(), symbol.value.clone());
        Ok(Expr { ty, text, value, place: Some(place), reads: vec![place], labels: vec![] })
    }

    fn cast(&self, inner: &Ast, width: usize) -> Result<Expr, Problem> {
        let inner = self.expr(inner)?;
        match inner.ty {
            Ty::Int => adapt(inner, Ty::Bits(width)),
            Ty::Bits(from) if from == width => Ok(inner),
            Ty::Bits(from) if from < width => {
                Ok(derived(Ty::Bits(width), self.widen(&inner.text, from, width), &[&inner]))
            }
            Ty::Bits(_) => Ok(derived(Ty::Bits(width), self.cut(width, &inner.text), &[&inner])),
            Ty::Signed(_) => Err(format!("bit_cast of the signed `{}`", inner.text)),
        }
    }

    fn signed(&self, inner: &Ast) -> Result<Expr, Problem> {
        let inner = self.expr(inner)?;
        match inner.ty {
            Ty::Int => Ok(inner),
            Ty::Bits(width) => {
                Ok(derived(Ty::Signed(width), format!("($signed({}))", inner.text), &[&inner]))
            }
            Ty::Signed(_) => Err("signed_bit_cast loses its target width on the way here".into()),
        }
    }

    fn unary(&self, op: &Unary, inner: &Ast) -> Result<Expr, Problem> {
        let inner = self.expr(inner)?;
        let text = &inner.text;
        match (op, inner.ty) {
            (Unary::Neg, Ty::Int) => Ok(int(-inner.value.ok_or("a constant without value")?)),
            (Unary::Neg, Ty::Signed(width)) => {
                Ok(derived(inner.ty, self.cut(width, &format!("-{text}")), &[&inner]))
            }
            (Unary::Not, Ty::Bits(1)) => Ok(derived(inner.ty, format!("(!{text})"), &[&inner])),
            (Unary::Not, Ty::Bits(width)) => {
                Ok(derived(inner.ty, self.cut(width, &format!("~{text}")), &[&inner]))
            }
            (Unary::All, Ty::Bits(_)) => Ok(derived(Ty::Bits(1), format!("(&{text})"), &[&inner])),
            (Unary::Any, Ty::Bits(_)) => Ok(derived(Ty::Bits(1), format!("(|{text})"), &[&inner])),
            (Unary::Xor, Ty::Bits(_)) => Ok(derived(Ty::Bits(1), format!("(^{text})"), &[&inner])),
            (op, ty) => Err(format!("{op:?} of {ty:?} `{text}`")),
        }
    }

    fn binary(&self, left: &Ast, op: &Op, right: &Ast) -> Result<Expr, Problem> {
        if let Some(symbol) = associative(op) {
            return self.chain(left, op, symbol, right);
        }
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        if let (Ty::Int, Ty::Int) = (left.ty, right.ty) {
            return fold(&left, op, &right);
        }
        match op {
            Op::Shl | Op::Shr => self.shift(&left, op, &right),
            Op::Add | Op::Sub => {
                let symbol = if matches!(op, Op::Add) { "+" } else { "-" };
                let (left, right) = self.unify_sum(left, op, right)?;
                let width = left.ty.width().ok_or("a sum without width")?;
                Ok(derived(
                    left.ty,
                    self.cut(width, &format!("{} {symbol} {}", left.text, right.text)),
                    &[&left, &right],
                ))
            }
            Op::Mul => match (left.ty, right.ty) {
                (Ty::Bits(16), Ty::Bits(16)) => {
                    let (a, b) = (self.widen(&left.text, 16, 32), self.widen(&right.text, 16, 32));
                    Ok(derived(Ty::Bits(32), self.cut(32, &format!("{a} * {b}")), &[&left, &right]))
                }
                (a, b) => Err(format!("a product of {a:?} and {b:?}: RustHDL has 16 x 16 alone")),
            },
            _ => {
                let symbol = match op {
                    Op::LogicalAnd => "&&",
                    Op::LogicalOr => "||",
                    Op::Eq => "==",
                    Op::Ne => "!=",
                    Op::Lt => "<",
                    Op::Le => "<=",
                    Op::Gt => ">",
                    _ => ">=",
                };
                let (left, right) = unify(left, right)?;
                if matches!(op, Op::LogicalAnd | Op::LogicalOr) && left.ty != Ty::Bits(1) {
                    return Err(format!("`{symbol}` of {:?}", left.ty));
                }
                let text = self.paren(&format!("{} {symbol} {}", left.text, right.text));
                Ok(derived(Ty::Bits(1), text, &[&left, &right]))
            }
        }
    }

    /// `Bits<N> + bool` is the one sum Rust allows between types.
    fn unify_sum(&self, left: Expr, op: &Op, right: Expr) -> Result<(Expr, Expr), Problem> {
        match (left.ty, right.ty) {
            (Ty::Bits(width), Ty::Bits(1)) if width > 1 && matches!(op, Op::Add) => {
                let text = self.widen(&right.text, 1, width);
                let right = derived(left.ty, text, &[&right]);
                Ok((left, right))
            }
            _ => unify(left, right),
        }
    }

    fn shift(&self, left: &Expr, op: &Op, right: &Expr) -> Result<Expr, Problem> {
        let Ty::Bits(width) = left.ty else {
            return Err(format!("a shift of {:?} `{}`", left.ty, left.text));
        };
        if matches!(right.ty, Ty::Signed(_)) {
            return Err(format!("a shift by the signed `{}`", right.text));
        }
        let text = match op {
            Op::Shl => self.cut(width, &format!("{} << {}", left.text, self.amount(right))),
            _ => self.paren(&format!("{} >> {}", left.text, self.amount(right))),
        };
        Ok(derived(left.ty, text, &[left, right]))
    }

    /// `a ^ b ^ c ...` as a reduction or a balanced tree: a chain would be as deep as it is long.
    fn chain(&self, left: &Ast, op: &Op, symbol: &str, right: &Ast) -> Result<Expr, Problem> {
        let mut parts = Vec::new();
        self.flatten(left, op, &mut parts)?;
        self.flatten(right, op, &mut parts)?;
        let Some(ty) = parts.iter().map(|part| part.ty).find(|ty| *ty != Ty::Int) else {
            let first = parts[0].clone();
            return parts[1..].iter().try_fold(first, |all, part| fold(&all, op, part));
        };
        if let Ty::Signed(_) = ty {
            return Err(format!("`{symbol}` of signed values"));
        }
        let parts: Vec<Expr> = parts.into_iter().map(|part| adapt(part, ty)).collect::<Result<_, _>>()?;
        let texts: Vec<String> = parts.iter().map(|part| part.text.clone()).collect();
        let text = if ty == Ty::Bits(1) && texts.len() > 2 && self.style.parentheses {
            format!("({symbol}{{{}}})", texts.join(", "))
        } else {
            self.balanced(&texts, symbol)
        };
        Ok(derived(ty, text, &parts.iter().collect::<Vec<_>>()))
    }

    fn flatten(&self, ast: &Ast, op: &Op, into: &mut Vec<Expr>) -> Result<(), Problem> {
        match ast {
            Ast::Paren(inner) => self.flatten(inner, op, into),
            Ast::Binary(left, inner, right) if associative(inner) == associative(op) => {
                self.flatten(left, op, into)?;
                self.flatten(right, op, into)
            }
            other => {
                into.push(self.expr(other)?);
                Ok(())
            }
        }
    }

    fn balanced(&self, texts: &[String], symbol: &str) -> String {
        match texts {
            [one] => one.clone(),
            many => {
                let (left, right) = many.split_at(many.len() / 2);
                self.paren(&format!(
                    "{} {symbol} {}",
                    self.balanced(left, symbol),
                    self.balanced(right, symbol)
                ))
            }
        }
    }

    fn slice(&self, base: &Ast, width: usize, offset: &Ast) -> Result<Expr, Problem> {
        let (base, offset) = (self.expr(base)?, self.expr(offset)?);
        let Ty::Bits(from) = base.ty else { return Err(format!("a slice of {:?} `{}`", base.ty, base.text)) };
        let constant = (offset.ty == Ty::Int).then(|| offset.value.clone()).flatten();
        let constant =
            constant.map(|value| usize::try_from(&value).map_err(|_| format!("a slice at {value}")));
        match (constant.transpose()?, base.place) {
            (Some(low), Some(outer)) if low + width <= from => {
                let place = Span { low: outer.low + low, width, ..outer };
                let mut expr = derived(Ty::Bits(width), self.scope.place(place), &[]);
                expr.place = Some(place);
                expr.reads = vec![place];
                Ok(expr)
            }
            (Some(low), _) if low > from => {
                Err(format!("a slice at {low} of `{}`, which has {from} bits", base.text))
            }
            _ => {
                let shifted = self.paren(&format!("{} >> {}", base.text, self.amount(&offset)));
                let text = match width.cmp(&from) {
                    std::cmp::Ordering::Less => self.cut(width, &shifted),
                    std::cmp::Ordering::Equal => shifted,
                    std::cmp::Ordering::Greater => self.widen(&shifted, from, width),
                };
                Ok(derived(Ty::Bits(width), text, &[&base, &offset]))
            }
        }
    }

    fn replace_bit(&self, base: &Ast, position: &Ast, bit: &Ast) -> Result<Expr, Problem> {
        let (base, position) = (self.expr(base)?, self.expr(position)?);
        let bit = adapt(self.expr(bit)?, Ty::Bits(1))?;
        let Ty::Bits(width) = base.ty else { return Err(format!("replace_bit of {:?}", base.ty)) };
        let one = self.cut(width, &format!("{} << {}", sized(&1.into(), width), self.amount(&position)));
        let keep = self.paren(&format!("{} & {}", base.text, self.cut(width, &format!("~{one}"))));
        let put =
            self.cut(width, &format!("{} << {}", self.widen(&bit.text, 1, width), self.amount(&position)));
        Ok(derived(base.ty, self.paren(&format!("{keep} | {put}")), &[&base, &position, &bit]))
    }

    /// A shift's amount, in 32 bits: Verilator makes one shift of two and adds the amounts in the width they have, so that
    /// of two amounts of three bits 7 + 1 would be 0.
    fn amount(&self, by: &Expr) -> String {
        match by.ty {
            Ty::Bits(width) if width < AMOUNT_BITS => self.widen(&by.text, width, AMOUNT_BITS),
            _ => by.text.clone(),
        }
    }

    fn paren(&self, text: &str) -> String {
        if self.style.parentheses { format!("({text})") } else { text.to_string() }
    }

    fn cut(&self, width: usize, text: &str) -> String {
        if self.style.truncation { format!("({width}'({text}))") } else { self.paren(text) }
    }

    fn widen(&self, text: &str, from: usize, to: usize) -> String {
        if from == to || !self.style.truncation {
            text.to_string()
        } else {
            format!("{{{}'h0, {text}}}", to - from)
        }
    }
}

fn associative(op: &Op) -> Option<&'static str> {
    match op {
        Op::BitXor => Some("^"),
        Op::BitOr => Some("|"),
        Op::BitAnd => Some("&"),
        _ => None,
    }
}
