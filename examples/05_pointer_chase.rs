//! Lesson 5: a pointer chase.
//!
//! *Hardware idea*: a kernel goes where the data are. The list is walked by the card that has the memory, at the price of a DMA for an element;
//! a chain of READs pays the way over the wire and back for each.
//! *Software idea*: a kernel is called like a function. The request knows what its answer means, so that the caller gets a value or `None`,
//! and not bytes with a status.
//!
//! `cargo run -p stroma-tests --example 05_pointer_chase`

use std::error::Error;
use std::time::Duration;

use stroma_abi::kernel::traversal::Traversal;
use stroma_rpc::{Caller, Shape};
use stroma_tests::pair::Pair;
use stroma_tests::walks::{VALUE_STRIDE, VALUES_AT, connect, list};
use stroma_top::Profile;

/// Elements of the list; its keys begin at 100.
const ELEMENTS: u64 = 16;
/// Bytes of an element: key, pointer to the next, pointer to the value.
const ELEMENT_LEN: usize = 24;
const VALUE: &[u8; 8] = b"a value!";

fn main() -> Result<(), Box<dyn Error>> {
    let profile = Profile::HundredGig;
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let key = far.memory.rkey();
    let task = Traversal { value_length: 8, ..list(&pair, ELEMENTS) };
    let last = usize::try_from(ELEMENTS - 1)?;
    far.put(VALUES_AT + last * VALUE_STRIDE, VALUE);
    let sought = 100 + ELEMENTS - 1;
    let nanoseconds = |since: u64| (pair.now() - since) * 1_000_000 / u64::from(profile.clock_khz());

    // A READ for each element, and one for the value: the next address is known when the answer is here.
    let [reader, _far_end] = pair.connect();
    let fetch = |address: u64, length: usize| -> Result<Vec<u8>, Box<dyn Error>> {
        reader.start().wr_id(1).signaled().read(&[near.piece(0, length)], address, key).post()?;
        near.expect(1);
        Ok(near.bytes(0, length))
    };
    let started = pair.now();
    let (mut at, mut reads) = (task.root, 1);
    let value_at = loop {
        let element = fetch(at, ELEMENT_LEN)?;
        let word =
            |index: usize| element[index * 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        reads += 1;
        if word(0) == sought {
            break word(2);
        }
        at = word(1);
    };
    assert_eq!(fetch(value_at, VALUE.len())?, VALUE);
    let by_reads = nanoseconds(started);
    println!("by READs       {by_reads:6} ns, {reads:2} round trips");

    // One call of the kernel.
    let [caller, _called] = connect(&pair, 4096, 5);
    let shape = Shape { places: 4, request_bytes: 64, answer_bytes: 4096 };
    let caller = Caller::new(caller, shape)?.with_patience(Duration::from_mins(5));
    let started = pair.now();
    let found = caller.call(Traversal { sought, ..task }, key)?;
    let by_kernel = nanoseconds(started);
    println!("by the kernel  {by_kernel:6} ns,  1 round trip");
    assert_eq!(found.as_deref(), Some(&VALUE[..]));
    assert_eq!(caller.call(Traversal { sought: 7, ..task }, key)?, None, "no element has this key");
    assert!(by_kernel < by_reads, "the kernel saves round trips");
    Ok(())
}
