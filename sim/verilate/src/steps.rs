//! What a model with clock domains evaluates after an edge, as a table.
//!
//! Verilator writes a list of more than a thousand calls, each after a test of the triggers that make it necessary. A cycle needs a
//! fifth of the calls, and the tests are 60 kB of code. As a table, the list is transposed: each trigger has the set of its
//! calls, and a cycle joins the sets of the triggers that it has (`sim/verilate/src/shim/model.h`).

use crate::Error;
use crate::compile::{CLASS, generated, write};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A call, and the test of triggers before it, both in C++.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    test: String,
    function: String,
}

/// Begin of the names of the functions that hold the list.
const LIST: &str = "___024root___eval_nba";
/// Where the statements of a function begin, and what ends it.
const BODY: &str = "    // Body\n";
const END: &str = "\n}\n";
/// How a test names the triggers.
const TRIGGERED: &str = "vlSelfRef.__VnbaTriggered[";
/// The function that evaluates what depends on inputs; there is none where each of them is held by a register.
const SETTLES: &str = "___024root___eval_phase__ico(";

/// Takes the list out of the C++ in this folder; its functions are empty from then on, as nobody calls them any more.
pub(crate) fn take(work: &Path) -> Result<Vec<Step>, Error> {
    let mut parts = Vec::new();
    for (name, _) in generated(work)? {
        let path = work.join(name);
        let text = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
        if text.contains(SETTLES) {
            return Err(refused("an input is read past the register that holds it"));
        }
        let (rest, found) = without_list(&text).map_err(|reason| refused(&reason))?;
        if !found.is_empty() {
            parts.extend(found);
            write(&path, &rest)?;
        }
    }
    ordered(parts).map_err(|reason| refused(&reason))
}

fn refused(reason: &str) -> Error {
    let output = format!("{reason}; is this the pinned Verilator?");
    Error::Build { operation: "reading what the edges of clock domains evaluate".into(), output }
}

/// A function of the list: its number, if the list is spread over several, and its statements.
type Part = (Option<u32>, String);

/// A text with the functions of the list emptied, and those functions.
fn without_list(text: &str) -> Result<(String, Vec<Part>), String> {
    let (mut rest, mut parts, mut at) = (String::new(), Vec::new(), 0);
    while let Some(found) = text[at..].find(LIST).map(|found| at + found + LIST.len()) {
        let line = &text[found..found + text[found..].find('\n').unwrap_or(0)];
        let Some((number, _)) = line.strip_suffix(" {").and_then(|line| line.split_once('(')) else {
            rest += &text[at..found];
            at = found;
            continue;
        };
        let number = number.strip_prefix("__").map(str::parse).transpose();
        let number = number.map_err(|_| format!("`{line}` is no function of the list"))?;
        let start = text[found..].find(BODY).map(|body| found + body + BODY.len());
        let end = start.and_then(|start| Some(start + text[start..].find(END)?));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(format!("`{line}` has no statements"));
        };
        parts.push((number, text[start..end].to_owned()));
        rest += &text[at..start];
        at = end;
    }
    Ok((rest + &text[at..], parts))
}

/// The calls of all functions of the list, in its order.
fn ordered(mut parts: Vec<Part>) -> Result<Vec<Step>, String> {
    parts.sort_by_key(|(number, _)| *number);
    let numbers: Vec<Option<u32>> = parts.iter().map(|(number, _)| *number).collect();
    let whole: Vec<Option<u32>> = std::iter::once(None).chain((0..).map(Some)).take(parts.len()).collect();
    if numbers != whole {
        return Err(format!("the numbers of the list's parts are {numbers:?}"));
    }
    let bodies: String = parts.iter().skip(1).map(|(_, statements)| solid(statements)).collect();
    let first = parts.first().map(|(_, statements)| solid(statements)).unwrap_or_default();
    let call = |part: &u32| format!("{CLASS}{LIST}__{part}(vlSelf);");
    let calls = numbers.iter().flatten().map(call).collect::<Vec<_>>().concat();
    let statements = match calls.as_str() {
        "" => first,
        calls if calls == first => bodies,
        _ => return Err("the parts of the list are not called in order".into()),
    };
    let mut steps = Vec::new();
    read(&statements, &mut steps)?;
    if steps.is_empty() { Err("there is no list of what edges evaluate".into()) } else { Ok(steps) }
}

/// Without blanks.
fn solid(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Reads `if(TEST){CALL(vlSelf);CALL(vlSelf);}`, as often as it stands there.
fn read(mut list: &str, steps: &mut Vec<Step>) -> Result<(), String> {
    while !list.is_empty() {
        let strange = || {
            format!("`{}` is no call after a test of triggers", list.chars().take(160).collect::<String>())
        };
        let (condition, rest) =
            list.strip_prefix("if").and_then(|list| list.split_once('{')).ok_or_else(strange)?;
        let (calls, rest) = rest.split_once('}').ok_or_else(strange)?;
        if !condition.contains(TRIGGERED) {
            return Err(strange());
        }
        for call in calls.split_terminator(';') {
            let function = call.strip_suffix("(vlSelf)").ok_or_else(strange)?;
            steps.push(Step { test: condition.to_owned(), function: function.to_owned() });
        }
        list = rest;
    }
    Ok(())
}

/// The table, for the shim.
pub(crate) fn table(steps: &[Step]) -> String {
    let (mut declared, mut tests, mut calls) = (String::new(), String::new(), String::new());
    for (at, Step { test, function }) in steps.iter().enumerate() {
        writeln!(declared, "void {function}(ROOT*);").expect("a String takes any text");
        writeln!(tests, "    calls[{at}] = {test};").expect("a String takes any text");
        writeln!(calls, "    {function},").expect("a String takes any text");
    }
    format!(
        "bool IN_ROOT(eval_phase__act)(ROOT*);\n{declared}\
         enum {{ STEPS = {} }};\n\
         static void (*const LIST[STEPS])(ROOT*) = {{\n{calls}}};\n\
         __attribute__((cold)) static void CALLS(const ROOT& vlSelfRef, bool* calls) {{\n{tests}}}\n",
        steps.len()
    )
}

#[cfg(test)]
mod tests;
