//! What only a fake card can be made to do or to show.

use std::{sync::Arc, time::Duration};

use stroma_abi::{
    Qpn,
    desc::{CommandStatus, Cqe, Event, QueuePair, Region, Status},
    regs::map::{CNP_INTERVAL_US, catalogue, events, kernels},
};
use stroma_device::{Backend, BarId, Iova, mock::Fault};
use stroma_verbs::{
    Access, AsyncEvent, CompletionChannel, CompletionQueue, Device, DoorbellPage, Error, Kernel,
    KernelCounters, KernelLimits, MemoryRegion, ObjectKind, ProtectionDomain, Verb, WorkCompletion,
};

use crate::Fake;

fn open(fake: &Arc<Fake>) -> Arc<Device> {
    Device::builder().timeout(Duration::from_millis(20)).open(fake.clone()).unwrap()
}

fn ready(device: &Arc<Device>) -> (Arc<CompletionQueue>, stroma_verbs::QueuePair) {
    let completions = device.completion_queue(16).unwrap();
    let queue_pair = device.protection_domain().unwrap().queue_pair(&completions).build().unwrap();
    queue_pair.activate().unwrap();
    (completions, queue_pair)
}

#[test]
fn every_object_can_be_used_by_every_thread() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Device>();
    shared::<DoorbellPage>();
    shared::<ProtectionDomain>();
    shared::<MemoryRegion>();
    shared::<CompletionQueue>();
    shared::<CompletionChannel>();
    shared::<stroma_verbs::QueuePair>();
    shared::<Error>();
}

#[test]
fn a_batch_rings_once_and_pushes_ring_none() {
    let fake = Fake::eager();
    let device = open(&fake);
    let (_completions, queue_pair) = ready(&device);
    let rung = || {
        let engine = fake.engine();
        (engine.doorbells, engine.pushes)
    };
    queue_pair.start().nop().nop().nop().post().unwrap();
    assert_eq!(rung(), (1, 0));
    queue_pair.start().push(true).nop().nop().post().unwrap();
    assert_eq!(rung(), (1, 2));
    queue_pair.start().push(true).nop().inline_gather(&[0; 225], 0, 0).post().unwrap();
    assert_eq!(rung(), (2, 2), "five units do not fit a window");
}

#[test]
fn pushes_take_the_windows_in_turn() {
    let fake = Fake::eager();
    let device = open(&fake);
    let (_completions, queue_pair) = ready(&device);
    let before = fake.mock().stores().len();
    for _ in 0..5 {
        queue_pair.start().push(true).nop().post().unwrap();
    }
    let stores = fake.mock().stores();
    let windows: Vec<usize> =
        stores[before..].iter().step_by(9).map(|store| (store.offset - 0x100) / 256).collect();
    assert_eq!(windows, [0, 1, 2, 3, 0]);
}

#[test]
fn a_refused_command_names_the_field() {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let completions = device.completion_queue(16).unwrap();
    fake.refuse(CommandStatus::BadField, QueuePair::SEND_LOG.byte);
    let refused = domain.queue_pair(&completions).build().unwrap_err();
    assert_eq!(refused.to_string(), "Create of QueuePair 2: the card says BadField in field `send_log`");
    fake.refuse(CommandStatus::BadField, Region::LIST.byte);
    let refused = domain.allocate(4096, Access::LOCAL_READ).unwrap_err();
    assert!(matches!(refused, Error::CommandRefused { field: Some("list"), kind: ObjectKind::Region, .. }));
    fake.refuse(CommandStatus::Exists, 0);
    let refused = device.completion_queue(16).unwrap_err();
    assert_eq!(refused.to_string(), "Create of CompletionQueue 1: the card says Exists");
    // Nothing of it is left: number, addresses and memory are free again.
    assert_eq!(domain.queue_pair(&completions).build().unwrap().number(), 2);
    assert_eq!(device.completion_queue(16).unwrap().number(), 1);
}

#[test]
fn a_card_that_does_not_answer_keeps_what_it_was_given() {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let region = domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
    let base = fake.engine().regions[&0].list;
    fake.engine().is_deaf = true;
    let refused = region.deregister().unwrap_err();
    assert!(matches!(refused, Error::CommandTimedOut { verb: Verb::Destroy, number: 0, .. }), "{refused}");
    fake.mock().dma_write(Iova(base), b"late").unwrap();
    let refused = domain.allocate(4096, Access::LOCAL_READ).unwrap_err();
    assert!(matches!(refused, Error::CommandTimedOut { verb: Verb::Create, number: 1, .. }), "{refused}");
    fake.engine().is_deaf = false;
    // The last command has ended after all: the mailbox is in use again, the numbers are not.
    let state = stroma_abi::regs::map::mailbox::BLOCK.address(&stroma_abi::regs::map::mailbox::STATE);
    fake.mock().poke32(BarId::Bar0, state, 2);
    assert_eq!(domain.allocate(4096, Access::LOCAL_READ).unwrap().lkey() >> 8, 2);
}

#[test]
fn numbers_run_out_and_come_back() {
    let fake = Fake::eager();
    let device = open(&fake);
    let queues: Vec<_> = (0..8).map(|_| device.completion_queue(16).unwrap()).collect();
    assert_eq!(device.completion_queue(16).unwrap_err().to_string(), "all 8 completion queues are in use");
    drop(queues);
    assert_eq!(device.completion_queue(16).unwrap().number(), 0);
    let pages: Vec<_> = (0..2).map(|_| device.doorbell_page().unwrap().number()).collect();
    assert_eq!(pages, [1, 1], "a page is free when nobody holds it");
    let _held = (device.doorbell_page().unwrap(), device.doorbell_page().unwrap());
    assert!(matches!(device.doorbell_page(), Err(Error::NoneLeft { what: "doorbell pages", capacity: 3 })));
}

#[test]
fn sizes_beyond_the_card_are_refused() {
    let device = open(&Fake::eager());
    let refused = device.completion_queue((1 << 20) + 1).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { max: 0x10_0000, .. }), "{refused}");
    let completions = device.completion_queue(1).unwrap();
    assert_eq!(completions.size(), 16);
    let domain = device.protection_domain().unwrap();
    let refused = domain.queue_pair(&completions).send_units((1 << 15) + 1).build().unwrap_err();
    assert!(matches!(refused, Error::TooLarge { .. }), "{refused}");
    let queue_pair = domain.queue_pair(&completions).send_units(17).build().unwrap();
    assert_eq!(queue_pair.send_units(), 32);
    queue_pair.activate().unwrap();
    let pieces = vec![stroma_verbs::Sge::default(); 17];
    let refused = queue_pair.start().gather(&pieces, 0, 0).post().unwrap_err();
    assert!(matches!(refused, Error::TooManyPieces { position: 0, count: 17, max: 16 }), "{refused}");
}

#[test]
fn objects_of_two_devices_do_not_mix() {
    let (here, there) = (open(&Fake::eager()), open(&Fake::eager()));
    let completions = there.completion_queue(16).unwrap();
    let refused = here.protection_domain().unwrap().queue_pair(&completions).build().unwrap_err();
    assert_eq!(refused.to_string(), "completion queue belongs to another device");
    let page = there.doorbell_page().unwrap();
    assert!(here.build_completion_queue(16).doorbells(&page).build().is_err());
    let channel = there.completion_channel();
    assert!(here.build_completion_queue(16).channel(&channel).build().is_err());
}

#[test]
fn a_completion_of_nothing_is_an_error_and_not_the_end() {
    let fake = Fake::eager();
    let device = open(&fake);
    let (completions, queue_pair) = ready(&device);
    let base = fake.engine().completion_queues[&0].base;
    let queue_pair_number = Qpn::new(queue_pair.number());
    let entry = Cqe { queue_pair: queue_pair_number, opcode: 1, index: 5, phase: true, ..Cqe::default() };
    fake.mock().dma_write(Iova(base), &entry.to_bytes()).unwrap();
    fake.engine().completion_queues.get_mut(&0).unwrap().producer = 1;
    queue_pair.start().wr_id(3).signaled().nop().post().unwrap();
    let mut room = [WorkCompletion::default(); 4];
    assert_eq!(completions.poll(&mut room).unwrap(), 1, "what is good comes first");
    assert_eq!(room[0].wr_id, 3);
    let refused = completions.poll(&mut room).unwrap_err();
    assert!(matches!(refused, Error::BadCompletion { reason: "not posted", index: 5, .. }), "{refused}");
    assert_eq!(completions.poll(&mut room).unwrap(), 0);
}

#[test]
fn lost_events_announce_every_queue() {
    let fake = Fake::eager();
    let device = open(&fake);
    let channel = device.completion_channel();
    let completions = device.build_completion_queue(16).channel(&channel).build().unwrap();
    let mut engine = fake.engine();
    // 8 queue pairs, 8 completion queues and 32 spare entries: 64.
    for _ in 0..65 {
        engine.events.write(fake.mock(), Event::QueuePairError, 3, Status::General as u8);
    }
    drop(engine);
    let told = channel.wait(Duration::from_secs(5)).unwrap().expect("nobody knows what was lost");
    assert!(Arc::ptr_eq(&told, &completions));
    let one = AsyncEvent::QueuePairError { queue_pair: 3, status: Some(Status::General) };
    for _ in 0..64 {
        assert_eq!(device.poll_async_event().unwrap(), Some(one));
    }
    assert_eq!(device.poll_async_event().unwrap(), Some(AsyncEvent::Lost));
    assert_eq!(device.poll_async_event().unwrap(), None);
    let overflow = events::BLOCK.address(&events::OVERFLOW);
    assert_eq!(fake.read32(BarId::Bar0, overflow).unwrap(), 0, "the driver has cleared it");
}

#[test]
fn everything_is_given_back_in_the_end() {
    let fake = Fake::eager();
    let device = open(&fake);
    let (completions, queue_pair) = ready(&device);
    let region = queue_pair.domain().allocate(4096, Access::LOCAL_WRITE).unwrap();
    let engine = fake.engine();
    let places = [
        engine.queue_pairs[&queue_pair.number()].body.send_base,
        engine.completion_queues[&0].base,
        engine.regions[&0].list,
    ];
    drop(engine);
    // In an order that would end parents first, if children did not hold them.
    drop((device, completions));
    queue_pair.start().nop().post().unwrap();
    drop((queue_pair, region));
    for place in places {
        assert!(fake.mock().dma_read(Iova(place), &mut [0]).is_err(), "{place:#x} is not mapped");
    }
    assert_eq!(Arc::strong_count(&fake), 1);
}

#[test]
fn memory_that_cannot_be_mapped_costs_nothing() {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    fake.mock().fail(Fault::Map);
    assert!(matches!(domain.allocate(4096, Access::LOCAL_READ), Err(Error::Device(_))));
    assert!(matches!(domain.allocate(4096, Access::REMOTE_WRITE), Err(Error::BadAccess { access: 2 })));
    assert!(fake.engine().regions.is_empty());
}

#[test]
fn opening_and_closing_reset_the_card() {
    let fake = Fake::eager();
    let resets = || {
        let control = 0x20;
        fake.mock()
            .stores()
            .iter()
            .filter(|store| store.bar == BarId::Bar0 && store.offset == control)
            .count()
    };
    let device = open(&fake);
    assert_eq!(resets(), 1);
    drop(device);
    assert_eq!(resets(), 2);
    assert!(Device::builder().vector(32).open(fake.clone()).is_err());
}

#[test]
fn the_kernels_are_those_of_the_catalogue_and_no_more() {
    let fake = Fake::eager();
    let device = open(&fake);
    assert_eq!(device.kernels().unwrap(), []);
    let poke = |reg: &stroma_abi::regs::Reg, index, value| {
        fake.mock().poke32(BarId::Bar0, catalogue::BLOCK.offset + reg.element(index), value);
    };
    let slots = |count| poke(&catalogue::SLOTS, 0, count);
    slots(3);
    poke(&catalogue::KERNEL, 0, 0x0003_0102);
    poke(&catalogue::KERNEL, 2, 0xffff_fffe);
    fake.mock().poke32(BarId::Bar0, catalogue::BLOCK.offset + catalogue::KERNEL.element(0) + 4, 0x8765_4321);
    let expected = [
        Kernel { slot: 0, operation: 0x0102, version: 3, parameter_layout: 0x8765_4321 },
        Kernel { slot: 2, operation: 0xfffe, version: 0xffff, parameter_layout: 0 },
    ];
    assert_eq!(device.kernels().unwrap(), expected);
    slots(16);
    assert_eq!(device.kernels().unwrap(), expected, "the other slots are empty");
    slots(17);
    let refused = device.kernels().unwrap_err();
    assert_eq!(refused.to_string(), "the catalogue tells of 17 kernels, and has room for 16");
}

#[test]
fn counters_are_read_by_slot_and_limits_are_stored() {
    let fake = Fake::eager();
    let device = open(&fake);
    fake.mock().poke32(BarId::Bar0, catalogue::BLOCK.address(&catalogue::SLOTS), 3);
    for (value, counter) in
        (1..).zip([&kernels::INVOKED, &kernels::SUCCEEDED, &kernels::FAILED, &kernels::STOPPED])
    {
        fake.mock().poke32(BarId::Bar0, kernels::BLOCK.offset + counter.element(2), value);
        fake.mock().poke32(BarId::Bar0, kernels::BLOCK.offset + counter.element(2) + 4, 16 * value);
    }
    let long = |value: u64| value | ((16 * value) << 32);
    let expected = KernelCounters { invoked: long(1), succeeded: long(2), failed: long(3), stopped: long(4) };
    assert_eq!(device.kernel_counters(2).unwrap(), expected);
    assert_eq!(device.kernel_counters(1).unwrap(), KernelCounters::default());
    let refused = device.kernel_counters(3).unwrap_err();
    assert_eq!(refused.to_string(), "the card has 3 kernels, and none in slot 3");

    assert_eq!(device.kernel_limits().unwrap(), KernelLimits::default());
    let limits = KernelLimits { limit: 7, patience: u32::MAX };
    device.set_kernel_limits(limits).unwrap();
    assert_eq!(device.kernel_limits().unwrap(), limits);
}

#[test]
fn the_interval_of_congestion_notifications_is_told_in_microseconds() {
    let fake = Fake::eager();
    let device = open(&fake);
    let port = device.port();
    assert_eq!(port.cnp_interval().unwrap(), Duration::from_micros(CNP_INTERVAL_US.into()));
    for micros in [0, 50, 65_535] {
        port.set_cnp_interval(Duration::from_micros(micros)).unwrap();
        assert_eq!(port.cnp_interval().unwrap(), Duration::from_micros(micros));
    }
    let refused = port.set_cnp_interval(Duration::from_micros(65_536)).unwrap_err();
    assert_eq!(refused.to_string(), "`interval_us` of 0x10000: the field has 16 bits");
    assert_eq!(port.cnp_interval().unwrap(), Duration::from_micros(65_535));
}
