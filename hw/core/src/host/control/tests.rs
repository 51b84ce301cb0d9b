mod commands;
mod kernels;
mod pages;
mod registers;

use stroma_abi::regs::map::{BAR0, BAR2_AT, events, identity, mailbox, moderation, port};
use stroma_verilate::{Pause, SplitMix64};

use super::Control;
use super::groups::GroupTable;
use super::model::elements;
use super::rig::{COUNTING, Rig};
use super::stations::Stations;
use crate::host::axi_lite::{LiteAddress, LiteRead, LiteWrite};
use crate::testing::{collect, noise, push};
use crate::verilog::differential::{assert_agree, differential};

const NEVER: Pause = Pause::None;

fn always() -> Pause {
    Pause::Script(vec![true])
}

fn small(rng: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(rng.below(bound as u64)).expect("small")
}

/// A place: mostly a register, often one of those with a life of their own.
fn any_address(rng: &mut SplitMix64) -> usize {
    let registers: Vec<usize> = elements().map(|(.., address)| address).collect();
    match rng.below(20) {
        0..8 => registers[small(rng, registers.len())],
        8..11 => events::BLOCK.offset + 4 * small(rng, 9),
        11 => moderation::BLOCK.offset + 0x10 + 8 * small(rng, 3),
        12 => {
            let offset = [0x10, 0x18, 0x1c, 0x100, 0x108, 0x1f8, 0x210, 0x214][small(rng, 8)];
            port::BLOCK.offset + offset
        }
        13..15 => identity::BLOCK.address(&identity::TIME) + 4 * small(rng, 2),
        15..17 => small(rng, BAR0.len),
        17 => BAR0.len + small(rng, BAR2_AT - BAR0.len),
        _ => BAR2_AT + small(rng, BAR2_AT),
    }
}

/// What is stored: anything, or what enables an event queue.
fn any_data(rng: &mut SplitMix64) -> u64 {
    match rng.below(4) {
        0 => 1 << 63 | (2 + rng.below(17)) << 32 | rng.below(32) << 40,
        1 => rng.below(4) << (32 * rng.below(2)),
        _ => rng.next_u64(),
    }
}

/// One thing that happens to the front.
fn happen(rig: &mut Rig) {
    let address = any_address(&mut rig.rng);
    match rig.rng.below(10) {
        0..4 => {
            rig.load(address);
        }
        4 => {
            rig.load(address & !7);
            change(rig);
            rig.load(address | 4);
        }
        5..8 => {
            let data = any_data(&mut rig.rng);
            let strb = [0xff, 0x0f, 0xf0, rig.rng.next_u32().to_le_bytes()[0]][small(&mut rig.rng, 4)];
            rig.store(address, data, strb);
        }
        8 => change(rig),
        _ => {
            let owner = small(&mut rig.rng, 3);
            let reply = noise(&mut rig.rng);
            rig.answer(owner, &reply);
            if rig.running.take_if(|running| *running == owner).is_some() {
                rig.bars.reply(&reply);
            }
        }
    }
}

/// The card changes something of its own.
fn change(rig: &mut Rig) {
    let ports = Rig::shown();
    let (port, block, reg, index) = &ports[small(&mut rig.rng, ports.len())];
    let value = rig.rng.next_u64();
    rig.show(port, block, reg, *index, value);
    rig.show("time_", &identity::BLOCK, &identity::TIME, 0, !value);
    let (is_ready, has_link) = (rig.rng.below(4) != 0, rig.rng.below(2) == 0);
    rig.status(is_ready, has_link);
    if rig.rng.below(4) == 0 {
        rig.lose();
    }
    if rig.rng.below(4) == 0 {
        let bits = std::array::from_fn(|_| rig.rng.next_u64() & rig.rng.next_u64() & 0xffff);
        rig.happens(bits);
        rig.run(COUNTING);
    }
}

/// A command, from its kind to `go`.
fn begin(rig: &mut Rig) {
    let kind = rig.rng.below(5);
    let head = rig.rng.next_u64() & !0xff00 | kind << 8;
    rig.store(mailbox::BLOCK.address(&mailbox::INPUT), head, 0xff);
    rig.put(&mailbox::BLOCK, &mailbox::GO, 0, 1);
}

fn agree(rig: &mut Rig, seed: u64, steps: u64) {
    rig.reset(seed);
    for step in 0..steps {
        if step % 30 == 17 {
            begin(rig);
        }
        happen(rig);
        rig.compare_ports();
    }
}

#[test]
fn agrees_with_the_model() {
    agree(&mut Rig::default(), 1, 6_000);
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    let half = |seed| Pause::Random { seed, percent: 50 };
    let bursts = |go, pause| Pause::Burst { go, pause };
    rig.pause([half(1), half(2), half(3), half(4), half(5), half(6), half(7), half(8)]);
    agree(&mut rig, 2, 2_000);
    let slow = [(3, 9), (5, 7), (2, 11), (1, 6), (4, 13), (7, 20), (2, 30), (3, 8)];
    rig.pause(slow.map(|(go, pause)| bursts(go, pause)));
    agree(&mut rig, 3, 2_000);
}

#[test]
fn the_latencies_are_those_promised() {
    let mut rig = Rig::default();
    push(&mut rig.bench, rig.ar, &[LiteAddress { addr: 0.into() }]);
    let valid_after = |rig: &mut Rig, port: &str| {
        rig.step();
        (1..20).find(|_| {
            let is_valid = rig.port::<bool>(port);
            rig.step();
            is_valid
        })
    };
    assert_eq!(valid_after(&mut rig, "r$valid"), Some(3));
    rig.push_store(events::BLOCK.address(&events::BASE), 0x5000, 0xff);
    assert_eq!(valid_after(&mut rig, "b$valid"), Some(2));
    for port in ["b$valid", "store$valid"] {
        rig.push_store(BAR2_AT + 8, 1, 0xff);
        assert_eq!(valid_after(&mut rig, port), Some(1), "address and data of a page store come together");
    }
    push(&mut rig.bench, rig.w, &[LiteWrite { data: 1.into(), strb: 0xff.into() }]);
    rig.step();
    push(&mut rig.bench, rig.aw, &[LiteAddress { addr: (BAR2_AT as u64).into() }]);
    assert_eq!(valid_after(&mut rig, "store$valid"), Some(2), "they come apart");
}

#[test]
fn a_register_has_its_value_when_the_store_is_answered() {
    let mut rig = Rig::default();
    rig.bench[rig.b].pause(always());
    rig.push_store(events::BLOCK.address(&events::CONSUMER) & !7, 7 << 32, 0xf0);
    rig.run(2);
    assert!(rig.port::<bool>("b$valid") && rig.port::<bool>("consumer_stored"));
    assert_eq!(u64::from(rig.port::<rust_hdl::prelude::Bits<32>>("consumer")), 7);
    rig.step();
    assert!(rig.port::<bool>("b$valid") && !rig.port::<bool>("consumer_stored"), "a pulse is one cycle long");
}

#[test]
fn a_store_takes_two_cycles_and_a_read_four_at_the_same_time() {
    let mut rig = Rig::default();
    for index in 0..20 {
        rig.push_store(BAR2_AT + 8 * index, 1, 0xff);
    }
    push(&mut rig.bench, rig.ar, &[LiteAddress { addr: 0.into() }; 10]);
    rig.run(40);
    assert_eq!((rig.bench[rig.b].received().len(), rig.bench[rig.r].received().len()), (20, 10));
    rig.reset(0);
    for index in 0..20 {
        rig.push_store(BAR2_AT + 8 * index, 1, 0xff);
    }
    push(&mut rig.bench, rig.ar, &[LiteAddress { addr: 0.into() }; 10]);
    rig.run(38);
    assert_eq!((rig.bench[rig.b].received().len(), rig.bench[rig.r].received().len()), (19, 9));
}

#[test]
fn reads_and_stores_at_the_same_time_do_not_disturb_each_other() {
    let mut rig = Rig::default();
    let half = |seed| Pause::Random { seed, percent: 50 };
    rig.pause([half(1), half(2), NEVER, half(3), half(4), half(5), NEVER, NEVER]);
    let input = mailbox::BLOCK.address(&mailbox::INPUT);
    let fixed =
        [0x00, 0x08, 0x18, 0x100, 0x118, 0x300, 0x708].map(|address| (address, rig.bars.load(address)));
    let mut expected = Vec::new();
    for _ in 0..300 {
        let (word, data) = (small(&mut rig.rng, 16), rig.rng.next_u64());
        let strb = rig.rng.next_u32().to_le_bytes()[0];
        rig.push_store(input + 8 * word, data, strb);
        assert_eq!(rig.bars.store(input + 8 * word, data, strb, true), None);
        let (address, value) = fixed[small(&mut rig.rng, fixed.len())];
        push(&mut rig.bench, rig.ar, &[LiteAddress { addr: (address as u64).into() }]);
        expected.push(value);
    }
    rig.run(4_000);
    let found: Vec<u64> =
        collect::<LiteRead>(&mut rig.bench, rig.r).iter().map(|read| read.data.into()).collect();
    assert_eq!((found, rig.bench[rig.b].take().len()), (expected, 300));
    for word in 0..16 {
        rig.load(input + 8 * word);
    }
}

#[test]
fn address_and_data_of_a_store_come_in_any_order() {
    let mut rig = Rig::default();
    for (late_address, late_data) in [(always(), NEVER), (NEVER, always())] {
        rig.bench[rig.aw].pause(late_address);
        rig.bench[rig.w].pause(late_data);
        rig.push_store(events::BLOCK.address(&events::BASE), 0x7000, 0xff);
        rig.run(10);
        assert!(rig.bench[rig.b].received().is_empty(), "half a store is none");
        assert!(rig.port::<bool>("busy"));
        rig.bench[rig.aw].pause(NEVER);
        rig.bench[rig.w].pause(NEVER);
        rig.run(3);
        assert_eq!(rig.bench[rig.b].take().len(), 1);
        assert_eq!(rig.raw_load(events::BLOCK.address(&events::BASE)), 0x7000);
        rig.reset(0);
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::default();
    rig.put(&events::BLOCK, &events::CONFIG, 0, 1 << 31 | 5);
    rig.put(&moderation::BLOCK, &moderation::VECTOR, 3, 0x1_0005_0006);
    rig.put(&mailbox::BLOCK, &mailbox::INPUT, 0, 0x0101);
    rig.put(&mailbox::BLOCK, &mailbox::GO, 0, 1);
    rig.lose();
    // A store and a read that wait for their answers to be taken, and a page store that waits to be.
    rig.pause([NEVER, NEVER, NEVER, always(), always(), always(), NEVER, NEVER]);
    rig.push_store(BAR2_AT, 1, 0xff);
    push(&mut rig.bench, rig.ar, &[LiteAddress { addr: 0.into() }]);
    rig.run(5);
    assert!(["b$valid", "r$valid", "store$valid", "busy"].iter().all(|port| rig.port(port)));
    rig.pause([NEVER; 8]);
    rig.reset(4);
    for port in ["b$valid", "r$valid", "store$valid", "busy", "event_enable", "restart", "consumer_stored"] {
        assert!(!rig.port::<bool>(port), "{port}");
    }
    for (.., address) in elements() {
        rig.load(address);
        rig.compare_ports();
    }
    agree(&mut rig, 5, 300);
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "control",
        Control::default,
        clock,
        [
            aw.payload,
            aw.valid,
            w.payload,
            w.valid,
            b.ready,
            ar.payload,
            ar.valid,
            r.ready,
            store.ready,
            ready,
            link,
            producer,
            overflows,
            vector_index,
            destination,
            kernel_invoked,
            kernel_succeeded,
            kernel_failed,
            kernel_expired,
            kernel_aborted
        ]
    );
    let stations =
        differential!("stations", Stations::default, clock, [reset, address, group, member, destination]);
    let groups = differential!("groups", GroupTable::default, clock, [reset, place, store]);
    assert_agree([case, stations, groups], 300);
}
