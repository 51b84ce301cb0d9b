//! Two models with the same inputs: every kind of difference is found and named.

use crate::designs::design;
use std::panic::{AssertUnwindSafe, catch_unwind};
use stroma_verilate::{Model, Verilog};

/// A design `twins` that shows `q`, eight bits, with registers of these names beside it that Verilator keeps.
fn twins(logic: &str, registers: impl IntoIterator<Item = String>) -> Model {
    let kept = |name: String| format!("reg [7:0] {name} /*verilator public_flat_rd*/;\n");
    let registers: String = registers.into_iter().map(kept).collect();
    let text = format!(
        "module twins (input wire clock, input wire [7:0] d, output wire [7:0] q);\n{registers}{logic}\nendmodule"
    );
    Model::load(&design(&text, "top twins\nclock clock 1\nin d 8\nout q 8")).unwrap()
}

/// As many names that begin so.
fn names(begin: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| format!("{begin}{number}"))
}

/// What the panic of `act` says.
fn refusal(act: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(act)).expect_err("no difference was found");
    panic.downcast_ref::<String>().expect("a panic with a message").clone()
}

fn tick(model: &mut Model, d: u64) {
    let [clock, input] = ["clock", "d"].map(|name| model.port(name).unwrap());
    model.set(input, d);
    model.tick(clock);
}

#[test]
fn an_output_that_differs_is_reported_when_it_does() {
    let whole = || twins("reg [7:0] held; always @(posedge clock) held <= d; assign q = held;", []);
    // It loses the highest bit.
    let narrow =
        || twins("reg [6:0] held; always @(posedge clock) held <= d[6:0]; assign q = {1'b0, held};", []);
    let mut model = whole().with_shadow(whole());
    (0..256).for_each(|value| tick(&mut model, value));
    drop(model);

    let mut model = whole().with_shadow(narrow());
    (0..128).for_each(|value| tick(&mut model, value));
    let message = refusal(|| tick(&mut model, 0x80));
    // Two units of time for each of 128 cycles.
    let expected = "at time 256 output `q` of ";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.contains("is [80], and [0] in the model it is compared with"), "{message}");
}

#[test]
fn an_output_that_differs_between_edges_is_reported() {
    let direct = twins("assign q = d;", []);
    let inverted = twins("assign q = d == 8'd9 ? 8'd8 : d;", []);
    let mut model = direct.with_shadow(inverted);
    let d = model.port("d").unwrap();
    model.set(d, 8);
    model.eval();
    model.set(d, 9);
    assert!(refusal(|| model.eval()).contains("output `q`"));
}

#[test]
fn a_variable_that_differs_is_reported_at_the_end() {
    let with = |logic: &str| {
        let logic =
            format!("assign q = 8'd0;\nalways @(posedge clock) seen <= {logic};\ninitial seen = 8'd0;");
        twins(&logic, ["seen".to_owned()])
    };
    let mut model = with("seen + d").with_shadow(with("d"));
    tick(&mut model, 3);
    // Three in both; had it ended here, nothing would have differed. Then five and two.
    tick(&mut model, 2);
    let message = refusal(|| drop(model));
    assert!(message.contains("seen`") && message.contains("is [5], and [2]"), "{message}");

    let mut model = with("seen + d").with_shadow(with("d"));
    tick(&mut model, 3);
    drop(model);
}

#[test]
fn signals_between_clock_domains_are_left_out_and_others_of_such_names_are_not() {
    let with = |name: &str, value: u8| {
        twins(&format!("assign q = d;\ninitial {name} = 8'd{value};"), [name.to_owned()])
    };
    drop(with("_moves_clock", 1).with_shadow(with("_moves_clock", 2)));
    let message = refusal(|| drop(with("head_moves", 1).with_shadow(with("head_moves", 2))));
    assert!(message.contains("head_moves`") && message.contains("is [1], and [2]"), "{message}");
}

#[test]
fn more_than_one_variable_in_fifty_without_a_partner_is_reported() {
    let logic = "assign q = d;";
    let model = || twins(logic, names("both", 100));
    let shadow = |alone| twins(logic, names("both", 100).chain(names("alone", alone)));
    drop(model().with_shadow(shadow(2)));
    let message = refusal(|| drop(model().with_shadow(shadow(3))));
    assert!(message.contains("of 100 variables 3 have no partner"), "{message}");
}

#[test]
fn a_model_with_other_ports_is_no_partner() {
    let other = Verilog::new(
        "module twins (input wire clock, output wire [7:0] q); assign q = 8'd0; endmodule",
        "top twins\nclock clock 1\nout q 8",
    );
    let other = Model::load(&other.unwrap()).unwrap();
    let model = twins("assign q = 8'd0;", []);
    assert!(refusal(|| drop(model.with_shadow(other))).contains("a model of other ports"));
}
