//! Cycle counts of single requests on an idle card of 100g, from pin to pin. They are part of the card's contract: a change
//! that moves one says so here. `cargo xtask bench host` prints them.

use stroma_abi::desc::{Body, Sge, Status, WorkOp, WqeHead};
use stroma_sim::host::attach::Event;
use stroma_sim::host::bars::Access;
use stroma_tests::rig::{Rig, head, pieces, status};
use stroma_top::Profile;

type Trace = Vec<(u64, Event)>;

/// Cycles in which an event of this kind happened.
fn when(trace: &Trace, wanted: impl Fn(&Event) -> bool) -> Vec<u64> {
    trace.iter().filter(|(_, event)| wanted(event)).map(|(cycle, _)| *cycle).collect()
}

fn is_store(event: &Event) -> bool {
    matches!(event, Event::Bar(Access::Store { .. }))
}

#[test]
fn a_single_request_takes_as_long_as_promised() {
    let mut rig = Rig::new(Profile::HundredGig);
    let mut completions = rig.completions(0, 8, 0);
    let mut queue = rig.queue(1, &completions, 1);
    let buffer = rig.buffer(8192);
    let key = rig.region(1, &Rig::direct(&buffer, 0, 1));

    rig.world(|world| world.card(0).start_trace());
    let list = [Sge { address: 0, local_key: key, length: 64 }];
    queue.put(WqeHead { remote: 4096, key, ..head(WorkOp::Gather) }, pieces(&list));
    rig.doorbell(&queue);
    assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
    let trace = rig.world(|world| world.card(0).take_trace());
    let (stores, reads) = (when(&trace, is_store), when(&trace, |event| matches!(event, Event::Read { .. })));
    let beats = when(&trace, |event| matches!(event, Event::Data { .. }));
    assert_eq!(
        (stores.len(), reads.len(), beats.len()),
        (1, 2, 2),
        "a doorbell; WQE and bytes; bytes and CQE"
    );
    assert_eq!(reads[0] - stores[0], 10, "from the doorbell to the fetch of its WQE");
    assert_eq!(beats[1] - beats[0], 6, "from the last data to the CQE");

    rig.world(|world| world.card(0).start_trace());
    let wqe = queue.put(WqeHead { remote: 4096, key, ..head(WorkOp::Gather) }, Body::Inline(&[7; 64]));
    rig.push(&queue, 0, &wqe, 0..wqe.len() / 8);
    assert_eq!(status(&rig.completion(&mut completions)), Status::Success);
    let trace = rig.world(|world| world.card(0).take_trace());
    let commit = *when(&trace, is_store).last().expect("a commit");
    let writes = when(&trace, |event| matches!(event, Event::Write { .. }));
    assert_eq!(writes[0] - commit, 45, "from the commit of a push to its first write");
}
