//! Events on their way to a program (`outbox`), while objects end.

use super::all_orders;
use crate::flag::Flag;
use crate::outbox::Outbox;
use crate::sync::{Arc, thread};

/// Two threads wait for two events.
#[test]
fn each_event_is_taken_once() {
    all_orders(|| {
        let outbox = Arc::new(Outbox::new(Flag::default()));
        let takers = [(), ()].map(|()| {
            let outbox = Arc::clone(&outbox);
            thread::spawn(move || outbox.take().unwrap())
        });
        outbox.push(1);
        outbox.push(2);
        let mut taken = takers.map(|taker| taker.join().unwrap());
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
        assert!(!outbox.flag().is_raised());
    });
}

/// An object ends of which an event waits, while a thread asks for one.
#[test]
fn what_is_withdrawn_leaves_the_others_and_the_flag_right() {
    all_orders(|| {
        let outbox = Arc::new(Outbox::new(Flag::default()));
        outbox.push(1);
        outbox.push(2);
        let taker = {
            let outbox = Arc::clone(&outbox);
            thread::spawn(move || outbox.take().unwrap())
        };
        outbox.withdraw(|event| *event == 1);
        let first = taker.join().unwrap();
        assert_eq!(outbox.flag().is_raised(), first == 1, "the other one is there");
        if first == 1 {
            assert_eq!(outbox.take().unwrap(), 2);
        }
        assert!(!outbox.flag().is_raised());
        outbox.push(3);
        outbox.withdraw(|event| *event == 3);
        assert!(!outbox.flag().is_raised(), "a flag tells of an event");
    });
}

/// The only event is withdrawn while a thread is about to take it, and another one comes.
#[test]
fn a_thread_that_finds_its_event_withdrawn_takes_the_next() {
    all_orders(|| {
        let outbox = Arc::new(Outbox::new(Flag::default()));
        let taker = {
            let outbox = Arc::clone(&outbox);
            thread::spawn(move || outbox.take().unwrap())
        };
        outbox.push(1);
        outbox.withdraw(|event| *event == 1);
        outbox.push(2);
        let first = taker.join().unwrap();
        assert_eq!(outbox.flag().is_raised(), first == 1, "a flag tells of an event");
    });
}
