//! Objects that programs end while other threads use them (`handle`, `acks`).

use std::ffi::c_void;

use super::all_orders;
use crate::acks::Acks;
use crate::failure::Outcome;
use crate::flag::Flag;
use crate::handle::{Held, Parent, Shell, Table, Users};
use crate::outbox::Outbox;
use crate::sync::{Arc, thread};

/// What programs see.
struct Face(#[expect(dead_code, reason = "so that two of them lie apart")] u64);

impl Shell for Face {}

#[derive(Default)]
struct Object {
    users: Users,
    events: Acks,
}

impl Parent for Object {
    fn users(&self) -> &Users {
        &self.users
    }
}

type Objects = Table<Face, Object>;

fn objects() -> Arc<Objects> {
    Arc::new(Table::new("no object"))
}

/// The address of a new one.
fn make(objects: &Objects) -> usize {
    objects.add::<c_void>(Face(0), |_| std::sync::Arc::default()).addr()
}

fn face(address: usize) -> *const c_void {
    std::ptr::without_provenance(address)
}

/// As `ibv_destroy_cq` and its like end an object of which there may be events.
fn end(objects: &Objects, events: &Outbox<usize>, address: usize) -> Outcome<()> {
    let object = objects.close(face(address))?;
    events.withdraw(|about| *about == address);
    object.events.settle();
    objects.remove(face(address)).map(drop)
}

/// Two threads end one object.
#[test]
fn an_object_ends_once() {
    all_orders(|| {
        let objects = objects();
        let address = make(&objects);
        let other = {
            let objects = Arc::clone(&objects);
            thread::spawn(move || objects.remove(face(address)).is_ok())
        };
        let ended = [objects.remove(face(address)).is_ok(), other.join().unwrap()];
        assert_eq!(ended.iter().filter(|ended| **ended).count(), 1);
        assert!(objects.at(address).is_err());
    });
}

/// One thread ends an object, another one puts something on it.
#[test]
fn nothing_stands_on_an_object_that_has_ended() {
    all_orders(|| {
        let objects = objects();
        let address = make(&objects);
        let user = {
            let objects = Arc::clone(&objects);
            thread::spawn(move || objects.at(address).and_then(Held::new).ok())
        };
        let ended = objects.remove(face(address));
        let held = user.join().unwrap();
        assert_ne!(ended.is_ok(), held.is_some());
        assert_eq!(objects.at(address).is_err(), ended.is_ok());
        if let Err(refused) = ended {
            assert_eq!(refused.errno(), libc::EBUSY);
            drop(held);
            assert!(objects.remove(face(address)).is_ok(), "nothing stands on it any more");
        }
    });
}

/// An event of an object is taken while the object ends: it was handed over before and acknowledged, or not at all.
#[test]
fn an_event_is_handed_over_before_its_object_ends_or_never() {
    all_orders(|| {
        let (objects, events) = (objects(), Arc::new(Outbox::new(Flag::default())));
        let (first, second) = (make(&objects), make(&objects));
        events.push(first);
        let program = {
            let (objects, events) = (Arc::clone(&objects), Arc::clone(&events));
            thread::spawn(move || {
                let (about, object) = loop {
                    let about = events.take().unwrap();
                    if let Ok(object) = objects.at(about)
                        && object.events.deliver()
                    {
                        break (about, object);
                    }
                };
                // The program looks at the object; then it says that it has done so.
                assert!(objects.at(about).is_ok(), "an object that the program was told of has ended");
                object.events.acknowledge(1);
            })
        };
        end(&objects, &events, first).unwrap();
        events.push(second);
        program.join().unwrap();
    });
}
