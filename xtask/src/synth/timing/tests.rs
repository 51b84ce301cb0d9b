//! Paths of small netlists, their lengths added up by hand.
//!
//! A wire to one reader takes 202: 200, no logarithm, 1.5, rounded. Setup and uncertainty are 75 together.

use super::super::figures::Figures;
use super::super::sample::Sample;
use super::*;

/// Period, levels, begin and end of the slowest path.
fn slowest(sample: &Sample) -> (u32, u32, String, String) {
    let netlist = sample.netlist();
    let path = Timing::of(&netlist).unwrap().slowest(1).remove(0);
    (path.period, path.levels, path.from, path.to)
}

fn expected(period: u32, levels: u32, from: &str, to: &str) -> (u32, u32, String, String) {
    (period, levels, from.into(), to.into())
}

#[test]
fn two_lookup_tables_between_registers() {
    let sample = Sample::default()
        .register("a", 9, 2)
        .cell("one", "LUT1", "I0<2 O>3")
        .cell("two", "LUT1", "I0<3 O>4")
        .register("b", 4, 5);
    // Clock 93, wire 202, table 40, wire 202, table 40; the last sits before its flip-flop.
    assert_eq!(slowest(&sample), expected(93 + 202 + 40 + 202 + 40 + 75, 2, "a$q", "b$q D"));
    let netlist = sample.netlist();
    let path = Timing::of(&netlist).unwrap().slowest(1).remove(0);
    let steps: Vec<_> = path.steps.iter().map(|step| (step.kind.as_str(), step.at)).collect();
    assert_eq!(steps, [("LUT1", 335), ("LUT1", 577)]);
}

#[test]
fn what_comes_last_gets_the_fastest_pin() {
    let sample = Sample::default()
        .register("late", 9, 2)
        .register("early", 9, 6)
        .cell("one", "LUT1", "I0<2 O>3")
        .cell("two", "LUT2", "I0<3 I1<6 O>4")
        .register("b", 4, 5);
    // Late: 93 + 202 + 40 + 202 = 537 at the fastest pin, 577; early: 295 at the next, 361.
    assert_eq!(slowest(&sample), expected(577 + 75, 2, "late$q", "b$q D"));
    let together = Sample::default()
        .register("x", 9, 2)
        .register("y", 9, 3)
        .cell("one", "LUT2", "I0<2 I1<3 O>4")
        .register("b", 4, 5);
    // Both at 295: one of them must take the pin of 66.
    assert_eq!(slowest(&together).0, 295 + 66 + 75);
}

#[test]
fn a_wire_costs_more_the_more_pins_read_it() {
    let mut sample = Sample::default().register("a", 99, 2).cell("one", "LUT1", "I0<2 O>3");
    for reader in 0..8 {
        sample = sample.register(&format!("b{reader}"), 3, 10 + reader);
    }
    // 200 + 30 * 3 + 1.5 * 8; no flip-flop can sit behind the table, for eight do not fit.
    assert_eq!(slowest(&sample).0, 93 + 202 + 40 + 302 + 75);
}

#[test]
fn along_a_carry_chain() {
    let sample = Sample::default()
        .register("a", 90, 2)
        .cell(
            "low",
            "CARRY4",
            "CI<\"0\" CYINIT<\"0\" S<2,\"0\",\"0\",\"0\" DI<\"0\",\"0\",\"0\",\"0\" CO>20,21,22,3",
        )
        .cell("mid", "CARRY4", "CI<3 CYINIT<\"0\" S<\"0\",\"0\",\"0\",\"0\" CO>23,24,25,4")
        .cell("high", "CARRY4", "CI<4 CYINIT<\"0\" S<\"0\",\"0\",\"0\",\"0\" O>26,27,28,5")
        .register("b", 5, 6);
    // To the sum pin through its table, 202 + 40; in 100, along 15, out 70.
    assert_eq!(slowest(&sample), expected(93 + 242 + 100 + 15 + 70 + 75, 0, "a$q", "b$q D"));
    let behind_a_table = Sample::default()
        .register("a", 90, 7)
        .cell("sum", "LUT1", "I0<7 O>2")
        .cell("low", "CARRY4", "CI<\"0\" S<2,\"0\",\"0\",\"0\" O>5,21,22,3")
        .register("b", 5, 6);
    assert_eq!(slowest(&behind_a_table), expected(93 + 202 + 40 + 100 + 75, 1, "a$q", "b$q D"));
}

#[test]
fn a_carry_reaches_no_lower_bit() {
    let sample = Sample::default()
        .register("a", 90, 2)
        .cell("low", "CARRY4", "CI<\"0\" S<\"0\",\"0\",2,\"0\" DI<\"0\",\"0\",\"0\",2 O>5,\"x\",\"x\",\"x\"")
        .register("b", 5, 6);
    assert!(Timing::of(&sample.netlist()).unwrap().slowest(9).is_empty());
}

#[test]
fn a_lut_ram_is_written_at_the_clock_and_read_at_once() {
    let sample = Sample::default()
        .register("address", 90, 2)
        .register("data", 91, 7)
        .cell("ram", "RAM64M8", "WCLK<1 WE<\"1\" ADDRA<2,\"0\" ADDRB<\"0\" ADDRH<7 DIA<7 DOA>3 DOB>8")
        .register("b", 3, 5);
    let netlist = sample.netlist();
    let timing = Timing::of(&netlist).unwrap();
    // What was just written comes out 570 after the clock; an address that changes takes 93 + 202 + 170.
    assert_eq!(slowest(&sample), expected(570 + 202 + 75, 1, "ram", "b$q D"));
    let deepest = &timing.deepest(1)[0];
    assert_eq!((deepest.levels, deepest.from.as_str(), deepest.to.as_str()), (1, "address$q", "b$q D"));
    // Data and the address that is written end in the RAM: 200 + 30 + 3 to two readers. An address only read does not.
    let into: Vec<_> = timing.slowest(9).into_iter().filter(|path| path.to.starts_with("ram ")).collect();
    assert_eq!(into.len(), 1);
    assert_eq!((into[0].from.as_str(), into[0].period), ("data$q", 93 + 233 + 75));
    let figures = Figures::of(&netlist, &timing).unwrap();
    assert_eq!((figures.lut, figures.lut_ram, figures.ff), (8, 8, 3));
}

#[test]
fn a_block_ram_is_slow_without_its_output_register() {
    let ram = |registered: &str| {
        Sample::default()
            .register("address", 90, 2)
            .cell(
                "ram",
                "RAMB36E2",
                &format!("CLKARDCLK<1 ADDRARDADDR<2 DOUTADOUT>3 DOUTBDOUT>\"x\" {registered}"),
            )
            .register("b", 3, 5)
    };
    assert_eq!(slowest(&ram("DOA_REG=0")), expected(1000 + 202 + 75, 0, "ram", "b$q D"));
    assert_eq!(slowest(&ram("DOA_REG=1")).0, 230 + 202 + 75);
    // The other port's register is no help.
    assert_eq!(slowest(&ram("DOB_REG=1")).0, 1000 + 202 + 75);
    let netlist = ram("").netlist();
    assert_eq!(Figures::of(&netlist, &Timing::of(&netlist).unwrap()).unwrap().bram(), "1");
}

#[test]
fn a_multiplier_is_cut_by_the_registers_it_uses() {
    let dsp = |registers: &str| {
        let sample = Sample::default()
            .register("a", 90, 2)
            .cell("mul", "DSP48E2", &format!("CLK<1 A<2 P>3 {registers}"))
            .register("b", 3, 5);
        slowest(&sample)
    };
    // Through multiplier and adder, twice 1200.
    assert_eq!(dsp("AREG=0 MREG=0 PREG=0"), expected(93 + 202 + 2400 + 202 + 75, 0, "a$q", "b$q D"));
    // Before the product's register, and after it.
    assert_eq!(dsp("AREG=0 MREG=1 PREG=0"), expected(230 + 1200 + 202 + 75, 0, "mul", "b$q D"));
    assert_eq!(dsp("AREG=0 MREG=1 PREG=1"), expected(93 + 202 + 1200 + 75, 0, "a$q", "mul A"));
    assert_eq!(dsp("AREG=1 MREG=1 PREG=1"), expected(230 + 202 + 75, 0, "mul", "b$q D"));
}

#[test]
fn an_inverter_is_part_of_the_tables_behind_it_or_a_table_itself() {
    let before_a_table = Sample::default()
        .register("a", 90, 2)
        .cell("not", "INV", "I<2 O>3")
        .cell("one", "LUT1", "I0<3 O>4")
        .register("b", 4, 5);
    assert_eq!(slowest(&before_a_table), expected(93 + 202 + 40 + 75, 1, "a$q", "b$q D"));
    let alone = Sample::default().register("a", 90, 2).cell("not", "INV", "I<2 O>4").register("b", 4, 5);
    assert_eq!(slowest(&alone), expected(93 + 202 + 40 + 75, 1, "a$q", "b$q D"));
    let luts = |sample: &Sample| {
        let netlist = sample.netlist();
        Figures::of(&netlist, &Timing::of(&netlist).unwrap()).unwrap().lut
    };
    assert_eq!((luts(&before_a_table), luts(&alone)), (1, 1));
}

#[test]
fn ports_count_as_registers_outside() {
    let sample = Sample::default()
        .port("enable", "input", &[2])
        .port("moves", "output", &[3])
        .cell("one", "LUT1", "I0<2 O>3")
        .name("enable", &[2]);
    assert_eq!(slowest(&sample), expected(93 + 202 + 40 + 202 + 75, 1, "enable", "moves port"));
}

#[test]
fn paths_from_reset_and_from_constants_are_none() {
    let sample = Sample::default()
        .port("reset", "input", &[2])
        .cell("one", "LUT2", "I0<2 I1<\"1\" O>3")
        .cell("a", "FDRE", "C<1 CE<\"1\" R<3 D<\"0\" Q>4");
    assert!(Timing::of(&sample.netlist()).unwrap().slowest(9).is_empty());
}

#[test]
fn each_end_register_is_shown_once_whatever_its_width() {
    let sample = Sample::default()
        .port("enable", "input", &[2])
        .cell("b0", "FDRE", "C<1 CE<2 R<\"0\" D<\"0\" Q>10")
        .cell("b1", "FDRE", "C<1 CE<2 R<\"0\" D<\"0\" Q>11")
        .name("b$q", &[10, 11])
        .register("c", 2, 12)
        .cell("words.0.0", "RAM64M8", "WCLK<1 WE<2")
        .cell("words.0.1", "RAM64M8", "WCLK<1 WE<2");
    let netlist = sample.netlist();
    let ends: BTreeSet<String> =
        Timing::of(&netlist).unwrap().slowest(9).into_iter().map(|path| register(&path.to)).collect();
    assert_eq!(ends, ["b$q", "c$q", "words"].map(String::from).into());
    assert_eq!(Timing::of(&netlist).unwrap().slowest(9).len(), 3);
    assert_eq!(Timing::of(&netlist).unwrap().slowest(2).len(), 2);
}

#[test]
fn a_register_without_a_name_is_told_by_the_memory_it_addresses_or_the_wire_before_it() {
    let sample = Sample::default()
        .port("at", "input", &[2])
        .cell("$auto$1", "FDRE", "C<1 CE<\"1\" R<\"0\" D<2 Q>3")
        .cell("held.words.0.3", "RAMB18E2", "CLKARDCLK<1 ADDRARDADDR<3")
        .cell("$auto$2", "FDRE", "C<1 CE<\"1\" R<\"0\" D<2 Q>4")
        .name("at", &[2]);
    let netlist = sample.netlist();
    let mut ends: Vec<String> =
        Timing::of(&netlist).unwrap().slowest(9).into_iter().map(|path| path.to).collect();
    ends.sort();
    assert_eq!(ends, ["(address of held.words) D", "(after at) D", "held.words.0.3 ADDRARDADDR"]);
}

#[test]
fn a_combinational_loop_is_an_error_that_names_its_wires() {
    let sample = Sample::default()
        .register("a", 90, 2)
        .cell("one", "LUT2", "I0<2 I1<4 O>3")
        .cell("two", "LUT1", "I0<3 O>4")
        .register("b", 4, 5)
        .name("forth", &[3])
        .name("back", &[4]);
    let error = Timing::of(&sample.netlist()).err().unwrap().to_string();
    assert!(
        error.contains("combinational loop") && error.contains("forth") && error.contains("back"),
        "{error}"
    );
    assert!(!error.contains("$q"), "registers are no part of it: {error}");
}

#[test]
fn a_cell_that_the_model_does_not_know_is_refused_by_name() {
    let sample = Sample::default().cell("latch", "LDCE", "G<1 D<2 Q>3");
    let error = Timing::of(&sample.netlist()).err().unwrap().to_string();
    assert!(error.contains("`LDCE`"), "{error}");
}
