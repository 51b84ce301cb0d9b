//! Steps of a chain.

use stroma_abi::kernel::prism::{Comparison, Kind, LENGTH_MAX, Operands, Operation, SWAP_MAX};

/// An address in the peer's memory, and the key that opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address.
    pub address: u64,
    /// The key.
    pub key: u32,
}

impl Place {
    /// The place at `address`.
    #[must_use]
    pub const fn new(address: u64, key: u32) -> Self {
        Self { address, key }
    }
}

/// What a compare-and-swap compares and swaps: at first all bits of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    comparison: Comparison,
    length: usize,
    operands: Operands,
}

/// The bytes, zeros behind them; more than there is room for do not count.
fn wide(bytes: &[u8]) -> [u8; SWAP_MAX] {
    std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0))
}

impl Swap {
    /// Swaps `words` in if `compare` stands in `comparison` to what is there: `Greater` if it is greater. Both are of 1 to 4 words, as many as are swapped.
    #[must_use]
    pub fn new(comparison: Comparison, compare: &[u8], words: &[u64]) -> Self {
        let swap: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let ones = [0xff; SWAP_MAX];
        let operands =
            Operands { compare: wide(compare), compare_mask: ones, swap: wide(&swap), swap_mask: ones };
        Self { comparison, length: swap.len(), operands }
    }

    /// Only these bits are compared.
    #[must_use]
    pub fn comparing(mut self, mask: &[u8]) -> Self {
        self.operands.compare_mask = wide(mask);
        self
    }

    /// Only these bits are swapped.
    #[must_use]
    pub fn swapping(mut self, mask: &[u8]) -> Self {
        self.operands.swap_mask = wide(mask);
        self
    }
}

/// One step: an operation, and the data that go with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    operation: Operation,
    length: usize,
    data: Vec<u8>,
}

impl Step {
    fn new(kind: Kind, target: Place, length: usize, data: Vec<u8>) -> Self {
        let Place { address, key } = target;
        let operation = Operation { kind: kind as u8, address, key, ..Operation::default() };
        Self { operation, length, data }
    }

    /// Reads `length` bytes.
    #[must_use]
    pub fn read(target: Place, length: usize) -> Self {
        Self::new(Kind::Read, target, length, Vec::new())
    }

    /// Writes `data`.
    #[must_use]
    pub fn write(target: Place, data: &[u8]) -> Self {
        Self::new(Kind::Write, target, data.len(), data.to_vec())
    }

    /// Copies `length` bytes from one place of the peer's to another.
    #[must_use]
    pub fn copy(target: Place, from: Place, length: usize) -> Self {
        Self::new(Kind::Write, target, length, Vec::new()).with_data_at(from)
    }

    /// Compares and swaps.
    #[must_use]
    pub fn swap(target: Place, swap: &Swap) -> Self {
        let mut step =
            Self::new(Kind::CompareAndSwap, target, swap.length, swap.operands.to_bytes().to_vec());
        step.operation.comparison = swap.comparison as u8;
        step
    }

    /// Takes a buffer, which lies under `heap_key`, from the list at `list`, and fills it with `data`.
    #[must_use]
    pub fn allocate(list: Place, heap_key: u32, data: &[u8]) -> Self {
        let mut step = Self::new(Kind::Allocate, list, data.len(), data.to_vec());
        step.operation.aside_key = heap_key;
        step
    }

    /// The target's address stands at the place that was given.
    #[must_use]
    pub fn through_pointer(mut self) -> Self {
        self.operation.indirect = true;
        self
    }

    /// So it does, and the most bytes stand behind it.
    #[must_use]
    pub fn through_bounded_pointer(mut self) -> Self {
        (self.operation.indirect, self.operation.bounded) = (true, true);
        self
    }

    /// The data, or what is swapped in, stand at `place`. An allocation's `place` has the key of the heap, and so has a place of redirection: the
    /// key given last counts for all of them.
    #[must_use]
    pub fn with_data_at(mut self, place: Place) -> Self {
        self.operation.data_indirect = true;
        (self.operation.data_address, self.operation.aside_key) = (place.address, place.key);
        if self.operation.kind != Kind::CompareAndSwap as u8 {
            self.data.clear();
        }
        self
    }

    /// The result goes to `place`, and is not answered. As to its key see [`Step::with_data_at`].
    #[must_use]
    pub fn with_result_to(mut self, place: Place) -> Self {
        self.operation.redirect = true;
        (self.operation.redirect_address, self.operation.aside_key) = (place.address, place.key);
        self
    }

    /// The address of the buffer that the chain has allocated last takes the place of a word of what is swapped in.
    #[must_use]
    pub fn with_buffer(mut self, word: u8) -> Self {
        (self.operation.forward, self.operation.forward_word) = (true, word % 4);
        self
    }

    pub(super) fn on_condition(mut self, is_conditional: bool) -> Self {
        self.operation.conditional = is_conditional;
        self
    }

    fn kind(&self) -> Kind {
        Kind::from_code(self.operation.kind).expect("it was made from one")
    }

    pub(super) const fn length(&self) -> usize {
        self.length
    }

    pub(super) fn has_length(&self) -> bool {
        if self.kind() == Kind::CompareAndSwap {
            (8..=SWAP_MAX).contains(&self.length)
        } else {
            (1..=LENGTH_MAX as usize).contains(&self.length)
        }
    }

    pub(super) fn is_allowed(&self) -> bool {
        let Operation { indirect, bounded, data_indirect, redirect, forward, .. } = self.operation;
        match self.kind() {
            Kind::Read => !data_indirect && !forward,
            Kind::Write => !redirect && !forward,
            Kind::CompareAndSwap => !(bounded || forward && data_indirect),
            Kind::Allocate => !indirect && !forward,
        }
    }

    pub(super) fn operation(&self) -> Operation {
        Operation { length: u32::try_from(self.length).expect("it was looked at"), ..self.operation }
    }

    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    /// Most bytes of its result in the answer.
    pub(super) fn answer_length(&self) -> usize {
        let has_bytes = matches!(self.kind(), Kind::Read | Kind::CompareAndSwap);
        if has_bytes && !self.operation.redirect { self.length } else { 0 }
    }
}
