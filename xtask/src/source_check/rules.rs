//! What a kernel may not say, why, and what to write instead.

/// One refusal.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Rule {
    /// What was found.
    pub(crate) what: &'static str,
    /// What goes wrong.
    pub(crate) why: &'static str,
    /// What to write.
    pub(crate) instead: &'static str,
}

/// Declares the rules under their names.
macro_rules! rules {
    ($($name:ident: $what:literal, $why:literal, $instead:literal;)+) => {
        $(pub(crate) const $name: Rule = Rule { what: $what, why: $why, instead: $instead };)+
    };
}

// Each line of "why" was read off RustHDL 0.46's kernel macro, which passes these through without a word.
rules! {
    INCLUSIVE_RANGE: "inclusive range",
        "the macro prints `0..=3` as `0..3`, one turn short",
        "`0..4`";
    LOOP_SHADOW: "loop variable that hides another name",
        "names are text in the Verilog: a loop variable, a field of the block or an outer loop of the same name \
         cannot be told apart",
        "another name for the loop variable";
    GUARD: "match guard",
        "the macro drops the guard and keeps the arm",
        "`if` inside the arm";
    BINDING: "binding or constant as a match pattern",
        "in Rust it binds or compares a value, in Verilog it is an undeclared name",
        "a decimal literal, `Type::Variant` or `_`";
    PATTERN_LITERAL: "match literal that is not plain decimal",
        "the literal is pasted into the Verilog as Rust wrote it",
        "a decimal literal without suffix or underscore";
    ENUM_PATH: "path that is not `Type::Variant`",
        "states are known in the Verilog by type and variant only",
        "`Type::Variant`, with the type imported under its own name";
    CONSTANT: "constant or const generic as a value",
        "the Verilog gets its name, not its value",
        "a `Constant<Bits<N>>` field, read with `.val()`";
    INDEX_VALUE: "`.index()` that is not the last step of a bit position, a shift amount, a comparison or a match",
        "the macro erases it: what follows is computed in 64 bits by Rust and in the signal's width by the Verilog",
        "arithmetic on `Bits` and `.index()` last, as in `get_bit((a + 1).index())`; widen by `bit_cast` what must not wrap";
    TO_BITS: "`.to_bits()` inside an expression, on something that is not a literal",
        "the macro erases the conversion and its width",
        "`self.wire.next = self.record.val().to_bits()` for a struct, then `self.wire.val()`; for a loop variable a \
         `Constant` array that it indexes";
    INTO: "`.into()` on something that is not a literal",
        "the macro erases the conversion: whatever `From` computes is lost",
        "signals of the type that is wanted, or `bit_cast`";
    LOOKALIKE: "function named like one of RustHDL's casts",
        "every name that starts with `bits`, `Bits`, `bit_cast`, `signed_cast`, `signed_bit_cast` or `unsigned_cast` is \
         taken for a cast of its first argument, whatever it computes",
        "`bits`, `bit_cast`, `signed_cast`, `unsigned_cast`, or logic in the kernel itself";
    SIGNED_RESIZE: "`signed_bit_cast` that may change the width",
        "the macro keeps the sign and drops the new width",
        "`signed_bit_cast::<N, N>`, or `bit_cast` of the unsigned value with the sign bit repeated";
    CAST: "`as` cast",
        "the Verilog knows no Rust integers",
        "`bit_cast`";
    NESTED_FIELD: "field of a field of a struct",
        "the macro finds one level of fields; below that it prints a name that does not exist",
        "a flat struct, or a `Local` for the inner one";
    VALUE_FIELD: "field of a computed value",
        "the macro takes the whole expression for a signal's name",
        "the value in a `Local` signal, then `.val().field`";
    BARE_FIELD: "field read without `.val()`",
        "a plain Rust field has no place in the Verilog; its name is printed as if it were a signal",
        "a `Signal` or `Constant` field, read with `.val()`";
    TWO_DIMENSIONS: "array of arrays",
        "signals in the Verilog have one index",
        "one array of `rows * columns`, or a struct between the two";
    COMPUTED_INDEX: "array index that is not made of loop variables and literals",
        "the index is pasted into a name, so it must be known when the loop is unrolled",
        "a loop over the array with `if` on the index, or a RAM";
    READ_NEXT: "reading `.next`",
        "Rust reads what was assigned so far, the Verilog gets a name that does not exist",
        "a `Local` signal that is assigned once and read with `.val()`";
    TARGET: "assignment to something that is not `.next` or `.next.field` of a signal",
        "the macro takes the left side for a signal's name",
        "`self.signal.next = ...`";
    SETTER: "method that changes a value, or a getter by name",
        "RustHDL translates `set_value_*`, `get_value_*` and `set_bit` by their names, whatever they do in Rust",
        "an assignment to `.next` or `.next.field`, and `.val().field`";
    LINK: "call that contains `::join` or `::link` and is not `Type::join(&mut self.a, &mut self.b)`",
        "the macro keeps two arguments and the name up to `join`, and drops the rest",
        "`join` and `link` with two fields of the block";
    ONLY_IN_RUST: "`assert!` or `println!`",
        "the macro turns it into a comment: it runs in Rust's simulator and nowhere else",
        "a check in the test or the model; `comment!` for a comment";
    CONDITIONAL: "`#[cfg]` inside a kernel",
        "Rust leaves the statement out, the Verilog keeps it",
        "two blocks, or a `Constant<Bit>` and `if`";
    NOT_UPDATE: "`#[hdl_gen]` on something that is not `fn update(&mut self)`",
        "Rust simulates `update`, the Verilog is made from this function: they would be two designs",
        "`#[hdl_gen]` on `update`";
    IN_MACRO: "`#[hdl_gen]` inside a macro",
        "this check cannot see the kernel before the macro is expanded",
        "the kernel in plain sight; a macro that makes `#[test]` functions may hold kernels, which are tried on the spot";
}
