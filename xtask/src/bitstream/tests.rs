use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use super::design::Design;
use super::*;

const CARD: (&str, &str) = (include_str!("fixture/card.v"), include_str!("fixture/card.ports"));
const SHELL: (&str, &str) = (include_str!("fixture/shell.v"), include_str!("fixture/shell.ports"));

fn stand_in((text, ports): (&str, &str)) -> Sources {
    Sources { manifest: Manifest::parse(ports).unwrap(), text: text.to_owned() }
}

fn board(name: &str) -> Board {
    Board::named(name).unwrap()
}

/// Folders of a test: where it writes, and where its check works.
struct Desk {
    out: PathBuf,
    work: PathBuf,
}

impl Desk {
    fn new(test: &str) -> Self {
        let base = workspace::target().join("bitstream/test").join(test);
        if base.exists() {
            fs::remove_dir_all(&base).unwrap();
        }
        Self { out: base.join("out"), work: base.join("work") }
    }

    fn make(&self, name: &str, shell: &str) -> Result<Folder> {
        let shell = stand_in((shell, SHELL.1));
        make(&board(name), &stand_in(CARD), &shell, false, &self.out, self.work.clone())
    }

    /// The crossings of a shell, or why they are not safe.
    fn crossings(&self, shell: &str) -> String {
        let error = self.make("u200", shell).expect_err("a crossing that is not safe passes");
        process::explain(&error)
    }
}

/// A folder that is in order, with its design.
struct Made {
    desk: Desk,
    board: Board,
    bench: Bench,
    design: &'static Design,
}

/// Made once, for it takes seconds of yosys and Verilator; each test has a copy of the folder, which it changes.
static IN_ORDER: LazyLock<(PathBuf, Design)> = LazyLock::new(|| {
    let desk = Desk::new("in_order");
    desk.make("u200", SHELL.0).unwrap();
    let bench = Bench::new(desk.work).unwrap();
    let design = bench.design(&desk.out, &board("u200"), &stand_in(CARD).manifest).unwrap();
    (desk.out, design)
});

impl Made {
    fn new(test: &str) -> Self {
        let (folder, design) = &*IN_ORDER;
        let desk = Desk::new(test);
        check::copy_tree(folder, &desk.out).unwrap();
        let bench = Bench::new(desk.work.clone()).unwrap();
        Self { desk, board: board("u200"), bench, design }
    }

    /// Does something with a file changed, or gone when it is changed to nothing, and puts it back.
    fn with<T>(&self, file: &str, from: &str, to: &str, act: impl Fn() -> T) -> T {
        let path = self.desk.out.join(file);
        let text = fs::read_to_string(&path).unwrap();
        if from.is_empty() {
            fs::remove_file(&path).unwrap();
        } else {
            assert!(text.contains(from), "{file} has no {from:?}:\n{text}");
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
        }
        let result = act();
        fs::write(&path, text).unwrap();
        result
    }

    /// What the stand-ins say of the scripts with a file changed.
    fn fault(&self, file: &str, from: &str, to: &str) -> String {
        let run = || self.bench.run_scripts(&self.desk.out, &self.board, self.design);
        let error = self.with(file, from, to, run).expect_err(&format!("{file}: {from:?} may be {to:?}"));
        error.to_string().lines().nth(1).unwrap_or_default().to_owned()
    }

    /// The same without the line's number.
    fn complaint(&self, file: &str, from: &str, to: &str) -> String {
        let fault = self.fault(file, from, to);
        let mut parts = fault.splitn(3, ':');
        let (place, line) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        assert!(line.parse::<u32>().is_ok_and(|line| line > 0), "no line is named: {fault}");
        format!("{place}:{}", parts.next().unwrap_or_default())
    }
}

#[test]
fn every_board_has_a_folder_that_passes_all_checks() {
    for name in stroma_boards::names() {
        let desk = Desk::new(&format!("every_{name}"));
        let folder =
            desk.make(name, SHELL.0).unwrap_or_else(|error| panic!("{name}: {}", process::explain(&error)));
        let expected = [
            "README.md",
            "build.tcl",
            "citations.md",
            "constraints/pins.xdc",
            "constraints/place.xdc",
            "constraints/timing.xdc",
            "crossings.md",
            "ip/mac.tcl",
            "ip/pcie.tcl",
            "rtl/board.v",
            "rtl/stroma_100g.v",
            "rtl/stroma_core.v",
            "rtl/stroma_shell.v",
        ];
        assert_eq!(folder.files.keys().collect::<Vec<_>>(), expected, "{name}");
        for file in expected {
            assert_eq!(
                fs::read_to_string(desk.out.join(file)).unwrap(),
                folder.files[file],
                "{name}: {file}"
            );
        }
    }
}

#[test]
fn two_runs_give_the_same_bytes_and_nothing_of_this_machine() {
    let [one, other] = ["same_one", "same_other"].map(|test| Desk::new(test).make("u55c", SHELL.0).unwrap());
    assert!(one == other, "two runs differ");
    let places = [workspace::root(), workspace::target()].map(|place| place.display().to_string());
    for (file, text) in &one.files {
        for place in &places {
            assert!(!text.contains(place.as_str()), "{file} speaks of {place}");
        }
    }
}

#[test]
fn a_folder_with_a_logic_analyser_passes_too() {
    let desk = Desk::new("analyser");
    let shell = stand_in(SHELL);
    let folder = make(&board("u280"), &stand_in(CARD), &shell, true, &desk.out, desk.work.clone()).unwrap();
    assert!(
        folder.files["ila.tcl"]
            .contains("connect_debug_port ila_core_clock/probe5 [get_nets {s_axis_rq_tready[0]}]")
    );
    // It goes again when nobody asks for it.
    desk.make("u280", SHELL.0).unwrap();
    assert!(!desk.out.join("ila.tcl").exists());
}

#[test]
fn a_missing_file_is_found() {
    let made = Made::new("missing_file");
    let expected = [
        ("constraints/timing.xdc", "build.tcl: read_xdc: there is no file constraints/timing.xdc"),
        ("constraints/pins.xdc", "build.tcl: read_xdc: there is no file constraints/pins.xdc"),
        ("ip/pcie.tcl", "build.tcl: source: there is no file ip/pcie.tcl"),
        ("rtl/stroma_shell.v", "build.tcl: read_verilog: there is no file rtl/stroma_shell.v"),
    ];
    for (file, expected) in expected {
        assert_eq!(made.complaint(file, "", ""), expected);
    }
    let read = || made.bench.read(&made.desk.out, &made.board);
    let error = made.with("rtl/board.v", "", "", read).unwrap_err();
    assert!(error.to_string().starts_with("rtl/board.v is missing\n"), "{error}");
}

#[test]
fn a_misspelt_port_is_found_by_either_reader() {
    let made = Made::new("misspelt_port");
    let read = || made.bench.read(&made.desk.out, &made.board);
    let error =
        made.with("rtl/board.v", ".user_clk(core_clock)", ".user_clock(core_clock)", read).unwrap_err();
    let text = process::explain(&error);
    assert!(text.contains("rtl/board.v:") && text.contains("user_clock"), "{text}");
    // A port that is left out is none that is left open.
    let error = made.with("rtl/board.v", "        .phy_rdy_out(),\n", "", read).unwrap_err();
    assert!(process::explain(&error).contains("phy_rdy_out"), "{error:?}");
    // A width is as much a part of a port as its name.
    let error = made
        .with("rtl/stroma_core.v", "wire [511:0] mac_rx_tdata", "wire [510:0] mac_rx_tdata", read)
        .unwrap_err();
    assert!(process::explain(&error).contains("mac_rx_tdata"), "{error:?}");
    // And yosys alone, which sees the netlist that the other checks are made on.
    let card = stand_in(CARD).manifest;
    let design = || made.bench.design(&made.desk.out, &made.board, &card);
    let error =
        made.with("rtl/board.v", ".user_clk(core_clock)", ".user_clock(core_clock)", design).err().unwrap();
    assert!(process::explain(&error).contains("user_clock"), "{error:?}");
}

#[test]
fn what_the_ip_does_not_have_is_found() {
    let made = Made::new("ip");
    let expected = [
        (
            "CONFIG.INCLUDE_RS_FEC ",
            "CONFIG.INCLUDE_RSFEC ",
            "ip/mac.tcl: set_property: cmac_usplus has no property INCLUDE_RSFEC",
        ),
        (
            "CONFIG.INCLUDE_RS_FEC {1}",
            "INCLUDE_RS_FEC {1}",
            "ip/mac.tcl: set_property: a property of an IP is CONFIG.NAME, not INCLUDE_RS_FEC",
        ),
        (
            "CONFIG.INCLUDE_RS_FEC {1}",
            "CONFIG.INCLUDE_RS_FEC {yes}",
            "ip/mac.tcl: set_property: INCLUDE_RS_FEC of cmac_usplus is not known to take yes, but {0} {1}",
        ),
        (
            "CONFIG.GT_DRP_CLK {100}",
            "CONFIG.GT_DRP_CLK {300}",
            "ip/mac.tcl: set_property: GT_DRP_CLK of cmac_usplus is not known to take 300, but {50..250}",
        ),
        ("-name cmac_usplus", "-name cmac_uplus", "ip/mac.tcl: create_ip: no IP is called cmac_uplus"),
        ("[get_ips stroma_mac]", "[get_ips stroma_nic]", "ip/mac.tcl: get_ips: no ip is called stroma_nic"),
        (
            "set_property GENERATE",
            "# set_property GENERATE",
            "build.tcl: synth_ip: GENERATE_SYNTH_CHECKPOINT of stroma_mac.xci is not set",
        ),
    ];
    for (from, to, expected) in expected {
        assert_eq!(made.complaint("ip/mac.tcl", from, to), expected);
    }
}

#[test]
fn a_constraint_on_what_is_not_there_is_found() {
    let made = Made::new("constraint");
    let timing = [
        ("[get_nets core_clock]", "[get_nets core_clok]", "get_nets: no net is called core_clok"),
        ("[get_nets core_clock]", "[get_nets core_reset]", "get_clocks: core_reset is on no clock"),
        (
            "aligned/first_reg*",
            "aligned/frist_reg*",
            "get_cells: no cell is called core/shell/aligned/frist_reg*",
        ),
        ("core/shell/aligned", "core/*aligned", "get_cells: no cell is called core/*aligned/first_reg*"),
        ("[get_pins mac/sys_reset]", "[get_pins mac/reset]", "get_pins: no pin is called mac/reset"),
        ("[get_ports qsfp_int_l]", "[get_ports qsfp_int]", "get_ports: no port is called qsfp_int"),
        (
            "-name free_clock",
            "-name qsfp_refclk",
            "create_clock: a clock has a name of its own, not \"qsfp_refclk\"",
        ),
        ("-datapath_only -from", "-datapath -from", "set_max_delay has no option -datapath"),
        ("set_false_path -from", "set_false_paths -from", "no command is called set_false_paths"),
    ];
    for (from, to, expected) in timing {
        assert_eq!(
            made.complaint("constraints/timing.xdc", from, to),
            format!("constraints/timing.xdc: {expected}")
        );
    }
    let pins = [
        ("PACKAGE_PIN BC1}", "PACKAGE_PIN BC2}", "set_property: pin BC2 is pcie_rx_n[15] and pcie_rx_p[15]"),
        ("{pcie_rx_n[15]}", "{pcie_rx_n[16]}", "get_ports: no port is called pcie_rx_n[16]"),
        (
            "[get_ports pcie_refclk_n]",
            "[get_ports pcie_refclk_p]",
            "set_property: pcie_refclk_p is on pins AM11 and AM10",
        ),
        (
            "IOSTANDARD LVCMOS12",
            "IOSTANDARD LVCMOS13",
            "set_property: IOSTANDARD is not known to take LVCMOS13, but {LVCMOS12} {LVCMOS18} {LVDS} {DIFF_SSTL12}",
        ),
        (
            "BITSTREAM.GENERAL.COMPRESS",
            "BITSTREAM.GENERAL.COMPRES",
            "set_property: a design has no property BITSTREAM.GENERAL.COMPRES",
        ),
        (
            "[current_design]",
            "[get_cells core]",
            "get_cells: before the design is synthesised there are ports alone",
        ),
    ];
    for (from, to, expected) in pins {
        assert_eq!(
            made.complaint("constraints/pins.xdc", from, to),
            format!("constraints/pins.xdc: {expected}")
        );
    }
    let place = [
        ("{SLR2}", "{SLR3}", "resize_pblock: the part has no SLR3"),
        ("[get_cells core]", "[get_cells cores]", "get_cells: no cell is called cores"),
    ];
    for (from, to, expected) in place {
        assert_eq!(
            made.complaint("constraints/place.xdc", from, to),
            format!("constraints/place.xdc: {expected}")
        );
    }
    let line = made.fault("constraints/timing.xdc", "[get_ports free_clock_p]", "[get_ports free_clock]");
    assert_eq!(line, "constraints/timing.xdc:4: get_ports: no port is called free_clock");
}

#[test]
fn steps_out_of_order_and_commands_that_are_none_are_found() {
    let made = Made::new("steps");
    let steps = [
        ("\nplace_design", "\nplace_desing", "no command is called place_desing"),
        ("route_design -directive", "route_design -directives", "route_design has no option -directives"),
        ("\nopt_design\n", "\n", "place_design comes too early: the design is not optimised yet"),
        (
            "\nroute_design -directive Explore\n",
            "\n",
            "get_timing_paths comes too early: the design is not routed yet",
        ),
        ("synth_ip [get_ips stroma_pcie]\n", "", "synth_design: stroma_pcie was not synthesised"),
        ("    [file join $here rtl stroma_core.v] \\\n", "", "synth_design: rtl/stroma_core.v was not read"),
        ("-top board", "-top bord", "synth_design: the top module is board"),
        ("-part xcu200", "-part xcu250", "create_project: the board's part is xcu200-fsgd2104-2-e"),
        (
            "file mkdir $out $ip_folder $reports",
            "file mkdir $out $ip_folder",
            "report_timing_summary: there is no folder build/reports",
        ),
        ("-size 128", "-size 100", "write_cfgmem: 100 is no power of two"),
        (
            "set bitstream [file join $out stroma.bit]",
            "set bitstreem [file join $out stroma.bit]",
            "can't read \"bitstream\": no such variable",
        ),
        (
            "read_xdc [file join $here constraints pins.xdc]\n",
            "",
            "write_bitstream: port free_clock_n is on no pin",
        ),
    ];
    for (from, to, expected) in steps {
        assert_eq!(made.complaint("build.tcl", from, to), format!("build.tcl: {expected}"));
    }
}

#[test]
fn a_path_that_is_too_slow_ends_the_build_with_2() {
    let made = Made::new("slow");
    let status =
        |slack| made.bench.tclsh(&made.desk.out, &made.board, made.design, slack).unwrap().status.code();
    assert_eq!((status("0.000"), status("-0.001")), (Some(0), Some(2)));
}

#[test]
fn a_crossing_that_is_not_synchronised_is_found() {
    let shell = SHELL.0.replace("    sync2_1 aligned (", "    reg_1 aligned (");
    let text = Desk::new("unsynchronised").crossings(&shell);
    assert!(
        text.contains("mac/stat_rx_aligned (mac_clock) leads to core/shell/aligned/q_reg (core_clock): it is not synchronised"),
        "{text}"
    );
}

#[test]
fn a_pin_under_no_clock_is_found_if_nothing_synchronises_it() {
    let shell = SHELL.0.replace("    sync2_1 modprs (", "    reg_1 modprs (");
    let text = Desk::new("unsynchronised_pin").crossings(&shell);
    assert!(text.contains("qsfp_modprs_l (qsfp_modprs_l) leads to core/shell/modprs/q_reg (core_clock): it is not synchronised"), "{text}");
}

#[test]
fn logic_before_a_synchroniser_is_found() {
    let shell = SHELL.0.replace(
        ".d(stat_rx_aligned),\n        .q(link_up)",
        ".d(stat_rx_aligned & !mac_rx_reset),\n        .q(link_up)",
    );
    let text = Desk::new("glitches").crossings(&shell);
    assert!(text.contains("leads to core/shell/aligned/first_reg (core_clock): it passes through logic before it is synchronised"), "{text}");
}

#[test]
fn several_bits_at_once_are_found() {
    let shell = SHELL.0.replace("    reg_1 enable (", "    logic [1:0] both$q;\n    sync2_2 both (\n        .clock(clock),\n        .d({mac_tx_tready, stat_rx_aligned}),\n        .q(both$q)\n    );\n    assign tx_pause = &both$q;\n    reg_1 enable (");
    let shell = shell.replace("    assign tx_pause = '0;\n", "");
    let text = Desk::new("several_bits").crossings(&shell);
    assert!(text.contains("leads to core/shell/both/first_reg (core_clock): several bits at once"), "{text}");
}

#[test]
fn a_way_into_ip_or_card_of_another_clock_is_found() {
    let shell = SHELL.0.replace("    assign tx_pause = '0;", "    assign tx_pause = mac_tx_tready;");
    let text = Desk::new("into_card").crossings(&shell);
    assert!(text.contains("mac/tx_axis_tready (mac_clock) leads to core/card/tx_pause (core_clock): it ends in no register of a synchroniser"), "{text}");
    let shell = SHELL.0.replace("    assign ctl_rx_enable = 1'h1;", "    assign ctl_rx_enable = rx_tready;");
    let text = Desk::new("into_ip").crossings(&shell);
    assert!(
        text.contains("core/card/rx_tready (core_clock) leads to mac/ctl_rx_enable (mac_clock)"),
        "{text}"
    );
}

#[test]
fn a_register_under_no_known_clock_is_found() {
    let shell = SHELL.0.replace(
        ".q(ctl_tx_enable),\n        .clock(mac_clock)",
        ".q(ctl_tx_enable),\n        .clock(mac_clock & qsfp_int_l)",
    );
    let text = Desk::new("gated_clock").crossings(&shell);
    assert!(text.contains("core/shell/enable/q_reg is under no clock that is known"), "{text}");
}

#[test]
fn a_property_or_port_without_its_source_is_found() {
    let board = board("u50");
    let (card, shell) = (stand_in(CARD), stand_in(SHELL));
    let folder = Folder::new(&board, &card, &shell, false).unwrap();
    check::cited(&folder, &board).unwrap();
    let expected = [
        (
            "| INCLUDE_RS_FEC | `1` | ONS, ",
            "| INCLUDE_RS_FEC | `1` | hearsay, ",
            "cmac_usplus: nobody is cited for INCLUDE_RS_FEC",
        ),
        ("| user_clk |", "| user_clock |", "pcie4c_uscale_plus: nobody is cited for user_clk"),
        ("- CESNET: ", "- CZECHNET: ", "pcie4c_uscale_plus: nobody is cited for pci_exp_txp"),
    ];
    for (from, to, expected) in expected {
        let mut folder = folder.clone();
        let page = folder.files.get_mut("citations.md").unwrap();
        assert!(page.contains(from), "{from}");
        *page = page.replace(from, to);
        let error = check::cited(&folder, &board).unwrap_err().to_string();
        assert_eq!(error.lines().next(), Some(expected));
    }
}

#[test]
fn the_10g_card_and_unknown_boards_are_refused() {
    let options = |name: &str, profile| Options {
        board: name.to_owned(),
        profile,
        kernels: None,
        ila: false,
        out: None,
    };
    let error = run(&options("u50", Profile::TenG)).unwrap_err().to_string();
    assert!(error.starts_with("the 10g card is not on boards"), "{error}");
    let error = run(&options("u30", Profile::HundredG)).unwrap_err().to_string();
    assert!(error.contains("no board is called u30"), "{error}");
}
