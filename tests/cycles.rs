//! Cycle counts are part of the card's contract: a change that moves one says so here. `cargo xtask bench host` and
//! `cargo xtask bench first-light` print them.

use stroma_tests::latency::Latency;
use stroma_tests::path::PathLatency;
use stroma_top::Profile;

#[test]
fn a_single_request_takes_as_long_as_promised() {
    let promised = Latency { doorbell_to_dma: 9, data_to_cqe: 7, push_to_dma: 44 };
    assert_eq!(Latency::measure(Profile::HundredGig), promised);
}

#[test]
fn a_write_of_64_bytes_passes_both_cards_as_fast_as_promised() {
    let PathLatency { card_tx, card_rx, .. } = PathLatency::measure(Profile::HundredGig, 64, false);
    assert_eq!((card_tx, card_rx), (29, 37));
}
