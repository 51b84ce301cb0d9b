use super::*;

/// What a shell has to have.
const NEEDED: &str = "clock clock 1\nin reset 1\nclock mac_clock 1\nout mac_tx_tdata 512\nout mac_tx_tkeep 64\nout mac_tx_tvalid 1\nout mac_tx_tlast 1\nout mac_tx_tuser 1\n\
    out ctl_tx_enable 1\nout ctl_rx_enable 1\nout ctl_tx_send_rfi 1\nout s_axis_rq_tdata 512\nout s_axis_rq_tkeep 16\nout s_axis_rq_tlast 1\nout s_axis_rq_tuser 137\nout s_axis_rq_tvalid 1\nin s_axis_rq_tready 1\n\
    out m_axis_rc_tready 1\nout m_axis_cq_tready 1\nout s_axis_cc_tdata 512\nout s_axis_cc_tkeep 16\nout s_axis_cc_tlast 1\nout s_axis_cc_tuser 81\nout s_axis_cc_tvalid 1\n\
    out cfg_flr_done 1\nout cfg_interrupt_msix_address 64\nout cfg_interrupt_msix_data 32\nout cfg_interrupt_msix_int 1\nin qsfp_modprs_l 1\n";

fn of(board: &str, ports: &str) -> Result<String, Misfit> {
    let core = Manifest::parse(&format!("top stroma_core\n{ports}")).unwrap();
    top(&Board::named(board).unwrap(), &core, false)
}

fn has(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "{line:?} is missing:\n{text}");
}

#[test]
fn every_board_has_a_top() {
    for name in crate::names() {
        let text = of(name, NEEDED).unwrap_or_else(|error| panic!("{name}: {error}"));
        has(&text, "        .user_clk(core_clock),");
        has(&text, "        .ctl_tx_rsfec_enable(1'd1), // encode RS-FEC");
        has(&text, "        .rx_clk(mac_clock),");
        assert_eq!(
            text.contains("assign hbm_cattrip = 1'b0;"),
            ["u50", "u55c", "u280"].contains(&name),
            "{name}"
        );
    }
}

#[test]
fn a_clock_of_300_mhz_is_divided_and_one_of_100_is_not() {
    has(&of("u200", NEEDED).unwrap(), "        .BUFGCE_DIVIDE(3)");
    has(&of("u280", NEEDED).unwrap(), "        .BUFGCE_DIVIDE(1)");
}

#[test]
fn a_board_without_pins_of_the_cage_has_a_module_that_is_there() {
    has(&of("u200", NEEDED).unwrap(), "        .qsfp_modprs_l(qsfp_modprs_l)");
    has(&of("u280", NEEDED).unwrap(), "        .qsfp_modprs_l(1'd0)");
}

#[test]
fn the_shell_may_have_the_first_bit_of_what_is_one_a_function() {
    let text = of("u200", NEEDED).unwrap();
    has(&text, "        .cfg_flr_done({3'd0, cfg_flr_done}),");
    has(&text, "        .s_axis_rq_tready(s_axis_rq_tready[0]),");
}

#[test]
fn what_does_not_fit_is_named() {
    let cases = [
        (
            format!("{NEEDED}in m_axis_cq_tdtaa 512\n"),
            "port m_axis_cq_tdtaa of the shell is none of the card's, of pcie4_uscale_plus, of cmac_usplus, nor in the table of hw/boards/src/links.rs: rename it or list it",
        ),
        (
            NEEDED.replace("out m_axis_rc_tready 1\n", ""),
            "input m_axis_rc_tready of pcie4_uscale_plus is driven by nobody: give the shell a port of that name, or a `tie` in hw/boards/ip",
        ),
        (
            NEEDED.replace("out mac_tx_tlast 1\n", ""),
            "input tx_axis_tlast of cmac_usplus is driven by nobody: give the shell a port of that name, or a `tie` in hw/boards/ip",
        ),
        (
            NEEDED.replace("rq_tuser 137", "rq_tuser 60"),
            "port s_axis_rq_tuser has 60 bits at the shell and 137 at pcie4_uscale_plus",
        ),
        (
            NEEDED.replace("out m_axis_rc_tready", "in m_axis_rc_tready"),
            "port m_axis_rc_tready: the shell and pcie4_uscale_plus both drive it or both listen",
        ),
    ];
    for (ports, expected) in cases {
        assert_eq!(of("u200", &ports).unwrap_err().to_string(), expected);
    }
}

#[test]
fn wires_that_the_analyser_looks_at_are_marked() {
    let core = Manifest::parse(&format!("top stroma_core\n{NEEDED}")).unwrap();
    let text = top(&Board::named("u50").unwrap(), &core, true).unwrap();
    has(&text, "    (* mark_debug = \"true\" *) wire m_axis_rc_tready;");
    assert!(!of("u50", NEEDED).unwrap().contains("mark_debug"));
}
