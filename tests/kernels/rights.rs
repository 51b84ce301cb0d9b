//! The right to call is none to read or write: a kernel does for its caller what his own READ or WRITE could do, and no more.

use stroma_abi::kernel::prism::Outcome;
use stroma_kernel_client::Call;
use stroma_kernel_client::prism::{Chain, Place, Step};
use stroma_tests::calls::Calls;
use stroma_top::Profile;
use stroma_verbs::{Access, Attributes, MemoryRegion};

use crate::tasks::{MEMORY, Task};

/// Where the caller's answers come.
const ANSWER: usize = 4096;

/// How a chain of one step ends.
fn outcome(calls: &Calls, step: Step) -> Outcome {
    let request = Chain::new().always(step).request().expect("a chain");
    let task = Task::of(&request, &[]);
    let bytes = [task.parameters.as_bytes(), &task.payload].concat();
    calls.put(0, 0, &bytes);
    let room = calls.near(ANSWER, request.response_max as usize);
    let batch = calls.ends[0].start().wr_id(1).signaled();
    let pieces = [calls.near(0, bytes.len())];
    batch.rpc_write(room, &task.target, calls.key(), &pieces).post().expect("room in the queue");
    let found = calls.pair.ends[0].expect(1);
    let bytes = calls.bytes(0, ANSWER, found.length as usize);
    request.answer(found.rpc.expect("an RPC"), &bytes).expect("an answer").outcome(0)
}

/// Memory of the far host, filled with fives, and where it is.
fn memory_of(calls: &Calls, rights: Access) -> (MemoryRegion, Place) {
    let memory = calls.pair.ends[1].domain.allocate(4096, rights).expect("memory");
    memory.write(0, &[5; 8]).expect("inside");
    let place = Place::new(memory.address(0).expect("inside"), memory.rkey());
    (memory, place)
}

fn held(memory: &MemoryRegion) -> [u8; 8] {
    let mut bytes = [0; 8];
    memory.read(0, &mut bytes).expect("inside");
    bytes
}

fn story(profile: Profile) {
    let calls = Calls::new(profile, MEMORY, |_| {});
    let (read, write) = (Access::REMOTE_READ, Access::REMOTE_WRITE);
    let peers = [Access::LOCAL_READ, read, write, read | write];
    for connection in peers {
        let granted = Attributes::default().rights(connection | Access::RPC);
        calls.ends[1].modify(&granted).expect("rights of a connection that is up");
        for region in peers {
            for rpc in [Access::LOCAL_READ, Access::RPC] {
                let what = format!(
                    "{profile:?}: {connection:?} of the connection, {region:?}, {rpc:?} of the region"
                );
                let (memory, place) = memory_of(&calls, Access::LOCAL_WRITE | region | rpc);
                let may = |right| rpc == Access::RPC && connection.allows(right) && region.allows(right);
                let expected = |right| if may(right) { Outcome::Done } else { Outcome::Refused };
                assert_eq!(outcome(&calls, Step::read(place, 8)), expected(read), "{what}: read");
                assert_eq!(outcome(&calls, Step::write(place, &[6; 8])), expected(write), "{what}: write");
                assert_eq!(held(&memory), if may(write) { [6; 8] } else { [5; 8] }, "{what}");
            }
        }
    }
    // Who has not agreed that his own card writes there, has not agreed that kernels do.
    let (memory, place) = memory_of(&calls, read | Access::RPC);
    assert_eq!(outcome(&calls, Step::write(place, &[6; 8])), Outcome::Refused, "{profile:?}");
    assert_eq!(outcome(&calls, Step::read(place, 8)), Outcome::Done, "{profile:?}");
    assert_eq!(held(&memory), [5; 8], "{profile:?}");
}

#[test]
fn a_kernel_reads_and_writes_where_its_caller_could_and_nowhere_else_10g() {
    story(Profile::TenGig);
}

#[test]
fn a_kernel_reads_and_writes_where_its_caller_could_and_nowhere_else_100g() {
    story(Profile::HundredGig);
}
