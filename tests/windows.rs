//! Memory windows: parts of a region that a request opens to one peer, and a request, here or there, closes again.

use stroma_abi::kernel::shuffle::{Buffer, Shuffle};
use stroma_abi::wire::RpcStatus;
use stroma_kernel_client::Call;
use stroma_sim::host::timing::Timing;
use stroma_tests::pair::{End, Pair, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{
    Access, AsyncEvent, CommandStatus, Error, MemoryRegion, MemoryWindow, QueuePair, Status, WorkOp,
};

/// Bytes of the region behind the windows.
const REGION: usize = 65_536;
/// The part that they open, which begins and ends within pages.
const OFFSET: usize = 5_000;
const LEN: usize = 20_000;

/// Two connected cards; the far one has a region that grants its peers nothing, and a window on it.
struct Story {
    pair: Pair,
    region: MemoryRegion,
    window: MemoryWindow,
    near: QueuePair,
    far: QueuePair,
}

impl Story {
    fn new(profile: Profile) -> Self {
        let pair = Pair::new(profile);
        let [near, far] =
            pair.connect_with(256, |_, connection| connection.rights = connection.rights | Access::RPC);
        let end = &pair.ends[1];
        let memory = stroma_device::DmaMemory::allocate(REGION, None).unwrap();
        let region = end.domain.region(Access::LOCAL_WRITE).bindable().register(memory.into()).unwrap();
        let window = end.domain.memory_window().unwrap();
        Self { pair, region, window, near, far }
    }

    fn ends(&self) -> [&End; 2] {
        self.pair.ends.each_ref()
    }

    fn address(&self, offset: usize) -> u64 {
        self.region.address(offset).unwrap()
    }

    /// Binds the window under a new key.
    fn bind(&self, access: Access) -> u32 {
        let key = self.window.next_key();
        self.far.start().wr_id(7).signaled().bind(key, &self.region, OFFSET, LEN, access).post().unwrap();
        assert_eq!(self.ends()[1].expect(7).op, WorkOp::Bind);
        key
    }

    /// The peer writes to a place of the region under this key, and learns what became of it.
    fn write(&self, queue_pair: &QueuePair, key: u32, offset: usize, len: usize) -> Status {
        let near = self.ends()[0];
        let batch = queue_pair.start().wr_id(8).signaled();
        batch.write(&[near.piece(0, len)], self.address(offset), key).post().unwrap();
        near.complete().status
    }

    fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.region.read(offset, &mut bytes).unwrap();
        bytes
    }
}

const WRITE: Access = Access::REMOTE_WRITE;

#[test]
fn a_bound_window_opens_its_part_and_ends_with_the_peers_message() {
    for profile in widths!() {
        let story = Story::new(profile);
        let [near, far] = story.ends();
        let key = story.bind(WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC);
        near.put(0, &pattern(1, LEN));
        assert_eq!(story.write(&story.near, key, OFFSET, LEN), Status::Success);
        assert_eq!(story.bytes(OFFSET, LEN), pattern(1, LEN));
        assert!(story.bytes(0, OFFSET).iter().all(|byte| *byte == 0), "nothing before it");
        assert!(story.bytes(OFFSET + LEN, 1_000).iter().all(|byte| *byte == 0), "nothing behind it");
        let batch =
            story.near.start().wr_id(1).read(&[near.piece(100_000, 9_000)], story.address(OFFSET + 3), key);
        let batch =
            batch.wr_id(2).signaled().fetch_add(near.piece(200_000, 8), story.address(OFFSET), key, 5);
        batch.post().unwrap();
        near.expect(2);
        assert_eq!(near.bytes(100_000, 9_000), pattern(1, LEN)[3..9_003]);
        assert_eq!(near.bytes(200_000, 8), pattern(1, 8));

        story.far.receives().unwrap().receive(3, &[far.piece(0, 5_000)]).post().unwrap();
        // The WRITE, the READ and the message follow each other without a pause: what comes before the end is not cut off.
        let batch = story.near.start().write(&[near.piece(0, 12_000)], story.address(OFFSET + 40), key);
        let batch =
            batch.wr_id(4).signaled().read(&[near.piece(300_000, 15_000)], story.address(OFFSET), key);
        batch.wr_id(5).signaled().send_invalidate(&[near.piece(0, 5_000)], key).post().unwrap();
        let received = far.received(3, 5_000);
        assert_eq!((received.op, received.invalidated), (WorkOp::SendInv, Some(key)), "{profile:?}");
        assert_eq!(story.bytes(OFFSET + 40, 12_000), pattern(1, 12_000));
        near.expect(4);
        near.expect(5);
        assert_eq!(near.bytes(300_040, 12_000), pattern(1, 12_000));
        assert_eq!(far.bytes(0, 5_000), pattern(1, 5_000));
        assert_eq!(story.write(&story.near, key, OFFSET, 1), Status::RemoteAccess);
        assert_eq!(
            far.event(),
            AsyncEvent::QueuePairError { queue_pair: story.far.number(), status: Some(Status::RemoteAccess) }
        );
    }
}

#[test]
fn outside_its_bounds_and_rights_a_window_opens_nothing() {
    for (access, offset, len) in [
        (WRITE, OFFSET - 1, 2),
        (WRITE, OFFSET + LEN - 1, 2),
        (WRITE, 0, 1),
        (Access::REMOTE_READ, OFFSET, 1),
        (WRITE, OFFSET, LEN + 1),
    ] {
        let story = Story::new(Profile::ALL[0]);
        let key = story.bind(access);
        story.ends()[0].put(0, &vec![0xff; LEN + 1]);
        assert_eq!(
            story.write(&story.near, key, offset, len),
            Status::RemoteAccess,
            "{len} bytes at {offset}"
        );
        assert!(story.bytes(0, REGION).iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_window_is_there_for_the_peer_of_its_queue_pair_alone() {
    for profile in widths!() {
        let story = Story::new(profile);
        let [near, far] = story.ends();
        let key = story.bind(WRITE);
        let [other, _other_far] = story.pair.connect();
        assert_eq!(story.write(&other, key, OFFSET, 4), Status::RemoteAccess);

        // Nor may the host itself use it.
        let local = far.domain.queue_pair(&far.completions).build().unwrap();
        local.activate().unwrap();
        let piece = stroma_verbs::Sge { address: story.address(OFFSET), local_key: key, length: 4 };
        local.start().wr_id(1).gather(&[piece], far.at(0), far.memory.lkey()).post().unwrap();
        assert_eq!(far.complete().status, Status::LocalProtection);

        // Nobody else ends it, and its peer still has it.
        let [third, third_far] = story.pair.connect();
        third_far.receives().unwrap().receive(2, &[far.piece(0, 8)]).post().unwrap();
        third.start().wr_id(3).send_invalidate(&[near.piece(0, 8)], key).post().unwrap();
        assert_eq!(near.complete().status, Status::RemoteAccess);
        let received = far.complete();
        assert_eq!((received.wr_id, received.status), (2, Status::RemoteAccess), "{profile:?}");
        assert_eq!(story.write(&story.near, key, OFFSET, 4), Status::Success);
    }
}

#[test]
fn an_ended_key_is_over_when_the_request_completes_and_the_window_may_be_bound_again() {
    for profile in widths!() {
        let story = Story::new(profile);
        let [near, far] = story.ends();
        let mut keys = Vec::new();
        for round in 0..4_u64 {
            let key = story.bind(WRITE);
            near.put(0, &pattern(round, LEN));
            assert_eq!(story.write(&story.near, key, OFFSET, LEN), Status::Success);
            assert_eq!(story.bytes(OFFSET, LEN), pattern(round, LEN));
            story.far.start().wr_id(9).signaled().invalidate(key).post().unwrap();
            assert_eq!(far.expect(9).op, WorkOp::Invalidate);
            keys.push(key);
        }
        keys.dedup();
        assert_eq!(keys.len(), 4);
        assert_eq!(story.write(&story.near, keys[2], OFFSET, 1), Status::RemoteAccess);
    }
}

/// While the peer writes and writes, the key ends here: from the completion on, not a byte changes.
#[test]
fn nothing_arrives_under_a_key_behind_the_completion_that_ended_it() {
    for profile in widths!() {
        for delay in [0, 300, 700, 1_100, 1_900, 2_600] {
            let story = Story::new(profile);
            let [near, far] = story.ends();
            let key = story.bind(WRITE);
            near.put(0, &pattern(delay, LEN));
            for at in 0..16 {
                let batch = story.near.start().wr_id(at);
                batch.write(&[near.piece(0, LEN)], story.address(OFFSET), key).post().unwrap();
            }
            story.pair.run(delay);
            story.far.start().wr_id(1).signaled().invalidate(key).post().unwrap();
            far.expect(1);
            let (before, cleared) = (story.bytes(OFFSET, LEN), vec![0xee; LEN]);
            assert!(
                before.iter().zip(pattern(delay, LEN)).all(|(found, sent)| *found == 0 || *found == sent)
            );
            story.region.write(OFFSET, &cleared).unwrap();
            let refused = near.complete();
            assert_eq!(refused.status, Status::RemoteAccess, "{profile:?}, {delay} cycles");
            story.pair.run(20_000);
            assert_eq!(story.bytes(OFFSET, LEN), cleared, "{profile:?}, {delay} cycles");
        }
    }
}

/// A host that takes one write at a time, and long for each: what was allowed waits in the card.
const SLOW: Timing = Timing { name: "slow-writes", write_ns: 2_000, writes: 1, ..Timing::ALVEO_GEN3X16 };

/// A kernel stores all of a stream at `OFFSET + 1000`, under this key.
fn store_stream(story: &Story, key: u32, stream: &[u8]) {
    let near = story.ends()[0];
    let buffer = Buffer { address: story.address(OFFSET + 1000), capacity: 18_000, used: 0 };
    story.region.write(OFFSET, &buffer.to_bytes()).unwrap();
    let call = Shuffle { buffers: story.address(OFFSET), partitions_log: 0, first_bit: 0, wide: false };
    let payload = [call.parameters().as_bytes(), stream].concat();
    near.put(0, &payload);
    let pieces = [near.piece(0, payload.len())];
    let batch = story.near.start().wr_id(3).signaled();
    batch.rpc_write(near.piece(0, 0), &call.target(), key, &pieces).post().unwrap();
}

/// A kernel writes under the key, in a host that is slow, while the key ends here: from the completion on, not a byte changes.
#[test]
fn nothing_of_a_kernel_arrives_under_a_key_behind_the_completion_that_ended_it() {
    for profile in widths!() {
        let (mut ended_within, stream) = (0, pattern(3, 16_000));
        for delay in [1_000, 2_000, 4_000, 8_000] {
            let story = Story::new(profile);
            let [near, far] = story.ends();
            let key = story.bind(WRITE | Access::REMOTE_READ | Access::RPC);
            story.pair.run(5_000);
            story.pair.shared.world().card(1).set_timing(SLOW);
            store_stream(&story, key, &stream);
            story.pair.run(delay);
            story.far.start().wr_id(1).signaled().invalidate(key).post().unwrap();
            far.expect(1);
            let before = story.bytes(OFFSET + 1000, stream.len());
            assert!(before.iter().zip(&stream).all(|(found, sent)| *found == 0 || found == sent));
            let cleared = vec![0xee; LEN];
            story.region.write(OFFSET, &cleared).unwrap();
            let status = near.complete().rpc.expect("an RPC");
            story.pair.run(50_000);
            assert_eq!(story.bytes(OFFSET, LEN), cleared, "{profile:?}, {delay} cycles");
            let has_begun = before.iter().any(|byte| *byte != 0);
            ended_within += u32::from(has_begun && status == RpcStatus::Access as u32);
        }
        assert!(ended_within > 0, "{profile:?}: no key ended while the kernel wrote");
    }
}

#[test]
fn what_cannot_be_bound_or_ended_is_told_and_ends_the_queue_pair() {
    type Post<'a> = Box<dyn Fn(&Story, &QueuePair) + 'a>;
    let bind = |access: Access, offset: usize, len: usize| -> Post<'_> {
        Box::new(move |story, queue_pair| {
            let key = story.window.next_key();
            queue_pair.start().wr_id(1).bind(key, &story.region, offset, len, access).post().unwrap();
        })
    };
    let posts: [(&str, Post<'_>); 6] = [
        ("a right that is no peer's", bind(Access::LOCAL_WRITE, OFFSET, LEN)),
        ("no bytes", bind(WRITE, OFFSET, 0)),
        (
            "a region that is not bindable",
            Box::new(|story, queue_pair| {
                let (key, end) = (story.window.next_key(), story.ends()[1]);
                queue_pair.start().wr_id(1).bind(key, &end.memory, 0, 8, WRITE).post().unwrap();
            }),
        ),
        (
            "a window that is bound",
            Box::new(|story, queue_pair| {
                story.bind(WRITE);
                let key = story.window.next_key();
                queue_pair.start().wr_id(1).bind(key, &story.region, 0, 8, WRITE).post().unwrap();
            }),
        ),
        (
            "the end of a key that nobody has",
            Box::new(|story, queue_pair| {
                queue_pair.start().wr_id(1).invalidate(story.window.next_key()).post().unwrap();
            }),
        ),
        (
            "the end of a region's key",
            Box::new(|story, queue_pair| {
                queue_pair.start().wr_id(1).invalidate(story.region.lkey()).post().unwrap();
            }),
        ),
    ];
    for (what, post) in posts {
        let story = Story::new(Profile::ALL[0]);
        let far = story.ends()[1];
        post(&story, &story.far);
        story.far.start().wr_id(2).nop().post().unwrap();
        let failed = far.complete();
        assert_eq!((failed.wr_id, failed.status), (1, Status::WindowBind), "{what}");
        let flushed = far.complete();
        assert_eq!((flushed.wr_id, flushed.status), (2, Status::Flushed), "{what}");
    }
}

#[test]
fn a_region_stays_while_windows_are_bound_to_it() {
    let Story { pair, region, window, near: _near, far: queue_pair } = Story::new(Profile::ALL[0]);
    let far = &pair.ends[1];
    let key = window.next_key();
    queue_pair.start().wr_id(1).signaled().bind(key, &region, OFFSET, LEN, WRITE).post().unwrap();
    far.expect(1);
    let error = region.deregister().unwrap_err();
    assert!(matches!(error, Error::CommandRefused { status: CommandStatus::InUse, .. }), "{error}");
    // A window that is dropped is unbound.
    drop(window);
    let again = far.domain.memory_window().unwrap();
    assert_ne!(again.next_key(), key);
}

/// Of type 2B: a window is there for a queue pair, and not for a number.
#[test]
fn windows_end_with_their_queue_pair_and_the_next_of_its_number_inherits_nothing() {
    for profile in widths!() {
        for is_reset in [true, false] {
            let Story { pair, region, window, near, far } = Story::new(profile);
            let end = &pair.ends[1];
            let bind = |queue_pair: &QueuePair| {
                let key = window.next_key();
                queue_pair.start().wr_id(1).signaled().bind(key, &region, OFFSET, LEN, WRITE).post().unwrap();
                end.expect(1);
                key
            };
            let other_window = end.domain.memory_window().unwrap();
            let [_other_near, other] = pair.connect();
            let kept = other_window.next_key();
            other.start().wr_id(1).signaled().bind(kept, &region, 0, 64, WRITE).post().unwrap();
            end.expect(1);
            let key = bind(&far);
            let number = far.number();
            let far = if is_reset {
                far.reset().unwrap();
                far
            } else {
                drop(far);
                end.queue_pair(256)
            };
            assert_eq!(far.number(), number, "the number serves again");
            near.reset().unwrap();
            pair.reconnect([&near, &far]);
            let write = |key: u32, at: usize| {
                let batch = near.start().wr_id(8).signaled();
                batch.write(&[pair.ends[0].piece(0, 8)], region.address(at).unwrap(), key).post().unwrap();
                pair.ends[0].complete().status
            };
            assert_eq!(write(key, OFFSET), Status::RemoteAccess, "{profile:?}: the old key is over");
            near.reset().unwrap();
            far.reset().unwrap();
            pair.reconnect([&near, &far]);
            // The window may be bound again, and that of another queue pair is as it was.
            let key = bind(&far);
            assert_eq!(write(key, OFFSET), Status::Success, "{profile:?}");
            other.start().wr_id(1).signaled().invalidate(kept).post().unwrap();
            end.expect(1);
            drop((far, other));
            region.deregister().unwrap();
        }
    }
}
