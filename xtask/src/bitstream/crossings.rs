//! Every way from one clock to another, and whether it is safe.
//!
//! A register belongs to the clock it is clocked by, a memory to the clock it is written by, a port of an IP to the clock that its document
//! names, the card to its one clock; a pin of the board belongs to none. Whatever leads from one of these to another of a different
//! clock has to be one of the [known kinds](Kind).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use stroma_boards::crossing::{CLOCKS, Crossing, Kind};
use stroma_boards::{Board, Ip, MAC_MODULE, PCIE_MODULE, Port, Primitives};

use super::design::{BlackBox, Design, Net, Register};

/// Where a way begins.
struct Source {
    /// What it is called.
    name: String,
    /// Its clock, or the pin that has none.
    domain: String,
    /// The instance whose memory it is.
    memory: Option<String>,
    nets: Vec<usize>,
}

/// Where a way ends.
struct Sink<'a> {
    name: String,
    domain: String,
    nets: Vec<usize>,
    /// The register, if that is what it is, and its data and not its control.
    register: Option<&'a Register>,
}

/// All crossings of a design, sorted.
///
/// # Errors
/// When there is one that is not safe: all of them are told.
pub(crate) fn crossings(design: &Design, board: &Board, card: &str) -> Result<Vec<Crossing>> {
    let survey = Survey::new(design, board, card)?;
    let graph = Graph::new(design);
    let mut found: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let domains: BTreeSet<&str> = survey.sources.iter().map(|source| source.domain.as_str()).collect();
    for domain in domains {
        let reached = graph.reach(&survey.sources, domain);
        for (index, sink) in survey.sinks.iter().enumerate().filter(|(_, sink)| sink.domain != domain) {
            for source in sink.nets.iter().filter_map(|net| reached[*net]) {
                *found.entry((source, index)).or_default() += 1;
            }
        }
    }
    let (mut crossings, mut faults) = (Vec::new(), Vec::new());
    for ((source, sink), width) in found {
        let (source, sink) = (&survey.sources[source], &survey.sinks[sink]);
        match survey.kind(source, sink) {
            Ok((kind, pattern)) => crossings.push(Crossing {
                from: source.domain.clone(),
                to: sink.domain.clone(),
                source: source.name.clone(),
                sink: pattern,
                width,
                kind,
            }),
            Err(reason) => faults.push(format!(
                "{} ({}) leads to {} ({}): {reason}",
                source.name, source.domain, sink.name, sink.domain
            )),
        }
    }
    if !faults.is_empty() {
        bail!(
            "{} ways from one clock to another are not safe:\n{}\nnext step: put a Sync2 or an AsyncFifo of hw/core/src/prim in between",
            faults.len(),
            faults.join("\n")
        );
    }
    crossings.sort();
    Ok(crossings)
}

/// Sources and sinks of a design, and what is known of its instances.
struct Survey<'a> {
    sources: Vec<Source>,
    sinks: Vec<Sink<'a>>,
    /// Instances by path: their modules.
    modules: BTreeMap<&'a str, &'a str>,
    /// Wires that a source drives itself, without logic.
    direct: BTreeSet<usize>,
}

impl<'a> Survey<'a> {
    fn new(design: &'a Design, board: &Board, card: &str) -> Result<Self> {
        let roots =
            |nets: &[Net]| -> Vec<usize> { nets.iter().flatten().map(|net| design.root(*net)).collect() };
        let clocks = Clocks::new(design);
        let (mut sources, mut sinks) = (Vec::new(), Vec::new());
        for register in &design.registers {
            let name = joined(&register.path, &format!("{}_reg", register.name));
            let domain = clocks
                .of(register.clock)
                .with_context(|| format!("{name} is under no clock that is known"))?;
            sources.push(Source {
                name: name.clone(),
                domain: domain.clone(),
                memory: None,
                nets: roots(&register.output),
            });
            let data = roots(&register.data);
            sinks.push(Sink {
                name: name.clone(),
                domain: domain.clone(),
                nets: data,
                register: Some(register),
            });
            let name = format!("{name} (enable or reset)");
            sinks.push(Sink { name, domain, nets: roots(&register.control), register: None });
        }
        for memory in design.memories.iter().filter(|memory| !memory.clocks.is_empty()) {
            let name = joined(&memory.path, &memory.name);
            let domains: BTreeSet<Option<String>> =
                memory.clocks.iter().map(|clock| clocks.of(*clock)).collect();
            let mut domains = domains.into_iter();
            let (Some(Some(domain)), None) = (domains.next(), domains.next()) else {
                bail!("memory {name} is written by no clock that is known, or by several");
            };
            let nets = memory.reads.iter().flat_map(|(_, data)| roots(data)).collect();
            sources.push(Source {
                name: name.clone(),
                domain: domain.clone(),
                memory: Some(memory.path.clone()),
                nets,
            });
            sinks.push(Sink { name, domain, nets: roots(&memory.inputs), register: None });
        }
        let known = Known::new(board)?;
        for each in &design.boxes {
            for (port, (drives, nets)) in &each.ports {
                let name = joined(&each.path, port);
                let Some(domain) = known.domain(each, port, card, &clocks, &name)? else { continue };
                if *drives {
                    sources.push(Source { name, domain, memory: None, nets: roots(nets) });
                } else if clocks.is_one(&domain) {
                    sinks.push(Sink { name, domain, nets: roots(nets), register: None });
                }
            }
        }
        for (name, (is_input, nets)) in &design.ports {
            if *is_input {
                sources.push(Source {
                    name: name.clone(),
                    domain: name.clone(),
                    memory: None,
                    nets: roots(nets),
                });
            }
        }
        let direct = sources.iter().flat_map(|source| source.nets.iter().copied()).collect();
        let modules =
            design.places.iter().map(|place| (place.path.as_str(), place.module.as_str())).collect();
        Ok(Self { sources, sinks, modules, direct })
    }

    /// By what means a crossing is safe, and the cells it ends at; or what it lacks.
    fn kind(&self, source: &Source, sink: &Sink) -> Result<(Kind, String), &'static str> {
        let register = sink.register.ok_or("it ends in no register of a synchroniser")?;
        let (parent, instance) = register.path.rsplit_once('/').unwrap_or(("", &register.path));
        let pattern = format!("{}*", sink.name);
        let module = register.module.strip_prefix("shell_").unwrap_or(&register.module);
        if register.name == "first" && module.starts_with("sync2_") {
            if !sink.nets.iter().all(|net| self.direct.contains(net)) {
                return Err("it passes through logic before it is synchronised, and logic has glitches");
            }
            if register.data.len() == 1 {
                return Ok((Kind::Level, pattern));
            }
            let is_pointer = self.is_fifo(parent) && ["write_seen", "read_seen"].contains(&instance);
            // hw/shell/src/mac/tally.rs: a register `gray` that nothing but a Gray counter feeds.
            let is_count = instance == "gray_here" && source.name == joined(parent, "gray/q_reg");
            return if is_pointer || is_count {
                Ok((Kind::Pointer, pattern))
            } else {
                Err("several bits at once may arrive in different cycles")
            };
        }
        let is_own = source.memory.as_deref() == Some(joined(parent, "memory").as_str());
        if is_own && instance == "head" && self.is_fifo(parent) {
            return Ok((Kind::Memory, pattern));
        }
        Err("it is not synchronised")
    }

    /// Is an instance an asynchronous FIFO, by what is in it?
    fn is_fifo(&self, path: &str) -> bool {
        let holds = |name: &str, kind: &str| {
            let module = self.modules.get(joined(path, name).as_str());
            module.is_some_and(|module| module.strip_prefix("shell_").unwrap_or(module).starts_with(kind))
        };
        holds("write_seen", "sync2_") && holds("read_seen", "sync2_") && holds("memory", "lut_ram_")
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// Clocks of the fabric, by their wires.
struct Clocks<'a> {
    design: &'a Design,
    by_root: BTreeMap<usize, &'static str>,
}

impl<'a> Clocks<'a> {
    fn new(design: &'a Design) -> Self {
        let root = |name: &str| Some(design.root(design.wires.get(name)?.first().copied()??));
        let by_root = CLOCKS.iter().filter_map(|(name, _)| Some((root(name)?, *name))).collect();
        Self { design, by_root }
    }

    fn of(&self, net: Net) -> Option<String> {
        self.by_root.get(&self.design.root(net?)).map(|name| (*name).to_owned())
    }

    fn is_one(&self, domain: &str) -> bool {
        self.by_root.values().any(|name| *name == domain)
    }
}

/// What documents say of the ports of black boxes.
struct Known {
    ports: BTreeMap<String, Vec<Port>>,
}

impl Known {
    fn new(board: &Board) -> Result<Self> {
        let mut ports = BTreeMap::new();
        for (module, ip) in [(PCIE_MODULE, board.pcie_ip()), (MAC_MODULE, "cmac_usplus")] {
            ports.insert(module.to_owned(), Ip::known(ip)?.ports);
        }
        for primitive in Primitives::known()?.primitive {
            ports.insert(primitive.name, primitive.ports);
        }
        Ok(Self { ports })
    }

    /// What a port of a black box is under: a clock, nothing (then it is a domain of its own), or none of this matters.
    fn domain(
        &self,
        each: &BlackBox,
        port: &str,
        card: &str,
        clocks: &Clocks,
        name: &str,
    ) -> Result<Option<String>> {
        let clock_at =
            |port: &str| each.ports.get(port).and_then(|(_, nets)| nets.first().copied().flatten());
        if each.module == card {
            let domain = clocks.of(clock_at("clock")).context("the card is under no clock that is known")?;
            return Ok((!port.ends_with("clock")).then_some(domain));
        }
        let ports =
            self.ports.get(&each.module).with_context(|| format!("nothing is known of {}", each.module))?;
        let known = ports.iter().find(|known| known.name == port);
        let known = known.with_context(|| format!("{name}: no document knows of that port"))?;
        match known.clock.as_str() {
            "clock in" | "clock out" | "pad" => Ok(None),
            "async" => Ok(Some(name.to_owned())),
            clock => {
                let domain = clocks.of(clock_at(clock));
                Ok(Some(domain.with_context(|| {
                    format!("{name} belongs to {clock}, which is no clock that is known")
                })?))
            }
        }
    }
}

/// Which wires follow which without a register in between.
struct Graph<'a> {
    design: &'a Design,
    /// By wire, and behind the wires by operator that mixes its bits.
    behind: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn new(design: &'a Design) -> Self {
        let mut behind: Vec<Vec<usize>> = vec![Vec::new(); design.count()];
        let root = |net: &Net| net.map(|net| design.root(net));
        for logic in &design.logic {
            for group in &logic.inputs {
                for (input, output) in group.iter().zip(&logic.output) {
                    if let (Some(input), Some(output)) = (root(input), root(output)) {
                        behind[input].push(output);
                    }
                }
            }
            mix(&mut behind, logic.all.iter().filter_map(root), logic.output.iter().filter_map(root));
        }
        for (addresses, data) in design.memories.iter().flat_map(|memory| &memory.reads) {
            mix(&mut behind, addresses.iter().filter_map(root), data.iter().filter_map(root));
        }
        Self { design, behind }
    }

    /// For each wire the source of a domain that reaches it.
    fn reach(&self, sources: &[Source], domain: &str) -> Vec<Option<usize>> {
        let mut reached: Vec<Option<usize>> = vec![None; self.behind.len()];
        let mut todo = Vec::new();
        for (index, source) in sources.iter().enumerate().filter(|(_, source)| source.domain == domain) {
            for net in &source.nets {
                reached[*net] = Some(index);
                todo.push(*net);
            }
        }
        while let Some(net) = todo.pop() {
            let source = reached[net];
            for next in &self.behind[net] {
                if reached[*next].is_none() {
                    reached[*next] = source;
                    todo.push(*next);
                }
            }
        }
        reached.truncate(self.design.count());
        reached
    }
}

/// Lets all outputs follow all inputs, through a node of their own.
fn mix(
    behind: &mut Vec<Vec<usize>>,
    inputs: impl Iterator<Item = usize>,
    outputs: impl Iterator<Item = usize>,
) {
    let node = behind.len();
    behind.push(outputs.collect());
    for input in inputs {
        behind[input].push(node);
    }
}
