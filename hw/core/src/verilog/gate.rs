//! Clock domains of the text that is simulated.
//!
//! Most blocks of a card do nothing in most cycles, and a simulator evaluates them all the same. So the simulated text has
//! many clocks in place of one: each domain has an edge only in cycles in which one of its registers or memories would change.
//! What is left out are exactly the edges that change nothing, so every signal has the value that it has in the reference text.
//!
//! - A primitive says in its text, by a line `// moves CONDITION`, when an edge of its clock would change it.
//! - A module joins what its parts say: `_moves_CLOCK` for those on its own clock; `_movesN` goes up, and `_edgeN` comes
//!   down, for the domains inside of it. A leading underscore is not a name that a RustHDL signal can have.
//! - The top has one bit of `_edges` and `_moves` per domain, in ports of 64 bits each. The simulator copies the latter to the former
//!   at an edge of the clock from which the domain is derived, see `sim/verilate/src/shim/model.h`.
//! - An input that is no clock goes through a register of the top, and has a domain of its own. The simulator gives that an edge when
//!   it has written the input, and no more is evaluated than what depends on it.
//!
//! **Rule** The domain with most text is divided, at the block inside that leaves two parts most alike, until there are [`OPENED`] domains.
//! Beyond that, blocks that hold an [`OwnClock`](crate::prim::own_clock::OwnClock) open one, which at most ten types of blocks do. What is
//! not on the design's first clock counts a quarter: a simulator holds such a clock while nothing is done there.
//! A design may have [`DOMAINS`]: what decides between them costs every cycle, the more the more there are.

use std::collections::{BTreeSet, HashMap};

use super::collect::Node;
use super::error::Problem;
use super::{Direction, Port};

/// Domains that the rule makes; a block on two clocks may open one for each.
const OPENED: usize = 240;
/// Fewest registers and memories that are worth a domain.
const REGISTERS: usize = 4;
/// Most domains that a design may have, those of its inputs included.
pub(crate) const DOMAINS: usize = 320;
/// Domains to a port of the top.
const WORD: usize = 64;
/// By how much a line on another clock than the first counts less.
const OTHER_CLOCK: usize = 4;

/// How a primitive's text says when it moves.
const MOVES: &str = "// moves ";

/// What is known of a block once it has been printed.
#[derive(Clone, Default)]
pub(crate) struct Size {
    /// Of its own text.
    pub(crate) lines: usize,
    /// Registers and memories, of the blocks inside too.
    pub(crate) registers: usize,
    /// The clock port of the block around it to which its own is connected.
    pub(crate) clock: Option<String>,
}

/// A block in the plan of domains; those inside of it come later in the list.
struct Place<'a> {
    path: &'a str,
    parent: usize,
    /// Its own text, as much as it counts.
    weight: usize,
    registers: usize,
    opens: bool,
}

/// Which blocks open a domain, by path.
pub(crate) fn openers(root: &Node, sizes: &HashMap<String, Size>) -> BTreeSet<String> {
    let mut places = Vec::new();
    let first = root.atoms.iter().find(|atom| atom.is_clock).map(|atom| atom.name.as_str());
    add_places(root, 0, first, sizes, &mut places);
    places[0].opens = true;
    while places.iter().filter(|place| place.opens).count() < OPENED {
        let Some(at) = division(&places) else { break };
        places[at].opens = true;
    }
    places.iter().skip(1).filter(|place| place.opens).map(|place| place.path.to_owned()).collect()
}

/// Lists a block and those inside; `first` is the name that the design's first clock has in it, if it gets there.
fn add_places<'a>(
    node: &'a Node,
    parent: usize,
    first: Option<&str>,
    sizes: &HashMap<String, Size>,
    places: &mut Vec<Place<'a>>,
) {
    let at = places.len();
    let size = sizes.get(&node.path).cloned().unwrap_or_default();
    let weight = if first.is_some() { size.lines } else { size.lines / OTHER_CLOCK };
    let (path, registers, opens) = (node.path.as_str(), size.registers, node.has_own_clock);
    places.push(Place { path, parent, weight, registers, opens });
    for child in &node.children {
        let own = child.atoms.iter().find(|atom| atom.is_clock).map(|atom| atom.name.as_str());
        let is_first =
            first.is_some() && sizes.get(&child.path).is_some_and(|size| size.clock.as_deref() == first);
        // A block without a clock has nothing to gate, and belongs to those around it.
        let inner = if own.is_none() { first } else { own.filter(|_| is_first) };
        add_places(child, at, inner, sizes, places);
    }
}

/// Where the heaviest domain that can be divided is divided best; `None` if none can.
fn division(places: &[Place<'_>]) -> Option<usize> {
    // Blocks inside come later, so what they add is known before it is wanted; and the other way round for whose they are.
    let mut weights: Vec<usize> = places.iter().map(|place| place.weight).collect();
    for (at, place) in places.iter().enumerate().skip(1).rev() {
        if !place.opens {
            weights[place.parent] += weights[at];
        }
    }
    let mut domains: Vec<usize> = (0..places.len()).collect();
    for (at, place) in places.iter().enumerate().skip(1) {
        if !place.opens {
            domains[at] = domains[place.parent];
        }
    }
    let may_open = |at: &usize| domains[*at] != *at && places[*at].registers >= REGISTERS;
    let divisible = (0..places.len()).filter(may_open).map(|at| domains[at]);
    let heaviest = divisible.max_by_key(|at| (weights[*at], *at))?;
    let inside = (0..places.len()).filter(may_open).filter(|at| domains[*at] == heaviest);
    inside.min_by_key(|at| weights[*at].abs_diff(weights[heaviest] / 2))
}

/// A primitive's text without the line that says when it moves, and that condition.
pub(crate) fn take_moves(code: &str) -> (String, Option<&str>) {
    let moves = code.lines().find_map(|line| line.strip_prefix(MOVES));
    let rest = code.lines().filter(|line| !line.starts_with(MOVES)).map(|line| format!("{line}\n"));
    (rest.collect(), moves)
}

/// What gating adds to the ports of a module.
#[derive(Clone, Default)]
pub(crate) struct Face {
    /// Clock ports on which the module has registers that are in no domain inside of it: an output `_moves_CLOCK` each.
    pub(crate) own: Vec<String>,
    /// For each domain inside, the clock port from which it is derived: an input `_edgeN` and an output `_movesN` each.
    pub(crate) inner: Vec<String>,
}

impl Face {
    /// The additional ports, as they are declared.
    pub(crate) fn ports(&self) -> Vec<String> {
        let own = self.own.iter().map(|clock| format!("    output logic _moves_{clock}"));
        let inner = (0..self.inner.len())
            .flat_map(|at| [format!("    input logic _edge{at}"), format!("    output logic _moves{at}")]);
        own.chain(inner).collect()
    }
}

/// A block inside, as far as gating is concerned.
pub(crate) struct Part<'a> {
    pub(crate) instance: &'a str,
    pub(crate) face: &'a Face,
    pub(crate) opens: bool,
}

/// How the parts of a module are joined.
#[derive(Default)]
pub(crate) struct Joined {
    pub(crate) face: Face,
    /// For each part, ports and what they are connected to: additional ones, and clocks that a domain replaces.
    pub(crate) connections: Vec<Vec<(String, String)>>,
    pub(crate) declarations: String,
    pub(crate) logic: String,
}

/// Joins the parts of a module; `clock_of` names the module's clock port to which a part's clock is connected.
pub(crate) fn join(
    parts: &[Part<'_>],
    clock_of: impl Fn(usize, &str) -> Option<String>,
) -> Result<Joined, Problem> {
    let mut joined = Joined::default();
    let mut terms: Vec<(String, Vec<String>)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let outer = |clock: &str| {
            clock_of(at, clock).ok_or_else(|| {
                format!("clock `{clock}` of `{}` is connected to no clock of this block", part.instance)
            })
        };
        let mut connections = Vec::new();
        for clock in &part.face.own {
            let source = outer(clock)?;
            let moves = format!("_moves_{clock}");
            if part.opens {
                let domain = joined.face.inner.len();
                joined.face.inner.push(source);
                connections.push((clock.clone(), format!("_edge{domain}")));
                connections.push((moves, format!("_moves{domain}")));
            } else {
                let wire = format!("_{}{moves}", part.instance);
                joined.declarations.extend(["    logic ", &wire, ";\n"]);
                connections.push((moves, wire.clone()));
                match terms.iter_mut().find(|(clock, _)| *clock == source) {
                    Some((_, wires)) => wires.push(wire),
                    None => terms.push((source, vec![wire])),
                }
            }
        }
        for (inner, clock) in part.face.inner.iter().enumerate() {
            let domain = joined.face.inner.len();
            joined.face.inner.push(outer(clock)?);
            connections.push((format!("_edge{inner}"), format!("_edge{domain}")));
            connections.push((format!("_moves{inner}"), format!("_moves{domain}")));
        }
        joined.connections.push(connections);
    }
    for (clock, wires) in terms {
        joined.logic += &any_of(&format!("_moves_{clock}"), &wires);
        joined.face.own.push(clock);
    }
    Ok(joined)
}

/// `target` is high when one of `wires` is. Statements keep it a variable of its own: Verilator would write an expression into
/// the one that reads it, up to the top, and evaluate the whole of it whenever a part has changed.
fn any_of(target: &str, wires: &[String]) -> String {
    let [first, rest @ ..] = wires else { return String::new() };
    if rest.is_empty() {
        return format!("    assign {target} = {first};\n");
    }
    let term = |wire: &String| format!("        if ({wire}) {target} = 1'b1;\n");
    let also: String = rest.iter().map(term).collect();
    format!("    always_comb begin\n        {target} = {first};\n{also}    end\n")
}

/// The register that holds an input.
fn held(port: &Port) -> String {
    format!("_held_{}", port.name)
}

/// The module around the whole design `inside`: its ports, as they are `declared`, and a bit of `_edges` and `_moves` per
/// domain. Gives the body, and the clock or input of each domain.
pub(crate) fn top(inside: &str, face: &Face, declared: &[String], ports: &[Port]) -> (String, Vec<String>) {
    let inputs: Vec<&Port> = ports.iter().filter(|port| port.direction == Direction::In).collect();
    let clocks: Vec<String> = face.own.iter().chain(&face.inner).cloned().collect();
    let count = clocks.len();
    let domains: Vec<String> =
        clocks.into_iter().chain(inputs.iter().map(|port| port.name.clone())).collect();
    let words = domains.len().div_ceil(WORD);
    let vectors = (0..words).flat_map(|word| {
        let range = format!("[{}:0]", WORD - 1);
        [format!("    input logic {range} _edges{word}"), format!("    output logic {range} _moves{word}")]
    });
    let declared: Vec<String> = declared.iter().cloned().chain(vectors).collect();
    let bit = |vector: &str, at: usize| format!("{vector}{}[{}]", at / WORD, at % WORD);
    let own = |name: &String| face.own.iter().position(|clock| clock == name);
    let wire = |port: &Port| match (own(&port.name), port.direction) {
        (Some(at), _) => bit("_edges", at),
        (None, Direction::In) => held(port),
        (None, _) => port.name.clone(),
    };
    let mut wires: Vec<String> =
        ports.iter().map(|port| format!("        .{}({})", port.name, wire(port))).collect();
    for (at, clock) in face.own.iter().enumerate() {
        wires.push(format!("        ._moves_{clock}({})", bit("_moves", at)));
    }
    for inner in 0..face.inner.len() {
        let at = face.own.len() + inner;
        wires.push(format!("        ._edge{inner}({})", bit("_edges", at)));
        wires.push(format!("        ._moves{inner}({})", bit("_moves", at)));
    }
    let rest = |at| format!("    assign {} = 1'b0;\n", bit("_moves", at));
    let spare: String = (count..words * WORD).map(rest).collect();
    let hold = |(at, port): (usize, &&Port)| {
        let (name, edge) = (&port.name, bit("_edges", count + at));
        format!(
            "    logic [{}:0] {};\n    always_ff @(posedge {edge}) {} <= {name};\n",
            port.width - 1,
            held(port),
            held(port)
        )
    };
    let holds: String = inputs.iter().enumerate().map(hold).collect();
    let body = format!(
        " (\n{}\n);\n{holds}    {inside} gated (\n{}\n    );\n{spare}",
        declared.join(",\n"),
        wires.join(",\n")
    );
    (body, domains)
}

#[cfg(test)]
mod tests;
