//! Single requests on an idle card, measured from pin to pin.

use stroma_abi::desc::{Body, Sge, Status, WorkOp, WqeHead};
use stroma_sim::host::attach::Event;
use stroma_sim::host::bars::Access;
use stroma_top::Profile;

use crate::rig::{Completions, Rig, head, pieces, status};

/// Cycles of a copy of 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// From the doorbell to the fetch of its WQE.
    pub doorbell_to_dma: u64,
    /// From its data to its CQE.
    pub data_to_cqe: u64,
    /// From the commit of a push, its data inline, to the first write.
    pub push_to_dma: u64,
}

type Trace = Vec<(u64, Event)>;

/// Cycles in which such an event happened.
fn when(trace: &Trace, wanted: impl Fn(&Event) -> bool) -> Vec<u64> {
    trace.iter().filter(|(_, event)| wanted(event)).map(|(cycle, _)| *cycle).collect()
}

fn is_store(event: &Event) -> bool {
    matches!(event, Event::Bar(Access::Store { .. }))
}

/// What happened at the pins until the request was complete.
fn traced(rig: &Rig, completions: &mut Completions, start: impl FnOnce()) -> Trace {
    rig.world(|world| world.card(0).start_trace());
    start();
    assert_eq!(status(&rig.completion(completions)), Status::Success);
    rig.world(|world| world.card(0).take_trace())
}

impl Latency {
    /// Measures a card of this profile.
    ///
    /// # Panics
    /// When a request fails, or moves other than a doorbell, two reads and two writes of a beat each.
    #[must_use]
    pub fn measure(profile: Profile) -> Self {
        let mut rig = Rig::new(profile);
        let mut completions = rig.completions(0, 8, 0);
        let mut queue = rig.queue(1, &completions, 1);
        let buffer = rig.buffer(8192);
        let key = rig.region(1, &Rig::direct(&buffer, 0, 1));
        let copy = WqeHead { remote: 4096, key, ..head(WorkOp::Gather) };

        queue.put(copy, pieces(&[Sge { address: 0, local_key: key, length: 64 }]));
        let fetched = traced(&rig, &mut completions, || rig.doorbell(&queue));
        let reads = when(&fetched, |event| matches!(event, Event::Read { .. }));
        let beats = when(&fetched, |event| matches!(event, Event::Data { .. }));
        let ([doorbell], [fetch, _], [data, cqe]) = (&when(&fetched, is_store)[..], &reads[..], &beats[..])
        else {
            panic!("a doorbell; WQE and bytes; bytes and CQE: not {fetched:?}");
        };

        let wqe = queue.put(copy, Body::Inline(&[7; 64]));
        let pushed = traced(&rig, &mut completions, || rig.push(&queue, 0, &wqe, 0..wqe.len() / 8));
        let commit = when(&pushed, is_store).pop().expect("a commit");
        let writes = when(&pushed, |event| matches!(event, Event::Write { .. }));
        Self { doorbell_to_dma: fetch - doorbell, data_to_cqe: cqe - data, push_to_dma: writes[0] - commit }
    }
}
