//! Histories that have an order, and histories that have none.

use proptest::prelude::*;

use super::*;

/// An operation of key `k` from one time to another.
fn event(client: usize, (from, to): (u64, u64), operation: Operation, outcome: Outcome) -> Event {
    let moment = |time: u64| Moment { cycle: time, number: time };
    Event { client, key: b"k".to_vec(), operation, outcome, invoked: moment(from), returned: moment(to) }
}

fn put(client: usize, times: (u64, u64), value: u8, was_there: bool) -> Event {
    event(client, times, Operation::Put(vec![value]), Outcome::WasThere(was_there))
}

fn get(client: usize, times: (u64, u64), value: Option<u8>) -> Event {
    event(client, times, Operation::Get, Outcome::Value(value.map(|value| vec![value])))
}

fn delete(client: usize, times: (u64, u64), was_there: bool) -> Event {
    event(client, times, Operation::Delete, Outcome::WasThere(was_there))
}

fn unknown(client: usize, from: u64, operation: Operation) -> Event {
    event(client, (from, from), operation, Outcome::Unknown)
}

fn verdict(events: &[Event]) -> Result<(), Violation> {
    check(&BTreeMap::new(), events)
}

#[test]
fn what_happens_one_after_the_other_has_one_order() {
    let good = [
        get(0, (0, 1), None),
        put(0, (2, 3), 1, false),
        get(1, (4, 5), Some(1)),
        put(1, (6, 7), 2, true),
        get(0, (8, 9), Some(2)),
        delete(0, (10, 11), true),
        delete(1, (12, 13), false),
        get(1, (14, 15), None),
    ];
    assert_eq!(verdict(&good), Ok(()));
    assert_eq!(verdict(&[]), Ok(()));
}

#[test]
fn what_overlaps_may_have_either_order() {
    let (a, b) = (put(0, (0, 10), 1, false), put(1, (0, 10), 2, true));
    for last in [1, 2] {
        let seen = verdict(&[a.clone(), b.clone(), get(2, (20, 30), Some(last))]);
        assert_eq!(seen.is_ok(), last == 2, "the second PUT saw the first, so it came behind it");
    }
    let racing = [put(0, (0, 10), 1, true), put(1, (0, 10), 2, true), get(2, (20, 30), Some(1))];
    let initial = BTreeMap::from([(b"k".to_vec(), vec![9])]);
    assert_eq!(check(&initial, &racing), Ok(()));
    // A GET beside a PUT may see it or not, but not first see it and then not.
    let reads = |one, other| [put(0, (0, 100), 1, false), get(1, (10, 20), one), get(1, (30, 40), other)];
    for (one, other, expected) in
        [(None, None, true), (None, Some(1), true), (Some(1), Some(1), true), (Some(1), None, false)]
    {
        assert_eq!(verdict(&reads(one, other)).is_ok(), expected, "{one:?} then {other:?}");
    }
}

#[test]
fn stale_reads_are_found() {
    let stale = [put(0, (0, 1), 1, false), put(0, (2, 3), 2, true), get(1, (4, 5), Some(1))];
    let violation = verdict(&stale).unwrap_err();
    assert_eq!((violation.total, violation.ordered, violation.next.len()), (3, 2, 1));
    assert_eq!(violation.next[0], stale[2]);
    assert!(violation.to_string().contains("2 of 3 operations have an order"), "{violation}");
    // Two clients that agree on an order, which is not that of the times.
    let swapped = [put(0, (0, 1), 1, false), get(1, (2, 3), None), get(2, (4, 5), Some(1))];
    assert!(verdict(&swapped).is_err());
}

#[test]
fn lost_updates_are_found() {
    // Both say that they were first.
    assert!(verdict(&[put(0, (0, 10), 1, false), put(1, (0, 10), 2, false)]).is_err());
    // One says that it was carried out, and nothing is seen of it.
    assert!(verdict(&[put(0, (0, 10), 1, false), get(1, (20, 30), None)]).is_err());
    assert!(verdict(&[put(0, (0, 1), 1, false), delete(1, (2, 3), true), get(0, (4, 5), Some(1))]).is_err());
    // Two that took out the same value.
    assert!(verdict(&[put(0, (0, 1), 1, false), delete(1, (2, 9), true), delete(2, (2, 9), true)]).is_err());
}

#[test]
fn values_that_nobody_wrote_are_found() {
    assert!(verdict(&[get(0, (0, 1), Some(7))]).is_err());
    assert!(verdict(&[put(0, (0, 9), 1, false), get(1, (2, 3), Some(7))]).is_err());
    // One that is written only later.
    assert!(verdict(&[get(1, (0, 1), Some(7)), put(0, (2, 9), 7, false)]).is_err());
    // Of another key.
    let mut other = put(0, (0, 1), 7, false);
    other.key = b"other".to_vec();
    assert!(verdict(&[other, get(1, (2, 3), Some(7))]).is_err());
}

#[test]
fn an_unknown_end_may_be_any() {
    let lost = unknown(0, 5, Operation::Put(vec![1]));
    for (seen, expected) in [
        (vec![None, None], true),
        (vec![None, Some(1)], true),
        (vec![Some(1), Some(1)], true),
        (vec![Some(1), None], false),
    ] {
        let reads =
            seen.iter().zip(0..).map(|(value, number)| get(1, (10 + 10 * number, 15 + 10 * number), *value));
        let events: Vec<Event> = std::iter::once(lost.clone()).chain(reads).collect();
        assert_eq!(verdict(&events).is_ok(), expected, "{seen:?}");
    }
    // It took no effect before it was asked for.
    assert!(verdict(&[get(1, (0, 1), Some(1)), lost]).is_err());
    assert_eq!(
        verdict(&[put(0, (0, 1), 1, false), unknown(1, 2, Operation::Delete), get(0, (90, 91), None)]),
        Ok(())
    );
}

#[test]
fn an_outcome_of_another_operation_fits_nowhere() {
    assert!(verdict(&[event(0, (0, 1), Operation::Get, Outcome::WasThere(false))]).is_err());
    assert!(verdict(&[event(0, (0, 1), Operation::Delete, Outcome::Value(None))]).is_err());
}

/// Hundreds of operations that all overlap with their neighbours: without memory the search would not end.
#[test]
fn long_histories_are_soon_judged() {
    let mut events = Vec::new();
    for number in 0..600_u64 {
        let times = (10 * number, 10 * number + 35);
        let value = u8::try_from(number % 250).unwrap();
        events.push(put(usize::try_from(number % 4).unwrap(), times, value, number > 0));
    }
    events.push(get(9, (10_000, 10_001), Some(99)));
    assert_eq!(verdict(&events), Ok(()), "599 and some before it may be last: of 596 to 599 each");
    let last = events.len() - 1;
    events[last] = get(9, (10_000, 10_001), Some(11));
    assert!(verdict(&events).is_err());
}

/// Operations on one key in an order, each with its moment; then each is stretched to both sides.
#[derive(Clone, Debug)]
struct Step {
    client: usize,
    operation: Operation,
    before: u64,
    behind: u64,
    is_unknown: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let operation = prop_oneof![
        Just(Operation::Get),
        any::<u8>().prop_map(|value| Operation::Put(vec![value])),
        Just(Operation::Delete)
    ];
    let stretch = prop_oneof![3 => 0..10_u64, 1 => 0..400_u64];
    (0..4_usize, operation, stretch.clone(), stretch, prop::bool::weighted(0.1)).prop_map(
        |(client, operation, before, behind, is_unknown)| Step {
            client,
            operation,
            before,
            behind,
            is_unknown,
        },
    )
}

/// What a plain map gives, with times around the moments at which it gave it.
fn played(steps: &[Step]) -> Vec<Event> {
    let mut value: Option<Bytes> = None;
    let mut events = Vec::new();
    for (step, number) in steps.iter().zip(1..) {
        let outcome = match &step.operation {
            Operation::Get => Outcome::Value(value.clone()),
            Operation::Put(new) => Outcome::WasThere(value.replace(new.clone()).is_some()),
            Operation::Delete => Outcome::WasThere(value.take().is_some()),
        };
        let moment = 1000 + 100 * number;
        let outcome = if step.is_unknown { Outcome::Unknown } else { outcome };
        let times = (moment - step.before, moment + step.behind);
        events.push(event(step.client, times, step.operation.clone(), outcome));
    }
    events
}

proptest! {
    #[test]
    fn what_a_map_gave_has_an_order(steps in prop::collection::vec(step(), 0..60)) {
        let events = played(&steps);
        prop_assert_eq!(verdict(&events), Ok(()));
        // The order that is found is one: each result follows from those before it, and no two are against their times.
        let all: Vec<&Event> = events.iter().collect();
        let order = search::order(None, &all).expect("there is one");
        let mut value: Option<Bytes> = None;
        for (place, number) in order.iter().enumerate() {
            let event = &events[*number];
            let expected = match &event.operation {
                Operation::Get => Outcome::Value(value.clone()),
                Operation::Put(new) => Outcome::WasThere(value.replace(new.clone()).is_some()),
                Operation::Delete => Outcome::WasThere(value.take().is_some()),
            };
            prop_assert!(event.outcome == Outcome::Unknown || event.outcome == expected);
            let behind = order[place + 1..].iter().map(|later| &events[*later]);
            prop_assert!(behind.filter(|later| later.outcome != Outcome::Unknown).all(|later| later.returned >= event.invoked));
        }
    }

    /// Without unknown ends and overlaps there is one order, so a GET that saw anything else is wrong.
    #[test]
    fn any_other_value_is_found(
        steps in prop::collection::vec(step(), 1..40), which in any::<prop::sample::Index>(), other in any::<u8>(),
    ) {
        let steps: Vec<Step> =
            steps.into_iter().map(|step| Step { before: 1, behind: 1, is_unknown: false, ..step }).collect();
        let mut events = played(&steps);
        let number = which.index(events.len());
        let wrong = match &events[number].outcome {
            Outcome::Value(value) if *value == Some(vec![other]) => Outcome::Value(None),
            Outcome::Value(_) => Outcome::Value(Some(vec![other])),
            Outcome::WasThere(was_there) => Outcome::WasThere(!was_there),
            Outcome::Unknown => unreachable!("all are known"),
        };
        events[number].outcome = wrong;
        prop_assert!(verdict(&events).is_err());
    }

    /// The search agrees with trying every order.
    #[test]
    fn the_search_agrees_with_all_permutations(
        steps in prop::collection::vec(step(), 0..6), changes in prop::collection::vec(any::<u8>(), 6),
    ) {
        let mut events = played(&steps);
        for (event, change) in events.iter_mut().zip(&changes) {
            match &mut event.outcome {
                Outcome::Value(value) if change % 4 == 0 => *value = None,
                Outcome::WasThere(was_there) if change % 4 == 1 => *was_there = !*was_there,
                _ => {}
            }
        }
        prop_assert_eq!(verdict(&events).is_ok(), has_order(None, &events.iter().collect::<Vec<_>>()));
    }
}

/// Tries every order of what is left, unknown ends as happened or not.
fn has_order(value: Option<&Bytes>, left: &[&Event]) -> bool {
    if left.iter().all(|event| event.outcome == Outcome::Unknown) {
        return true;
    }
    (0..left.len()).any(|number| {
        let event = left[number];
        let others: Vec<&Event> =
            left.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, event)| *event).collect();
        let is_early =
            others.iter().all(|other| other.outcome == Outcome::Unknown || other.returned >= event.invoked);
        let fits = match (&event.operation, &event.outcome) {
            (_, Outcome::Unknown) => true,
            (Operation::Get, Outcome::Value(found)) => found.as_ref() == value,
            (_, Outcome::WasThere(was_there)) => *was_there == value.is_some(),
            _ => false,
        };
        let after = match &event.operation {
            Operation::Get => value.cloned(),
            Operation::Put(new) => Some(new.clone()),
            Operation::Delete => None,
        };
        is_early && fits && has_order(after.as_ref(), &others)
    })
}
