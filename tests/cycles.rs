//! Cycle counts are part of the card's contract: a change that moves one says so here. `cargo xtask bench host` prints them.

use stroma_tests::latency::Latency;
use stroma_top::Profile;

#[test]
fn a_single_request_takes_as_long_as_promised() {
    let promised = Latency { doorbell_to_dma: 10, data_to_cqe: 6, push_to_dma: 45 };
    assert_eq!(Latency::measure(Profile::HundredGig), promised);
}
