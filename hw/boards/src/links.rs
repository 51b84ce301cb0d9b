//! What the ports of the shell, of the IP and of the board are to each other, where their names differ.

/// Ports of the shell that are none of an IP's name: the wire of the top that each is on. A wire that ends in nothing on a board without
/// the pins is tied or left open there.
pub(crate) const SHELL: [(&str, &str, u16); 20] = [
    ("clock", "core_clock", 1),
    ("reset", "core_reset", 1),
    ("mac_clock", "mac_clock", 1),
    ("mac_rx_reset", "mac_rx_reset", 1),
    ("mac_tx_reset", "mac_tx_reset", 1),
    ("mac_rx_tdata", "mac_rx_tdata", 512),
    ("mac_rx_tkeep", "mac_rx_tkeep", 64),
    ("mac_rx_tvalid", "mac_rx_tvalid", 1),
    ("mac_rx_tlast", "mac_rx_tlast", 1),
    ("mac_rx_tuser", "mac_rx_tuser", 1),
    ("mac_tx_tdata", "mac_tx_tdata", 512),
    ("mac_tx_tkeep", "mac_tx_tkeep", 64),
    ("mac_tx_tvalid", "mac_tx_tvalid", 1),
    ("mac_tx_tlast", "mac_tx_tlast", 1),
    ("mac_tx_tuser", "mac_tx_tuser", 1),
    ("mac_tx_tready", "mac_tx_tready", 1),
    ("sysmon_daddr", "sysmon_daddr", 8),
    ("sysmon_den", "sysmon_den", 1),
    ("sysmon_do", "sysmon_do", 16),
    ("sysmon_drdy", "sysmon_drdy", 1),
];

/// Ports of the shell that are on pins of the same names, and what they are when the board has no such pin: a module is there and has nothing to say.
pub(crate) const PINS: [(&str, Option<&str>); 8] = [
    ("qsfp_modprs_l", Some("0")),
    ("qsfp_int_l", Some("1")),
    ("qsfp_reset_l", None),
    ("qsfp_lpmode", None),
    ("hbm_cattrip", None),
    ("led_activity", None),
    ("led_green", None),
    ("led_yellow", None),
];

/// The port of the shell that is told which board it is on, and its bits.
pub(crate) const NAME: (&str, u16) = ("board_name", 32);

/// Ports of the PCIe IP that are on wires of other names.
pub(crate) const PCIE: [(&str, &str); 9] = [
    ("pci_exp_txp", "pcie_tx_p"),
    ("pci_exp_txn", "pcie_tx_n"),
    ("pci_exp_rxp", "pcie_rx_p"),
    ("pci_exp_rxn", "pcie_rx_n"),
    ("sys_clk", "pcie_clock"),
    ("sys_clk_gt", "pcie_clock_gt"),
    ("sys_reset", "pcie_reset_l"),
    ("user_clk", "core_clock"),
    ("user_reset", "core_reset"),
];

/// Ports of the MAC that are on wires of other names.
pub(crate) const MAC: [(&str, &str); 24] = [
    ("gt_txp_out", "qsfp_tx_p"),
    ("gt_txn_out", "qsfp_tx_n"),
    ("gt_rxp_in", "qsfp_rx_p"),
    ("gt_rxn_in", "qsfp_rx_n"),
    ("gt_ref_clk_p", "qsfp_refclk_p"),
    ("gt_ref_clk_n", "qsfp_refclk_n"),
    ("init_clk", "init_clock"),
    ("drp_clk", "init_clock"),
    ("sys_reset", "~pcie_reset_l"),
    ("gt_txusrclk2", "mac_clock"),
    ("rx_clk", "mac_clock"),
    ("usr_rx_reset", "mac_rx_reset"),
    ("usr_tx_reset", "mac_tx_reset"),
    ("rx_axis_tdata", "mac_rx_tdata"),
    ("rx_axis_tkeep", "mac_rx_tkeep"),
    ("rx_axis_tvalid", "mac_rx_tvalid"),
    ("rx_axis_tlast", "mac_rx_tlast"),
    ("rx_axis_tuser", "mac_rx_tuser"),
    ("tx_axis_tdata", "mac_tx_tdata"),
    ("tx_axis_tkeep", "mac_tx_tkeep"),
    ("tx_axis_tvalid", "mac_tx_tvalid"),
    ("tx_axis_tlast", "mac_tx_tlast"),
    ("tx_axis_tuser", "mac_tx_tuser"),
    ("tx_axis_tready", "mac_tx_tready"),
];

/// Ports of IP of which the shell may have the lowest bits alone, and why.
pub(crate) const LOW_BITS: [(&str, &str); 8] = [
    ("s_axis_rq_tready", "four equal bits"),
    ("s_axis_cc_tready", "four equal bits"),
    ("cfg_interrupt_msix_enable", "a bit a function, and there is one"),
    ("cfg_interrupt_msix_mask", "a bit a function, and there is one"),
    ("cfg_flr_in_process", "a bit a function, and there is one"),
    ("cfg_flr_done", "a bit a function, and there is one"),
    ("cfg_function_status", "four bits a function, and there is one"),
    ("cfg_rcb_status", "a bit a function, and there is one"),
];
