//! Lesson 4: messages.
//!
//! *Hardware idea*: a SEND goes where the receiver has said it wants its next message. If it has said nothing, its card answers `not ready`, and the
//! sender's card tries again after the time that comes with it; nothing is dropped, and no program is told.
//! *Software idea*: work is posted, and completions are polled. A receive completes with the length of what came, and in the order in which
//! messages were sent.
//!
//! `cargo run -p stroma-tests --example 04_send_recv`

use std::error::Error;

use stroma_abi::regs::map::counters;
use stroma_tests::pair::Pair;
use stroma_top::Profile;

const MESSAGES: [&str; 3] = ["the first", "a second, which is longer", "and the last"];
/// Room for each message.
const ROOM: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let pair = Pair::new(Profile::TenGig);
    let [alice, bob] = &pair.ends;
    let [to_bob, from_alice] = pair.connect();

    for (number, message) in (0..).zip(MESSAGES) {
        let at = usize::try_from(number)? * ROOM;
        alice.put(at, message.as_bytes());
        to_bob.start().wr_id(number).signaled().send(&[alice.piece(at, message.len())]).post()?;
    }
    // Nobody wants them yet.
    pair.run(20_000);
    let refusals = bob.count(&counters::RNR_NAKS);
    println!("bob's card was not ready {refusals} times");
    assert!(refusals > 0);

    for number in 0..MESSAGES.len() {
        let room = bob.piece(number * ROOM, ROOM);
        from_alice.receives()?.receive(number as u64, &[room]).post()?;
    }
    for (number, message) in MESSAGES.iter().enumerate() {
        let length = bob.received(number as u64, message.len()).length as usize;
        let bytes = bob.bytes(number * ROOM, length);
        println!("bob received   {:?}", String::from_utf8_lossy(&bytes));
        assert_eq!(bytes, message.as_bytes());
        alice.expect(number as u64);
    }
    println!("alice knows that all of them arrived");
    Ok(())
}
