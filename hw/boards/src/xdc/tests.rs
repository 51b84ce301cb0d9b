use super::*;
use crate::crossing::Kind;

fn board(name: &str) -> Board {
    Board::named(name).unwrap()
}

fn has(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "{line:?} is missing:\n{text}");
}

#[test]
fn pins_have_their_places_and_standards() {
    let text = pins(&board("u200"));
    has(&text, "set_property -dict {PACKAGE_PIN AM11} [get_ports pcie_refclk_p]");
    has(
        &text,
        "set_property -dict {PACKAGE_PIN BD21 IOSTANDARD LVCMOS12 PULLUP true} [get_ports pcie_reset_l]",
    );
    has(&text, "set_property -dict {PACKAGE_PIN BC2} [get_ports {pcie_rx_p[15]}]");
    has(&text, "set_property -dict {PACKAGE_PIN BE17 IOSTANDARD LVCMOS12 DRIVE 8} [get_ports qsfp_reset_l]");
    has(&text, "set_operating_conditions -design_power_budget 160");
    assert!(!text.contains("hbm_cattrip"));
    let text = pins(&board("u55c"));
    has(
        &text,
        "set_property -dict {PACKAGE_PIN BE45 IOSTANDARD LVCMOS18 PULLDOWN true} [get_ports hbm_cattrip]",
    );
    assert!(!text.contains("qsfp_reset_l") && !text.contains("power_budget"));
}

#[test]
fn a_crossing_is_bounded_by_the_period_it_leaves() {
    let crossing = |from: &str, to: &str, kind| Crossing {
        from: from.into(),
        to: to.into(),
        source: "core/shell/sender".into(),
        sink: "core/shell/seen/first_reg*".into(),
        width: 1,
        kind,
    };
    let crossings = [
        crossing("core_clock", "mac_clock", Kind::Pointer),
        crossing("mac_clock", "core_clock", Kind::Level),
        crossing("qsfp_int_l", "core_clock", Kind::Level),
    ];
    let text = timing(&board("u200"), &crossings);
    for (clock, delay) in [("core_clock", "4.000"), ("mac_clock", "3.103")] {
        has(
            &text,
            &format!(
                "set_max_delay -datapath_only -from [get_clocks -of_objects [get_nets {clock}]] -to [get_cells {{core/shell/seen/first_reg*}}] {delay}"
            ),
        );
    }
    assert_eq!(text.matches("set_max_delay").count(), 2, "a pin has no period");
    has(&text, "set_false_path -from [get_ports qsfp_int_l]");
    assert!(!text.contains("hbm_cattrip"));
    has(&timing(&board("u50"), &[]), "set_false_path -to [get_ports hbm_cattrip]");
    has(&text, "create_clock -period 3.333 -name free_clock [get_ports free_clock_p]");
    has(&text, "create_clock -period 6.400 -name qsfp_refclk [get_ports qsfp_refclk_p]");
}

#[test]
fn shell_and_card_stay_on_the_dies_between_host_and_network() {
    let dies = |name| {
        let text = place(&board(name));
        text.lines()
            .filter_map(|line| Some(line.split_once("-add {")?.1.trim_end_matches('}').to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(dies("u200"), ["SLR1", "SLR2"]);
    assert_eq!(dies("u250"), ["SLR1", "SLR2"]);
    assert_eq!(dies("u55c"), ["SLR0", "SLR1"]);
    assert!(dies("u50").is_empty() && dies("u280").is_empty());
}
