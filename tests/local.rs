//! A card that talks to itself: what its queue pairs send each other comes back in without leaving it.

use stroma_abi::kernel::traversal::{OPERATION, Traversal};
use stroma_abi::regs::map::counters;
use stroma_abi::wire::RpcStatus;
use stroma_kernel_client::Failed;
use stroma_rpc::{Caller, Error, Onward, Shape};
use stroma_tests::faulty::faults;
use stroma_tests::pair::{Pair, pattern};
use stroma_tests::walks::{VALUE_STRIDE, VALUES_AT, connect, list};
use stroma_top::Profile;
use stroma_verbs::{Access, Error as VerbsError, Status};

const ALL: Access = Access::REMOTE_WRITE;

/// The same caller asks its own card, which has the list, and its peer's, which has none.
fn own_kernels(profile: Profile) {
    let pair = Pair::new(profile);
    let [_, own] = &pair.ends;
    let [_peer, calling] = connect(&pair, 65_536, 5);
    let values = pattern(3, 1 << 17);
    own.put(VALUES_AT, &values);
    let task = list(&pair, 8);
    let caller = Caller::new(calling, Shape::default()).expect("a caller").with_own_card().expect("its card");
    let sent = own.count(&counters::TX_FRAMES);
    let walks = [(100, 64), (107, 5000), (103, 0), (105, 4096)];
    let pending = walks.map(|(sought, value_length)| {
        let call = Traversal { sought, value_length, ..task };
        caller.post_rpc_local(call, own.memory.rkey()).expect("a call")
    });
    for ((sought, length), pending) in walks.into_iter().zip(pending) {
        let found = caller.wait(pending).expect("an answer").expect("the key is there");
        let at = usize::try_from(sought - 100).expect("small") * VALUE_STRIDE;
        assert!(found == values[at..at + length as usize], "{profile:?}: the value of {sought}");
    }
    let missing = caller.post_rpc_local(Traversal { sought: 1, value_length: 8, ..task }, own.memory.rkey());
    assert_eq!(caller.wait(missing.expect("a call")).expect("an answer"), None);
    assert_eq!(own.count(&counters::TX_FRAMES), sent, "{profile:?}: nothing has left the card");
    assert!(own.count(&counters::TX_TURNED) >= 2 * 5, "{profile:?}: a request and an answer each");

    let elsewhere = caller.call(Traversal { sought: 100, value_length: 8, ..task }, own.memory.rkey());
    let Err(Error::Failed(Failed::Card { status, .. })) = elsewhere else { panic!("{elsewhere:?}") };
    assert_eq!(status, RpcStatus::Access, "the peer has no such memory");
    assert!(own.count(&counters::TX_FRAMES) > sent, "that call has left");
    assert_eq!(own.count(&counters::RETRANSMITTED), 0, "{profile:?}");
}

#[test]
fn a_caller_runs_kernels_of_its_own_card_10g() {
    own_kernels(Profile::TenGig);
}

#[test]
fn a_caller_runs_kernels_of_its_own_card_100g() {
    own_kernels(Profile::HundredGig);
}

/// Values that a kernel of one card finds are put into the memory of the other, over a wire that loses frames.
fn onward(profile: Profile) {
    const TO: usize = 8192;
    let pair = Pair::new(profile);
    let [peer, own] = &pair.ends;
    let [_called, calling] = connect(&pair, 65_536, 3);
    let values = pattern(3, 1 << 17);
    own.put(VALUES_AT, &values);
    let task = list(&pair, 8);
    let caller = Caller::new(calling, Shape::default()).expect("a caller").with_own_card().expect("its card");
    for end in 0..2 {
        pair.shared.world().line(end).set_faults(faults(0x51 + end as u64, 5));
    }
    for round in 0..8 {
        let (sought, length) = (100 + round, 1000 + 500 * u32::try_from(round).expect("small"));
        let call = Traversal { sought, value_length: length, ..task };
        let to = Onward { address: peer.at(TO), key: peer.memory.rkey() };
        let pending = caller.post_rpc_onward(call, own.memory.rkey(), None, to).expect("a call");
        let found = caller.wait(pending).expect("an answer").expect("the key is there");
        let at = usize::try_from(round).expect("small") * VALUE_STRIDE;
        let expected = &values[at..at + length as usize];
        assert!(found == expected, "{profile:?}, round {round}: what the kernel found");
        assert!(peer.bytes(TO, expected.len()) == expected, "{profile:?}, round {round}: what the peer has");
    }
    let kernels = own.device.kernels().expect("a catalogue");
    let walkers = kernels.iter().filter(|kernel| kernel.operation == OPERATION);
    let counts = walkers.map(|kernel| own.device.kernel_counters(kernel.slot).expect("counters").invoked);
    assert_eq!(counts.sum::<u64>(), 8, "{profile:?}: each call ran once");
    assert!(own.count(&counters::RETRANSMITTED) > 0, "{profile:?}: something was sent again");

    // One that finds nothing, and one whose WRITE the peer does not allow.
    let call = Traversal { sought: 1, value_length: 8, ..task };
    let to = Onward { address: peer.at(TO), key: peer.memory.rkey() };
    let before = peer.bytes(TO, 64);
    let pending = caller.post_rpc_onward(call, own.memory.rkey(), None, to).expect("a call");
    assert_eq!(caller.wait(pending).expect("an answer"), None);
    assert!(peer.bytes(TO, 64) == before, "{profile:?}: nothing was written");
    let call = Traversal { sought: 100, value_length: 8, ..task };
    let wrong = Onward { key: peer.memory.rkey() ^ 0x100, ..to };
    let pending = caller.post_rpc_onward(call, own.memory.rkey(), None, wrong).expect("a call");
    let refused = caller.wait(pending);
    assert!(matches!(refused, Err(Error::Completion { status: Status::RemoteAccess, .. })), "{refused:?}");
    assert!(peer.bytes(TO, 64) == before, "{profile:?}: nor was that");
}

#[test]
fn a_kernel_on_the_sending_side_10g() {
    onward(Profile::TenGig);
}

#[test]
fn a_kernel_on_the_sending_side_100g() {
    onward(Profile::HundredGig);
}

/// A card's peer WRITEs to it, and it WRITEs to that and to itself, all at once.
fn beside_the_wire(profile: Profile) {
    const LENGTH: usize = 65_536;
    const ROUNDS: u32 = 4;
    let pair = Pair::new(profile);
    let [near, far] = &pair.ends;
    let [out, back] = pair.connect();
    let [from, to] = [0; 2].map(|_| near.queue_pair(256));
    from.connect_locally(&to, ALL).expect("a connection");
    let places = [0, 1, 2].map(|place| (2 * place * LENGTH, (2 * place + 1) * LENGTH));
    let data = pattern(4, LENGTH);
    near.put(places[0].0, &data);
    near.put(places[1].0, &data);
    far.put(places[2].0, &data);
    for round in 0..ROUNDS {
        let ways =
            [(&from, near, near, places[0]), (&out, near, far, places[1]), (&back, far, near, places[2])];
        for (queue_pair, here, there, (source, sink)) in ways {
            let piece = here.piece(source, LENGTH);
            let batch = queue_pair.start().wr_id(round.into()).signaled();
            batch.write(&[piece], there.at(sink), there.memory.rkey()).post().expect("room in the queue");
        }
    }
    let mut ends = [0; ROUNDS as usize];
    for _ in 0..2 * ROUNDS {
        let found = near.complete();
        assert_eq!(found.status, Status::Success);
        ends[usize::try_from(found.wr_id).expect("small")] += 1;
    }
    for round in 0..ROUNDS {
        far.expect(round.into());
    }
    assert_eq!(ends, [2; ROUNDS as usize], "each WRITE ends once");
    for (end, (_, sink)) in [(near, places[0]), (far, places[1]), (near, places[2])] {
        assert!(end.bytes(sink, LENGTH) == data, "{profile:?}: what was written");
    }
    for end in [near, far] {
        assert_eq!(end.count(&counters::RETRANSMITTED), 0, "{profile:?}: no frame is lost for another");
    }
    let packets = u64::from(ROUNDS) * (LENGTH as u64 / 4096);
    assert!(near.count(&counters::TX_TURNED) > packets, "{profile:?}: its packets, and answers to them");
    assert_eq!(far.count(&counters::TX_TURNED), 0);
}

#[test]
fn a_card_writes_to_itself_beside_the_wire_10g() {
    beside_the_wire(Profile::TenGig);
}

#[test]
fn a_card_writes_to_itself_beside_the_wire_100g() {
    beside_the_wire(Profile::HundredGig);
}

#[test]
fn what_cannot_be_a_connection_of_one_card_is_refused() {
    let pair = Pair::new(Profile::TenGig);
    let [near, far] = &pair.ends;
    let [one, other, foreign] = [near, near, far].map(|end| end.queue_pair(16));
    let refused = one.connect_locally(&foreign, ALL);
    assert!(matches!(refused, Err(VerbsError::OtherDevice { .. })), "{refused:?}");
    near.device.port().set_mac([0; 6]).expect("a register");
    let refused = one.connect_locally(&other, ALL);
    assert!(matches!(refused, Err(VerbsError::NoOwnAddress { .. })), "{refused:?}");

    let [calling, _called] = connect(&pair, 4096, 5);
    let caller = Caller::new(calling, Shape { answer_bytes: 4096, ..Shape::default() }).expect("a caller");
    let refused = caller.post_rpc_local(Traversal::default(), 0);
    assert!(matches!(refused, Err(Error::NoOwnCard { .. })), "{refused:?}");
}
