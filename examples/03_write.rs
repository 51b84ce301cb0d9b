//! Lesson 3: a WRITE.
//!
//! *Hardware idea*: a reliable connection. The card cuts a message into packets and numbers them; what is lost on the wire it fetches and
//! sends again, until the other card has acknowledged the last.
//! *Software idea*: memory is lent by key. Whoever has the address and the key of a region writes there, as far as its rights go, and
//! no program at the other end takes part.
//!
//! `cargo run -p stroma-tests --example 03_write`

use std::error::Error;

use stroma_abi::regs::map::counters;
use stroma_sim::link::{Chance, Faults};
use stroma_tests::pair::{Pair, pattern};
use stroma_top::Profile;

const LETTER: usize = 100_000;
const INBOX: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let profile = Profile::HundredGig;
    let pair = Pair::new(profile);
    let [alice, bob] = &pair.ends;
    // What is lost without a trace is missed after 262 us, and sent again up to 7 times.
    let [to_bob, _to_alice] =
        pair.connect_with(256, |_, connection| (connection.timeout, connection.retry) = (6, 7));

    // On a good wire, then on one that loses every tenth frame of either direction.
    for (round, percent) in [(1, 0), (2, 10)] {
        for end in 0..2 {
            let faults = Faults { seed: 1, loss: Chance::percent(percent), ..Faults::default() };
            pair.shared.world().line(end).set_faults(faults);
        }
        alice.put(0, &pattern(round, LETTER));
        let started = pair.now();
        let batch = to_bob.start().wr_id(round).signaled();
        batch.write(&[alice.piece(0, LETTER)], bob.at(INBOX), bob.memory.rkey()).post()?;
        alice.expect(round);

        // The completion tells that all of it was acknowledged; bob has done nothing.
        assert_eq!(bob.bytes(INBOX, LETTER), pattern(round, LETTER));
        let nanoseconds = (pair.now() - started) * 1_000_000 / u64::from(profile.clock_khz());
        let again = alice.count(&counters::RETRANSMITTED);
        println!("{percent:2} % lost   {LETTER} bytes in {nanoseconds:8} ns, {again:3} packets sent again");
        assert_eq!(again > 0, percent > 0, "packets are sent again where some are lost");
    }
    Ok(())
}
