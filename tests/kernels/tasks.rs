//! Calls by chance, over structures that lie in the far memory, each kernel's in a part of its own.

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::shuffle::Buffer;
use stroma_abi::kernel::traversal::{Predicate, Traversal};
use stroma_abi::wire::RpcTarget;
use stroma_kernel_client::get::{Lookup, Shape, Table};
use stroma_kernel_client::prism::{Chain, Comparison, Giver, Place, Step, Swap};
use stroma_kernel_client::{Call, consistency, hyperloglog, shuffle};
use stroma_tests::calls::Calls;
use stroma_tests::pair::pattern;
use stroma_verilate::SplitMix64;

/// Bytes of either memory.
pub(crate) const MEMORY: usize = 1 << 20;

const LIST: usize = 0;
pub(crate) const VALUES: usize = 0x4000;
const TABLE: usize = 0x1_0000;
const OBJECTS: usize = 0x3_0000;
const BUFFERS: usize = 0x4_0000;
const COUNTED: usize = 0x8_0000;
/// The free list, its ring, the buffers, and the word that counts.
const FREE: usize = 0xa_0000;
const RING: usize = 0xa_0100;
const HEAP: usize = 0xa_2000;
pub(crate) const COUNTER: usize = 0x9_f000;

const ELEMENTS: u64 = 32;
const KEYS: u64 = 60;
const LOG_BUCKETS: u32 = 4;
const OBJECT_STEP: usize = 0x800;
const PARTITIONS_LOG: u8 = 4;
const SKETCH: u64 = 0x5e7c;
const BUFFER: usize = 64;

/// A call, without a type.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) target: RpcTarget,
    pub(crate) parameters: Parameters,
    pub(crate) payload: Vec<u8>,
}

impl Task {
    pub(crate) fn of(call: &impl Call, stream: &[u8]) -> Self {
        let payload = [call.payload(), stream].concat();
        Self { target: call.target(), parameters: call.parameters(), payload }
    }
}

/// All that is called for.
#[derive(Clone)]
pub(crate) struct Field {
    base: u64,
    key: u32,
    shape: Shape,
    /// How many buffers were asked for, and how far the counter is.
    pub(crate) allocations: u64,
}

impl Field {
    /// Lays the structures down.
    pub(crate) fn new(calls: &Calls) -> Self {
        let at = |offset: usize| calls.at(offset);
        for index in 0..ELEMENTS {
            let element = LIST + usize::try_from(index).expect("small") * 64;
            let following = if index + 1 < ELEMENTS { at(element + 64) } else { 0 };
            let value = at(VALUES + usize::try_from(index).expect("small") * 1000);
            calls.put(1, element, &[100 + index, following, value].map(u64::to_le_bytes).concat());
        }
        calls.put(1, VALUES, &pattern(1, 0x8000));
        let mut bytes = vec![0; 0x2_0000];
        let mut table = Table::new(&mut bytes, at(TABLE), LOG_BUCKETS, 40).expect("room for the buckets");
        for key in 0..KEYS {
            let length = usize::try_from(key * 37 % 1500).expect("small");
            table.insert(&key.to_le_bytes(), &pattern(key, length)).expect("room");
        }
        calls.put(1, TABLE, &bytes);
        for index in 0..16 {
            let mut object = pattern(index, 100 + usize::try_from(index).expect("small") * 100);
            consistency::seal(&mut object).expect("a length that the kernel knows");
            // Every fourth never settles.
            object[3] ^= u8::from(index % 4 == 3);
            calls.put(1, OBJECTS + usize::try_from(index).expect("small") * OBJECT_STEP, &object);
        }
        // Some partitions are full soon.
        let partition = |index: usize| Buffer {
            address: at(BUFFERS + 0x1000 + index * 0x2000),
            capacity: if index % 5 == 4 { 200 } else { 0x2000 },
            used: 0,
        };
        let buffers = shuffle::Table::of((0..1 << PARTITIONS_LOG).map(partition).collect());
        calls.put(1, BUFFERS, &buffers.to_bytes());
        let (mut giver, list) = Giver::new(at(FREE), at(RING), 10, u32::try_from(BUFFER).expect("small"));
        calls.put(1, FREE, &list);
        for index in 0..1024 {
            for store in giver.give(at(HEAP + index * BUFFER), 0).expect("a place in the ring") {
                calls.put(1, calls.offset(store.address), &store.word.to_le_bytes());
            }
        }
        let shape = Shape { base: at(TABLE), log_buckets: LOG_BUCKETS };
        Self { base: at(0), key: calls.key(), shape, allocations: 0 }
    }

    fn at(&self, offset: usize) -> u64 {
        self.base + offset as u64
    }

    /// The first call: who counts gives the sketch its name.
    pub(crate) fn first() -> Task {
        Task::of(&hyperloglog::clear(SKETCH), &[])
    }

    /// A call of any kernel.
    pub(crate) fn task(&mut self, rng: &mut SplitMix64) -> Task {
        match rng.below(6) {
            0 => Task::of(&self.walk(rng), &[]),
            1 => Task::of(&self.lookup(rng), &[]),
            2 => Task::of(&self.object(rng), &[]),
            3 => {
                let call = shuffle::parameters(self.at(BUFFERS), PARTITIONS_LOG, 5, false).expect("in range");
                Task::of(&call, &pattern(rng.next_u64(), usize::try_from(rng.below(400)).expect("small") * 8))
            }
            4 => self.count(rng),
            _ => self.append(rng),
        }
    }

    fn walk(&self, rng: &mut SplitMix64) -> Traversal {
        let lengths = [0, 1, 63, 64, 255, 256, 257, 1000];
        Traversal {
            root: self.at(LIST),
            sought: 100 + rng.below(ELEMENTS + 4),
            mask: u64::MAX,
            value_length: lengths[usize::try_from(rng.below(8)).expect("small")],
            hop_limit: u16::try_from(1 + rng.below(40)).expect("small"),
            key_words: 1,
            element_words: 3,
            next_at: 1,
            value_at: 2,
            predicate: if rng.below(8) == 0 { Predicate::Greater as u8 } else { Predicate::Equal as u8 },
            ..Traversal::default()
        }
    }

    fn lookup(&self, rng: &mut SplitMix64) -> Lookup {
        let key = rng.below(KEYS + 6).to_le_bytes();
        let request = self.shape.request(&key, 8).expect("a key");
        Lookup { request, value_max: if rng.below(4) == 0 { 500 } else { 2000 } }
    }

    fn object(&self, rng: &mut SplitMix64) -> impl Call {
        let index = usize::try_from(rng.below(16)).expect("small");
        let address = self.at(OBJECTS + index * OBJECT_STEP);
        consistency::request(address, 100 + index * 100, 3, 10).expect("a length that the kernel knows")
    }

    fn count(&self, rng: &mut SplitMix64) -> Task {
        if rng.below(12) == 0 {
            return Task::of(&hyperloglog::read(SKETCH), &[]);
        }
        let item = [4, 8, 16][usize::try_from(rng.below(3)).expect("small")];
        let call = hyperloglog::count(SKETCH, item, self.at(COUNTED)).expect("a size of items");
        let length = usize::try_from(rng.below(300)).expect("small") * usize::from(item);
        Task::of(&call, &pattern(rng.next_u64(), length))
    }

    /// A buffer is taken and filled; then the counter grows by one, if it is where it should be.
    fn append(&mut self, rng: &mut SplitMix64) -> Task {
        let count = self.allocations;
        self.allocations += 1;
        let data = pattern(rng.next_u64(), 1 + usize::try_from(rng.below(BUFFER as u64)).expect("small"));
        let grow = Swap::new(Comparison::Equal, &count.to_le_bytes(), &[count + 1]);
        let chain = Chain::new()
            .always(Step::allocate(Place::new(self.at(FREE), self.key), self.key, &data))
            .then(Step::swap(Place::new(self.at(COUNTER), self.key), &grow));
        Task::of(&chain.request().expect("a chain"), &[])
    }
}
