//! The pins between shell and block, in the values of one cycle.

use super::stream::{CcBeat, CqBeat, RcBeat, RqBeat};

/// What the shell shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FromShell {
    /// `s_axis_rq_*`, with `tvalid` as `Some`.
    pub rq: Option<RqBeat>,
    /// `s_axis_cc_*`.
    pub cc: Option<CcBeat>,
    /// `m_axis_cq_tready`.
    pub cq_ready: bool,
    /// `m_axis_rc_tready`.
    pub rc_ready: bool,
    /// `cfg_interrupt_msix_*`.
    pub message: MessagePins,
    /// `cfg_mgmt_*`.
    pub management: Management,
    /// `cfg_flr_done`, of functions 0 to 3.
    pub flr_done: u8,
}

/// `cfg_interrupt_msix_int`, `_address` and `_data`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessagePins {
    /// Send, on its rise.
    pub int: bool,
    /// Where to.
    pub address: u64,
    /// What.
    pub data: u32,
}

/// `cfg_mgmt_*`, as far as the shell drives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Management {
    /// `cfg_mgmt_addr`, a number of a register.
    pub address: u16,
    /// `cfg_mgmt_function_number`.
    pub function: u8,
    /// `cfg_mgmt_read`, held until it is done.
    pub read: bool,
    /// `cfg_mgmt_write`.
    pub write: bool,
}

/// What the block shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a pin")]
pub struct ToShell {
    /// `m_axis_cq_*`, with `tvalid` as `Some`.
    pub cq: Option<CqBeat>,
    /// `m_axis_rc_*`.
    pub rc: Option<RcBeat>,
    /// `s_axis_rq_tready`, all four bits.
    pub rq_ready: bool,
    /// `s_axis_cc_tready`, all four bits.
    pub cc_ready: bool,
    /// `pcie_rq_seq_num0` and `1`, with their `vld` as `Some`.
    pub sequence: [Option<u8>; 2],
    /// `pcie_tfc_nph_av`.
    pub nonposted_credits: u8,
    /// `cfg_max_payload`.
    pub max_payload: u8,
    /// `cfg_max_read_req`.
    pub max_read: u8,
    /// `cfg_rcb_status`, of function 0.
    pub boundary: bool,
    /// `cfg_function_status`.
    pub function_status: u16,
    /// `cfg_interrupt_msix_enable`, of function 0.
    pub msix_enable: bool,
    /// `cfg_interrupt_msix_mask`, of function 0.
    pub msix_mask: bool,
    /// `cfg_interrupt_msi_sent`.
    pub message_sent: bool,
    /// `cfg_interrupt_msi_fail`.
    pub message_failed: bool,
    /// `cfg_mgmt_read_data`, with `cfg_mgmt_read_write_done` as `Some`.
    pub management_data: Option<u32>,
    /// `cfg_flr_in_process`, of functions 0 to 3.
    pub flr_in_process: u8,
}
