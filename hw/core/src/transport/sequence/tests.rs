//! The sequence against its plain-Rust twin.

mod corners;
mod timing;

use std::collections::BTreeMap;

use rust_hdl::prelude::Bits;
use stroma_abi::wire::opcode::{self, TABLE};
use stroma_abi::wire::{Opcode, Role, Transport};
use stroma_verilate::{Pause, SplitMix64};

use super::Sequence;
use super::advance::Advance;
use super::commission::Commission;
use super::decide::Decide;
use super::measure::Measure;
use super::model::{Outcome, Responder, mtu};
use super::rig::{QPS, Rig};
use crate::host::work::QpChange;
use crate::testing::{noise, stalls_of};
use crate::transport::records::{Answer, Arrival};
use crate::verilog::differential::{assert_agree, differential};

/// What a queue pair was made with: path MTU, rights and first PSN.
#[derive(Clone, Copy)]
struct Settings {
    path_mtu: u64,
    rights: u64,
    receive_psn: u64,
}

/// A peer that mostly keeps the rules. It follows the model, so that it knows what comes next.
struct Peer {
    rng: SplitMix64,
    settings: BTreeMap<u64, Settings>,
    model: Responder,
}

fn code(op: Opcode) -> Bits<8> {
    u64::from(op.code).into()
}

impl Peer {
    fn new(seed: u64) -> Self {
        let mut rng = SplitMix64::new(seed);
        let settings = |qpn: u64| {
            let path_mtu = 1 + (qpn + seed) % 5;
            // Near the end, so that the numbers wrap.
            let receive_psn = if qpn == 0 { rng.below(1 << 24) } else { (1 << 24) - rng.below(20) - 1 };
            let rights = if qpn == 3 { rng.below(32) } else { 31 };
            (qpn, Settings { path_mtu, rights, receive_psn })
        };
        let settings = (0..1 << QPS).map(settings).collect();
        Self { rng, settings, model: Responder::default() }
    }

    fn length(&mut self, mtu: u64) -> u64 {
        match self.rng.below(8) {
            0 => 0,
            1 => mtu,
            2 => 1 + self.rng.below(mtu),
            3 => mtu * (1 + self.rng.below(4)),
            4 => 1 << 31,
            _ => 1 + self.rng.below(mtu * 6),
        }
    }

    /// The request that keeps all rules.
    fn good(&mut self, qpn: u64) -> Arrival {
        let settings = self.settings[&qpn];
        let mut arrival = Arrival {
            occasion: 0_u64.into(),
            qpn: qpn.into(),
            path_mtu: settings.path_mtu.into(),
            rights: settings.rights.into(),
            receive_psn: settings.receive_psn.into(),
            psn: settings.receive_psn.into(),
            payload_len: 0_u64.into(),
            ..noise(&mut self.rng)
        };
        let mtu = u64::from(mtu(&arrival));
        let connection = self.model.connections.get(&qpn);
        if let Some(connection) = connection {
            arrival.psn = u64::from(connection.expected.value()).into();
        }
        if let Some(rest) = connection.and_then(|connection| connection.message) {
            let left = u64::from(rest.bytes);
            // A message without end would let nothing else come.
            let is_last = left <= mtu;
            arrival.op = code(if is_last { opcode::RC_WRITE_LAST } else { opcode::RC_WRITE_MIDDLE });
            arrival.payload_len = left.min(mtu).into();
            return arrival;
        }
        let mut length = self.length(mtu);
        if self.rng.below(3) == 0 {
            arrival.op = code(opcode::RC_READ_REQUEST);
        } else {
            length = length.min(mtu * 6);
            arrival.op = code(if length > mtu { opcode::RC_WRITE_FIRST } else { opcode::RC_WRITE_ONLY });
            arrival.payload_len = length.min(mtu).into();
        }
        arrival.len = length.into();
        arrival
    }

    /// A request that differs from the good one in something, or in nothing. One in `rarely` breaks a rule.
    fn request(&mut self, rarely: u64) -> Arrival {
        let qpn = self.rng.below(1 << QPS);
        let mut arrival = self.good(qpn);
        match self.rng.below(10) {
            0 => arrival.psn = arrival.psn - (1 + self.rng.below(12)),
            1 => arrival.psn = arrival.psn + (1 + self.rng.below(3)),
            2 => {
                arrival.psn = arrival.psn - self.rng.below(12);
                arrival.len = self.rng.below(u64::from(mtu(&arrival)) * 10).into();
                (arrival.op, arrival.payload_len) = (code(opcode::RC_READ_REQUEST), 0_u64.into());
            }
            _ => {}
        }
        if self.rng.below(rarely) == 0 {
            match self.rng.below(5) {
                0 => arrival.payload_len = arrival.payload_len + 1,
                1 => {
                    let is_request = |op: &&Opcode| op.transport == Transport::Rc && op.role == Role::Request;
                    let requests: Vec<&Opcode> = TABLE.iter().filter(is_request).collect();
                    let at = self.rng.below(requests.len() as u64);
                    arrival.op = code(*requests[usize::try_from(at).expect("small")]);
                }
                2 => arrival.rights = self.rng.below(32).into(),
                3 => arrival.len = (0x8000_0001 + self.rng.below(0x7fff_ffff)).into(),
                _ => arrival.psn = noise(&mut self.rng),
            }
        }
        self.model.arrive(&arrival);
        arrival
    }

    /// The queue pairs that have failed begin again.
    fn revive(&mut self) -> Vec<QpChange> {
        let failed = self.model.connections.iter().filter(|(_, connection)| connection.failed);
        let changes: Vec<QpChange> = failed
            .map(|(qpn, _)| QpChange { qpn: (*qpn).into(), resets: true, stops: false, ends: false })
            .collect();
        for change in &changes {
            self.model.change(change);
        }
        changes
    }
}

/// Rounds of requests, and of resets for the queue pairs that have failed.
fn converse(rig: &mut Rig, peer: &mut Peer, rounds: usize, rarely: u64) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for _ in 0..rounds {
        let requests: Vec<Arrival> = (0..40).map(|_| peer.request(rarely)).collect();
        rig.send(&requests);
        rig.settle();
        outcomes.extend(rig.compare());
        let changes = peer.revive();
        rig.send_changes(&changes);
        rig.settle();
    }
    outcomes
}

#[test]
fn agrees_with_the_model() {
    let mut met = Vec::new();
    for seed in 0..5 {
        let mut rig = Rig::new();
        met.extend(converse(&mut rig, &mut Peer::new(seed), 12, 12));
    }
    let is = |outcome: &Outcome, answer: Answer| outcome.errand.answer.index() == answer as usize;
    let count = |what: &dyn Fn(&Outcome) -> bool| met.iter().filter(|outcome| what(outcome)).count();
    for (what, count) in [
        ("payload placed", count(&|outcome| outcome.errand.places)),
        (
            "messages begun",
            count(&|outcome| outcome.errand.span.index() > outcome.errand.payload_len.index()),
        ),
        ("messages ended", count(&|outcome| outcome.errand.counts)),
        ("new READs", count(&|outcome| outcome.errand.fresh)),
        ("old READs", count(&|outcome| outcome.duplicate && is(outcome, Answer::Data))),
        ("old WRITEs", count(&|outcome| outcome.duplicate && is(outcome, Answer::Acknowledge))),
        ("old, and nothing", count(&|outcome| outcome.duplicate && is(outcome, Answer::None))),
        ("gaps told", count(&|outcome| outcome.nak && !outcome.errand.fails)),
        ("refusals", count(&|outcome| outcome.errand.fails)),
        ("thrown away", count(&|outcome| is(outcome, Answer::None) && !outcome.errand.places)),
    ] {
        assert!(count >= 20, "{what}: {count}");
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    let mut peer = Peer::new(9);
    for stall in stalls_of::<3>() {
        rig.pause(stall);
        converse(&mut rig, &mut peer, 3, 30);
    }
}

#[test]
fn changes_come_between_requests() {
    let mut rig = Rig::new();
    let mut peer = Peer::new(4);
    rig.pause([Pause::None, Pause::Random { seed: 5, percent: 90 }, Pause::None]);
    for _ in 0..20 {
        let requests: Vec<Arrival> = (0..30).map(|_| peer.request(40)).collect();
        rig.send(&requests);
        let change = |rng: &mut SplitMix64| QpChange { qpn: rng.below(1 << QPS).into(), ..noise(rng) };
        let changes: Vec<QpChange> = (0..6).map(|_| change(&mut peer.rng)).collect();
        rig.send_changes(&changes);
        rig.settle();
        rig.compare();
        // The peer hears of it.
        peer.model = rig.model.clone();
    }
}

#[test]
fn rust_and_verilog_agree() {
    let cases = [
        differential!("measure", Measure::default, [arrival, standing]),
        differential!("decide", Decide::default, [measured, standing]),
        differential!("advance", Advance::default, [arrival, measured, verdict, standing]),
        differential!("commission", Commission::default, [arrival, measured, verdict, standing]),
        differential!(
            "sequence",
            Sequence::<QPS>::default,
            clock,
            [arrival.payload, arrival.valid, change.payload, change.valid, errand.ready]
        ),
    ];
    assert_agree(cases, 300);
}
