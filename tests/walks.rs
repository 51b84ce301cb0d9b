//! Calls of the kernel `traversal` on the far card of a [`Pair`].

#![expect(clippy::missing_panics_doc, reason = "a story that is not as expected panics, wherever it is")]

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::Traversal;
pub use stroma_party::{target, task};
use stroma_verbs::{Access, QueuePair, WorkCompletion};

use crate::pair::Pair;

/// Where values begin in the far memory, and how far they are apart.
pub const VALUES_AT: usize = 65_536;
/// Bytes from a value to the next.
pub const VALUE_STRIDE: usize = 5000;

/// A connection whose ends let each other run kernels, and keep answers of up to so many bytes.
#[must_use]
pub fn connect(pair: &Pair, bytes: usize, path_mtu: u8) -> [QueuePair; 2] {
    let pairs = [0, 1].map(|end| pair.ends[end].calling(bytes));
    pair.join(pairs.each_ref(), |_, connection| {
        connection.path_mtu = path_mtu;
        connection.rights = connection.rights | Access::RPC;
    });
    pairs
}

/// A list of `length` elements, each with key, pointer to the next and pointer to its value, in the far memory. Keys begin at 100.
#[must_use]
pub fn list(pair: &Pair, length: u64) -> Traversal {
    let far = &pair.ends[1];
    for index in 0..length {
        let element = usize::try_from(index).expect("small") * 64;
        let next = if index + 1 < length { far.at(element + 64) } else { 0 };
        let value = far.at(VALUES_AT + usize::try_from(index).expect("small") * VALUE_STRIDE);
        let words = [100 + index, next, value];
        far.put(element, &words.map(u64::to_le_bytes).concat());
    }
    task(far.at(0))
}

/// Has a list walked; the answer comes to `to` of the near memory.
#[must_use]
pub fn walk(
    pair: &Pair,
    caller: &QueuePair,
    task: &Traversal,
    to: usize,
    response_max: u32,
) -> WorkCompletion {
    let [near, far] = &pair.ends;
    let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
    let result = near.piece(to, response_max as usize);
    let batch = caller.start().wr_id(7).signaled();
    batch.rpc(result, &target(response_max), far.memory.rkey(), parameters).post().expect("a call");
    near.expect(7)
}
