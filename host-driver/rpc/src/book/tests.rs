use proptest::prelude::*;
use stroma_verbs::Status;

use super::*;

fn errand() -> Errand {
    Errand { operation: 7, length: 36, ..Errand::default() }
}

fn outcome(status: u32) -> Outcome {
    Outcome { status, data: vec![1, 2] }
}

fn broken(operation: u16) -> Error {
    Error::Completion { operation, status: Status::Flushed, vendor: 3 }
}

fn status(found: Found) -> Option<u32> {
    match found {
        Found::End(end) => Some(end.expect("an answer").status),
        Found::NotYet | Found::Gone => None,
    }
}

#[test]
fn a_place_comes_back_when_its_answer_is_taken() {
    let mut book = Book::new(1);
    let ticket = book.take(errand()).unwrap();
    book.posts(ticket);
    assert!(book.take(errand()).is_none());
    assert!(matches!(book.take_end(ticket), Found::NotYet));
    book.completes(ticket);
    book.ends(ticket, |_| Ok(outcome(0)));
    assert!(book.take(errand()).is_none(), "answered, and not taken");
    assert_eq!(status(book.take_end(ticket)), Some(0));
    assert!(matches!(book.take_end(ticket), Found::Gone));
    let next = book.take(errand()).unwrap();
    assert_eq!((next.place(), next.id() == ticket.id()), (ticket.place(), false));
    // What comes late for the call before does nothing to this one.
    book.posts(next);
    book.completes(ticket);
    book.let_go(ticket);
    book.ends(ticket, |_| Ok(outcome(9)));
    assert!(matches!(book.take_end(next), Found::NotYet) && book.take(errand()).is_none());
}

#[test]
fn who_drops_early_leaves_the_room_to_the_card() {
    let mut book = Book::new(1);
    let ticket = book.take(errand()).unwrap();
    book.posts(ticket);
    book.let_go(ticket);
    assert!(book.take(errand()).is_none(), "the card may still write there");
    book.completes(ticket);
    assert!(book.take(errand()).is_some());
}

#[test]
fn a_call_that_was_never_posted_costs_no_place() {
    let mut book = Book::new(1);
    let ticket = book.take(errand()).unwrap();
    book.posts(ticket);
    book.completes(ticket);
    book.let_go(ticket);
    assert!(book.take(errand()).is_some());
}

#[test]
fn a_place_waits_for_the_service_and_for_the_request_to_it() {
    for answered_first in [false, true] {
        let mut book = Book::new(1);
        let ticket = book.take(errand()).unwrap();
        assert_eq!(book.asks(ticket).unwrap().operation, 7);
        if answered_first {
            book.answered(ticket, outcome(4));
            // The answer can be had before the card has completed the request, and the place cannot.
            assert_eq!(status(book.take_end(ticket)), Some(4));
            assert!(book.take(errand()).is_none());
            assert!(matches!(book.take_end(ticket), Found::Gone));
            book.completes(ticket);
        } else {
            book.let_go(ticket);
            book.completes(ticket);
            assert!(book.take(errand()).is_none(), "an answer is on its way");
            book.answered(ticket, outcome(4));
        }
        assert!(book.take(errand()).is_some());
        assert_eq!(book.strays(), 0);
        book.answered(ticket, outcome(5));
        assert_eq!(book.strays(), 1);
    }
}

#[test]
fn nobody_asks_the_service_for_who_is_gone() {
    let mut book = Book::new(1);
    let ticket = book.take(errand()).unwrap();
    book.posts(ticket);
    book.let_go(ticket);
    assert!(book.asks(ticket).is_none());
    book.completes(ticket);
    assert!(book.asks(ticket).is_none());
    assert!(book.take(errand()).is_some());
}

#[test]
fn the_end_of_the_service_is_the_end_of_those_who_wait_for_it() {
    let mut book = Book::new(3);
    let [first, second, third] = [(); 3].map(|()| book.take(errand()).unwrap());
    book.asks(first);
    book.completes(first);
    book.posts(second);
    book.asks(third);
    book.completes(third);
    book.let_go(third);
    book.service_ends(broken);
    let Found::End(Err(error)) = book.take_end(first) else { panic!("no end") };
    assert_eq!(error.to_string(), "RPC 0x7: its request ended as Flushed, vendor code 0x03");
    assert!(matches!(book.take_end(second), Found::NotYet));
    assert_eq!(book.free.len(), 2);
}

proptest! {
    /// Places are in use or free, never both, whatever happens in whatever order; and in the end all are free.
    #[test]
    fn no_place_is_lost_or_given_twice(steps in prop::collection::vec((0..7_u8, any::<prop::sample::Index>()), 0..200)) {
        let mut book = Book::new(4);
        // Tickets ever given, the last one for each place being its present one: and whether the card has a request of it.
        let mut given: Vec<(Ticket, u32)> = Vec::new();
        for (step, which) in steps {
            if step == 0 {
                if let Some(ticket) = book.take(errand()) {
                    let still = given.iter().any(|(other, posted)| other.place() == ticket.place() && *posted > 0);
                    prop_assert!(!still, "{ticket:?} has a room that the card may write to");
                    given.push((ticket, 0));
                }
                continue;
            }
            if given.is_empty() { continue }
            let (ticket, posted) = which.get(&given).to_owned();
            let count = given.iter_mut().find(|(other, _)| *other == ticket).map(|(_, count)| count).unwrap();
            match step {
                1 => if book.is_held(ticket) && posted == 0 { book.posts(ticket); *count += 1 },
                2 => *count += u32::from(book.asks(ticket).is_some()),
                3 => if posted > 0 { book.completes(ticket); *count -= 1 },
                4 => book.answered(ticket, outcome(0)),
                5 => drop(book.take_end(ticket)),
                _ => book.let_go(ticket),
            }
        }
        for (ticket, posted) in given {
            (0..posted).for_each(|_| book.completes(ticket));
            book.answered(ticket, outcome(0));
            book.let_go(ticket);
        }
        let mut free = book.free.clone();
        free.sort_unstable();
        prop_assert_eq!(free, [0, 1, 2, 3]);
    }
}

#[test]
fn an_answer_that_goes_on_ends_when_it_is_there() {
    let onward = Onward { address: 0x1000, key: 5 };
    let errand = Errand { onward: Some(onward), ..errand() };
    for failed in [None, Some((Status::RemoteAccess, 2))] {
        let mut book = Book::new(1);
        let ticket = book.take(errand.clone()).unwrap();
        book.posts(ticket);
        book.completes(ticket);
        assert!(!book.is_on_its_way(ticket));
        assert_eq!(book.sends_on(ticket, outcome(0)), Some(onward));
        assert!(book.is_on_its_way(ticket));
        assert!(matches!(book.take_end(ticket), Found::NotYet));
        book.sent_on(ticket, failed);
        let Found::End(end) = book.take_end(ticket) else { panic!("it has ended") };
        assert_eq!(end.map(|outcome| outcome.status).ok(), failed.is_none().then_some(0));
        assert!(book.take(errand.clone()).is_some());
    }
    // Nobody wants it any more: before it goes on, and on its way.
    let mut book = Book::new(1);
    let ticket = book.take(errand.clone()).unwrap();
    book.posts(ticket);
    book.let_go(ticket);
    assert_eq!(book.sends_on(ticket, outcome(0)), None);
    book.completes(ticket);
    let ticket = book.take(errand.clone()).unwrap();
    assert_eq!(book.sends_on(ticket, outcome(0)), Some(onward));
    book.let_go(ticket);
    assert!(book.take(errand.clone()).is_none(), "the card still reads the room");
    book.sent_on(ticket, None);
    assert!(book.take(errand).is_some());
}
