//! The names of things: signals, their fields and elements, and what an assignment writes to.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprField, ExprLit, GenericArgument, Lit, Member, PathArguments, Type};

use super::kernel::{Kernel, bare};
use super::rules;

impl Kernel {
    /// A signal: `self`, then fields and elements of one index.
    pub(super) fn signal(&mut self, expression: &Expr) {
        match expression {
            Expr::Path(path) if path.path.is_ident("self") => {}
            Expr::Field(field) if named(field, "next") => self.refuse(&rules::READ_NEXT, field.member.span()),
            Expr::Field(field) => self.signal(&field.base),
            Expr::Index(element) => {
                if let Expr::Index(_) = &*element.expr {
                    self.refuse(&rules::TWO_DIMENSIONS, element.span());
                }
                self.element_index(&element.index);
                self.signal(&element.expr);
            }
            other => self.refuse(&rules::VALUE_FIELD, other.span()),
        }
    }

    /// An element's index is text in a name: sums of loop variables, constants and literals can be unrolled.
    fn element_index(&mut self, expression: &Expr) {
        match bare(expression) {
            Expr::Lit(_) | Expr::Path(_) => {}
            Expr::Binary(sum) if is_arithmetic(&sum.op) => {
                self.element_index(&sum.left);
                self.element_index(&sum.right);
            }
            other => self.refuse(&rules::COMPUTED_INDEX, other.span()),
        }
    }

    /// A field in the place of a value: `.val().field` is a slice, anything else is a mistake of some kind.
    pub(super) fn field(&mut self, field: &ExprField) {
        let place = field.member.span();
        if mentions_next(field) {
            self.refuse(&rules::READ_NEXT, place);
            return;
        }
        match &*field.base {
            Expr::MethodCall(call) if call.method == "val" => self.signal(&call.receiver),
            Expr::Field(inner) if reads_value(&inner.base) => self.refuse(&rules::NESTED_FIELD, place),
            Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => self.refuse(&rules::BARE_FIELD, place),
            _ => self.refuse(&rules::VALUE_FIELD, place),
        }
    }

    /// The left side of an assignment: `self.signal.next`, or one field of it.
    pub(super) fn target(&mut self, expression: &Expr) {
        let Expr::Field(field) = expression else {
            // Indexed and other targets are refused by the macro itself.
            return;
        };
        match &*field.base {
            signal if named(field, "next") => self.signal(signal),
            Expr::Field(inner) if named(inner, "next") => self.signal(&inner.base),
            _ if mentions_next(field) => self.refuse(&rules::NESTED_FIELD, field.member.span()),
            _ => self.refuse(&rules::TARGET, field.member.span()),
        }
    }
}

fn named(field: &ExprField, name: &str) -> bool {
    matches!(&field.member, Member::Named(member) if member == name)
}

fn mentions_next(field: &ExprField) -> bool {
    let deeper = match &*field.base {
        Expr::Field(inner) => mentions_next(inner),
        _ => false,
    };
    named(field, "next") || deeper
}

/// Whether the chain of fields starts at the value of a signal.
fn reads_value(expression: &Expr) -> bool {
    match expression {
        Expr::MethodCall(call) => call.method == "val",
        Expr::Field(field) => reads_value(&field.base),
        _ => false,
    }
}

fn is_arithmetic(operator: &BinOp) -> bool {
    matches!(operator, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_))
}

/// The struct of `self.signal.val().to_bits()`, which alone may be assigned whole: the target's width proves the packing.
pub(super) fn packed(expression: &Expr) -> Option<&Expr> {
    match bare(expression) {
        Expr::MethodCall(call) if call.method == "to_bits" && call.turbofish.is_none() => {
            match &*call.receiver {
                Expr::MethodCall(read) if read.method == "val" => Some(&call.receiver),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What `&mut place` lends.
pub(super) fn lent(expression: &Expr) -> Option<&Expr> {
    match expression {
        Expr::Reference(reference) if reference.mutability.is_some() => Some(&reference.expr),
        _ => None,
    }
}

/// Whether a cast's two widths are written out and the same.
pub(super) fn keeps_width(path: &syn::Path) -> bool {
    let Some(PathArguments::AngleBracketed(widths)) = path.segments.last().map(|word| &word.arguments) else {
        return false;
    };
    let mut widths = widths.args.iter().map(width);
    matches!((widths.next(), widths.next()), (Some(Some(to)), Some(Some(from))) if to == from)
}

/// A width as it is written: a number or a name.
fn width(argument: &GenericArgument) -> Option<String> {
    match argument {
        GenericArgument::Const(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })) => Some(number.to_string()),
        GenericArgument::Type(Type::Path(name)) => name.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

/// Whether both sides are only looked at.
pub(super) fn compares(operator: &BinOp) -> bool {
    use BinOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(operator, Eq(_) | Ne(_) | Lt(_) | Le(_) | Gt(_) | Ge(_))
}

/// Whether the right side is an amount.
pub(super) fn shifts(operator: &BinOp) -> bool {
    matches!(operator, BinOp::Shl(_) | BinOp::Shr(_))
}

/// Whether the value stands in the text, sign and parentheses aside.
pub(super) fn is_literal(expression: &Expr) -> bool {
    match bare(expression) {
        Expr::Lit(_) => true,
        Expr::Unary(operation) => is_literal(&operation.expr),
        _ => false,
    }
}

/// The fields of the block that a kernel mentions: the first name after `self`.
pub(super) fn fields(body: &Block) -> Vec<String> {
    let mut finder = Fields(Vec::new());
    finder.visit_block(body);
    finder.0
}

struct Fields(Vec<String>);

impl<'ast> Visit<'ast> for Fields {
    fn visit_expr_field(&mut self, field: &'ast ExprField) {
        if let (Expr::Path(path), Member::Named(name)) = (&*field.base, &field.member)
            && path.path.is_ident("self")
        {
            self.0.push(name.to_string());
        }
        visit::visit_expr_field(self, field);
    }
}
