//! Garbage: whatever stands in a ring or is stored to a page, the card goes on, and others do not notice.

use stroma_abi::desc::{Body, QueuePairState, Status, WorkOp, wqe::UNIT};
use stroma_abi::regs::map::{BAR0, DOORBELL_PAGE, events, identity, mailbox, moderation};
use stroma_device::BarId;
use stroma_tests::rig::{Completions, Queue, Rig, head, status};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

/// A queue pair nobody speaks to still works.
fn works(rig: &Rig, queue: &mut Queue, completions: &mut Completions) {
    queue.put(head(WorkOp::Nop), Body::Nop);
    rig.doorbell(queue);
    assert_eq!(status(&rig.completion(completions)), Status::Success);
    rig.arm(completions, 0);
}

fn small(random: &mut SplitMix64, below: u64) -> usize {
    usize::try_from(random.below(below)).expect("small")
}

fn rings(profile: Profile) {
    let mut rig = Rig::new(profile);
    let (mut own, mut completions) = (rig.completions(0, 4, 0), rig.completions(1, 8, 0));
    let mut bystander = rig.queue(1, &own, 1);
    let mut random = SplitMix64::new(17);
    for qpn in 10..60 {
        let mut queue = rig.queue(qpn, &completions, 2);
        for _ in 0..=random.below(40) {
            let mut unit: Vec<u8> = (0..UNIT).map(|_| random.next_u64().to_le_bytes()[0]).collect();
            // Mostly with a head that goes further than the op-code.
            if random.below(4) > 0 {
                unit[0] = [WorkOp::Nop, WorkOp::Gather, WorkOp::Scatter][small(&mut random, 3)] as u8;
                unit[1] &= 0x0b;
                unit[2] = unit[2] & 0xf0 | u8::try_from(1 + random.below(3)).expect("small");
                unit[12..14].copy_from_slice(&queue.producer.to_le_bytes());
            }
            queue.put_bytes(&unit);
        }
        rig.doorbell(&queue);
        rig.settle();
        let mut statuses = Vec::new();
        while let Some(cqe) = rig.poll(&mut completions) {
            assert_eq!(cqe.queue_pair.value(), qpn);
            statuses.push(status(&cqe));
        }
        rig.arm(&completions, 0);
        // One failure at most, then nothing but flushed ones; and a failure is an error of the queue pair.
        let good = statuses.iter().take_while(|status| **status == Status::Success).count();
        let is_flushed = |status: &Status| *status == Status::Flushed;
        assert!(statuses.iter().skip(good + 1).all(is_flushed), "{qpn}: {statuses:?}");
        let expected =
            if good < statuses.len() { QueuePairState::Error } else { QueuePairState::ReadyToSend };
        assert_eq!(rig.state_of(qpn), expected, "{qpn}: {statuses:?}");
        works(&rig, &mut bystander, &mut own);
    }
    assert_eq!(rig.world(|world| world.card(0).iommu().faults().len()), 0, "nothing was touched");
}

#[test]
fn random_requests_end_and_harm_nobody() {
    widths!().into_iter().for_each(rings);
}

fn stores(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut own = rig.completions(0, 4, 0);
    let mut bystander = rig.queue(1, &own, 1);
    let mut random = SplitMix64::new(18);
    // What may restart the card, or send its events anywhere, is left out.
    let dangerous = [identity::BLOCK, events::BLOCK, moderation::BLOCK, mailbox::BLOCK];
    for _ in 0..12 {
        for _ in 0..150 {
            let value = match random.below(3) {
                0 => random.next_u64(),
                1 => random.next_u64() & 0xff_ff00_0003,
                _ => random.next_u64() & 0x3_0000_0000_0000 | 0x100_0000,
            };
            if random.below(4) == 0 {
                let place = small(&mut random, BAR0.len as u64 / 8) * 8;
                if !dangerous.iter().any(|block| (block.offset..block.offset + block.len).contains(&place)) {
                    rig.backend().write64(BarId::Bar0, place, value).unwrap();
                }
                continue;
            }
            // Every page but the bystander's.
            let page = 1 + small(&mut random, profile.capacity().doorbell_pages() as u64 - 1);
            let offset =
                [small(&mut random, 6) * 8, 0x100 + small(&mut random, 128) * 8, small(&mut random, 512) * 8];
            let place = page * DOORBELL_PAGE + offset[small(&mut random, 3)];
            if random.below(8) == 0 {
                let half = u32::try_from(value & 0xffff_ffff).expect("32 bits");
                rig.backend().write32(BarId::Bar2, place, half).unwrap();
            } else {
                rig.backend().write64(BarId::Bar2, place, value).unwrap();
            }
        }
        rig.settle();
        works(&rig, &mut bystander, &mut own);
    }
    assert_eq!(rig.world(|world| world.card(0).iommu().faults().len()), 0, "nothing was touched");
}

#[test]
fn random_stores_to_foreign_pages_and_registers_harm_nobody() {
    widths!().into_iter().for_each(stores);
}
