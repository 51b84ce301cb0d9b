//! The clock of kernels that rest is held, and nobody can tell: the same events in the same cycles.

use stroma_sim::host::attach::Event;
use stroma_sim::host::bars::Access as BarAccess;
use stroma_tests::calls::Calls;
use stroma_tests::effort::share;
use stroma_tests::faulty::faults;
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::Access;
use stroma_verilate::SplitMix64;

use crate::copy::Copy;
use crate::faults::round;
use crate::tasks::{Field, MEMORY, Task};

/// Pauses between rounds are up to so many cycles, about the time after which kernels rest.
const PAUSE: u64 = 200;
/// Where the peer's WRITEs go: a part of the memory that no call is about.
const ELSEWHERE: usize = MEMORY - 8192;

/// What happened on both cards, by cycle, and how many edges were held back from each.
type Seen = [(Vec<(u64, Event)>, u64); 2];

/// Calls by chance between WRITEs, pauses, keys that come and go, and queue pairs that fail.
fn story(profile: Profile, holds: bool) -> Seen {
    let calls = Calls::new(profile, MEMORY, |connection| {
        connection.path_mtu = 1;
        connection.timeout = 6;
    });
    let before = [0, 1].map(|end| {
        let mut world = calls.pair.shared.world();
        world.line(end).set_faults(faults(31 + end as u64, 2));
        let card = world.card(end);
        card.hold_kernels(holds);
        card.start_trace();
        card.held()
    });
    let mut field = Field::new(&calls);
    let mut copy = Copy::of(&calls, MEMORY);
    let mut rng = SplitMix64::new(5);
    round(&calls, &mut copy, &[Field::first()], &mut rng);
    for number in 0..share(48) as u64 {
        let tasks: Vec<Task> = (0..=rng.below(3)).map(|_| field.task(&mut rng)).collect();
        round(&calls, &mut copy, &tasks, &mut rng);
        calls.pair.run(rng.below(PAUSE));
        let write = calls.ends[0].start().wr_id(number).signaled();
        let length = 1 + usize::try_from(rng.below(3000)).expect("small");
        write.write(&[calls.near(0, length)], calls.at(ELSEWHERE), calls.key()).post().expect("room");
        calls.pair.ends[0].expect(number);
        match rng.below(4) {
            0 => drop(calls.pair.ends[1].domain.allocate(4096, Access::LOCAL_WRITE).expect("memory")),
            1 => drop(calls.pair.ends[1].queue_pair(8)),
            _ => calls.pair.run(rng.below(PAUSE)),
        }
    }
    [0, 1].map(|end| {
        let mut world = calls.pair.shared.world();
        let card = world.card(end);
        let trace = card.take_trace().into_iter().map(placeless).collect();
        (trace, card.held() - before[end])
    })
}

/// An event without what the process chooses anew in each story: the virtual address of its memory, of which a store tells the card.
/// Everything else, bus addresses too, is as the driver and the card have it.
fn placeless((cycle, event): (u64, Event)) -> (u64, Event) {
    match event {
        Event::Bar(BarAccess::Store { address, strobe, .. }) => {
            (cycle, Event::Bar(BarAccess::Store { address, data: 0, strobe }))
        }
        other => (cycle, other),
    }
}

#[test]
fn holding_the_clock_of_kernels_that_rest_changes_no_cycle() {
    for profile in widths!() {
        let (held, run) = (story(profile, true), story(profile, false));
        for ((held, edges), (run, none)) in held.into_iter().zip(run) {
            assert_eq!(none, 0, "{profile:?}");
            assert!(edges > 1000, "{profile:?}: {edges} edges were held back");
            let first = held.iter().zip(&run).position(|(one, other)| one != other);
            assert_eq!(first.map(|at| (held[at], run[at])), None, "{profile:?}: what differs first");
            assert_eq!(held.len(), run.len(), "{profile:?}");
        }
    }
}
