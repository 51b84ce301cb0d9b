use std::collections::VecDeque;

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_abi::desc::Status;
use stroma_abi::wire::Opcode;
use stroma_abi::wire::opcode::{
    CNP, RC_ACKNOWLEDGE, RC_ATOMIC_ACKNOWLEDGE, RC_CMP_SWAP, RC_SEND_LAST_INV, RC_WRITE_MIDDLE,
    RC_WRITE_ONLY_IMM, RPC_BUSY,
};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Template;
use crate::head::Head;
use crate::pack::Packed;
use crate::stream::{Beat, beats};
use crate::testing::{collect, noise, push, read, stalls, verilated};
use crate::transport::records::{HandleRow, Nudge, Occasion, PathRow, TxPacket};

/// What the packets are.
const OPS: [Opcode; 8] = [
    RC_WRITE_MIDDLE,
    RC_WRITE_ONLY_IMM,
    RC_SEND_LAST_INV,
    RC_CMP_SWAP,
    RC_ACKNOWLEDGE,
    RC_ATOMIC_ACKNOWLEDGE,
    RPC_BUSY,
    CNP,
];
/// Queue pairs of the bench.
const PAIRS: u64 = 8;
/// The raw one.
const RAW: usize = 4;
/// The one that nobody answers.
const UNRELIABLE: usize = 5;
/// The first of those that send datagrams.
const DATAGRAM: usize = 6;
/// Handles of the bench: half of them are the domain's of either queue pair, and the last does not exist.
const HANDLES: u64 = 5;

/// The handle that a packet names, if it is a datagram.
fn number(packet: &TxPacket) -> usize {
    usize::try_from(u64::from(packet.va) & 0xff_ffff).expect("small")
}

struct Rig<const D: usize> {
    bench: Bench,
    packet: SourceId,
    payload: SourceId,
    head: SinkId,
    source: SinkId,
    raw: SinkId,
    departed: SinkId,
    paths: Vec<PathRow>,
    handles: Vec<HandleRow>,
    /// Queue pairs of the packets that were not taken, and their handles.
    numbers: VecDeque<(usize, usize)>,
    addresses: Vec<u128>,
    mac: u64,
    rng: SplitMix64,
    again: u32,
    /// Of each queue pair, what was counted: packets, and those sent again.
    tallied: Vec<[u32; 2]>,
    raw_sent: usize,
    told: usize,
}

impl<const D: usize> Rig<D> {
    fn new() -> Self {
        let mut bench = verilated("template", Template::<D>::default);
        let [packet, payload] =
            ["packet", "payload"].map(|name| bench.source(name).expect("the stream exists"));
        let [head, source, raw, departed] =
            ["head", "source", "raw", "departed"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        let mut rng = SplitMix64::new(3);
        let mut paths: Vec<PathRow> = (0..PAIRS)
            .map(|_| PathRow {
                exists: true,
                raw: false,
                unreliable: false,
                datagram: false,
                ..noise(&mut rng)
            })
            .collect();
        paths[1] = PathRow { exists: false, ..noise(&mut rng) };
        paths[RAW].raw = true;
        paths[UNRELIABLE].unreliable = true;
        for path in &mut paths[DATAGRAM..] {
            (path.unreliable, path.datagram) = (true, true);
        }
        let handles = (0..HANDLES)
            .map(|at| HandleRow {
                exists: at != HANDLES - 1,
                pd: paths[DATAGRAM + usize::from(at % 2 == 1)].pd,
                ..noise(&mut rng)
            })
            .collect();
        paths[2].peer_ip = BigUint::from(0xffff_0a00_0001_u64).into();
        let addresses =
            (0..16).map(|_| u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())).collect();
        let mac = rng.below(1 << 48);
        Self {
            bench,
            packet,
            payload,
            head,
            source,
            raw,
            departed,
            paths,
            handles,
            numbers: VecDeque::new(),
            addresses,
            mac,
            rng,
            again: 0,
            tallied: vec![[0; 2]; 8],
            raw_sent: 0,
            told: 0,
        }
    }

    fn set<T: Packed>(&mut self, name: &str, value: &T) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    /// One cycle, in which the tables answer.
    fn step(&mut self) {
        self.set("mac", &Bits::<48>::from(self.mac));
        let taken = self.bench[self.packet].sent();
        self.bench.step();
        if self.bench[self.packet].sent() > taken {
            let (number, handle) = self.numbers.pop_front().expect("only what was queued is taken");
            let (row, handle) = (self.paths[number], self.handle(handle));
            self.set("path", &row);
            self.set("handle", &handle);
            let source = if row.datagram { handle.source_address } else { row.source_address };
            let address: Bits<128> = BigUint::from(self.addresses[source.index()]).into();
            self.set("address", &address);
            self.bench.model_mut().eval();
            assert_eq!(read::<Bits<4>>(&self.bench, "address_index"), source);
        }
        self.again += u32::from(read::<bool>(&self.bench, "again"));
        let tally = read::<Bits<2>>(&self.bench, "tally").index();
        let of = &mut self.tallied[read::<Bits<24>>(&self.bench, "tally_qpn").index() % 8];
        (0..2).for_each(|bit| of[bit] += u32::from(tally >> bit & 1 == 1));
        self.raw_sent += usize::from(read::<bool>(&self.bench, "raw_sent"));
        self.told += usize::from(read::<bool>(&self.bench, "told"));
    }

    fn queue(&mut self, packet: &TxPacket) {
        push(&mut self.bench, self.packet, &[*packet]);
        self.numbers.push_back((packet.qpn.index(), number(packet)));
    }

    /// A handle; beyond the table there is none.
    fn handle(&self, number: usize) -> HandleRow {
        self.handles.get(number).copied().unwrap_or_default()
    }

    /// Is it a datagram that has no way?
    fn is_astray(&self, packet: &TxPacket) -> bool {
        let (path, handle) = (self.paths[packet.qpn.index()], self.handle(number(packet)));
        path.exists && path.datagram && !(handle.exists && handle.pd == path.pd)
    }

    /// Is it a request that nobody answers?
    fn is_unanswered(&self, packet: &TxPacket) -> bool {
        self.paths[packet.qpn.index()].unreliable && packet.op.index() < 0x20
    }

    /// The twin: what a packet becomes.
    fn expected(&self, packet: &TxPacket) -> Option<Head> {
        let mut path = self.paths[packet.qpn.index()];
        let (mut op, mut key, mut sender) = (u64::from(packet.op), 0, 0);
        if self.is_unanswered(packet) {
            op |= 0x20;
        }
        if path.datagram {
            let (way, target) = (self.handle(number(packet)), u64::from(packet.va));
            path = PathRow {
                peer: (target >> 32 & 0xff_ffff).into(),
                peer_mac: way.peer_mac,
                peer_ip: way.peer_ip,
                source_port: way.source_port,
                hop_limit: way.hop_limit,
                traffic_class: way.traffic_class,
                has_vlan: way.has_vlan,
                vlan: way.vlan,
                flow_label: way.flow_label,
                source_address: way.source_address,
                ..path
            };
            let own = u64::from(packet.rkey) >> 31 == 1;
            (op, sender) = (u64::from(packet.op) | 0x60, packet.qpn.into());
            key = if own { path.q_key } else { packet.rkey }.into();
        }
        let is_bare = [RC_ACKNOWLEDGE, RC_ATOMIC_ACKNOWLEDGE, RPC_BUSY, CNP]
            .iter()
            .any(|row| packet.op.index() == usize::from(row.code));
        (path.exists && !path.raw && !self.is_astray(packet)).then(|| Head {
            dmac: path.peer_mac,
            smac: self.mac.into(),
            tagged: path.has_vlan,
            tci: path.vlan,
            v6: packet.qpn.index() != 2,
            tclass: if is_bare { (u64::from(path.traffic_class) & 0xfc).into() } else { path.traffic_class },
            flow: path.flow_label,
            dont_fragment: true,
            hops: path.hop_limit,
            src_ip: BigUint::from(self.addresses[path.source_address.index()]).into(),
            dst_ip: path.peer_ip,
            sport: path.source_port,
            op: op.into(),
            solicited: packet.solicited,
            pkey: path.p_key,
            congestion: u64::from(packet.op.index() == usize::from(CNP.code)).wrapping_mul(0x40).into(),
            migrated: packet.op.index() != usize::from(CNP.code),
            dqpn: path.peer,
            ackreq: packet.ackreq && !path.unreliable,
            psn: packet.psn,
            va: packet.va,
            rkey: packet.rkey,
            len: packet.len,
            aeth: packet.aeth,
            imm: packet.imm,
            a1: packet.a1,
            a2: packet.a2,
            qkey: key.into(),
            sqpn: sender.into(),
            payload_len: packet.payload_len,
            ..Head::default()
        })
    }

    /// Sends random packets; all must leave as the twin says. Cycles it took.
    fn run(&mut self, count: usize, longest: u64) -> u64 {
        let (mut heads, mut data, mut again) = (Vec::new(), Vec::<Beat<D>>::new(), 0);
        let (mut frames, mut departures, mut raw_sent) = (Vec::<Beat<D>>::new(), Vec::new(), 0);
        (self.again, self.raw_sent, self.told) = (0, 0, 0);
        self.tallied = vec![[0; 2]; 8];
        let mut tallied = self.tallied.clone();
        for _ in 0..count {
            let len = if longest == 0 { 0 } else { self.rng.below(longest) };
            let op = OPS[usize::try_from(self.rng.below(OPS.len() as u64)).expect("small")].code;
            let mut packet = TxPacket {
                qpn: self.rng.below(PAIRS).into(),
                op: u64::from(op).into(),
                payload_len: len.into(),
                ..noise(&mut self.rng)
            };
            if self.paths[packet.qpn.index()].datagram {
                packet.op = (4 + self.rng.below(2)).into();
                let peer = u64::from(packet.va) & !0xff_ffff;
                packet.va = (peer | self.rng.below(HANDLES + 1)).into();
            }
            self.queue(&packet);
            let bytes: Vec<u8> = (0..len).map(|_| self.rng.next_u64().to_le_bytes()[0]).collect();
            let beats = if bytes.is_empty() { Vec::new() } else { beats::<D>(&bytes) };
            push(&mut self.bench, self.payload, &beats);
            let occasion = (Occasion::Departed as u64).into();
            let departure = Nudge { occasion, qpn: packet.qpn, psn: packet.psn, ..Nudge::default() };
            if let Some(head) = self.expected(&packet) {
                departures.extend((self.is_unanswered(&packet) && packet.ackreq).then_some(departure));
                heads.push(head);
                data.extend(beats);
                again += u32::from(packet.again);
                let of = &mut tallied[packet.qpn.index()];
                *of = [of[0] + 1, of[1] + u32::from(packet.again)];
            } else if self.is_astray(&packet) {
                departures.push(Nudge {
                    occasion: (Occasion::Astray as u64).into(),
                    qpn: packet.qpn,
                    slot: packet.slot,
                    status: (Status::LocalQueuePair as u64).into(),
                    ..Nudge::default()
                });
            } else if self.paths[packet.qpn.index()].exists {
                again += u32::from(packet.again);
                let of = &mut tallied[packet.qpn.index()];
                *of = [of[0] + 1, of[1] + u32::from(packet.again)];
                departures.extend((len > 0).then_some(departure));
                raw_sent += usize::from(len > 0);
                frames.extend(beats);
            }
        }
        let start = self.bench.cycle();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            self.step();
            assert!(self.bench.cycle() < start + 100_000, "stuck");
        }
        let cycles = self.bench.cycle() - start;
        (0..3).for_each(|_| self.step());
        assert!(collect::<Head>(&mut self.bench, self.head) == heads, "heads");
        assert!(collect::<Beat<D>>(&mut self.bench, self.source) == data, "payload");
        assert_eq!((self.again, &self.tallied), (again, &tallied));
        assert!(collect::<Beat<D>>(&mut self.bench, self.raw) == frames, "frames");
        assert_eq!((self.raw_sent, self.told), (raw_sent, departures.len()));
        assert_eq!(collect::<Nudge>(&mut self.bench, self.departed), departures);
        cycles
    }
}

fn agrees<const D: usize>() {
    let mut rig = Rig::<D>::new();
    for (idle, pressure) in stalls() {
        for source in [rig.packet, rig.payload] {
            rig.bench[source].pause(idle.clone());
        }
        for sink in [rig.head, rig.source, rig.raw, rig.departed] {
            rig.bench[sink].pause(pressure.clone());
        }
        rig.run(80, 300);
    }
}

#[test]
fn packets_get_the_fields_of_their_path() {
    agrees::<64>();
    agrees::<512>();
}

#[test]
fn a_packet_takes_two_cycles() {
    let mut rig = Rig::<512>::new();
    let cycles = rig.run(100, 0);
    assert!((200..210).contains(&cycles), "{cycles} cycles");
}

#[test]
fn a_head_follows_its_packet_in_one_cycle_and_waits_until_it_is_taken() {
    let mut rig = Rig::<512>::new();
    rig.bench[rig.head].pause(Pause::Always);
    let packets = [0_u64, 3, 0].map(|qpn| TxPacket { qpn: qpn.into(), ..noise(&mut rig.rng) });
    let packets = packets.map(|packet| TxPacket { payload_len: 60.into(), ..packet });
    let payload = beats::<512>(&[9; 60]);
    for packet in &packets {
        rig.queue(packet);
        push(&mut rig.bench, rig.payload, &payload);
    }
    let start = rig.bench.cycle();
    while !read::<bool>(&rig.bench, "head$valid") {
        rig.step();
    }
    assert_eq!(rig.bench.cycle() - start, 1);
    (0..20).for_each(|_| rig.step());
    assert_eq!(rig.bench[rig.packet].sent(), 1, "the second waits for the first");
    assert!(collect::<Beat<512>>(&mut rig.bench, rig.source).is_empty(), "a payload before its head");
    assert_eq!(rig.tallied[0], [0; 2], "what has not left is not counted");
    rig.bench[rig.head].pause(Pause::None);
    (0..10).for_each(|_| rig.step());
    let heads: Vec<Head> = packets.iter().filter_map(|packet| rig.expected(packet)).collect();
    assert!(collect::<Head>(&mut rig.bench, rig.head) == heads);
    assert_eq!(collect::<Beat<512>>(&mut rig.bench, rig.source), payload.repeat(3));
    assert_eq!([rig.tallied[0][0], rig.tallied[3][0]], [2, 1]);
}

#[test]
fn a_frame_is_told_two_cycles_after_its_packet_and_the_ninth_waits_until_the_first_is_heard() {
    let mut rig = Rig::<512>::new();
    rig.bench[rig.departed].pause(Pause::Always);
    let packet = TxPacket { qpn: (RAW as u64).into(), payload_len: 60.into(), ..TxPacket::default() };
    let frame = beats::<512>(&[7; 60]);
    for _ in 0..10 {
        rig.queue(&packet);
        push(&mut rig.bench, rig.payload, &frame);
    }
    let start = rig.bench.cycle();
    while !read::<bool>(&rig.bench, "departed$valid") {
        rig.step();
    }
    assert_eq!(rig.bench.cycle() - start, 2);
    (0..60).for_each(|_| rig.step());
    assert_eq!(rig.bench[rig.packet].sent(), 9, "the ninth is held");
    assert_eq!(collect::<Beat<512>>(&mut rig.bench, rig.raw), frame.repeat(8));
    rig.bench[rig.departed].pause(Pause::None);
    (0..20).for_each(|_| rig.step());
    assert_eq!(collect::<Nudge>(&mut rig.bench, rig.departed).len(), 10);
    assert!(collect::<Head>(&mut rig.bench, rig.head).is_empty(), "a frame has no head");
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::<64>::new();
    let packet = TxPacket { payload_len: 8.into(), ..TxPacket::default() };
    rig.queue(&packet);
    (0..5).for_each(|_| rig.step());
    assert!(read::<bool>(&rig.bench, "busy"));
    rig.bench.reset(1);
    collect::<Head>(&mut rig.bench, rig.head);
    rig.run(10, 100);
}
