//! The rule for clock domains, their order, and what is refused.

mod alone;
mod primitives;

use std::fs;
use std::path::Path;

use rust_hdl::core::atom::AtomKind;
use rust_hdl::prelude::*;

use super::*;
use crate::prim::own_clock::OwnClock;
use crate::prim::reg::Reg;
use crate::prim::reset_reg::ResetReg;
use crate::verilog::collect::AtomInfo;
use crate::verilog::{EmitError, Rtl, emit, emit_gated};

/// A block of a tree for the rule: all that the rule reads.
struct Drawn {
    name: String,
    lines: usize,
    registers: usize,
    /// Its first clock port, and the port of the block around it to which that is connected.
    clock: Option<[&'static str; 2]>,
    has_own_clock: bool,
    inside: Vec<Drawn>,
}

/// A block with as many lines and registers (those inside count for the latter) on the clock of the block around it.
fn drawn(name: &str, lines: usize, registers: usize) -> Drawn {
    let clock = Some(["clock", "clock"]);
    Drawn { name: name.into(), lines, registers, clock, has_own_clock: false, inside: Vec::new() }
}

impl Drawn {
    fn around(self, inside: impl IntoIterator<Item = Self>) -> Self {
        Self { inside: inside.into_iter().collect(), ..self }
    }

    fn on(self, clock: Option<[&'static str; 2]>) -> Self {
        Self { clock, ..self }
    }

    fn marked(self) -> Self {
        Self { has_own_clock: true, ..self }
    }

    fn node(&self, around: &str, sizes: &mut HashMap<String, Size>) -> Node {
        let path = if around.is_empty() { self.name.clone() } else { format!("{around}.{}", self.name) };
        let clock = self.clock.map(|[_, outer]| outer.to_owned());
        let size = Size { lines: self.lines, registers: self.registers, clock };
        assert!(sizes.insert(path.clone(), size).is_none(), "two blocks are called {path}");
        let port = |[own, _]: [&str; 2]| AtomInfo {
            name: own.to_owned(),
            kind: AtomKind::InputParameter,
            width: 1,
            signed: false,
            is_clock: true,
            value: String::new(),
            labels: Vec::new(),
        };
        Node {
            instance: self.name.clone(),
            atoms: self.clock.map(port).into_iter().collect(),
            code: Verilog::Empty,
            children: self.inside.iter().map(|block| block.node(&path, sizes)).collect(),
            has_own_clock: self.has_own_clock,
            path,
        }
    }

    /// The blocks that open a domain, the top apart, by their paths.
    fn openers(&self) -> Vec<String> {
        let mut sizes = HashMap::new();
        let root = self.node("", &mut sizes);
        openers(&root, &sizes).into_iter().collect()
    }
}

/// Blocks of one size, named by their number.
fn alike(count: usize, lines: usize, registers: usize) -> impl Iterator<Item = Drawn> {
    (0..count).map(move |number| drawn(&format!("block{number}"), lines, registers))
}

/// A block of the plan with enough registers for a domain.
fn place(path: &str, parent: usize, weight: usize) -> Place<'_> {
    Place { path, parent, weight, registers: REGISTERS, opens: false }
}

/// Opens blocks one by one, as the rule does; their paths in this order.
fn divided<'a>(places: &mut [Place<'a>], times: usize) -> Vec<&'a str> {
    places[0].opens = true;
    let mut opened = Vec::new();
    while opened.len() < times
        && let Some(at) = division(places)
    {
        places[at].opens = true;
        opened.push(places[at].path);
    }
    opened
}

#[test]
fn the_heaviest_domain_is_divided_where_its_parts_are_most_alike() {
    // Of 100 lines `b` has 45, the others have fewer. Then 55 are left, of which `c` has 25, and `a` 20.
    let mut flat = [place("card", 0, 10), place("a", 0, 20), place("b", 0, 45), place("c", 0, 25)];
    assert_eq!(divided(&mut flat, 2), ["b", "c"]);
    // `left` has 70 of 100 lines, `right` 30, and `inner` 60, which is nearest to a half. Of the 60, `deep` has 25.
    let mut deep = [
        place("card", 0, 0),
        place("left", 0, 10),
        place("inner", 1, 35),
        place("deep", 2, 25),
        place("right", 0, 30),
    ];
    assert_eq!(divided(&mut deep, 2), ["inner", "deep"]);
}

#[test]
fn a_domain_that_cannot_be_divided_keeps_no_other_whole() {
    // `memory` is the heaviest once it is open, and has nothing inside.
    let mut places = [place("card", 0, 10), place("memory", 0, 500), place("a", 0, 20), place("b", 0, 25)];
    assert_eq!(divided(&mut places, 9), ["memory", "b", "a"]);
}

#[test]
fn blocks_open_domains_until_there_are_as_many_as_the_rule_makes() {
    let card = drawn("card", 100, REGISTERS * OPENED * 3).around(alike(OPENED * 3, 10, REGISTERS));
    // The top has one, too.
    assert_eq!(card.openers().len(), OPENED - 1);
    let few = drawn("card", 100, REGISTERS * 3).around(alike(3, 10, REGISTERS));
    assert_eq!(few.openers(), ["card.block0", "card.block1", "card.block2"]);
}

#[test]
fn a_block_with_fewer_registers_than_the_minimum_opens_no_domain() {
    let card = drawn("card", 10, 100).around([
        drawn("few", 400, REGISTERS - 1),
        drawn("enough", 300, REGISTERS),
        drawn("none", 500, 0),
    ]);
    assert_eq!(card.openers(), ["card.enough"]);
}

#[test]
fn a_block_with_an_own_clock_opens_a_domain_however_small_it_is() {
    let inner = drawn("inner", 30, 1).around([drawn("tick", 1, 1).marked()]);
    assert_eq!(drawn("card", 100, 2).around([inner]).openers(), ["card.inner.tick"]);

    // They come first: with more of them than the rule makes domains, all have one, and nobody else has.
    let marked = alike(OPENED + 3, 1, 1).map(Drawn::marked);
    let card = drawn("card", 100, 200).around(marked.chain([drawn("large", 5000, 50)]));
    let openers = card.openers();
    assert_eq!(openers.len(), OPENED + 3);
    assert!(openers.iter().all(|path| path.starts_with("card.block")), "{openers:?}");
}

#[test]
fn lines_on_another_clock_than_the_first_count_less() {
    let near = drawn("near", 40, 4)
        .on(Some(["core", "clock"]))
        .around([drawn("renamed", 24, 4).on(Some(["c", "core"])), drawn("logic", 16, 0).on(None)]);
    let far = drawn("far", 40, 4)
        .on(Some(["clock", "other"]))
        .around([drawn("same", 24, 4), drawn("logic", 16, 0).on(None)]);
    let card = drawn("card", 100, 8).around([near, far]);
    let (mut sizes, mut places) = (HashMap::new(), Vec::new());
    let root = card.node("", &mut sizes);
    add_places(&root, 0, Some("clock"), &sizes, &mut places);
    let weights: Vec<(&str, usize)> = places.iter().map(|place| (place.path, place.weight)).collect();
    let expected = [
        ("card", 100),
        ("card.near", 40),
        ("card.near.renamed", 24),
        ("card.near.logic", 16),
        ("card.far", 40 / OTHER_CLOCK),
        ("card.far.same", 24 / OTHER_CLOCK),
        ("card.far.logic", 16 / OTHER_CLOCK),
    ];
    assert_eq!(weights, expected);
}

/// One register on each of two clocks.
#[derive(LogicBlock, Default)]
struct Crossing {
    pub clock: Signal<In, Clock>,
    pub other: Signal<In, Clock>,
    pub d: Signal<In, Bits<8>>,
    pub e: Signal<In, Bits<8>>,
    pub q: Signal<Out, Bits<8>>,
    pub r: Signal<Out, Bits<8>>,
    here: Reg<Bits<8>>,
    there: Reg<Bits<8>>,
    own_clock: OwnClock,
}

impl Logic for Crossing {
    #[hdl_gen]
    fn update(&mut self) {
        self.here.clock.next = self.clock.val();
        self.there.clock.next = self.other.val();
        self.here.d.next = self.d.val();
        self.there.d.next = self.e.val();
        self.q.next = self.here.q.val();
        self.r.next = self.there.q.val();
    }
}

/// Registers of its own on two clocks, and a block between them that opens a domain for each.
#[derive(LogicBlock, Default)]
struct Pair {
    pub clock: Signal<In, Clock>,
    pub other: Signal<In, Clock>,
    pub d: Signal<In, Bits<8>>,
    pub e: Signal<In, Bits<8>>,
    pub q: Signal<Out, Bits<8>>,
    pub r: Signal<Out, Bits<8>>,
    first: Reg<Bits<8>>,
    crossing: Crossing,
    last: Reg<Bits<8>>,
}

impl Logic for Pair {
    #[hdl_gen]
    fn update(&mut self) {
        self.first.clock.next = self.other.val();
        self.crossing.clock.next = self.clock.val();
        self.crossing.other.next = self.other.val();
        self.last.clock.next = self.clock.val();
        self.first.d.next = self.e.val();
        self.crossing.d.next = self.d.val();
        self.crossing.e.next = self.first.q.val();
        self.last.d.next = self.crossing.q.val();
        self.q.next = self.last.q.val();
        self.r.next = self.crossing.r.val();
    }
}

#[test]
fn a_block_on_two_clocks_opens_a_domain_for_each() {
    let rtl = emit_gated("pair", |_| false, Pair::default).unwrap();
    // The top's own come first, by the order in which its registers name their clocks; then those inside.
    // Last come the inputs.
    assert_eq!(rtl.domains, ["other", "clock", "clock", "other", "d", "e"]);
}

/// A register in a block of its own, `N` times over.
#[derive(LogicBlock)]
struct Row<const N: usize> {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, Bits<N>>,
    pub q: Signal<Out, Bits<N>>,
    bits: [ResetReg; N],
}

impl<const N: usize> Default for Row<N> {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            d: Signal::default(),
            q: Signal::default(),
            bits: std::array::from_fn(|_| ResetReg::default()),
        }
    }
}

impl<const N: usize> Logic for Row<N> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..N {
            self.bits[i].clock.next = self.clock.val();
            self.bits[i].d.next = self.d.val().get_bit(i);
        }
        self.q.next = 0.into();
        for i in 0..N {
            self.q.next = self.q.val().replace_bit(i, self.bits[i].q.val());
        }
    }
}

fn row<const N: usize>() -> Result<Rtl, EmitError> {
    emit_gated("row", |_| false, Row::<N>::default)
}

#[test]
fn a_design_has_as_many_domains_as_fit_and_no_more() {
    // One of them is that of the input.
    let clocks = DOMAINS - 1;
    assert_eq!(row::<{ DOMAINS - 1 }>().unwrap().domains[..clocks], vec!["clock"; clocks]);
    let refused = EmitError::Domains { found: DOMAINS + 1, most: DOMAINS };
    assert_eq!(row::<DOMAINS>().unwrap_err(), refused);
}

/// State that does not say when it moves.
#[derive(LogicBlock, Default)]
struct Silent {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, Bit>,
    pub q: Signal<Out, Bit>,
}

impl Logic for Silent {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self.d.val();
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom("// module silent\nalways_ff @(posedge clock) q <= d;".into())
    }
}

fn problem(refused: Result<Rtl, EmitError>) -> (String, String) {
    match refused {
        Err(EmitError::Kernel { module, problem }) => (module, problem),
        other => panic!("not refused as it should be: {other:?}"),
    }
}

#[test]
fn a_primitive_with_state_that_does_not_say_when_it_moves_is_refused() {
    assert!(emit("silent", Silent::default).is_ok(), "the reference text needs no such line");
    let (module, problem) = problem(emit_gated("silent", |_| false, Silent::default));
    assert_eq!(module, "silent");
    assert!(problem.contains("says when it moves"), "{problem}");
}

/// A register whose clock is a signal of the block around it, and no port.
#[derive(LogicBlock, Default)]
struct Derived {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, Bit>,
    pub q: Signal<Out, Bit>,
    made: Signal<Local, Clock>,
    held: Reg<Bit>,
}

impl Logic for Derived {
    #[hdl_gen]
    fn update(&mut self) {
        self.made.next = self.clock.val();
        self.held.clock.next = self.made.val();
        self.held.d.next = self.d.val();
        self.q.next = self.held.q.val();
    }
}

#[test]
fn a_clock_that_is_connected_to_no_clock_of_its_block_is_refused() {
    assert!(emit("derived", Derived::default).is_ok(), "the reference text does not ask");
    let (module, problem) = problem(emit_gated("derived", |_| false, Derived::default));
    assert_eq!(module, "derived");
    assert_eq!(problem, "clock `clock` of `held` is connected to no clock of this block");
}

#[test]
fn the_reference_text_has_no_domains() {
    let rtl = emit("pair", Pair::default).unwrap();
    assert!(rtl.domains.is_empty());
    for word in [MOVES.trim(), "_moves", "_edge"] {
        assert!(!rtl.text.contains(word), "{word}");
    }
}

/// Types that hold a field of type `OwnClock`, in the sources below a folder, but for those of tests: file and name.
fn holders(folder: &Path, found: &mut BTreeSet<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" && name != "target" {
                holders(&path, found);
            }
        } else if path.extension() == Some("rs".as_ref()) && name != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let mut kind = None;
            for line in text.lines() {
                if let Some((_, after)) = line.split_once("struct ") {
                    kind = after.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
                }
                if line.trim().trim_end_matches(',').ends_with(": OwnClock") {
                    let kind = kind.expect("a field is inside a type").to_owned();
                    found.insert((path.display().to_string(), kind));
                }
            }
        }
    }
}

#[test]
fn at_most_ten_types_of_blocks_hold_an_own_clock() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    for folder in ["hw", "kernels"] {
        holders(&root.join(folder), &mut found);
    }
    assert!(found.iter().any(|(_, kind)| kind == "ResetReg"), "the scan finds what there is: {found:?}");
    assert!(found.len() <= 10, "{} types: {found:#?}", found.len());
}
