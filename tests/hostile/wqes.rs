//! Requests, good and then spoilt.

use stroma_abi::desc::{AtomicOperands, Body, Sge, SgeList, WorkOp, Wqe, WqeHead, wqe::UNIT};
use stroma_tests::rig::head;
use stroma_verilate::SplitMix64;

use super::forge::{below, noise, one_of};
use super::memory::{LEN, Memory};

/// A range of the open memory, of at most so many bytes.
fn piece(memory: &Memory, random: &mut SplitMix64, most: usize) -> Sge {
    let length = 1 + below(random, most);
    let address = Memory::BASE + below(random, LEN - length) as u64;
    Sge { address, local_key: memory.open_key, length: u32::try_from(length).expect("small") }
}

/// A good request of any kind.
pub(crate) fn good(memory: &Memory, index: u16, random: &mut SplitMix64) -> Vec<u8> {
    use WorkOp::{CmpSwap, FetchAdd, Gather, Nop, Read, Scatter, Send, SendImm, Write, WriteImm};
    let op = one_of(
        random,
        &[Nop, Send, SendImm, Write, Write, WriteImm, Read, Read, CmpSwap, FetchAdd, Gather, Scatter],
    );
    let remote = piece(memory, random, 1200).address & !7;
    let head = WqeHead {
        index,
        remote,
        key: memory.open_key,
        immediate: random.next_u32(),
        fence: random.below(4) == 0,
        ..head(op)
    };
    let length = 1 + below(random, 200);
    let data = noise(random, length);
    let body = match op {
        Nop => Body::Nop,
        CmpSwap | FetchAdd => Body::Atomic {
            operands: AtomicOperands { swap_add: random.next_u64(), compare: random.next_u64() },
            result: Sge { length: 8, ..piece(memory, random, 8) },
        },
        Send | SendImm | Write | WriteImm | Gather if random.below(4) == 0 => Body::Inline(&data),
        _ => {
            let pieces: Vec<Sge> = (0..=random.below(6)).map(|_| piece(memory, random, 180)).collect();
            Body::Gather(SgeList::new(&pieces).expect("few"))
        }
    };
    encode(head, &body)
}

/// Changes one to three bytes or fields of the first unit, or of all units.
pub(crate) fn spoil(bytes: &mut [u8], memory: &Memory, random: &mut SplitMix64) {
    let edges = [Memory::BASE - 1, Memory::BASE, Memory::END - 8, Memory::END, 0, u64::MAX, u64::MAX - 100];
    let lengths = [0, 1, 7, 9, 255, 256, 257, 480, 481, 16_384, 16_385, 1 << 31, (1 << 31) + 1, u32::MAX];
    // One change is the sharpest attack: all else is right.
    for _ in 0..one_of(random, &[1, 1, 2, 3]) {
        // An entry of the list: where it is, or would be.
        let entry = 32 + 16 * below(random, bytes.len() / 16 - 2);
        match random.below(11) {
            0 => WqeHead::OPCODE.set(bytes, u8::try_from(random.below(16)).expect("small")),
            1 => WqeHead::UNITS.set(bytes, u8::try_from(random.below(16)).expect("small")),
            2 => WqeHead::SGE_COUNT.set(bytes, u8::try_from(random.below(16)).expect("small")),
            3 => WqeHead::LENGTH.set(bytes, one_of(random, &lengths)),
            4 => WqeHead::KEY.set(bytes, one_of(random, &memory.keys)),
            5 => WqeHead::REMOTE.set(bytes, one_of(random, &edges)),
            6 => Sge::LOCAL_KEY.at(entry).set(bytes, one_of(random, &memory.keys)),
            7 => Sge::ADDRESS.at(entry).set(bytes, one_of(random, &edges)),
            8 => {
                // A long message that agrees with itself.
                let length = one_of(random, &lengths);
                WqeHead::SGE_COUNT.set(bytes, 1_u8);
                WqeHead::LENGTH.set(bytes, length);
                Sge::LENGTH.at(32).set(bytes, length);
            }
            9 => bytes[below(random, UNIT)] = random.next_u64().to_le_bytes()[0],
            _ => bytes[below(random, bytes.len())] ^= 1 << random.below(8),
        }
    }
}

/// A request as bytes.
pub(crate) fn encode(head: WqeHead, body: &Body<'_>) -> Vec<u8> {
    let wqe = Wqe::new(head, *body).unwrap_or_else(|error| panic!("{error}"));
    let mut bytes = vec![0; wqe.encoded_len()];
    wqe.encode(&mut bytes).unwrap_or_else(|error| panic!("{error}"));
    bytes
}

/// A good NOP.
pub(crate) fn nop(index: u16) -> Vec<u8> {
    encode(WqeHead { index, ..head(WorkOp::Nop) }, &Body::Nop)
}
