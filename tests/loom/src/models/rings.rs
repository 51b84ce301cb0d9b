//! Interrupts of a client of a fabric (`bell/rings`), which may not take them, and the clients themselves (`clients`).

use std::sync::PoisonError;
use std::time::Duration;

use super::all_orders;
use crate::clients::Clients;
use crate::lock;
use crate::rings::Rings;
use crate::sync::{Arc, Condvar, Mutex, thread};

/// A descriptor: what it was told, and whether there is room to write to it.
#[derive(Debug, Default)]
struct Bell {
    told: Mutex<u64>,
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    /// One with room.
    fn open() -> Arc<Self> {
        let bell = Arc::new(Self::default());
        bell.make_room();
        bell
    }

    fn make_room(&self) {
        *lock(&self.is_open) = true;
        self.changed.notify_all();
    }

    fn write(&self, count: u64) {
        let mut is_open = lock(&self.is_open);
        while !*is_open {
            is_open = self.changed.wait(is_open).unwrap_or_else(PoisonError::into_inner);
        }
        drop(is_open);
        *lock(&self.told) += count;
        self.changed.notify_all();
    }

    /// Waits until it was told so often.
    fn wait(&self, count: u64) {
        let mut told = lock(&self.told);
        while *told < count {
            told = self.changed.wait(told).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

type OneRing = Arc<Rings<Arc<Bell>, 1>>;

/// Rings, and the thread that tells them.
fn rings() -> (OneRing, thread::JoinHandle<()>) {
    let rings: OneRing = Arc::new(Rings::default());
    let teller = {
        let rings = Arc::clone(&rings);
        thread::spawn(move || rings.run(|bell, count| bell.write(count)))
    };
    (rings, teller)
}

/// Interrupts come while the thread sleeps, looks and writes.
#[test]
fn every_interrupt_is_told_once() {
    all_orders(|| {
        let (rings, teller) = rings();
        let bell = Bell::open();
        assert!(rings.connect(0, vec![Some(Arc::clone(&bell))]));
        rings.ring(0);
        rings.ring(0);
        bell.wait(2);
        rings.end();
        teller.join().unwrap();
        assert_eq!(*lock(&bell.told), 2);
    });
}

/// Interrupts come before anybody is connected.
#[test]
fn what_nobody_heard_is_told_once_to_who_is_connected() {
    all_orders(|| {
        let (rings, teller) = rings();
        let bell = Bell::open();
        rings.ring(0);
        rings.ring(0);
        assert!(rings.connect(0, vec![Some(Arc::clone(&bell))]));
        bell.wait(1);
        rings.end();
        teller.join().unwrap();
        assert_eq!(*lock(&bell.told), 1);
    });
}

/// A client leaves a descriptor full, and goes. Nobody waits for it but the thread, which is told where it waits.
#[test]
fn a_client_that_takes_nothing_holds_nobody_up() {
    all_orders(|| {
        let (rings, teller) = rings();
        let bell = Arc::new(Bell::default());
        assert!(rings.connect(0, vec![Some(Arc::clone(&bell))]));
        rings.ring(0);
        rings.ring(0);
        if let Some(writing) = rings.end() {
            writing.make_room();
        }
        teller.join().unwrap();
    });
}

/// Clients of two cards go while somebody waits for nobody to be there.
#[test]
fn the_last_client_is_waited_for() {
    all_orders(|| {
        let clients = Arc::new(Clients::new(2));
        clients.come(0, None);
        clients.come(1, None);
        let leaving = [0, 1].map(|card| {
            let clients = Arc::clone(&clients);
            thread::spawn(move || clients.go(card))
        });
        clients.wait_for_nobody(Duration::ZERO);
        assert_eq!(clients.list(), [None, None]);
        assert!(!clients.hold(), "it is over, and nobody is promised a card");
        for leaving in leaving {
            leaving.join().unwrap();
        }
    });
}
