//! A thousand calls wait for one kernel, and nobody else waits for them.

use stroma_abi::kernel::consistency::Consistency;
use stroma_abi::regs::map::counters;
use stroma_kernel_client::Call;
use stroma_tests::calls::Calls;
use stroma_tests::pair::pattern;
use stroma_top::Profile;
use stroma_verbs::Access;

use crate::hostile::serves;

/// Connections that call, and how often each does.
const CALLERS: usize = 10;
const CALLS: usize = 100;

/// Cycles that a WRITE takes, and its bytes are there.
fn write(calls: &Calls, bytes: usize, seed: u64) -> u64 {
    let data = pattern(seed, bytes);
    calls.put(0, 0, &data);
    let start = calls.pair.now();
    let batch = calls.ends[0].start().wr_id(3).signaled();
    batch.write(&[calls.near(0, bytes)], calls.at(bytes), calls.key()).post().expect("room in the queue");
    calls.pair.ends[0].expect(3);
    let cycles = calls.pair.now() - start;
    assert!(calls.bytes(1, bytes, bytes) == data, "what was written");
    cycles
}

fn waits(profile: Profile, bytes: usize) {
    let calls = Calls::new(profile, 2 * bytes, |_| {});
    // A kernel with one slot, and ten reads of a microsecond each, for zeros are no CRC of zeros: what it holds keeps it busy for longer than
    // the WRITE takes.
    let never = Consistency { address: calls.at(0), length: 16, pause: 0, attempts: 10 };
    write(&calls, bytes, 1);
    let alone = write(&calls, bytes, 2);
    let pair = &calls.pair;
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let ends = [0, 1].map(|end| pair.ends[end].calling(4096));
            pair.join(ends.each_ref(), |_, connection| connection.rights = connection.rights | Access::RPC);
            let batch = (0..CALLS).fold(ends[0].start(), |batch, _| {
                batch.rpc(calls.near(0, 8), &never.target(), calls.key(), never.parameters())
            });
            batch.post().expect("room in the queue");
            ends
        })
        .collect();
    pair.run(10_000);
    assert!(pair.ends[1].count(&counters::RNR_NAKS) > 0, "{profile:?}: the kernel has no room for all");
    let beside = write(&calls, bytes, 3);
    assert!(10 * alone >= 8 * beside, "{profile:?}: {alone} cycles alone, {beside} beside the calls");
    drop(callers);
    serves(&calls);
}

#[test]
fn writes_keep_four_fifths_of_their_rate_beside_a_thousand_calls_10g() {
    waits(Profile::TenGig, 1 << 17);
}

#[test]
fn writes_keep_four_fifths_of_their_rate_beside_a_thousand_calls_100g() {
    waits(Profile::HundredGig, 1 << 19);
}
