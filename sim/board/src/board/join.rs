//! Which pin of the shell meets which pin of the card, and what happens to the rest.
//!
//! Pins of equal names are joined. What is left over has to stand in one of the tables below: a pin that nobody knows is an error, not a
//! wire that hangs in the air.

use stroma_verilate::{Direction, Manifest, Port};

use super::pins::{DRIVEN, READ};

/// Pins of the card that carry its clock.
const CARD_CLOCKS: [&str; 2] = ["clock", "kernel_clock"];
/// Pins of the shell that carry a clock: the card's, and the MAC's.
pub(crate) const SHELL_CLOCKS: [&str; 2] = ["clock", "mac_clock"];
/// Pins of the card that have another name at the shell, because the shell has a pin of that name itself.
const RENAMED: [(&str, &str); 1] = [("reset", "card_reset")];
/// Pins of the card that are held at 0: time is not skipped on a board.
const CARD_ZERO: [&str; 1] = ["skip"];
/// Outputs of the card, by the beginning of their names, that nobody reads: counters, which registers show too, what a simulator
/// without a board wants to know, and the parts of AXI that never change.
const CARD_OPEN: [&str; 11] = [
    "rx_counts$",
    "tx_mismatched",
    "cycles",
    "quiet",
    "wake",
    "kernel_clock_rests",
    "m_axi_awsize",
    "m_axi_awburst",
    "m_axi_awid",
    "m_axi_arsize",
    "m_axi_arburst",
];
/// Inputs of the shell that stay as they are here.
pub(crate) const SHELL_CONSTANT: [(&str, u64); 10] = [
    ("board_name", 0),
    ("user_lnk_up", 1),
    ("cfg_phy_link_down", 0),
    ("cfg_current_speed", 2),
    ("cfg_negotiated_width", 4),
    ("qsfp_modprs_l", 0),
    ("qsfp_int_l", 1),
    ("cage_absent", 0),
    ("cage_interrupts", 0),
    ("pcie_cq_np_req_count", 32),
];
/// Inputs of the shell, by the beginning of their names, that are 0 here: statistics of the MAC, and of the block.
const SHELL_ZERO: [&str; 4] = ["stat_", "cfg_err_", "cfg_local_error", "pcie_rq_tag"];
/// Outputs of the shell, by the beginning of their names, that lead to the board or to pins of IP with nothing to do here.
const SHELL_OPEN: [&str; 13] = [
    "qsfp_",
    "cage_",
    "led",
    "hbm_cattrip",
    "ctl_",
    "gtwiz_",
    "cfg_interrupt_msi_",
    "cfg_interrupt_msix_vec_pending",
    "cfg_interrupt_pending",
    "cfg_mgmt_",
    "cfg_err_",
    "cfg_fc_sel",
    "pcie_cq_np_req",
];

/// Why shell and card cannot be joined.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("shell and card do not fit:\n{}", faults.join("\n"))]
pub struct JoinError {
    /// One for each pin.
    pub faults: Vec<String>,
}

/// Names of pins that are joined, and of those that hold a value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Outputs of the card, with the shell's names for them.
    pub(crate) to_shell: Vec<(String, String)>,
    /// Inputs of the card, likewise.
    pub(crate) to_card: Vec<(String, String)>,
    /// Inputs of the card that are 0.
    pub(crate) card_zero: Vec<String>,
    /// Inputs of the shell that hold a value.
    pub(crate) shell_constant: Vec<(String, u64)>,
    /// Pins of the shell that the models drive or read.
    pub(crate) pins: Vec<String>,
}

fn begins(name: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// Joins a card and its shell by the names of their pins.
///
/// # Errors
/// With everything that does not fit.
pub(crate) fn join(card: &Manifest, shell: &Manifest) -> Result<Plan, JoinError> {
    let (mut plan, mut faults) = (Plan::default(), Vec::new());
    let at_shell = |port: &Port| {
        let renamed = RENAMED.iter().find(|(name, _)| *name == port.name).map(|(_, name)| *name);
        renamed.unwrap_or(&port.name).to_owned()
    };
    for port in card.ports.iter().filter(|port| port.direction != Direction::Clock) {
        let (name, other) = (port.name.clone(), at_shell(port));
        let wanted = if port.direction == Direction::Out { Direction::In } else { Direction::Out };
        let found = shell.ports.iter().find(|found| found.name == other && found.direction == wanted);
        match found {
            Some(found) if found.width != port.width => {
                faults.push(format!(
                    "`{name}` has {} bits at the card, {} at the shell",
                    port.width, found.width
                ));
            }
            Some(_) if wanted == Direction::In => plan.to_shell.push((name, other)),
            Some(_) => plan.to_card.push((name, other)),
            None if wanted == Direction::In && begins(&name, &CARD_OPEN) => {}
            None if wanted == Direction::Out && CARD_ZERO.contains(&&*name) => plan.card_zero.push(name),
            None => faults.push(format!("the shell has no {wanted:?} `{other}` for the card's `{name}`")),
        }
    }
    let clocks = |manifest: &Manifest| -> Vec<String> {
        manifest
            .ports
            .iter()
            .filter(|port| port.direction == Direction::Clock)
            .map(|port| port.name.clone())
            .collect()
    };
    for (who, found, known) in [("card", clocks(card), CARD_CLOCKS), ("shell", clocks(shell), SHELL_CLOCKS)] {
        if found != known {
            faults.push(format!("the {who} has the clocks {found:?}, not {known:?}"));
        }
    }
    rest(shell, &mut plan, &mut faults);
    if faults.is_empty() { Ok(plan) } else { Err(JoinError { faults }) }
}

/// What of the shell does not meet the card.
fn rest(shell: &Manifest, plan: &mut Plan, faults: &mut Vec<String>) {
    let has = |wanted: &str| shell.ports.iter().any(|port| port.name == wanted);
    for pin in DRIVEN.iter().chain(&READ).filter(|pin| pin.is_needed && !has(pin.name)) {
        faults.push(format!("the shell has no `{}`", pin.name));
    }
    for port in shell.ports.iter().filter(|port| port.direction != Direction::Clock) {
        let is_input = port.direction == Direction::In;
        let joined = if is_input { &plan.to_shell } else { &plan.to_card };
        if joined.iter().any(|(_, name)| *name == port.name) {
            continue;
        }
        let pins = if is_input { &DRIVEN[..] } else { &READ[..] };
        let constant = SHELL_CONSTANT.iter().find(|(name, _)| *name == port.name);
        if let Some(pin) = pins.iter().find(|pin| pin.name == port.name) {
            if !pin.widths.contains(&port.width) {
                faults.push(format!("`{}` has {} bits, not {:?}", port.name, port.width, pin.widths));
            }
            plan.pins.push(port.name.clone());
        } else if let Some((_, value)) = constant.filter(|_| is_input) {
            plan.shell_constant.push((port.name.clone(), *value));
        } else if is_input && begins(&port.name, &SHELL_ZERO) {
            plan.shell_constant.push((port.name.clone(), 0));
        } else if is_input || !begins(&port.name, &SHELL_OPEN) {
            let what = if is_input { "drives" } else { "reads" };
            faults.push(format!("nobody {what} the shell's `{}`", port.name));
        }
    }
}
