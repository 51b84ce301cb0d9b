//! Every register of the map: what it reads after reset, and what becomes of a store.

use stroma_abi::regs::Access;
use stroma_abi::regs::map::{
    BAR0, BAR2_AT, counters, events, groups, identity, moderation, port, rx_classes,
};

use super::super::live::{COUNTS, HEAD};
use super::super::model::{elements, named};
use super::super::rig::Rig;

#[test]
fn every_register_reads_its_reset_value() {
    let mut rig = Rig::default();
    let mut seen = 0;
    for (block, reg, address) in elements() {
        let index = (address - block.address(reg)) / reg.stride;
        let found = rig.fetch(block, reg, index);
        if let Some(reset) = reg.reset {
            assert_eq!(found, reset, "{}.{}[{index}]", block.name, reg.name);
            seen += 1;
        }
    }
    assert!(seen > 150, "only {seen} registers have a reset value");
}

#[test]
fn every_register_takes_stores_as_its_access_says() {
    let mut rig = Rig::default();
    for (block, reg, address) in elements() {
        let index = (address - block.address(reg)) / reg.stride;
        let before = rig.fetch(block, reg, index);
        // All ones but the lowest, which would start something.
        rig.put(block, reg, index, u64::MAX >> (64 - reg.width) & !1);
        let expected = match (reg.access, reg.name) {
            (Access::ReadOnly, _) => before,
            (Access::WriteOnly | Access::WriteOneToClear, _) => 0,
            // There is no ring of this size.
            (Access::ReadWrite, "config") => 0x1f1e,
            (Access::ReadWrite, _) => named(block, reg) & !1,
        };
        assert_eq!(rig.fetch(block, reg, index), expected, "{}.{}[{index}]", block.name, reg.name);
    }
}

#[test]
fn what_is_no_register_reads_zero_and_takes_nothing() {
    let mut rig = Rig::default();
    let end = BAR0.blocks.last().map_or(0, |block| block.offset + block.len) + 0x100;
    let taken: Vec<usize> =
        elements().flat_map(|(_, reg, address)| [address / 4, (address + reg.width / 8 - 1) / 4]).collect();
    for half in (0..end / 4).filter(|half| !taken.contains(half)) {
        let (address, shift) = (4 * half, half % 2 * 32);
        rig.store(address, u64::MAX, if shift == 0 { 0x0f } else { 0xf0 });
        assert_eq!(rig.load(address) >> shift & 0xffff_ffff, 0, "{address:#x}");
    }
    for address in [0x1_0000, 0x10_0000, BAR2_AT - 8, BAR2_AT, BAR2_AT + 0x18, 2 * BAR2_AT - 8] {
        assert_eq!(rig.load(address), 0, "{address:#x}");
        rig.store(address, u64::MAX, 0xff);
        assert_eq!(rig.load(address), 0, "{address:#x}");
    }
}

#[test]
fn counters_have_the_order_of_the_map() {
    let mut rig = Rig::default();
    for count in 0..COUNTS {
        rig.drive(&format!("counts${count}"), (count as u64 + 1) << 40 | 5);
    }
    let names: Vec<_> = counters::BLOCK.regs[HEAD..].iter().map(|reg| reg.name).collect();
    assert_eq!((names.len(), names[0], names[29]), (30, "tx_frames", "raw_sent"));
    for (value, reg) in (1..).zip(&counters::BLOCK.regs[HEAD..]) {
        assert_eq!(rig.raw_load(counters::BLOCK.address(reg)), value << 40 | 5, "{}", reg.name);
    }
}

#[test]
fn class_counters_are_shown_under_their_class() {
    let mut rig = Rig::default();
    for class in 0..16 {
        rig.drive(&format!("class_counts${class}"), 0xffff_0000 | class);
    }
    for class in 0..16 {
        let found = rig.raw_load(rx_classes::BLOCK.offset + rx_classes::FRAMES.element(class));
        assert_eq!(found, 0xffff_0000 | class as u64);
    }
}

#[test]
fn a_long_register_read_in_halves_is_of_one_moment() {
    let mut rig = Rig::default();
    let time = identity::BLOCK.address(&identity::TIME);
    let other = rx_classes::BLOCK.address(&rx_classes::FRAMES);
    let now =
        |rig: &mut Rig, high: u64| rig.show("time_", &identity::BLOCK, &identity::TIME, 0, high << 32 | 1);
    let high = |rig: &mut Rig, address: usize| rig.load(address | 4) >> 32;

    now(&mut rig, 1);
    rig.load(time);
    now(&mut rig, 2);
    assert_eq!(high(&mut rig, time), 1, "the high half as it was");
    assert_eq!(high(&mut rig, time), 2, "once");

    rig.load(time);
    now(&mut rig, 3);
    assert_eq!(high(&mut rig, other), 0, "of another register nothing was kept");
    assert_eq!(high(&mut rig, time), 3, "another read forgets");

    rig.load(time);
    now(&mut rig, 4);
    rig.load(BAR2_AT);
    assert_eq!(high(&mut rig, time), 4, "a read of a page forgets, too");

    rig.load(time);
    now(&mut rig, 5);
    rig.put(&moderation::BLOCK, &moderation::VECTOR, 0, 0);
    assert_eq!(high(&mut rig, time), 5, "a store to BAR0 forgets");

    rig.load(time);
    now(&mut rig, 6);
    rig.store(BAR2_AT, 1, 0xff);
    assert_eq!(high(&mut rig, time), 5, "a doorbell does not");
}

#[test]
fn the_ring_keeps_its_shape_while_it_is_enabled() {
    const ENABLE: u64 = 1 << 31;
    let mut rig = Rig::default();
    let config = |rig: &mut Rig| rig.fetch(&events::BLOCK, &events::CONFIG, 0);
    let base = |rig: &mut Rig| rig.fetch(&events::BLOCK, &events::BASE, 0);
    let set = |rig: &mut Rig, value| rig.put(&events::BLOCK, &events::CONFIG, 0, value);
    for log in 0..32 {
        set(&mut rig, ENABLE | 9 << 8 | log);
        let enabled = if (4..=16).contains(&log) { ENABLE } else { 0 };
        assert_eq!(config(&mut rig), enabled | 9 << 8 | log, "log {log}");
        set(&mut rig, 0);
        assert_eq!(config(&mut rig) & ENABLE, 0);
    }
    set(&mut rig, 3 << 8 | 6);
    rig.put(&events::BLOCK, &events::BASE, 0, 0x1234_5678_9abc_dfff);
    assert_eq!((config(&mut rig), base(&mut rig)), (3 << 8 | 6, 0x1234_5678_9abc_d000));
    set(&mut rig, ENABLE | 4 << 8 | 7);
    set(&mut rig, ENABLE | 5 << 8 | 8);
    rig.put(&events::BLOCK, &events::BASE, 0, 0x5000);
    assert_eq!((config(&mut rig), base(&mut rig)), (ENABLE | 4 << 8 | 7, 0x1234_5678_9abc_d000));
    set(&mut rig, 5 << 8 | 8);
    assert_eq!(config(&mut rig), 4 << 8 | 7, "the store that disables changes nothing else");
    set(&mut rig, 5 << 8 | 8);
    rig.put(&events::BLOCK, &events::BASE, 0, 0x5000);
    assert_eq!((config(&mut rig), base(&mut rig)), (5 << 8 | 8, 0x5000));
}

#[test]
fn a_lost_event_is_told_until_a_one_is_stored() {
    let mut rig = Rig::default();
    let lost = |rig: &mut Rig| rig.fetch(&events::BLOCK, &events::OVERFLOW, 0);
    rig.lose();
    assert_eq!(lost(&mut rig), 1);
    rig.put(&events::BLOCK, &events::OVERFLOW, 0, 0xffff_fffe);
    assert_eq!(lost(&mut rig), 1, "only a one clears");
    rig.put(&events::BLOCK, &events::OVERFLOW, 0, 1);
    assert_eq!(lost(&mut rig), 0);
    // The store takes effect in its second cycle; an event is lost in that one.
    rig.lose();
    rig.push_store(events::BLOCK.address(&events::OVERFLOW), 1, 0x0f);
    rig.step();
    rig.lose();
    rig.run(3);
    rig.bench[rig.b].take();
    assert_eq!(lost(&mut rig), 1, "nothing is lost of what is lost");
}

#[test]
fn a_restart_clears_what_the_host_has_set_and_leaves_the_bus_alone() {
    let mut rig = Rig::default();
    rig.put(&events::BLOCK, &events::BASE, 0, 0x5000);
    rig.put(&events::BLOCK, &events::CONFIG, 0, 1 << 31 | 5);
    rig.put(&events::BLOCK, &events::CONSUMER, 0, 77);
    rig.put(&moderation::BLOCK, &moderation::VECTOR, 31, 0x1_0005_0006);
    rig.put(&port::BLOCK, &port::MAC, 0, 0x0605_0403_0201);
    rig.put(&port::BLOCK, &port::RAW_QUEUE_PAIR, 0, 1 << 31 | 0x12_3456);
    assert!(rig.port::<bool>("raw_enable"));
    rig.put(&port::BLOCK, &port::ADDRESS_LOW, 15, 0x0807_0605_0403_0201);
    rig.put(&port::BLOCK, &port::ADDRESS_HIGH, 15, 0x100f_0e0d_0c0b_0a09);
    for group in [0, 3, 15] {
        rig.put(&groups::BLOCK, &groups::LOW, group, 0x0807_0605_0403_02ff);
        rig.put(&groups::BLOCK, &groups::HIGH, group, 0x100f_0e0d_0c0b_0a00 | (group as u64 / 15));
        rig.put(&groups::BLOCK, &groups::MEMBER, group, 1 << 31 | 0x12_3450 | group as u64);
    }
    (0..64).for_each(|_| rig.compare_ports());
    rig.lose();
    rig.put(&identity::BLOCK, &identity::CONTROL, 0, 2);
    assert_eq!(rig.fetch(&events::BLOCK, &events::CONSUMER, 0), 77, "another bit restarts nothing");
    rig.put(&identity::BLOCK, &identity::CONTROL, 0, 1);
    for (.., address) in elements() {
        rig.load(address);
    }
    (0..64).for_each(|_| rig.compare_ports());
    assert!(!rig.port::<bool>("event_enable") && !rig.port::<bool>("raw_enable"));
}
