//! Does an output of a design follow an input within the cycle?
//!
//! Asked of the design as it was written, module by module, before any mapping: that takes yosys a fraction of a synthesis. What is
//! found is no less than what is there: an operator passes each bit it reads to each bit it drives, except where bits plainly
//! keep apart.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use anyhow::{Context, Result};

use super::netlist::{Cell, Net, Netlist, Pin};

/// One place in the tree of instances.
#[derive(Clone, Copy)]
struct Place<'a> {
    module: &'a Module<'a>,
    /// The place around it, and the cell that it is there.
    outside: Option<(usize, &'a Cell)>,
}

/// A module with its wires looked up.
struct Module<'a> {
    netlist: &'a Netlist,
    readers: HashMap<Net, Vec<(&'a str, &'a Cell, Pin<'a>)>>,
    outputs: HashMap<Net, Vec<Pin<'a>>>,
}

impl<'a> Module<'a> {
    fn of(netlist: &'a Netlist) -> Self {
        let mut readers: HashMap<Net, Vec<_>> = HashMap::new();
        for (name, cell) in &netlist.cells {
            for pin in cell.inputs() {
                readers.entry(pin.net).or_default().push((name.as_str(), cell, pin));
            }
        }
        let mut outputs: HashMap<Net, Vec<_>> = HashMap::new();
        for pin in netlist.outputs() {
            outputs.entry(pin.net).or_default().push(pin);
        }
        Self { netlist, readers, outputs }
    }
}

/// The pairs of an input and an output of `top` that are joined without a register between them.
pub(crate) fn joined(modules: &BTreeMap<String, Netlist>, top: &str) -> Result<BTreeSet<(String, String)>> {
    let modules: HashMap<&str, Module> =
        modules.iter().map(|(name, netlist)| (name.as_str(), Module::of(netlist))).collect();
    let module = modules.get(top).with_context(|| format!("there is no module `{top}`"))?;
    let mut inputs: BTreeMap<&str, Vec<Net>> = BTreeMap::new();
    for pin in module.netlist.inputs() {
        inputs.entry(pin.port).or_default().push(pin.net);
    }
    let pairs = inputs.into_iter().flat_map(|(input, nets)| {
        let outputs = reached(&modules, module, &nets);
        outputs.into_iter().map(move |output| (input.to_string(), output))
    });
    Ok(pairs.collect())
}

/// The outputs of a module that wires of it reach within the cycle.
fn reached<'a>(
    modules: &'a HashMap<&str, Module<'a>>,
    top: &'a Module<'a>,
    from: &[Net],
) -> BTreeSet<String> {
    let mut places = vec![Place { module: top, outside: None }];
    let mut inside: HashMap<(usize, &str), usize> = HashMap::new();
    let mut outputs = BTreeSet::new();
    let mut seen: HashSet<(usize, Net)> = HashSet::new();
    let mut ready: Vec<(usize, Net)> = from.iter().map(|net| (0, *net)).collect();
    while let Some((place, net)) = ready.pop() {
        if !seen.insert((place, net)) {
            continue;
        }
        let Place { module, outside } = places[place];
        for pin in module.outputs.get(&net).into_iter().flatten() {
            match outside {
                None => {
                    outputs.insert(pin.port.to_string());
                }
                Some((around, cell)) => {
                    let driven =
                        cell.outputs().filter(|outer| (outer.port, outer.bit) == (pin.port, pin.bit));
                    ready.extend(driven.map(|outer| (around, outer.net)));
                }
            }
        }
        for (name, cell, pin) in module.readers.get(&net).into_iter().flatten() {
            if let Some(child) = modules.get(cell.kind.as_str()) {
                let at = *inside.entry((place, name)).or_insert_with(|| {
                    places.push(Place { module: child, outside: Some((place, cell)) });
                    places.len() - 1
                });
                let entered =
                    child.netlist.inputs().filter(|inner| (inner.port, inner.bit) == (pin.port, pin.bit));
                ready.extend(entered.map(|inner| (at, inner.net)));
            } else {
                ready.extend(follow(cell, *pin).map(|net| (place, net)));
            }
        }
    }
    outputs
}

/// The wires that an operator drives from one of its pins.
fn follow<'a>(cell: &'a Cell, pin: Pin<'a>) -> impl Iterator<Item = Net> + 'a {
    cell.outputs().filter(move |to| passes(cell, pin, *to)).map(|to| to.net)
}

fn passes(cell: &Cell, from: Pin, to: Pin) -> bool {
    match cell.kind.as_str() {
        "$and" | "$or" | "$xor" | "$xnor" | "$not" | "$pos" | "$buf" => {
            // A narrow operand's top bit may be its sign.
            from.bit == to.bit || (from.bit < to.bit && cell.number("A_SIGNED") != Some(0))
        }
        "$mux" | "$bwmux" => from.port == "S" || from.bit == to.bit,
        "$pmux" => {
            let width = cell.number("WIDTH").and_then(|width| usize::try_from(width).ok()).unwrap_or(1);
            from.port == "S" || from.bit % width == to.bit
        }
        "$memrd" | "$memrd_v2" => from.port == "ADDR" && cell.number("CLK_ENABLE") == Some(0),
        kind => !is_register(kind),
    }
}

/// Flip-flops in all their variants, and what writes memories.
fn is_register(kind: &str) -> bool {
    ["$dff", "$sdff", "$adff", "$aldff", "$memwr", "$meminit"].iter().any(|start| kind.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Sample, file};
    use super::*;

    fn joined_in(modules: &[String]) -> Vec<(String, String)> {
        joined(&Netlist::parse_all(&file(modules)).unwrap(), "top").unwrap().into_iter().collect()
    }

    fn pair(input: &str, output: &str) -> (String, String) {
        (input.into(), output.into())
    }

    /// An input through one cell to an output; the other input has a constant.
    fn through(kind: &str, words: &str) -> Vec<(String, String)> {
        let sample = Sample::default().port("ask", "input", &[2]).port("answer", "output", &[3]);
        joined_in(&[sample.cell("cell", kind, words).module("top")])
    }

    #[test]
    fn logic_joins_ports_and_registers_part_them() {
        assert_eq!(through("$add", "A<2 B<2 Y>3"), [pair("ask", "answer")]);
        for register in ["$dff", "$sdffce", "$adffe"] {
            assert!(through(register, "CLK<1 D<2 Q>3").is_empty(), "{register}");
        }
    }

    #[test]
    fn a_memory_joins_address_and_data_if_it_is_read_without_a_clock() {
        assert_eq!(through("$memrd_v2", "ADDR<2 DATA>3 CLK_ENABLE=0"), [pair("ask", "answer")]);
        assert!(through("$memrd_v2", "ADDR<2 DATA>3 CLK_ENABLE=1").is_empty());
        assert!(through("$memrd_v2", "EN<2 DATA>3 CLK_ENABLE=0").is_empty());
    }

    #[test]
    fn bits_that_plainly_keep_apart_are_not_joined() {
        let other_bit = |kind: &str, words: &str| through(kind, words).is_empty();
        assert!(other_bit("$and", "A<2,\"0\" B<2,\"0\" Y>4,3 A_SIGNED=0"));
        assert!(!other_bit("$and", "A<2 Y>4,3 A_SIGNED=1"));
        assert!(other_bit("$mux", "A<2,\"0\" B<2,\"0\" S<\"0\" Y>4,3"));
        assert!(!other_bit("$mux", "A<\"0\",\"0\" B<\"0\",\"0\" S<2 Y>4,3"));
        assert!(other_bit("$pmux", "A<2,\"0\" B<2,\"0\",2,\"0\" Y>4,3 WIDTH=10"));
        assert!(!other_bit("$pmux", "A<\"0\",\"0\" B<\"0\",\"0\",\"0\",2 Y>4,3 WIDTH=10"));
    }

    #[test]
    fn each_input_that_an_output_follows_is_named() {
        let sample = Sample::default()
            .port("ask", "input", &[2])
            .port("beg", "input", &[4])
            .port("idle", "input", &[5])
            .port("answer", "output", &[3])
            .cell("cell", "$or", "A<2 B<4 Y>3 A_SIGNED=0");
        assert_eq!(joined_in(&[sample.module("top")]), [pair("ask", "answer"), pair("beg", "answer")]);
    }

    #[test]
    fn a_way_through_instances_is_found_bit_by_bit_and_each_instance_is_its_own() {
        // The child passes its first bit on and keeps its second.
        let child = Sample::default()
            .port("into", "input", &[2, 3])
            .port("out", "output", &[2, 4])
            .cell("held", "$dff", "CLK<1 D<3 Q>4")
            .module("child");
        let top = |first: &str, second: &str| {
            Sample::default()
                .port("ask", "input", &[2])
                .port("answer", "output", &[7])
                .port("late", "output", &[8])
                .cell("first", "child", first)
                .cell("second", "child", second)
                .module("top")
        };
        let straight = top("into<2,\"0\" out>5,6", "into<5,\"0\" out>7,8");
        assert_eq!(joined_in(&[child.clone(), straight]), [pair("ask", "answer")]);
        let crossed = top("into<2,\"0\" out>5,6", "into<6,5 out>7,8");
        assert!(joined_in(&[child, crossed]).is_empty());
    }
}
