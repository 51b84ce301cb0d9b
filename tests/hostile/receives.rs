//! Receive entries with changed counts, keys, addresses and lengths, in queues of queue pairs and in shared ones: a message
//! arrives whole where the entry allows it, and else both ends are told and nothing is written that may not be.

use stroma_abi::desc::{Body, QueuePairState, Receive, ReceiveHead, Sge, SgeList, Status, WorkOp, WqeHead};
use stroma_abi::regs::map::{counters, doorbells};
use stroma_device::compose;
use stroma_tests::rig::{Buffer, Rig, head, status};
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

use super::forge::{below, one_of};
use super::hairpin::{self, LOG, Port, STRIDE};
use super::memory::{LEN, Memory};
use super::wqes::encode;

/// Messages of each test.
const MESSAGES: usize = 400;
/// Connections; every second takes its receives from a shared queue of its own.
const PAIRS: usize = 16;
/// Bytes of the longest message: four packets.
const LONGEST: usize = 1000;

/// A shared receive queue.
struct Shared {
    number: u32,
    posted: u16,
    ring: Buffer,
}

/// An entry for a message of so many bytes, and then one to three changes to it.
fn entry(memory: &Memory, length: usize, random: &mut SplitMix64) -> Vec<u8> {
    let mut pieces = Vec::new();
    let mut left = length;
    while left > 0 && pieces.len() < 6 {
        let bytes = if pieces.len() == 5 { left } else { 1 + below(random, left) };
        let address = Memory::BASE + below(random, LEN - bytes) as u64;
        pieces.push(Sge {
            address,
            local_key: memory.open_key,
            length: u32::try_from(bytes).expect("small"),
        });
        left -= bytes;
    }
    let mut bytes = hairpin::entry(&pieces);
    let edges = [Memory::BASE - 1, Memory::END - 2, Memory::END, 0, u64::MAX, u64::MAX - 50];
    for _ in 0..random.below(4) {
        let piece = ReceiveHead::LEN + 16 * below(random, pieces.len().max(1));
        let length: u32 = Sge::LENGTH.at(piece).get(&bytes);
        match random.below(6) {
            0 => ReceiveHead::SGE_COUNT
                .set(&mut bytes, one_of(random, &[0_u8, 1, 2, 3, 7, 8, 15, 16, 17, 255])),
            1 => Sge::LOCAL_KEY.at(piece).set(&mut bytes, one_of(random, &memory.keys)),
            2 => Sge::ADDRESS.at(piece).set(&mut bytes, one_of(random, &edges)),
            3 => {
                let around = [0, 1, length.wrapping_sub(1), length.wrapping_add(1), 5000, 1 << 31, u32::MAX];
                Sge::LENGTH.at(piece).set(&mut bytes, one_of(random, &around));
            }
            4 => bytes[below(random, ReceiveHead::LEN)] = random.next_u64().to_le_bytes()[0],
            _ => bytes[piece + below(random, 16)] ^= 1 << random.below(8),
        }
    }
    bytes
}

/// Where the bytes of a message go, if the entry allows all of it.
fn places(entry: &[u8], memory: &Memory, length: usize) -> Option<Vec<usize>> {
    let Receive(list) = Receive::decode(entry)?;
    let mut places = Vec::new();
    for piece in list.as_slice() {
        let bytes = (piece.length as usize).min(length - places.len());
        if bytes == 0 {
            continue;
        }
        let start = usize::try_from(piece.address.checked_sub(Memory::BASE)?).ok()?;
        if piece.local_key != memory.open_key || start.checked_add(bytes)? > LEN {
            return None;
        }
        places.extend(start..start + bytes);
    }
    (places.len() == length).then_some(places)
}

fn send(memory: &Memory, index: u16, length: usize) -> Vec<u8> {
    let length = u32::try_from(length).expect("small");
    let list = [Sge { address: Memory::BASE, local_key: memory.readable_key, length }];
    let body = Body::Gather(SgeList::new(&list[..usize::from(length > 0)]).expect("one"));
    encode(WqeHead { index, ..head(WorkOp::Send) }, &body)
}

fn post(rig: &Rig, far: &mut Port, shared: Option<&mut Shared>, entry: &[u8]) {
    let Some(shared) = shared else {
        far.put_receive(entry);
        return far.ring_receive(rig);
    };
    shared.ring.write(usize::from(shared.posted) % (1 << LOG) * (16 << STRIDE), entry);
    shared.posted = shared.posted.wrapping_add(1);
    let parts = [("queue", u64::from(shared.number)), ("producer", u64::from(shared.posted))];
    rig.ring(far.page, &doorbells::SHARED_RECEIVE, compose(&doorbells::SHARED_RECEIVE, parts));
}

fn attack(profile: Profile, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut rig = hairpin::rig(profile);
    let memory = Memory::new(&mut rig, seed);
    let mut completions = rig.completions(0, 10, 0);
    let mut pairs: Vec<([Port; 2], Option<Shared>)> = Vec::new();
    for pair in 0..u32::try_from(PAIRS).expect("few") {
        let shared = (pair % 2 == 1).then(|| Shared {
            number: pair,
            posted: 0,
            ring: hairpin::shared(&mut rig, pair, completions.page),
        });
        let near = hairpin::make(&mut rig, 10 + 2 * pair, &completions, None);
        let srq = shared.as_ref().map(|shared| shared.number);
        let far = hairpin::make(&mut rig, 11 + 2 * pair, &completions, srq);
        pairs.push(([near, far], shared));
    }
    let connect = |rig: &Rig, [near, far]: &mut [Port; 2]| {
        let numbers = [near.number, far.number];
        hairpin::connect(rig, near, numbers[1]);
        hairpin::connect(rig, far, numbers[0]);
    };
    for (ports, _) in &mut pairs {
        connect(&rig, ports);
    }

    let (mut done, mut refused) = (0, 0);
    while done < MESSAGES {
        // One at a time: entries of all connections lie in the same memory.
        for (ports, shared) in &mut pairs {
            let story = format!("{profile:?}, seed {seed:#x}, message {done}");
            let length = one_of(&mut random, &[0, 1, 255, 256, 257, 300, LONGEST]);
            let entry = entry(&memory, length, &mut random);
            let mut expected = memory.open.read(0, LEN);
            let places = places(&entry, &memory, length);
            // A message without bytes needs no list.
            let places = if length == 0 { Some(Vec::new()) } else { places };
            let [near, far] = ports;
            post(&rig, far, shared.as_mut(), &entry);
            near.put(&send(&memory, near.producer, length));
            near.ring(&rig);
            let found = [(); 2].map(|()| rig.completion(&mut completions));
            rig.settle();
            assert_eq!(rig.poll(&mut completions), None, "{story}");
            rig.arm(&completions, 0);
            let receive =
                found.iter().find(|cqe| cqe.receive).unwrap_or_else(|| panic!("{story}: no receive"));
            let request =
                found.iter().find(|cqe| !cqe.receive).unwrap_or_else(|| panic!("{story}: no request"));
            assert_eq!((receive.queue_pair.value(), request.queue_pair.value()), (far.number, near.number));
            memory.check(&story);
            let statuses = (status(receive), status(request));
            if let Some(places) = places {
                assert_eq!(statuses, (Status::Success, Status::Success), "{story}");
                assert_eq!(receive.length as usize, length, "{story}");
                let message = memory.readable(length).iter();
                places.into_iter().zip(message).for_each(|(place, byte)| expected[place] = *byte);
                assert!(memory.open.read(0, LEN) == expected, "{story}: the bytes are elsewhere");
            } else {
                let told = [Status::LocalLength, Status::LocalProtection, Status::LocalQueuePair];
                let tells = [Status::RemoteInvalid, Status::RemoteOperation];
                assert!(told.contains(&statuses.0) && tells.contains(&statuses.1), "{story}: {statuses:?}");
                for port in ports.iter() {
                    assert_eq!(rig.state_of(port.number), QueuePairState::Error, "{story}");
                    rig.state(port.number, QueuePairState::Reset);
                }
                connect(&rig, ports);
                refused += 1;
            }
            done += 1;
        }
    }
    assert!((MESSAGES / 4..MESSAGES * 3 / 4).contains(&refused), "{refused} of {done}");
    assert_eq!((rig.count(&counters::DMA_ERRORS), rig.count(&counters::BAD_DOORBELLS)), (0, 0));
    assert_eq!(rig.count(&counters::NAKS), refused as u64);
    assert_eq!(rig.world(|world| world.card(0).iommu().faults().len()), 0, "nothing else was touched");
}

#[test]
fn changed_receives_take_what_they_allow_and_nothing_else_10g() {
    attack(Profile::TenGig, 0x71);
}

#[test]
fn changed_receives_take_what_they_allow_and_nothing_else_100g() {
    attack(Profile::HundredGig, 0x72);
}
