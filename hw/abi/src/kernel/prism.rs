//! `prism`: reads, writes, compare-and-swaps and appends that find their own way in the caller's memory, up to four in one
//! request, each perhaps on condition that the one before it succeeded. After Burke et al., *PRISM: Rethinking the RDMA
//! Interface for Distributed Systems*, SOSP 2021.
//!
//! **A request** has a [`Chain`] as its parameters. Its payload is a row of lines of 64 bytes, the last of which may be shorter: first one
//! [`Operation`] for each of the chain, then their data, each of which begins with a line. All of it is judged before anything is
//! read or written.
//!
//! **Operations**, by [`Kind`]. Lengths are 1 to 4096 bytes, those of a compare-and-swap 8, 16, 24 or 32.
//!
//! | | |
//! |---|---|
//! | Read | the bytes at the target are the result |
//! | Write | the data go to the target |
//! | `CompareAndSwap` | the bytes at the target, `old`, are the result. If `(compare & compare_mask) COMPARISON (old & compare_mask)`, both taken as one unsigned little-endian number, then `(old & !swap_mask) \| (swap & swap_mask)` is written there. So `Greater` swaps when what is offered is greater than what is there: versions. The data are the [operands](Operands) |
//! | Allocate | takes the next buffer of the [`FreeList`] at `address`, writes the data to its beginning, and moves the list's `head` on; the buffer's address is the result |
//!
//! **Indirections.** With `indirect` the 8 bytes at `address` are the target's address; with `bounded` 8 more follow them, and
//! the length is cut to that number, perhaps to 0: then nothing is moved, and the operation is done. With `data_indirect` the data are the bytes at `data_address`, or of a
//! compare-and-swap what it swaps in. With `redirect` the result is written to `redirect_address` instead of the answer, so that a later
//! operation can be led by it. With `forward` the address that was last allocated in the chain, 0 if none was, takes the place of word
//! `forward_word` of `swap`: a buffer is filled and published without a way through memory in between.
//!
//! | allowed with | Read | Write | `CompareAndSwap` | Allocate |
//! |---|---|---|---|---|
//! | `indirect` | yes | yes | yes | no |
//! | `bounded`, together with `indirect` | yes | yes | no | no |
//! | `data_indirect` | no | yes | yes | yes |
//! | `redirect` | yes | no | yes | yes |
//! | `forward` | no | no | yes, without `data_indirect` | no |
//!
//! **Keys.** Targets, pointers, lists and their rings are reached under the operation's `key`, data, places of redirection and buffers under its
//! `aside_key`. The key of the command is not looked at.
//!
//! **The answer** has four [`Report`]s, whatever the number of operations, and behind them the results of those that are `answered`, in order, each
//! padded with zeros to whole lines. The request has to allow for the longest: 64 bytes and the lengths of all reads and compare-and-swaps without
//! `redirect`, each rounded up to lines.
//!
//! **A chain that is cut off.** The status is `Ok` unless the request was refused as a whole. An operation whose DMA is refused or fails says so in its
//! report, with the [`Stage`] it happened in, and nothing behind it is carried out. What came before it is done and stays. If the stage is `Write`, any part
//! of its bytes may have been written, and of an allocation either of `head` and buffer; if it is `Redirect`, the operation itself is carried out as
//! `applied` says, and only its result is lost.
//!
//! **Order.** The operations of a chain are carried out one after the other, and so are chains, in the order in which the kernel is handed them; what one has
//! written is visible to the host before the next begins. So each operation is atomic against all others of the same instance of the kernel, but chains are
//! only as far as nobody else touches the same bytes: plain WRITEs, the atomics of the transport, other instances of the kernel and the CPU may come in between read and
//! write of a compare-and-swap. A free list has one instance that takes and one CPU that gives, and needs no more.

use crate::codes::codes;
use crate::layout::layout;
use crate::wire::RpcStatus;

/// RPC op-code of the kernel.
pub const OPERATION: u16 = 6;
/// Most operations of a chain, and reports of an answer.
pub const OPERATIONS_MAX: usize = 4;
/// Bytes of a line.
pub const LINE: usize = 64;
/// Most bytes behind the parameters.
pub const PAYLOAD_MAX: usize = 8192;
/// Most bytes of an operation.
pub const LENGTH_MAX: u32 = 4096;
/// Most bytes of a compare-and-swap.
pub const SWAP_MAX: usize = 32;
/// Bytes of the reports in an answer.
pub const REPORTS_LEN: usize = OPERATIONS_MAX * Report::LEN;

layout! {
    /// The parameters, all of them in every request.
    Chain: Little, 4 bytes;
    COUNT count: u8 = 0, 0, 8, "operations of the chain, 1 to 4";
}

layout! {
    /// One operation of a chain.
    Operation: Little, 64 bytes;
    KIND             kind:             u8   =  0, 0,  2, "a `Kind`: read (0), write (1), compare-and-swap (2), allocate (3)";
    COMPARISON       comparison:       u8   =  0, 2,  2, "a `Comparison`: what is offered is equal to what is there (0), less (1), greater (2), not equal (3)";
    FORWARD_WORD     forward_word:     u8   =  0, 4,  2, "word of `swap` that `forward` replaces; behind the length it replaces nothing";
    INDIRECT         indirect:         bool =  1, 0,  1, "the target's address lies at `address`";
    BOUNDED          bounded:          bool =  1, 1,  1, "the most bytes lie behind it";
    DATA_INDIRECT    data_indirect:    bool =  1, 2,  1, "the data lie at `data_address`";
    CONDITIONAL      conditional:      bool =  1, 3,  1, "only if the operation before it is done; the first is carried out in any case";
    REDIRECT         redirect:         bool =  1, 4,  1, "the result goes to `redirect_address`";
    FORWARD          forward:          bool =  1, 5,  1, "the address last allocated takes the place of a word of `swap`";
    DATA_LINE        data_line:        u8   =  2, 0,  8, "line of the payload in which the data begin; counts without `data_indirect`, and for operands always";
    LENGTH           length:           u32  =  4, 0, 32, "bytes: 1 to 4096; 8, 16, 24 or 32 of a compare-and-swap";
    ADDRESS          address:          u64  =  8, 0, 64, "the target, the pointer to it, or a free list";
    KEY              key:              u32  = 16, 0, 32, "key for target, pointer, list and ring";
    ASIDE_KEY        aside_key:        u32  = 20, 0, 32, "key for `data_address`, `redirect_address` and buffers";
    DATA_ADDRESS     data_address:     u64  = 24, 0, 64, "where data lie";
    REDIRECT_ADDRESS redirect_address: u64  = 32, 0, 64, "where the result goes";
}

layout! {
    /// What came of an operation.
    Report: Little, 16 bytes;
    OUTCOME  outcome:  u8   = 0, 0,  8, "an `Outcome`";
    STAGE    stage:    u8   = 1, 0,  8, "a `Stage`: what was refused or failed";
    APPLIED  applied:  bool = 2, 0,  1, "it was carried out: read, written, swapped, or allocated and appended";
    ANSWERED answered: bool = 2, 1,  1, "its `length` bytes of result are in the answer";
    LENGTH   length:   u32  = 4, 0, 32, "its bytes, cut to the bound if that was read; 0 if it did not begin";
    ADDRESS  address:  u64  = 8, 0, 64, "its target or buffer; 0 if it did not begin, or the address was not found";
}

layout! {
    /// A list of free buffers, all of one size, in the caller's memory: a ring of their addresses, 8 bytes each. Both counters wrap at 2^64;
    /// the buffer `n` stands at place `n` modulo the number of places. The kernel takes, and moves `head` on; whoever owns the buffers stores an
    /// address at place `tail`, makes that visible, then moves `tail` on, and never has more buffers in the ring than it has places.
    FreeList: Little, 32 bytes;
    HEAD          head:          u64 =  0, 0, 64, "buffers taken so far; written by the kernel alone";
    TAIL          tail:          u64 =  8, 0, 64, "buffers given so far; there is none left when it is equal to `head`";
    RING          ring:          u64 = 16, 0, 64, "address of place 0";
    BUFFER_LENGTH buffer_length: u32 = 24, 0, 32, "bytes of a buffer";
    PLACES_LOG    places_log:    u8  = 28, 0,  5, "number of places, as a power of two";
}

/// What a compare-and-swap is given, two lines of its data. Bytes behind its length do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// What is offered for the comparison.
    pub compare: [u8; SWAP_MAX],
    /// Bits that are compared; if there are none, both sides are equal.
    pub compare_mask: [u8; SWAP_MAX],
    /// What is swapped in.
    pub swap: [u8; SWAP_MAX],
    /// Bits that are swapped.
    pub swap_mask: [u8; SWAP_MAX],
}

impl Operands {
    /// Length in bytes.
    pub const LEN: usize = 4 * SWAP_MAX;

    /// Reads them from the front of `bytes`; `None` when they end too early.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let part = |at: usize| bytes.get(at * SWAP_MAX..(at + 1) * SWAP_MAX)?.try_into().ok();
        Some(Self { compare: part(0)?, compare_mask: part(1)?, swap: part(2)?, swap_mask: part(3)? })
    }

    /// The operands as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let parts = [self.compare, self.compare_mask, self.swap, self.swap_mask];
        core::array::from_fn(|at| parts[at / SWAP_MAX][at % SWAP_MAX])
    }
}

codes! {
    /// What an operation does.
    Kind: u8 {
        0 Read           "The bytes at the target are the result.";
        1 Write          "The data go to the target.";
        2 CompareAndSwap "The target is compared and perhaps replaced; what was there is the result.";
        3 Allocate       "A buffer is taken from a list and filled; its address is the result.";
    }
}

codes! {
    /// How what is offered is held against what is there, both masked and unsigned.
    Comparison: u8 {
        0 Equal    "They are equal.";
        1 Less     "What is offered is less.";
        2 Greater  "What is offered is greater.";
        3 NotEqual "They differ.";
    }
}

impl Comparison {
    /// Does it hold between what is offered and what is there?
    #[must_use]
    pub const fn holds(self, order: core::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::Greater => order.is_gt(),
            Self::NotEqual => order.is_ne(),
        }
    }
}

codes! {
    /// How an operation ended. The next one goes on if it is not conditional, but none behind `Refused` or `Failed`.
    Outcome: u8 {
        0 NotReached   "The chain ended before it, or has no such operation.";
        1 Done         "It was carried out.";
        2 Skipped      "It is conditional, and the one before it is not done.";
        3 NotSwapped   "The comparison does not hold; nothing was written.";
        4 NoBuffer     "The list has no free buffer; nothing was written.";
        5 TooLong      "The data are longer than a buffer; nothing was written.";
        6 Null         "The pointer, or the buffer's address, is 0; nothing was written.";
        7 Refused      "Key, protection domain, bounds or rights forbade a DMA of it: see its stage.";
        8 Failed       "The host could not serve a DMA of it: see its stage.";
    }
}

codes! {
    /// The DMA of an operation that was refused or failed.
    Stage: u8 {
        0 Nowhere  "None.";
        1 Pointer  "The read of a pointer.";
        2 Data     "The read of data.";
        3 List     "The read of a free list or of its ring.";
        4 Target   "The read of the target.";
        5 Write    "A write to the target, the buffer or the list's `head`.";
        6 Redirect "The write of the result.";
    }
}

codes! {
    /// Statuses of the kernel's own.
    PrismStatus: u32 {
        0x101 BadParameters "A number, length, line or combination of flags is out of range, data end behind the payload, or the answer may be longer than allowed; nothing was read or written.";
    }
}

const _: () = assert!(PrismStatus::BadParameters as u32 >= RpcStatus::KERNEL);
const _: () = assert!(Operation::LEN == LINE && REPORTS_LEN == LINE && Operands::LEN == 2 * LINE);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn operations_land_on_the_bytes_the_kernel_reads() {
        let operation = Operation {
            kind: Kind::CompareAndSwap as u8,
            comparison: Comparison::Greater as u8,
            forward_word: 1,
            bounded: true,
            conditional: true,
            forward: true,
            data_line: 3,
            length: 0x0807_0605,
            address: 0x100f_0e0d_0c0b_0a09,
            key: 0x1413_1211,
            aside_key: 0x1817_1615,
            data_address: 0x201f_1e1d_1c1b_1a19,
            redirect_address: 0x2827_2625_2423_2221,
            ..Operation::default()
        };
        let mut expected = [0; Operation::LEN];
        for (at, byte) in expected[..40].iter_mut().enumerate() {
            *byte = u8::try_from(at + 1).unwrap();
        }
        expected[..4].copy_from_slice(&[0b01_10_10, 0b10_1010, 3, 0]);
        assert_eq!(operation.to_bytes(), expected);
    }

    #[test]
    fn reports_and_free_lists_land_on_the_documented_bytes() {
        let report = Report {
            outcome: Outcome::Refused as u8,
            stage: Stage::Redirect as u8,
            applied: true,
            answered: false,
            length: 0x0403_0201,
            address: 0x0c0b_0a09_0807_0605,
        };
        assert_eq!(report.to_bytes(), [7, 6, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let list = FreeList {
            head: 0x0807_0605_0403_0201,
            tail: 0x100f_0e0d_0c0b_0a09,
            ring: 0x1817_1615_1413_1211,
            buffer_length: 0x1c1b_1a19,
            places_log: 0x1d,
        };
        let mut expected: [u8; FreeList::LEN] = core::array::from_fn(|at| u8::try_from(at + 1).unwrap());
        expected[29..].fill(0);
        assert_eq!(list.to_bytes(), expected);
    }

    #[test]
    fn comparisons_look_from_the_offer_to_what_is_there() {
        for (offered, there, expected) in [
            (1_u8, 1, [true, false, false, false]),
            (1, 2, [false, true, false, true]),
            (2, 1, [false, false, true, true]),
        ] {
            let found: std::vec::Vec<bool> =
                Comparison::ALL.iter().map(|(comparison, _)| comparison.holds(offered.cmp(&there))).collect();
            assert_eq!(found, expected);
        }
    }

    proptest! {
        #[test]
        fn operations_and_operands_come_back_as_they_were(
            bytes in any::<[u8; Operation::LEN]>(),
            operands in prop::collection::vec(any::<u8>(), Operands::LEN),
        ) {
            let operation = Operation::parse(&bytes).unwrap();
            prop_assert_eq!(Operation::parse(&operation.to_bytes()), Some(operation));
            prop_assert_eq!(Operands::parse(&operands).unwrap().to_bytes().to_vec(), operands);
        }
    }
}
