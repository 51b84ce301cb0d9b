//! The shell's pins towards the models: their names, and values in both directions.

use std::collections::BTreeMap;

use stroma_verilate::{Model, PortId};

use crate::pcie::Beat;
use crate::{mac, pcie};

/// A pin between the shell and a model.
#[derive(Debug)]
pub(crate) struct Pin {
    pub(crate) name: &'static str,
    /// Widths it may have at the shell.
    pub(crate) widths: &'static [u32],
    /// There is no board without it.
    pub(crate) is_needed: bool,
}

const fn pin(name: &'static str, widths: &'static [u32]) -> Pin {
    Pin { name, widths, is_needed: true }
}

const fn maybe(name: &'static str, widths: &'static [u32]) -> Pin {
    Pin { name, widths, is_needed: false }
}

/// Pins that the models drive.
pub(crate) const DRIVEN: [Pin; 45] = [
    pin("reset", &[1]),
    pin("m_axis_cq_tdata", &[512]),
    pin("m_axis_cq_tkeep", &[16]),
    pin("m_axis_cq_tlast", &[1]),
    pin("m_axis_cq_tuser", &[183]),
    pin("m_axis_cq_tvalid", &[1]),
    pin("m_axis_rc_tdata", &[512]),
    pin("m_axis_rc_tkeep", &[16]),
    pin("m_axis_rc_tlast", &[1]),
    pin("m_axis_rc_tuser", &[161]),
    pin("m_axis_rc_tvalid", &[1]),
    pin("s_axis_rq_tready", &[1, 4]),
    pin("s_axis_cc_tready", &[1, 4]),
    pin("pcie_rq_seq_num0", &[6]),
    pin("pcie_rq_seq_num_vld0", &[1]),
    pin("pcie_rq_seq_num1", &[6]),
    pin("pcie_rq_seq_num_vld1", &[1]),
    pin("pcie_tfc_nph_av", &[4]),
    pin("cfg_max_payload", &[2, 3]),
    pin("cfg_max_read_req", &[3]),
    maybe("cfg_rcb_status", &[1, 4]),
    pin("cfg_function_status", &[16]),
    pin("cfg_interrupt_msix_enable", &[1, 4]),
    pin("cfg_interrupt_msix_mask", &[1, 4]),
    pin("cfg_interrupt_msi_sent", &[1]),
    pin("cfg_interrupt_msi_fail", &[1]),
    pin("cfg_mgmt_read_data", &[32]),
    pin("cfg_mgmt_read_write_done", &[1]),
    pin("cfg_flr_in_process", &[1, 4]),
    maybe("cfg_hot_reset_out", &[1]),
    pin("mac_rx_reset", &[1]),
    pin("mac_tx_reset", &[1]),
    pin("mac_rx_tdata", &[512]),
    pin("mac_rx_tkeep", &[64]),
    pin("mac_rx_tvalid", &[1]),
    pin("mac_rx_tlast", &[1]),
    pin("mac_rx_tuser", &[1]),
    pin("mac_tx_tready", &[1]),
    pin("stat_rx_aligned", &[1]),
    maybe("stat_rx_local_fault", &[1]),
    maybe("stat_rx_remote_fault", &[1]),
    maybe("stat_rx_status", &[1]),
    maybe("sysmon_do", &[16]),
    maybe("sysmon_drdy", &[1]),
    maybe("cfg_power_state_change_interrupt", &[1]),
];

/// Pins that the models read.
pub(crate) const READ: [Pin; 31] = [
    pin("m_axis_cq_tready", &[1]),
    pin("m_axis_rc_tready", &[1]),
    pin("s_axis_rq_tdata", &[512]),
    pin("s_axis_rq_tkeep", &[16]),
    pin("s_axis_rq_tlast", &[1]),
    pin("s_axis_rq_tuser", &[137]),
    pin("s_axis_rq_tvalid", &[1]),
    pin("s_axis_cc_tdata", &[512]),
    pin("s_axis_cc_tkeep", &[16]),
    pin("s_axis_cc_tlast", &[1]),
    pin("s_axis_cc_tuser", &[81]),
    pin("s_axis_cc_tvalid", &[1]),
    pin("cfg_interrupt_msix_address", &[64]),
    pin("cfg_interrupt_msix_data", &[32]),
    pin("cfg_interrupt_msix_int", &[1]),
    pin("cfg_mgmt_addr", &[10]),
    maybe("cfg_mgmt_function_number", &[8]),
    pin("cfg_mgmt_read", &[1]),
    maybe("cfg_mgmt_write", &[1]),
    pin("cfg_flr_done", &[1, 4]),
    pin("mac_tx_tdata", &[512]),
    pin("mac_tx_tkeep", &[64]),
    pin("mac_tx_tvalid", &[1]),
    pin("mac_tx_tlast", &[1]),
    pin("mac_tx_tuser", &[1]),
    pin("ctl_rx_enable", &[1]),
    pin("ctl_tx_enable", &[1]),
    pin("ctl_tx_send_rfi", &[1]),
    maybe("sysmon_daddr", &[8]),
    maybe("sysmon_den", &[1]),
    maybe("sysmon_dwe", &[1]),
];

/// Names of the pins of a stream.
struct Stream {
    data: &'static str,
    keep: &'static str,
    user: &'static str,
    last: &'static str,
    valid: &'static str,
}

macro_rules! stream {
    ($name:literal) => {
        Stream {
            data: concat!($name, "_tdata"),
            keep: concat!($name, "_tkeep"),
            user: concat!($name, "_tuser"),
            last: concat!($name, "_tlast"),
            valid: concat!($name, "_tvalid"),
        }
    };
}

const RQ: Stream = stream!("s_axis_rq");
const CC: Stream = stream!("s_axis_cc");
const CQ: Stream = stream!("m_axis_cq");
const RC: Stream = stream!("m_axis_rc");
const MAC_TX: Stream = stream!("mac_tx");
const MAC_RX: Stream = stream!("mac_rx");
const SEQUENCE: [[&str; 2]; 2] =
    [["pcie_rq_seq_num0", "pcie_rq_seq_num_vld0"], ["pcie_rq_seq_num1", "pcie_rq_seq_num_vld1"]];

/// Pins of one shell, found.
#[derive(Debug)]
pub(crate) struct Pins(BTreeMap<String, PortId>);

/// The low bit of a word.
fn bit(word: u64) -> bool {
    word & 1 == 1
}

impl Pins {
    /// Finds pins of these names.
    ///
    /// # Errors
    /// When one is missing.
    pub(crate) fn find(model: &Model, names: &[String]) -> Result<Self, stroma_verilate::Error> {
        names.iter().map(|name| Ok((name.clone(), model.port(name)?))).collect::<Result<_, _>>().map(Self)
    }

    /// A pin that the shell does not have reads as 0.
    fn get(&self, model: &Model, name: &str) -> u64 {
        self.0.get(name).map_or(0, |port| model.get(*port))
    }

    fn words<const WORDS: usize>(&self, model: &Model, name: &str) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        model.read_words(self.0[name], &mut words);
        words
    }

    /// A pin that the shell does not have is not driven.
    pub(crate) fn set(&self, model: &mut Model, name: &str, value: u64) {
        if let Some(port) = self.0.get(name) {
            model.set(*port, value);
        }
    }

    /// All bits of a pin alike: ready, which some shells have four times.
    fn set_all(&self, model: &mut Model, name: &str, value: bool) {
        if let Some(port) = self.0.get(name) {
            let ones = (1 << model.width(*port)) - 1;
            model.set(*port, if value { ones } else { 0 });
        }
    }

    fn beat<const USER: usize>(&self, model: &Model, stream: &Stream) -> Option<Beat<USER>> {
        bit(self.get(model, stream.valid)).then(|| Beat {
            data: self.words(model, stream.data),
            keep: u16::try_from(self.get(model, stream.keep)).expect("16 bits"),
            user: self.words(model, stream.user),
            last: bit(self.get(model, stream.last)),
        })
    }

    /// Without a beat the pins keep what they showed, which means nothing.
    fn set_beat<const USER: usize>(&self, model: &mut Model, stream: &Stream, beat: Option<&Beat<USER>>) {
        self.set(model, stream.valid, u64::from(beat.is_some()));
        if let Some(beat) = beat {
            model.set_wide(self.0[stream.data], &beat.data);
            model.set_wide(self.0[stream.user], &beat.user);
            self.set(model, stream.keep, u64::from(beat.keep));
            self.set(model, stream.last, u64::from(beat.last));
        }
    }

    /// What the shell shows to the block.
    pub(crate) fn to_block(&self, model: &Model) -> pcie::FromShell {
        let get = |name: &str| self.get(model, name);
        let small = |name: &str| u8::try_from(get(name)).expect("eight bits");
        pcie::FromShell {
            rq: self.beat(model, &RQ),
            cc: self.beat(model, &CC),
            cq_ready: bit(get("m_axis_cq_tready")),
            rc_ready: bit(get("m_axis_rc_tready")),
            message: pcie::MessagePins {
                int: bit(get("cfg_interrupt_msix_int")),
                address: get("cfg_interrupt_msix_address"),
                data: u32::try_from(get("cfg_interrupt_msix_data")).expect("32 bits"),
            },
            management: pcie::Management {
                address: u16::try_from(get("cfg_mgmt_addr")).expect("ten bits"),
                function: small("cfg_mgmt_function_number"),
                read: bit(get("cfg_mgmt_read")),
                write: bit(get("cfg_mgmt_write")),
            },
            flr_done: small("cfg_flr_done"),
        }
    }

    /// What the block shows to the shell.
    pub(crate) fn show_block(&self, model: &mut Model, block: &pcie::ToShell) {
        self.set_beat(model, &CQ, block.cq.as_ref());
        self.set_beat(model, &RC, block.rc.as_ref());
        self.set_all(model, "s_axis_rq_tready", block.rq_ready);
        self.set_all(model, "s_axis_cc_tready", block.cc_ready);
        for ([name, valid], number) in SEQUENCE.iter().zip(block.sequence) {
            self.set(model, valid, u64::from(number.is_some()));
            if let Some(number) = number {
                self.set(model, name, u64::from(number));
            }
        }
        for (name, value) in [
            ("pcie_tfc_nph_av", u64::from(block.nonposted_credits)),
            ("cfg_max_payload", u64::from(block.max_payload)),
            ("cfg_max_read_req", u64::from(block.max_read)),
            ("cfg_rcb_status", u64::from(block.boundary)),
            ("cfg_function_status", u64::from(block.function_status)),
            ("cfg_interrupt_msix_enable", u64::from(block.msix_enable)),
            ("cfg_interrupt_msix_mask", u64::from(block.msix_mask)),
            ("cfg_interrupt_msi_sent", u64::from(block.message_sent)),
            ("cfg_interrupt_msi_fail", u64::from(block.message_failed)),
            ("cfg_mgmt_read_write_done", u64::from(block.management_data.is_some())),
            ("cfg_flr_in_process", u64::from(block.flr_in_process)),
        ] {
            self.set(model, name, value);
        }
        if let Some(data) = block.management_data {
            self.set(model, "cfg_mgmt_read_data", u64::from(data));
        }
    }

    /// What the shell shows to the MAC.
    pub(crate) fn to_mac(&self, model: &Model) -> mac::FromShell {
        let get = |name: &str| self.get(model, name);
        let tx = bit(get(MAC_TX.valid)).then(|| mac::MacBeat {
            data: self.words(model, MAC_TX.data),
            keep: get(MAC_TX.keep),
            last: bit(get(MAC_TX.last)),
            user: bit(get(MAC_TX.user)),
        });
        mac::FromShell {
            tx,
            rx_enable: bit(get("ctl_rx_enable")),
            tx_enable: bit(get("ctl_tx_enable")),
            send_rfi: bit(get("ctl_tx_send_rfi")),
        }
    }

    /// What the MAC shows to the shell.
    pub(crate) fn show_mac(&self, model: &mut Model, mac: &mac::ToShell) {
        self.set(model, MAC_RX.valid, u64::from(mac.rx.is_some()));
        if let Some(beat) = &mac.rx {
            model.set_wide(self.0[MAC_RX.data], &beat.data);
            self.set(model, MAC_RX.keep, beat.keep);
            self.set(model, MAC_RX.last, u64::from(beat.last));
            self.set(model, MAC_RX.user, u64::from(beat.user));
        }
        for (name, value) in [
            ("mac_tx_tready", mac.tx_ready),
            ("mac_rx_reset", mac.rx_reset),
            ("mac_tx_reset", mac.tx_reset),
            ("stat_rx_aligned", mac.aligned),
            ("stat_rx_status", mac.aligned),
            ("stat_rx_remote_fault", mac.remote_fault),
            ("stat_rx_local_fault", mac.local_fault),
        ] {
            self.set(model, name, u64::from(value));
        }
    }

    /// Does the shell ask the sensor in the chip?
    pub(crate) fn asks_sensor(&self, model: &Model) -> bool {
        bit(self.get(model, "sysmon_den"))
    }
}
