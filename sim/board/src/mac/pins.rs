//! The pins between shell and MAC, in the values of one cycle.

/// Bytes of a beat.
pub(crate) const BEAT: usize = 64;

/// A beat of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacBeat {
    /// `tdata`, in words of 32 bits.
    pub data: [u32; 16],
    /// `tkeep`, a bit a byte.
    pub keep: u64,
    /// `tlast`.
    pub last: bool,
    /// `tuser`: the frame is bad.
    pub user: bool,
}

/// What the shell shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FromShell {
    /// `tx_axis_*`, with `tvalid` as `Some`.
    pub tx: Option<MacBeat>,
    /// `ctl_rx_enable`.
    pub rx_enable: bool,
    /// `ctl_tx_enable`.
    pub tx_enable: bool,
    /// `ctl_tx_send_rfi`.
    pub send_rfi: bool,
}

/// What the MAC shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a pin")]
pub struct ToShell {
    /// `rx_axis_*`, with `tvalid` as `Some`.
    pub rx: Option<MacBeat>,
    /// `tx_axis_tready`.
    pub tx_ready: bool,
    /// `usr_rx_reset`.
    pub rx_reset: bool,
    /// `usr_tx_reset`.
    pub tx_reset: bool,
    /// `stat_rx_aligned`.
    pub aligned: bool,
    /// `stat_rx_remote_fault`.
    pub remote_fault: bool,
    /// `stat_rx_local_fault`.
    pub local_fault: bool,
}
