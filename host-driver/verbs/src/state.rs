//! Attributes of queue pairs, and which of them a change of state needs.

use std::net::IpAddr;

use stroma_abi::{
    Field, Psn, Qpn, Value,
    desc::{
        QueuePair, QueuePairKind, QueuePairState,
        queue_pair::{TRANSITIONS, attribute, transition},
    },
};

use crate::{Access, Error, Result, port};

/// Where the packets of a queue pair go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Next hop.
    pub mac: [u8; 6],
    /// The peer.
    pub ip: IpAddr,
    /// UDP port packets leave from.
    pub source_port: u16,
    /// Hops packets may take.
    pub hop_limit: u8,
    /// DSCP and ECN bits.
    pub traffic_class: u8,
    /// VLAN tag, if packets carry one.
    pub vlan: Option<u16>,
    /// IPv6 flow label, 20 bits.
    pub flow_label: u32,
    /// Which of the port's addresses packets leave from, 4 bits.
    pub source_address: u8,
}

/// Attributes to be changed, and perhaps the state.
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "attributes change nothing before `modify`"]
pub struct Attributes {
    body: QueuePair,
    mask: u64,
    state: Option<QueuePairState>,
    /// The first value that its field cannot hold.
    too_wide: Option<(&'static str, u128, usize)>,
}

macro_rules! setters {
    ($($field:ident: $ty:ty, $place:ident, $prose:literal;)*) => {
        impl Attributes {
            $(#[doc = $prose]
            pub fn $field(self, value: $ty) -> Self {
                let mut changed = self.fits(stringify!($field), QueuePair::$place, value);
                changed.body.$field = value;
                changed.mask |= attribute::$place;
                changed
            })*
        }
    };
}

setters! {
    path_mtu: u8, PATH_MTU, "Path MTU, by its code: 1 256 bytes, 2 512, 3 1024, 4 2048, 5 4096.";
    q_key: u32, Q_KEY, "UD: key that senders must know.";
    peer: Qpn, PEER, "Queue pair of the peer.";
    min_rnr: u8, MIN_RNR, "Timer code sent with RNR NAKs, 5 bits.";
    send_psn: Psn, SEND_PSN, "PSN of the first request sent.";
    timeout: u8, TIMEOUT, "Wait for an answer 4.096 us << this, 5 bits; 0: for ever.";
    receive_psn: Psn, RECEIVE_PSN, "PSN of the first request received.";
    retry: u8, RETRY, "Requests are repeated as often, 3 bits.";
    rnr_retry: u8, RNR_RETRY, "As often after RNR NAKs, 3 bits; 7: for ever.";
    reads_out: u8, READS_OUT, "READs, atomics and RPCs to have in flight, to 16.";
    reads_in: u8, READS_IN, "As many to take from the peer, to 16.";
    p_key: u16, P_KEY, "Partition.";
    pace: u32, PACE, "Cycles that a KiB of requests takes at least, in 1/256, 24 bits; 0: no limit.";
}

impl Attributes {
    /// The state to go to. Without it the state stays.
    pub fn state(mut self, state: QueuePairState) -> Self {
        self.state = Some(state);
        self.mask |= attribute::STATE;
        self
    }

    /// On the way to Drained: an event tells when all requests that have begun are completed.
    pub fn notify_drained(mut self) -> Self {
        self.body.notify = true;
        self
    }

    /// What of the rights of regions the peer may use.
    pub fn rights(mut self, access: Access) -> Self {
        self.body.rights = access.bits();
        self.mask |= attribute::RIGHTS;
        self
    }

    /// Where the results of RPCs are kept: 16 places of `1 << log` bytes from `base` on, under a key of this card.
    pub fn results(mut self, base: u64, log: u8, key: u32) -> Self {
        self = self.fits("result_log", QueuePair::RESULT_LOG, log);
        (self.body.result_base, self.body.result_log, self.body.result_key) = (base, log, key);
        self.mask |= attribute::RESULT_AREA;
        self
    }

    /// Where packets go.
    pub fn address(self, address: &Address) -> Self {
        let flow_label = self.fits("flow_label", QueuePair::FLOW_LABEL, address.flow_label);
        let mut changed =
            flow_label.fits("source_address", QueuePair::SOURCE_ADDRESS, address.source_address);
        changed.body = QueuePair {
            peer_mac: port::mac_bits(address.mac),
            peer_ip: port::bits(address.ip),
            source_port: address.source_port,
            hop_limit: address.hop_limit,
            traffic_class: address.traffic_class,
            has_vlan: address.vlan.is_some(),
            vlan: address.vlan.unwrap_or(0),
            flow_label: address.flow_label,
            source_address: address.source_address,
            ..changed.body
        };
        changed.mask |= attribute::ADDRESS;
        changed
    }

    pub(crate) fn mask(&self) -> u64 {
        self.mask
    }

    pub(crate) fn body(&self, state: QueuePairState) -> QueuePair {
        QueuePair { state: state as u8, ..self.body }
    }

    fn fits(mut self, name: &'static str, field: Field, value: impl Value) -> Self {
        if value.to_bits() > field.max() {
            self.too_wide.get_or_insert((name, value.to_bits(), field.width));
        }
        self
    }

    /// May a queue pair in state `from` be changed so? The result is its state afterwards.
    pub(crate) fn check(
        &self,
        number: u32,
        kind: QueuePairKind,
        from: QueuePairState,
    ) -> Result<QueuePairState> {
        if let Some((field, value, bits)) = self.too_wide {
            return Err(Error::TooWide { field, value, bits });
        }
        let to = self.state.unwrap_or(from);
        if transition(kind, from, to, self.mask).is_ok() {
            return Ok(to);
        }
        let given = self.mask & !attribute::STATE;
        let ends = matches!(to, QueuePairState::Reset | QueuePairState::Error) && self.state.is_some();
        let row = TRANSITIONS
            .iter()
            .find(|row| (row.from, row.to) == (from, to) && row.kinds >> kind as u8 & 1 == 1);
        let (required, optional) = row.map_or((0, 0), |row| (row.required, row.optional));
        let is_known = ends || row.is_some();
        let (missing, forbidden) = (names(required & !given), names(given & !(required | optional)));
        Err(Error::BadTransition { number, kind, from, to, is_known, missing, forbidden })
    }
}

/// Are requests taken? The rule of the InfiniBand specification: from ready-to-send on. In error they are flushed.
pub(crate) fn takes_requests(state: QueuePairState) -> bool {
    use QueuePairState::{Drained, Error, ReadyToSend, SendError};
    matches!(state, ReadyToSend | Drained | SendError | Error)
}

/// Are receives taken? From Init on; in error they are flushed.
pub(crate) fn takes_receives(state: QueuePairState) -> bool {
    state != QueuePairState::Reset
}

/// Attributes of a mask, by name.
fn names(mask: u64) -> Vec<&'static str> {
    let named = attribute::ALL.iter().filter(|(bit, ..)| mask >> bit & 1 == 1);
    named.map(|(_, name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use QueuePairState::{Init, ReadyToReceive, ReadyToSend, Reset};

    use super::*;

    fn refused(attributes: Attributes, kind: QueuePairKind, from: QueuePairState) -> String {
        attributes.check(5, kind, from).unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_names_both_states_and_the_attributes() {
        let to = |state| Attributes::default().state(state);
        assert_eq!(
            refused(to(ReadyToSend), QueuePairKind::Local, Reset),
            "queue pair 5 (Local): Reset to ReadyToSend is no change of state"
        );
        assert_eq!(
            refused(to(Init).p_key(1).timeout(3), QueuePairKind::Reliable, Reset),
            "queue pair 5 (Reliable): Reset to Init refused: lacks RIGHTS may not set TIMEOUT"
        );
        assert_eq!(
            refused(to(QueuePairState::Error).pace(1), QueuePairKind::Local, Init),
            "queue pair 5 (Local): Init to Error refused: may not set PACE"
        );
    }

    #[test]
    fn every_row_of_the_table_is_reached_with_all_its_attributes() {
        let all = |mask: u64| Attributes { mask, ..Attributes::default() };
        for row in TRANSITIONS {
            for (kind, _) in QueuePairKind::ALL.iter().filter(|(kind, _)| row.kinds >> *kind as u8 & 1 == 1) {
                let attributes = all(row.required | row.optional).state(row.to);
                assert_eq!(attributes.check(0, *kind, row.from).unwrap(), row.to, "{row:?}");
            }
        }
    }

    /// The table for people, made of the one that is carried out.
    fn table() -> String {
        let mut lines = vec![
            "| from | to | kinds | with | and perhaps |".to_string(),
            "|---|---|---|---|---|".to_string(),
            "| any | `Reset`, `Error` | all |  |  |".to_string(),
        ];
        for row in TRANSITIONS {
            let kinds = QueuePairKind::ALL.iter().filter(|(kind, _)| row.kinds >> *kind as u8 & 1 == 1);
            let kinds: Vec<String> = kinds.map(|(kind, _)| format!("`{kind:?}`")).collect();
            let kinds = if kinds.len() == QueuePairKind::ALL.len() { "all".into() } else { kinds.join(", ") };
            let [with, perhaps] = [row.required, row.optional].map(|mask| {
                let quoted: Vec<_> =
                    names(mask).iter().map(|name| format!("`{}`", name.to_lowercase())).collect();
                quoted.join(", ")
            });
            lines.push(format!("| `{:?}` | `{:?}` | {kinds} | {with} | {perhaps} |", row.from, row.to));
        }
        lines.join("\n")
    }

    /// Who may post what, made of the rules that are carried out.
    fn posting() -> String {
        let mut lines = vec!["| state | requests | receives |".to_string(), "|---|---|---|".to_string()];
        for (state, _) in QueuePairState::ALL {
            let fate = |is_taken: bool, taken: &'static str| match state {
                _ if !is_taken => "refused",
                QueuePairState::Error => "flushed",
                _ => taken,
            };
            let taken = match state {
                QueuePairState::Drained => "wait",
                QueuePairState::SendError => "flushed",
                _ => "carried out",
            };
            let requests = fate(takes_requests(*state), taken);
            lines.push(format!("| `{state:?}` | {requests} | {} |", fate(takes_receives(*state), "taken")));
        }
        lines.join("\n")
    }

    #[test]
    fn the_tables_for_people_say_what_is_carried_out() {
        let page = include_str!("states.md");
        for table in [posting(), table()] {
            assert!(page.contains(&table), "states.md lacks:\n{table}");
        }
    }

    #[test]
    fn a_value_too_wide_for_its_field_is_refused_before_it_is_sent() {
        let attributes = Attributes::default().state(Init).pace(1 << 24);
        assert_eq!(
            refused(attributes, QueuePairKind::Local, Reset),
            "`pace` of 0x1000000: the field has 24 bits"
        );
        assert_eq!(
            refused(Attributes::default().retry(8), QueuePairKind::Local, Reset),
            "`retry` of 0x8: the field has 3 bits"
        );
    }

    #[test]
    fn addresses_lie_first_byte_lowest() {
        let address = Address {
            mac: [1, 2, 3, 4, 5, 6],
            ip: Ipv4Addr::new(10, 11, 12, 13).into(),
            source_port: 0xc000,
            hop_limit: 64,
            traffic_class: 2,
            vlan: Some(7),
            flow_label: 0xf_ffff,
            source_address: 3,
        };
        let bytes = Attributes::default().address(&address).body(ReadyToReceive).to_bytes();
        assert_eq!(bytes[56..62], [1, 2, 3, 4, 5, 6]);
        assert_eq!(bytes[64..80], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 11, 12, 13]);
        assert_eq!((bytes[86], bytes[87]), (0x3f, 1));
    }
}
