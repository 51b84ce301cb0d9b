//! For each rule a kernel that keeps it and one that breaks it.

use syn::visit::Visit;

use super::FileCheck;
use super::rules::{self, Rule};

fn findings(source: &str) -> Vec<&'static Rule> {
    let mut check = FileCheck::default();
    check.visit_file(&syn::parse_file(source).unwrap());
    check.findings.into_iter().map(|finding| finding.rule).collect()
}

fn kernel(body: &str) -> String {
    format!("impl Logic for Block {{ #[hdl_gen] fn update(&mut self) {{ {body} }} }}")
}

/// One row a rule: the rule, a body that keeps it, a body that breaks it.
const ROWS: &[(&Rule, &str, &str)] = &[
    (
        &rules::INCLUSIVE_RANGE,
        "for i in 0..4 { self.a[i].next = self.b[i].val(); }",
        "for i in 0..=3 { self.a[i].next = self.b[i].val(); }",
    ),
    (
        &rules::LOOP_SHADOW,
        "for i in 0..2 { for j in 0..2 { self.a[i + j].next = self.b.val(); } }",
        "for i in 0..2 { for i in 0..2 { self.a[i].next = self.b.val(); } }",
    ),
    (
        &rules::LOOP_SHADOW,
        "for i in 0..2 { self.a[i].next = self.count.val(); }",
        "for count in 0..2 { self.a[count].next = self.count.val(); }",
    ),
    (
        &rules::GUARD,
        "match self.s.val() { St::Idle => { if self.c.val() { self.a.next = true; } } _ => {} }",
        "match self.s.val() { St::Idle if self.c.val() => { self.a.next = true; } _ => {} }",
    ),
    (
        &rules::BINDING,
        "match self.s.val().index() { 0 => {} _ => {} }",
        "match self.s.val().index() { 0 => {} other => {} }",
    ),
    (
        &rules::BINDING,
        "match self.s.val().index() { 3 => {} _ => {} }",
        "match self.s.val().index() { n @ 3 => {} _ => {} }",
    ),
    (
        &rules::PATTERN_LITERAL,
        "match self.s.val().index() { 16 => {} _ => {} }",
        "match self.s.val().index() { 0x10 => {} _ => {} }",
    ),
    (
        &rules::PATTERN_LITERAL,
        "if self.s.val() { self.a.next = true; }",
        "match self.s.val() { true => { self.a.next = true; } _ => {} }",
    ),
    (&rules::ENUM_PATH, "self.s.d.next = St::Idle;", "self.s.d.next = crate::states::St::Idle;"),
    (
        &rules::ENUM_PATH,
        "match self.s.val() { St::Idle => {} _ => {} }",
        "match self.s.val() { Self::Idle => {} _ => {} }",
    ),
    (&rules::CONSTANT, "self.a.next = self.limit.val();", "self.a.next = LIMIT;"),
    (
        &rules::CONSTANT,
        "for i in 0..N { self.a[i].next = self.b.val(); }",
        "if self.a.val() == N { self.b.next = true; }",
    ),
    (
        &rules::CONSTANT,
        "self.a.next = self.b.val().get_bits::<N>(8);",
        "self.a.next = self.b.val().get_bits::<N>(OFFSET);",
    ),
    (&rules::CONSTANT, "self.s.d.next = St::Idle;", "self.a.next = Limits::MAX;"),
    (
        &rules::INDEX_VALUE,
        "self.a.next = self.b.val() + 1;",
        "self.a.next = bits::<8>(self.b.val().index() + 1);",
    ),
    (
        &rules::INDEX_VALUE,
        "for i in 0..4 { if self.b.val().index() == i + 1 { self.a[i].next = true; } }",
        "for i in 0..4 { if self.b.val().index() + 1 == i { self.a[i].next = true; } }",
    ),
    (
        &rules::INDEX_VALUE,
        "self.a.next = self.b.val().get_bit((self.i.val() + 1).index());",
        "self.a.next = self.b.val().get_bit(self.i.val().index() + 1);",
    ),
    (
        &rules::INDEX_VALUE,
        "self.a.next = self.b.val() << self.i.val().index();",
        "self.a.next = self.b.val() << (self.i.val().index() * 8);",
    ),
    (
        &rules::INDEX_VALUE,
        "for i in 0..4 { self.a[i].next = self.b.val().get_bits::<8>(i * 8); }",
        "match self.i.val().index() + 1 { 1 => {} _ => {} }",
    ),
    (
        &rules::TO_BITS,
        "self.a.next = 5_u8.to_bits::<4>();",
        "for i in 0..4 { self.a[i].next = i.to_bits::<4>(); }",
    ),
    (
        &rules::TO_BITS,
        "self.wire.next = self.record.val().to_bits();",
        "self.a.next = bit_cast::<16, 8>(self.record.val().to_bits());",
    ),
    (
        &rules::TO_BITS,
        "self.wire.next = (self.r[1].val().to_bits());",
        "self.a.next = self.b.val().to_bits::<8>();",
    ),
    (&rules::INTO, "self.a.next = (7).into();", "self.a.next = self.b.val().into();"),
    (
        &rules::LOOKALIKE,
        "self.a.next = bit_cast::<16, 8>(self.b.val());",
        "self.a.next = bits_reversed(self.b.val());",
    ),
    (&rules::LOOKALIKE, "self.a.next = bits::<8>(3);", "self.a.next = Bits::<8>::from(3);"),
    (
        &rules::SIGNED_RESIZE,
        "self.a.next = signed_bit_cast::<8, 8>(self.b.val());",
        "self.a.next = signed_bit_cast::<16, 8>(self.b.val());",
    ),
    (
        &rules::CAST,
        "for i in 0..(N as usize) { self.a[i].next = self.b.val(); }",
        "self.a.next = self.b.val() as u8;",
    ),
    (&rules::NESTED_FIELD, "self.a.next = self.s.val().inner;", "self.a.next = self.s.val().inner.low;"),
    (&rules::NESTED_FIELD, "self.s.next.inner = self.a.val();", "self.s.next.inner.low = self.a.val();"),
    (
        &rules::VALUE_FIELD,
        "self.a.next = self.s.val().low;",
        "self.a.next = self.s.val().get_bits::<8>(0).low;",
    ),
    (&rules::VALUE_FIELD, "self.a.next = self.s.low.val();", "self.a.next = self.part().low.val();"),
    (&rules::BARE_FIELD, "self.a.next = self.flag.val();", "self.a.next = self.flag;"),
    (&rules::BARE_FIELD, "self.a.next = self.flag[1].val();", "self.a.next = self.flag[1];"),
    (&rules::TWO_DIMENSIONS, "self.a.next = self.m[1].val();", "self.a.next = self.m[1][2].val();"),
    (
        &rules::COMPUTED_INDEX,
        "for i in 0..4 { self.a[i * 2 + 1].next = self.b.val(); }",
        "self.a[self.i.val().index()].next = self.b.val();",
    ),
    (&rules::READ_NEXT, "self.a.next = self.b.val();", "self.a.next = self.b.next;"),
    (&rules::READ_NEXT, "self.a.next = self.b.val().low;", "self.a.next = self.b.next.low;"),
    (&rules::TARGET, "self.a.next = true;", "self.a = true;"),
    (&rules::SETTER, "self.a.next.low = self.b.val();", "self.a.set_value_low(self.b.val());"),
    (&rules::SETTER, "self.a.next = self.b.val().low;", "self.a.next = self.b.val().get_value_low();"),
    (
        &rules::LINK,
        "StreamSource::<T>::join(&mut self.cut.source, &mut self.fifo[0].sink);",
        "StreamSource::<T>::join_three(&mut self.a, &mut self.b, &mut self.c);",
    ),
    (&rules::ONLY_IN_RUST, "comment!(\"one beat\");", "assert!(self.a.val());"),
    (&rules::ONLY_IN_RUST, "dff_setup!(self, clock, state);", "println!(\"here\");"),
    (&rules::CONDITIONAL, "self.a.next = true;", "#[cfg(test)] self.a.next = true;"),
    (
        &rules::CONDITIONAL,
        "match self.s.val() { St::Idle => {} _ => {} }",
        "match self.s.val() { #[cfg(test)] St::Idle => {} _ => {} }",
    ),
];

#[test]
fn each_rule_accepts_what_keeps_it_and_refuses_what_breaks_it() {
    for (rule, good, bad) in ROWS {
        assert_eq!(findings(&kernel(good)), Vec::<&Rule>::new(), "{good}");
        assert_eq!(findings(&kernel(bad)), [*rule], "{bad}");
    }
}

#[test]
fn refusals_are_found_in_every_branch() {
    for body in [
        "if self.c.val() { BAD }",
        "if self.c.val() { } else { BAD }",
        "if self.c.val() { } else if self.d.val() { BAD }",
        "for i in 0..2 { BAD }",
        "match self.s.val() { St::Idle => { BAD } _ => {} }",
        "match self.s.val() { St::Idle => BAD, _ => {} }",
    ] {
        let bad = body.replace("BAD,", "self.a.next = LIMIT,").replace("BAD", "self.a.next = LIMIT;");
        assert_eq!(findings(&kernel(&bad)), [&rules::CONSTANT], "{bad}");
    }
}

#[test]
fn refusals_are_found_inside_every_kind_of_value() {
    for value in [
        "(self.b.val() + LIMIT)",
        "!LIMIT",
        "LIMIT << 2",
        "self.b.val() >> LIMIT",
        "bit_cast::<16, 8>(LIMIT)",
        "LIMIT.get_bit(1)",
        "self.b.val().replace_bit(1, LIMIT)",
        "(self.b.val() & LIMIT).any()",
    ] {
        assert_eq!(findings(&kernel(&format!("self.a.next = {value};"))), [&rules::CONSTANT], "{value}");
    }
}

#[test]
fn functions_that_are_no_kernels_may_say_anything() {
    assert_eq!(findings("fn plain(x: u32) -> u8 { for i in 0..=3 { assert!(i < MAX); } x as u8 }").len(), 0);
}

#[test]
fn a_kernel_is_the_update_function() {
    assert_eq!(findings(&kernel("").replace("update", "connect")), [&rules::NOT_UPDATE]);
    assert_eq!(findings(&kernel("")).len(), 0);
}

#[test]
fn names_of_casts_may_not_be_taken() {
    assert_eq!(findings("fn bit_cast(x: u8) -> u8 { x }"), [&rules::LOOKALIKE]);
    assert_eq!(findings("use other::swap as bits;"), [&rules::LOOKALIKE]);
    assert_eq!(findings("fn swap(x: u8) -> u8 { x }").len(), 0);
}

#[test]
fn kernels_made_by_macros_are_refused_unless_the_macro_makes_tests() {
    let kernel = kernel("");
    let in_plain = format!("macro_rules! shape {{ () => {{ {kernel} }} }}");
    assert_eq!(findings(&in_plain), [&rules::IN_MACRO]);
    let in_test = format!("macro_rules! shape {{ () => {{ #[test] fn t() {{ {kernel} }} }} }}");
    assert_eq!(findings(&in_test).len(), 0);
    let trial = "macro_rules! trial { ($($update:tt)*) => { #[test] fn t() { $($update)* } } }";
    assert_eq!(findings(&format!("{trial} trial! {{ {kernel} }}")).len(), 0);
    assert_eq!(findings(&format!("{trial} other! {{ {kernel} }}")), [&rules::IN_MACRO]);
}
