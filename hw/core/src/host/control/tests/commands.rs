//! Commands, with owners that take their time.

use stroma_abi::desc::mailbox::{Command, CommandStatus, ObjectKind, Reply, Verb};
use stroma_abi::regs::map::{identity, mailbox};
use stroma_verilate::{Pause, SplitMix64};

use super::super::model::Effect;
use super::super::rig::Rig;
use super::{NEVER, always};
use crate::state::command::ObjectReply;
use crate::testing::{noise, push};

const BUSY: u64 = 1;
const DONE: u64 = 2;

fn state(rig: &mut Rig) -> u64 {
    rig.fetch(&mailbox::BLOCK, &mailbox::STATE, 0)
}

fn go(rig: &mut Rig) {
    rig.put(&mailbox::BLOCK, &mailbox::GO, 0, 1);
}

/// Writes a command with a random body.
fn write(rig: &mut Rig, object_kind: u8) -> Command {
    let head = Command {
        verb: Verb::Modify as u8,
        object_kind,
        modifier: 0xbeef,
        object: 0x0012_3456,
        attributes: 0x0f0e_0d0c_0b0a_0908,
    };
    for (index, word) in head.to_bytes().chunks(4).enumerate() {
        let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
        rig.put(&mailbox::BLOCK, &mailbox::INPUT, index, word.into());
    }
    for index in 4..32 {
        let word = rig.rng.next_u32();
        rig.put(&mailbox::BLOCK, &mailbox::INPUT, index, word.into());
    }
    head
}

/// Reads all of the reply, which the model checks; its head.
fn reply(rig: &mut Rig) -> Reply {
    let mut bytes = Vec::new();
    for index in 0..32 {
        let word = u32::try_from(rig.fetch(&mailbox::BLOCK, &mailbox::OUTPUT, index)).expect("32 bits");
        bytes.extend(word.to_le_bytes());
    }
    Reply::parse(&bytes).expect("long enough")
}

#[test]
fn each_kind_goes_to_its_owner_and_the_reply_names_the_command() {
    let mut rig = Rig::default();
    let mut rng = SplitMix64::new(9);
    for (owner, (kind, _)) in ObjectKind::ALL.iter().enumerate() {
        for (pause, delay) in [(NEVER, 0), (Pause::Burst { go: 1, pause: 30 }, 100)] {
            for sink in rig.command {
                rig.bench[sink].pause(pause.clone());
            }
            let head = write(&mut rig, *kind as u8);
            go(&mut rig);
            assert_eq!(state(&mut rig), BUSY, "`done` of the command before is gone");
            assert!(rig.port::<bool>("busy"));
            rig.run(delay);
            assert_eq!(state(&mut rig), BUSY);
            let answer: ObjectReply = noise(&mut rng);
            rig.answer(owner, &answer);
            rig.bars.reply(&answer);
            assert_eq!(state(&mut rig), DONE);
            assert!(!rig.port::<bool>("busy"));
            let found = reply(&mut rig);
            assert_eq!((found.token, found.object), (head.modifier, head.object));
            assert_eq!(u64::from(found.status), u64::from(answer.status));
            assert_eq!(u64::from(found.field), u64::from(answer.field));
        }
    }
}

#[test]
fn a_reply_is_taken_in_the_second_cycle_of_its_offer_and_then_the_command_is_done() {
    let mut rig = Rig::default();
    write(&mut rig, ObjectKind::QueuePair as u8);
    go(&mut rig);
    rig.run(5);
    push(&mut rig.bench, rig.reply[0], &[ObjectReply::default()]);
    let after = [(); 2].map(|()| {
        rig.step();
        (rig.bench[rig.reply[0]].is_empty(), rig.port::<bool>("runs"))
    });
    assert_eq!(after, [(false, true), (true, false)]);
}

#[test]
fn a_kind_without_an_owner_is_answered_at_once() {
    let mut rig = Rig::default();
    for kind in [0, 7, 0xff] {
        let head = write(&mut rig, kind);
        go(&mut rig);
        assert!(!rig.port::<bool>("busy"));
        assert_eq!(state(&mut rig), DONE);
        let found = reply(&mut rig);
        assert_eq!((found.token, found.object, found.field), (head.modifier, head.object, 0));
        assert_eq!(found.status, CommandStatus::UnknownKind as u16);
    }
    rig.run(50);
    assert!(rig.effects.is_empty(), "no owner was asked");
}

#[test]
fn while_a_command_runs_a_second_go_and_stores_to_the_input_are_ignored() {
    let mut rig = Rig::default();
    write(&mut rig, ObjectKind::CompletionQueue as u8);
    rig.bench[rig.command[1]].pause(always());
    // The owner does not take it yet: what is on offer must not change.
    rig.raw_store(mailbox::BLOCK.address(&mailbox::GO), 1 << 32, 0xf0);
    let expected = rig.bars.store(mailbox::BLOCK.address(&mailbox::GO), 1 << 32, 0xf0, true);
    for index in 0..32 {
        rig.put(&mailbox::BLOCK, &mailbox::INPUT, index, 0xffff_ffff);
    }
    go(&mut rig);
    assert_eq!(state(&mut rig), BUSY);
    rig.bench[rig.command[1]].pause(NEVER);
    rig.run(3);
    assert_eq!(std::mem::take(&mut rig.effects), Vec::from_iter(expected));
    // It has it now, and the same holds.
    go(&mut rig);
    rig.put(&mailbox::BLOCK, &mailbox::INPUT, 3, 0xffff_ffff);
    assert_eq!(state(&mut rig), BUSY);
    for index in 0..32 {
        rig.fetch(&mailbox::BLOCK, &mailbox::INPUT, index);
    }
    rig.answer(1, &ObjectReply::default());
    rig.bars.reply(&ObjectReply::default());
    assert_eq!(state(&mut rig), DONE);
    rig.run(20);
    assert!(rig.effects.is_empty(), "no second command came of it");
    rig.put(&mailbox::BLOCK, &mailbox::INPUT, 3, 5);
    assert_eq!(rig.fetch(&mailbox::BLOCK, &mailbox::INPUT, 3), 5);
}

#[test]
fn before_the_card_is_ready_nothing_runs() {
    let mut rig = Rig::default();
    rig.status(false, false);
    for kind in [1, 9] {
        write(&mut rig, kind);
        go(&mut rig);
        assert_eq!(state(&mut rig), 0);
    }
    rig.status(true, false);
    rig.run(10);
    assert_eq!((state(&mut rig), rig.effects.len()), (0, 0), "a go is not kept for later");
}

#[test]
fn a_reply_that_nobody_waits_for_changes_nothing() {
    let mut rig = Rig::default();
    let stray: ObjectReply = noise(&mut SplitMix64::new(3));
    rig.answer(0, &stray);
    assert_eq!(state(&mut rig), 0);
    write(&mut rig, ObjectKind::Region as u8);
    go(&mut rig);
    rig.answer(0, &stray);
    rig.answer(1, &stray);
    assert_eq!(state(&mut rig), BUSY, "others do not answer for the owner");
    rig.answer(2, &stray);
    rig.bars.reply(&stray);
    assert_eq!(state(&mut rig), DONE);
    reply(&mut rig);
}

#[test]
fn only_a_one_goes() {
    let mut rig = Rig::default();
    write(&mut rig, ObjectKind::Region as u8);
    for (data, strb) in [(0xffff_fffe_0000_0000, 0xf0), (1 << 32, 0x0f), (1 << 32, 0xe0)] {
        rig.store(mailbox::BLOCK.address(&mailbox::GO), data, strb);
        assert_eq!(state(&mut rig), 0);
    }
}

#[test]
fn a_restart_forgets_the_command_that_runs() {
    let mut rig = Rig::default();
    write(&mut rig, ObjectKind::QueuePair as u8);
    go(&mut rig);
    rig.put(&identity::BLOCK, &identity::CONTROL, 0, 1);
    assert_eq!(state(&mut rig), 0);
    assert!(!rig.port::<bool>("busy"));
    rig.answer(0, &noise(&mut SplitMix64::new(3)));
    assert_eq!(state(&mut rig), 0, "its reply comes too late");
    write(&mut rig, ObjectKind::QueuePair as u8);
    go(&mut rig);
    assert_eq!(state(&mut rig), BUSY);
    assert_eq!(rig.effects, Vec::<Effect>::new());
}
