//! The owner of the queue pairs in plain Rust: a map.

use std::collections::{BTreeMap, BTreeSet};

use stroma_abi::desc::queue_pair::{attribute, transition};
use stroma_abi::desc::{CommandStatus, Event, QueuePair, QueuePairKind, QueuePairState, RING_ALIGN, Verb};

use super::super::command::{ObjectCommand, ObjectReply};
use crate::fabric::records::ResultRow;
use crate::host::work::{EventRecord, QpChange, QpError, SendRow};
use crate::pack::{from_bytes, from_number};
use crate::transport::records::{PathRow, PeerRow, RingRow};

/// A command in plain numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) verb: u8,
    pub(super) object: u32,
    pub(super) attributes: u64,
    pub(super) body: [u8; QueuePair::LEN],
}

impl Ask {
    /// A command with nothing in its body.
    pub(super) fn new(verb: Verb, object: u32) -> Self {
        Self { verb: verb as u8, object, attributes: 0, body: [0; QueuePair::LEN] }
    }

    /// As the port takes it.
    pub(super) fn payload(&self) -> ObjectCommand {
        ObjectCommand {
            verb: u64::from(self.verb).into(),
            object: u64::from(self.object).into(),
            attributes: self.attributes.into(),
            body: from_bytes(&self.body),
        }
    }
}

/// What a command leads to, in this order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome {
    /// All have to hear that the queue pair stops.
    pub(super) stops: bool,
    /// Jobs have to end.
    pub(super) drains: bool,
    /// What they wrote has to settle.
    pub(super) settles: bool,
    /// A change, whatever its queue pair.
    pub(super) change: Option<QpChange>,
    pub(super) reply: ObjectReply,
}

/// Whether it ends, its change, and what it shows.
type Effects = (bool, Option<QpChange>, Option<QueuePair>);
/// Why a command is refused, and the byte of the field that is to blame.
type Refusal = (CommandStatus, usize);

pub(super) struct Owner {
    /// Places for queue pairs.
    pub(super) capacity: u32,
    /// Doorbell pages.
    pub(super) pages: u16,
    pub(super) cqs: BTreeSet<u32>,
    pub(super) queue_pairs: BTreeMap<u32, QueuePair>,
}

fn state_of(queue_pair: &QueuePair) -> QueuePairState {
    QueuePairState::from_code(queue_pair.state).expect("what is stored has a state")
}

/// A ring of `bytes` from `base` on: does it begin with a page, and end at the last address or before?
fn is_ring(base: u64, bytes: u64) -> bool {
    base.is_multiple_of(RING_ALIGN) && u128::from(base) + u128::from(bytes) <= 1 << 64
}

impl Owner {
    pub(super) fn command(&mut self, command: &Ask) -> Outcome {
        let (ends, change, shown) = match self.carry_out(command) {
            Ok(done) => done,
            Err((status, byte)) => {
                let reply = ObjectReply {
                    status: (status as u64).into(),
                    field: (byte as u64).into(),
                    ..ObjectReply::default()
                };
                return Outcome { stops: false, drains: false, settles: false, change: None, reply };
            }
        };
        let body = shown.map_or_else(Default::default, |shown| from_bytes(&shown.to_bytes()));
        Outcome {
            stops: ends,
            drains: ends || change.is_some_and(|change| change.drains),
            settles: ends,
            change,
            reply: ObjectReply { body, ..ObjectReply::default() },
        }
    }

    fn carry_out(&mut self, command: &Ask) -> Result<Effects, Refusal> {
        let verb = Verb::from_code(command.verb).ok_or((CommandStatus::UnknownVerb, 0))?;
        let body = QueuePair::parse(&command.body).expect("a body is as long as a queue pair");
        if verb == Verb::Create {
            let created = self.created(command, &body)?;
            self.queue_pairs.insert(command.object, created);
            return Ok((false, Some(QpChange { resets: true, ..QpChange::default() }), None));
        }
        let present = *self.queue_pairs.get(&command.object).ok_or((CommandStatus::NoObject, 0))?;
        match verb {
            Verb::Modify => {
                let modified = modified(&present, command, &body)?;
                self.queue_pairs.insert(command.object, modified);
                let to = state_of(&modified);
                let nothing = QpChange::default();
                let change = match to {
                    QueuePairState::Reset => Some(QpChange { resets: true, ..nothing }),
                    QueuePairState::ReadyToSend => Some(nothing),
                    QueuePairState::Error => Some(QpChange { stops: true, ..nothing }),
                    QueuePairState::Drained if state_of(&present) != to => {
                        Some(QpChange { drains: true, ..nothing })
                    }
                    _ => None,
                };
                Ok((to == QueuePairState::Reset, change, None))
            }
            Verb::Destroy => {
                self.queue_pairs.remove(&command.object);
                Ok((true, None, None))
            }
            _ => Ok((false, None, Some(present))),
        }
    }

    fn created(&self, command: &Ask, body: &QueuePair) -> Result<QueuePair, Refusal> {
        if command.object >= self.capacity {
            return Err((CommandStatus::OutOfRange, 0));
        }
        if self.queue_pairs.contains_key(&command.object) {
            return Err((CommandStatus::Exists, 0));
        }
        if command.attributes != 0 {
            return Err((CommandStatus::BadAttribute, 0));
        }
        let is_log = |log: u8| (4..=15).contains(&log);
        let receive_bytes = || 16 << body.receive_stride << body.receive_log;
        let is_good = [
            (1, QueuePairKind::from_code(body.kind).is_some()),
            (4, self.cqs.contains(&body.send_cq)),
            (7, is_log(body.send_log)),
            (8, self.cqs.contains(&body.receive_cq)),
            (11, body.receive_log == 0 || is_log(body.receive_log)),
            (12, body.page < self.pages),
            (14, !body.has_srq || body.receive_log == 0),
            (16, is_log(body.send_log) && is_ring(body.send_base, 64 << body.send_log)),
            (
                24,
                body.receive_log == 0
                    || is_log(body.receive_log) && is_ring(body.receive_base, receive_bytes()),
            ),
            (32, !body.has_srq || is_shared(body.srq)),
        ];
        if let Some((byte, _)) = is_good.iter().find(|(_, is_good)| !is_good) {
            return Err((CommandStatus::BadField, *byte));
        }
        Ok(initial(body))
    }

    /// What an error does; the change for the sending side, and the event that tells it.
    pub(super) fn error(&mut self, error: &QpError) -> Option<(QpChange, Option<EventRecord>)> {
        let number = u32::try_from(u64::from(error.qpn)).expect("24 bits");
        let queue_pair = self.queue_pairs.get_mut(&number)?;
        if matches!(state_of(queue_pair), QueuePairState::Reset | QueuePairState::Error) {
            return None;
        }
        (queue_pair.state, queue_pair.draining) = (QueuePairState::Error as u8, false);
        let event = EventRecord {
            data: 0.into(),
            object: error.qpn,
            kind: (Event::QueuePairError as u64).into(),
            subkind: error.status,
        };
        Some((QpChange { qpn: error.qpn, stops: true, ..QpChange::default() }, error.untold.then_some(event)))
    }

    /// A queue pair has finished what it had begun; the event that tells it.
    pub(super) fn emptied(&mut self, number: u32) -> Option<EventRecord> {
        let queue_pair = self.queue_pairs.get_mut(&number)?;
        let is_news =
            state_of(queue_pair) == QueuePairState::Drained && std::mem::take(&mut queue_pair.draining);
        let event = EventRecord {
            object: u64::from(number).into(),
            kind: (Event::SendQueueDrained as u64).into(),
            ..EventRecord::default()
        };
        (is_news && queue_pair.notify).then_some(event)
    }

    /// What the receiving side reads; `None` when there is no such queue pair.
    pub(super) fn peer(&self, number: u32) -> Option<PeerRow> {
        self.queue_pairs.get(&number).map(peer_row)
    }

    /// Where its results are kept; `None` when there is no such queue pair, or no place for them.
    pub(super) fn area(&self, number: u32) -> Option<ResultRow> {
        let queue_pair = self.queue_pairs.get(&number).filter(|queue_pair| queue_pair.result_log != 0)?;
        Some(ResultRow {
            exists: true,
            base: (queue_pair.result_base >> 12).into(),
            log: u64::from(queue_pair.result_log).into(),
            key: u64::from(queue_pair.result_key).into(),
        })
    }

    /// Where its rings are; `None` when there is no such queue pair.
    pub(super) fn ring(&self, number: u32) -> Option<RingRow> {
        self.queue_pairs.get(&number).map(ring_row)
    }

    /// What packets to its peer need; `None` when there is no path.
    pub(super) fn path(&self, number: u32) -> Option<PathRow> {
        self.queue_pairs.get(&number).and_then(path_row)
    }

    /// What the sending side reads; `None` when there is no such queue pair.
    pub(super) fn row(&self, number: u32) -> Option<SendRow> {
        let queue_pair = self.queue_pairs.get(&number)?;
        let is_datagram = queue_pair.kind == QueuePairKind::Datagram as u8;
        Some(SendRow {
            exists: true,
            state: u64::from(queue_pair.state).into(),
            kind: u64::from(queue_pair.kind).into(),
            pd: u64::from(queue_pair.pd).into(),
            cq: u64::from(queue_pair.send_cq).into(),
            page: u64::from(queue_pair.page).into(),
            log: u64::from(queue_pair.send_log).into(),
            base: (queue_pair.send_base >> 12).into(),
            pace: u64::from(queue_pair.pace).into(),
            path_mtu: u64::from(if is_datagram { 5 } else { queue_pair.path_mtu }).into(),
            send_psn: u64::from(queue_pair.send_psn.value()).into(),
            reads_out: u64::from(queue_pair.reads_out).into(),
            timeout: u64::from(queue_pair.timeout).into(),
        })
    }
}

/// Every second shared receive queue exists.
pub(super) fn is_shared(number: u32) -> bool {
    number.is_multiple_of(2)
}

/// Where its rings are.
fn ring_row(queue_pair: &QueuePair) -> RingRow {
    RingRow {
        exists: true,
        state: u64::from(queue_pair.state).into(),
        page: u64::from(queue_pair.page).into(),
        pd: u64::from(queue_pair.pd).into(),
        send_base: (queue_pair.send_base >> 12).into(),
        send_log: u64::from(queue_pair.send_log).into(),
        receive_base: (queue_pair.receive_base >> 12).into(),
        receive_log: u64::from(queue_pair.receive_log).into(),
        receive_stride: u64::from(queue_pair.receive_stride).into(),
        has_srq: queue_pair.has_srq,
    }
}

/// What the receiving side reads.
fn peer_row(queue_pair: &QueuePair) -> PeerRow {
    PeerRow {
        exists: true,
        state: u64::from(queue_pair.state).into(),
        kind: u64::from(queue_pair.kind).into(),
        pd: u64::from(queue_pair.pd).into(),
        rights: u64::from(queue_pair.rights).into(),
        path_mtu: u64::from(queue_pair.path_mtu).into(),
        p_key: u64::from(queue_pair.p_key).into(),
        q_key: u64::from(queue_pair.q_key).into(),
        peer_ip: from_number(queue_pair.peer_ip.swap_bytes()),
        source_address: u64::from(queue_pair.source_address).into(),
        receive_psn: u64::from(queue_pair.receive_psn.value()).into(),
        cq: u64::from(queue_pair.send_cq).into(),
        timeout: u64::from(queue_pair.timeout).into(),
        retry: u64::from(queue_pair.retry).into(),
        rnr_retry: u64::from(queue_pair.rnr_retry).into(),
        min_rnr: u64::from(queue_pair.min_rnr).into(),
        reads_in: u64::from(queue_pair.reads_in).into(),
        receive_cq: u64::from(queue_pair.receive_cq).into(),
        has_srq: queue_pair.has_srq,
        srq: u64::from(queue_pair.srq).into(),
        result_log: u64::from(queue_pair.result_log).into(),
    }
}

/// The path to its peer, if it has one.
fn path_row(queue_pair: &QueuePair) -> Option<PathRow> {
    let is_known = !matches!(state_of(queue_pair), QueuePairState::Reset | QueuePairState::Init);
    is_known.then(|| PathRow {
        exists: true,
        peer: u64::from(queue_pair.peer.value()).into(),
        p_key: u64::from(queue_pair.p_key).into(),
        peer_mac: (queue_pair.peer_mac.swap_bytes() >> 16).into(),
        peer_ip: from_number(queue_pair.peer_ip.swap_bytes()),
        source_port: u64::from(queue_pair.source_port).into(),
        hop_limit: u64::from(queue_pair.hop_limit).into(),
        traffic_class: u64::from(queue_pair.traffic_class).into(),
        has_vlan: queue_pair.has_vlan,
        vlan: u64::from(queue_pair.vlan).into(),
        flow_label: u64::from(queue_pair.flow_label).into(),
        source_address: u64::from(queue_pair.source_address).into(),
        raw: queue_pair.kind == QueuePairKind::Raw as u8,
        unreliable: [QueuePairKind::Unreliable, QueuePairKind::Datagram]
            .iter()
            .any(|kind| queue_pair.kind == *kind as u8),
        datagram: queue_pair.kind == QueuePairKind::Datagram as u8,
        pd: u64::from(queue_pair.pd).into(),
        q_key: u64::from(queue_pair.q_key).into(),
    })
}

/// What creation makes of a body, and what RESET leaves of a queue pair.
fn initial(body: &QueuePair) -> QueuePair {
    QueuePair {
        state: QueuePairState::Reset as u8,
        kind: body.kind,
        pd: body.pd,
        send_cq: body.send_cq,
        send_log: body.send_log,
        receive_cq: body.receive_cq,
        receive_log: body.receive_log,
        page: body.page,
        receive_stride: body.receive_stride,
        has_srq: body.has_srq,
        send_base: body.send_base,
        receive_base: body.receive_base,
        srq: body.srq,
        ..QueuePair::default()
    }
}

fn modified(present: &QueuePair, command: &Ask, body: &QueuePair) -> Result<QueuePair, Refusal> {
    let has = |attribute: u64| command.attributes & attribute != 0;
    if command.attributes >> attribute::ALL.len() != 0 {
        return Err((CommandStatus::BadAttribute, 0));
    }
    let from = state_of(present);
    let to = if has(attribute::STATE) {
        QueuePairState::from_code(body.state).ok_or((CommandStatus::BadField, 0))?
    } else {
        from
    };
    let kind = QueuePairKind::from_code(present.kind).expect("what is stored has a kind");
    transition(kind, from, to, command.attributes).map_err(|status| (status, 0))?;
    let shortest = if kind == QueuePairKind::Raw { 5 } else { 1 };
    if has(attribute::PATH_MTU) && !(shortest..=5).contains(&body.path_mtu) {
        return Err((CommandStatus::BadField, 35));
    }
    if has(attribute::READS_OUT) && body.reads_out > 16 {
        return Err((CommandStatus::BadField, 52));
    }
    if has(attribute::READS_IN) && body.reads_in > 16 {
        return Err((CommandStatus::BadField, 53));
    }
    if has(attribute::RESULT_AREA) && body.result_log != 0 {
        if !body.result_base.is_multiple_of(16 << body.result_log) {
            return Err((CommandStatus::BadField, 96));
        }
        if !(12..=16).contains(&body.result_log) {
            return Err((CommandStatus::BadField, 104));
        }
    }
    if to == QueuePairState::Reset {
        return Ok(initial(present));
    }
    let mut after = QueuePair { state: to as u8, ..*present };
    if has(attribute::STATE) {
        after.notify = body.notify;
        after.draining =
            to == QueuePairState::Drained && (from != QueuePairState::Drained || present.draining);
    }
    macro_rules! set {
        ($($attribute:ident: $($field:ident)+;)*) => {
            $(if has(attribute::$attribute) { $(after.$field = body.$field;)+ })*
        };
    }
    set! {
        RIGHTS: rights;
        PATH_MTU: path_mtu;
        Q_KEY: q_key;
        PEER: peer;
        MIN_RNR: min_rnr;
        SEND_PSN: send_psn;
        TIMEOUT: timeout;
        RECEIVE_PSN: receive_psn;
        RETRY: retry;
        RNR_RETRY: rnr_retry;
        READS_OUT: reads_out;
        READS_IN: reads_in;
        P_KEY: p_key;
        ADDRESS: peer_mac source_port peer_ip hop_limit traffic_class vlan flow_label source_address has_vlan;
        PACE: pace;
        RESULT_AREA: result_base result_log result_key;
    }
    Ok(after)
}
