//! Clients that want one function (`server/turn`).

use std::time::Duration;

use super::all_orders;
use crate::sync::{Arc, AtomicUsize, Ordering, thread};
use crate::turn::Turn;

/// Three clients want the function. (The files use the standard library's shares, which have no order that matters to them.)
#[test]
fn a_function_has_one_client_at_a_time_and_each_gets_its_turn() {
    all_orders(|| {
        let (turn, inside) = (std::sync::Arc::new(Turn::default()), Arc::new(AtomicUsize::new(0)));
        let serve = |turn: &std::sync::Arc<Turn>, inside: &AtomicUsize| {
            let seat = turn.take(Duration::ZERO).expect("nobody gives up");
            assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "two have the function");
            inside.fetch_sub(1, Ordering::Relaxed);
            drop(seat);
        };
        let others = [(), ()].map(|()| {
            let (turn, inside) = (std::sync::Arc::clone(&turn), Arc::clone(&inside));
            thread::spawn(move || serve(&turn, &inside))
        });
        serve(&turn, &inside);
        for other in others {
            other.join().unwrap();
        }
    });
}

/// Three clients want to wait, and one may.
#[test]
fn no_more_wait_than_may() {
    const MOST: usize = 1;
    all_orders(|| {
        let (turn, waiting) = (std::sync::Arc::new(Turn::default()), Arc::new(AtomicUsize::new(0)));
        let come = |turn: &std::sync::Arc<Turn>, waiting: &AtomicUsize| {
            if let Some(place) = turn.wait(MOST) {
                assert!(waiting.fetch_add(1, Ordering::Relaxed) < MOST, "too many wait");
                waiting.fetch_sub(1, Ordering::Relaxed);
                drop(place);
            }
        };
        let others = [(), ()].map(|()| {
            let (turn, waiting) = (std::sync::Arc::clone(&turn), Arc::clone(&waiting));
            thread::spawn(move || come(&turn, &waiting))
        });
        come(&turn, &waiting);
        for other in others {
            other.join().unwrap();
        }
        assert!(turn.wait(MOST).is_some(), "a place is not given back");
    });
}
