//! `build.tcl`: from sources to the bitstream, without a project. `ila.tcl`: the logic analyser, on request.

use std::fmt::Write;

use crate::board::Board;
use crate::manifest::Manifest;
use crate::top::{MAC_MODULE, PCIE_MODULE, PROBES, TOP};

/// Versions of Vivado that others have used this IP with: open-nic-shell up to 2022.1, esnet-smartnic-hw up to 2025.2.
pub const VIVADO: [&str; 2] = ["2022.1", "2025.2"];

/// Reports that a build leaves in `build/reports`: the file, and the command without its `-file`.
pub const REPORTS: [(&str, &str); 8] = [
    ("timing.rpt", "report_timing_summary -max_paths 20"),
    ("utilisation.rpt", "report_utilization -hierarchical"),
    ("drc.rpt", "report_drc"),
    ("methodology.rpt", "report_methodology"),
    ("cdc.rpt", "report_cdc -details"),
    ("clocks.rpt", "report_clock_interaction"),
    ("power.rpt", "report_power"),
    ("route.rpt", "report_route_status"),
];

/// The whole script.
pub(crate) fn build(board: &Board, ila: bool) -> String {
    let [first, last] = VIVADO;
    let Board { name, part, flash, .. } = board;
    let mut text = format!(
        "# {name}: from sources to the bitstream. Run in this folder:\n\
         #     vivado -mode batch -notrace -source build.tcl\n\
         # Leaves checkpoints, reports and bitstream in build/. Exits with 2 when a path is too slow.\n\n\
         set here [file dirname [file normalize [info script]]]\n\
         set out [file join $here build]\n\
         set ip_folder [file join $out ip]\n\
         set reports [file join $out reports]\n\n\
         # Others have used this IP with versions {first} to {last}.\n\
         set version [join [lrange [split [version -short] .] 0 1] .]\n\
         if {{[package vcompare $version {first}] < 0 || [package vcompare $version {last}] > 0}} {{\n\
         \x20   puts \"ERROR: this is Vivado $version, and build.tcl was written for {first} to {last}\"\n\
         \x20   exit 1\n\
         }}\n\n\
         file mkdir $out $ip_folder $reports\n\
         create_project -in_memory -part {part}\n\n\
         # Vendor IP, each synthesised alone.\n"
    );
    for (script, module) in [("mac", MAC_MODULE), ("pcie", PCIE_MODULE)] {
        let _ = write!(
            text,
            "source [file join $here ip {script}.tcl]\ngenerate_target all [get_ips {module}]\nsynth_ip [get_ips {module}]\n"
        );
    }
    text += "\n# Sources. Pins are constrained from the start, timing and place once there are cells to speak of.\n\
             read_verilog -sv [list \\\n";
    for file in ["stroma_100g.v", "stroma_shell.v", "stroma_core.v", "board.v"] {
        let _ = writeln!(text, "    [file join $here rtl {file}] \\");
    }
    let _ = write!(
        text,
        "]\nread_xdc [file join $here constraints pins.xdc]\n\
         synth_design -top {TOP} -part {part} -flatten_hierarchy rebuilt\n\
         read_xdc [file join $here constraints timing.xdc]\n\
         read_xdc [file join $here constraints place.xdc]\n"
    );
    if ila {
        text += "source [file join $here ila.tcl]\n";
    }
    text += "write_checkpoint -force [file join $out synthesised.dcp]\n";
    for (command, name) in [
        ("opt_design", "optimised"),
        ("place_design -directive Explore", "placed"),
        ("phys_opt_design -directive AggressiveExplore", "improved"),
        ("route_design -directive Explore", "routed"),
    ] {
        let _ = write!(text, "\n{command}\nwrite_checkpoint -force [file join $out {name}.dcp]\n");
    }
    text += "\n# What came of it.\n";
    for (file, command) in REPORTS {
        let _ = writeln!(text, "{command} -file [file join $reports {file}]");
    }
    let _ = write!(
        text,
        "\n# A card that is too slow on one path is no card.\n\
         foreach kind {{-setup -hold}} {{\n\
         \x20   set paths [get_timing_paths $kind -max_paths 1]\n\
         \x20   if {{[llength $paths] == 0}} {{\n\
         \x20       puts \"ERROR: no path is timed ($kind)\"\n\
         \x20       exit 1\n\
         \x20   }}\n\
         \x20   set slack [get_property SLACK $paths]\n\
         \x20   puts \"slack ($kind): $slack ns\"\n\
         \x20   if {{$slack < 0}} {{\n\
         \x20       puts \"ERROR: a path is [expr {{-$slack}}] ns too slow; see [file join $reports timing.rpt]\"\n\
         \x20       exit 2\n\
         \x20   }}\n\
         }}\n\n\
         # The bitstream, and the same for the flash: a user's begins behind the factory's.\n\
         set bitstream [file join $out stroma.bit]\n\
         write_bitstream -force $bitstream\n"
    );
    if ila {
        text += "write_debug_probes -force [file join $out stroma.ltx]\n";
    }
    let _ = writeln!(
        text,
        "write_cfgmem -force -format mcs -size {} -interface SPIx4 -loadbit \"up 0x{:08x} $bitstream\" [file join $out stroma.mcs]",
        flash.megabytes, flash.offset
    );
    text
}

/// The logic analyser: one core a clock, a probe a wire of those that the core has.
pub(crate) fn analyser(core: &Manifest) -> String {
    let mut text =
        "# A logic analyser on the streams, one core a clock. The wires are marked in rtl/board.v.\n"
            .to_owned();
    for (clock, probes) in PROBES {
        let name = format!("ila_{clock}");
        let _ = write!(
            text,
            "\ncreate_debug_core {name} ila\n\
             set_property C_DATA_DEPTH 4096 [get_debug_cores {name}]\n\
             set_property C_INPUT_PIPE_STAGES 2 [get_debug_cores {name}]\n\
             set_property port_width 1 [get_debug_ports {name}/clk]\n\
             connect_debug_port {name}/clk [get_nets {clock}]\n"
        );
        let known = probes.iter().filter(|probe| core.port(probe).is_some());
        for (index, probe) in known.enumerate() {
            // A core has its first probe from the start.
            if index > 0 {
                let _ = writeln!(text, "create_debug_port {name} probe");
            }
            let wire = if probe.ends_with("_rq_tready") || probe.ends_with("_cc_tready") {
                format!("{{{probe}[0]}}")
            } else {
                (*probe).to_owned()
            };
            let _ = write!(
                text,
                "set_property port_width 1 [get_debug_ports {name}/probe{index}]\n\
                 connect_debug_port {name}/probe{index} [get_nets {wire}]\n"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_its_part_its_flash_and_every_report() {
        let text = build(&Board::named("u250").unwrap(), false);
        assert!(text.contains("create_project -in_memory -part xcu250-figd2104-2L-e\n"));
        assert!(text.contains("-size 128 -interface SPIx4 -loadbit \"up 0x01002000 $bitstream\""));
        for (file, _) in REPORTS {
            assert!(text.contains(&format!("[file join $reports {file}]")), "{file}");
        }
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} is missing"));
        let order = [
            "synth_ip",
            "\nsynth_design",
            "\nopt_design",
            "\nplace_design",
            "\nphys_opt_design",
            "\nroute_design",
            "exit 2",
            "\nwrite_bitstream",
            "\nwrite_cfgmem",
        ];
        assert!(order.is_sorted_by_key(|word| at(word)), "steps are out of order");
        assert!(!text.contains("ila.tcl") && build(&Board::named("u250").unwrap(), true).contains("ila.tcl"));
    }

    #[test]
    fn the_analyser_probes_what_the_core_has() {
        let core =
            Manifest::parse("top core\nout m_axis_cq_tready 1\nin s_axis_rq_tready 1\nin mac_rx_tlast 1\n")
                .unwrap();
        let text = analyser(&core);
        assert!(
            text.contains("connect_debug_port ila_core_clock/probe0 [get_nets m_axis_cq_tready]\n"),
            "{text}"
        );
        assert!(
            text.contains("connect_debug_port ila_core_clock/probe1 [get_nets {s_axis_rq_tready[0]}]\n"),
            "{text}"
        );
        assert!(text.contains("connect_debug_port ila_mac_clock/probe0 [get_nets mac_rx_tlast]\n"), "{text}");
        assert_eq!(
            text.matches("create_debug_port").count(),
            1,
            "cores have their first probe from the start"
        );
    }
}
