//! What a card may reach, and who reads its registers first.

use std::sync::mpsc::sync_channel;

use stroma_device::DmaMemory;
use stroma_top::Profile;
use stroma_verilate::Options;

use super::*;
use crate::order::Orders;

#[test]
fn a_card_reaches_memory_as_a_bus_master_alone_and_is_none_after_a_reset() {
    let world = World::new(Profile::TenGig, 1, &Options::default()).unwrap();
    let report: Report = Arc::new(|_| {});
    let mut simulation = Simulation::new(world, 1, Orders::new(1).1, &report);
    let memory = Arc::new(DmaMemory::allocate(4096, None).unwrap());
    simulation.world.card_at_rest(0).iommu().map(0x1000, &memory).unwrap();
    let mut reaches = |order| {
        let (answer, answered) = sync_channel(1);
        simulation.obey(Request { card: 0, order, answer });
        assert_eq!(answered.recv().unwrap(), Ok(0));
        simulation.world.card_at_rest(0).iommu().read(0x1000, 8).is_some()
    };
    assert!(!reaches(Order::Master(false)));
    assert!(reaches(Order::Master(true)));
    assert!(!reaches(Order::Reset));
    assert!(reaches(Order::Master(true)));
}

#[test]
fn a_load_of_the_client_waits_for_one_of_others_at_most() {
    let world = World::new(Profile::TenGig, 1, &Options::default()).unwrap();
    let report: Report = Arc::new(|_| {});
    let mut simulation = Simulation::new(world, 1, Orders::new(1).1, &report);
    let give = |simulation: &mut Simulation, order| {
        let (answer, answered) = sync_channel(1);
        simulation.obey(Request { card: 0, order, answer });
        answered
    };
    // The magic, which the client reads, and the version.
    let others: Vec<_> = (0..3).map(|_| give(&mut simulation, Order::Peek(0x10))).collect();
    let client = give(&mut simulation, Order::Access(Access::Load { address: 0x08 }));
    let value = loop {
        simulation.world.run(TURN);
        simulation.deliver(0);
        if let Ok(value) = client.try_recv() {
            break value.unwrap();
        }
    };
    assert_eq!(value >> 32, u64::from(stroma_abi::regs::map::MAGIC));
    let answered: Vec<bool> = others.iter().map(|other| other.try_recv().is_ok()).collect();
    assert_eq!(answered, [true, false, false]);
    // A reset swallows the one that is under way; it is made again.
    give(&mut simulation, Order::Reset);
    while others[1..].iter().filter(|other| other.try_recv().is_ok()).count() < 1 {
        simulation.world.run(TURN);
        simulation.deliver(0);
    }
}

#[test]
fn many_orders_end_nothing_and_all_are_carried_out() {
    let world = World::new(Profile::TenGig, 1, &Options::default()).unwrap();
    let report: Report = Arc::new(|_| {});
    let (mut orders, requests) = Orders::new(1);
    let simulation = Simulation::new(world, 1, requests, &report);
    let running = std::thread::spawn(move || simulation.run());
    let orders = orders.remove(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let orders = orders.clone();
            scope.spawn(move || (0..ORDERS).for_each(|_| assert!(orders.give(Order::Now).is_ok())));
        }
    });
    orders.give(Order::End).unwrap();
    running.join().unwrap();
}

#[test]
fn orders_beyond_a_turn_wait_for_the_next() {
    let report: Report = Arc::new(|_| {});
    for count in [ORDERS - 1, ORDERS, ORDERS + 1, ORDERS + 2] {
        let (sender, requests) = std::sync::mpsc::channel();
        let world = World::new(Profile::TenGig, 1, &Options::default()).unwrap();
        let mut simulation = Simulation::new(world, 1, requests, &report);
        let answers: Vec<_> = (0..count)
            .map(|_| {
                let (answer, answered) = sync_channel(1);
                sender.send(Request { card: 0, order: Order::Now, answer }).unwrap();
                answered
            })
            .collect();
        assert!(simulation.listen(), "{count}");
        let done = answers.iter().filter(|answer| answer.try_recv().is_ok()).count();
        assert_eq!(done, count.min(ORDERS + 1));
    }
}
