use proptest::prelude::*;
use stroma_abi::desc::Parameters;
use stroma_abi::kernel::consistency::Consistency;
use stroma_abi::kernel::get::Get;
use stroma_abi::kernel::hyperloglog::{HyperLogLog, REGISTERS};
use stroma_abi::kernel::prism::Chain;
use stroma_abi::kernel::shuffle::Shuffle;
use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::wire::RpcTarget;
use stroma_kernel_client::{Call, Failed, hyperloglog as sketches};
use stroma_kernel_models::Failure;

use super::*;
use crate::shape::ANSWER_MAX;

/// 64 KiB from address 0x1000 on, under key 7.
struct Ram(Vec<u8>);

const BASE: u64 = 0x1000;

impl Ram {
    fn part(&mut self, key: u32, va: u64, len: usize) -> Result<&mut [u8], Failure> {
        let at = usize::try_from(va.wrapping_sub(BASE)).unwrap();
        let end = at.checked_add(len).filter(|_| key == 7).ok_or(Failure::Refused)?;
        self.0.get_mut(at..end).ok_or(Failure::Refused)
    }
}

impl Memory for Ram {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        self.part(key, va, len).map(|part| part.to_vec())
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.part(key, va, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
}

fn asked(target: RpcTarget, key: u32, parameters: Parameters, payload: &[u8]) -> Asked {
    Asked { id: 1, target, key, parameters, payload: payload.to_vec() }
}

fn call<C: Call>(
    kernels: &mut Kernels<Ram>,
    memory: &mut Ram,
    call: &C,
    payload: &[u8],
) -> Result<C::Answer, Failed> {
    let asked = asked(call.target(), 7, call.parameters(), payload);
    let outcome = kernels.serve(asked, Qpn::new(3), ANSWER_MAX, memory);
    call.answer(outcome.status, &outcome.data)
}

#[test]
fn each_kernel_of_the_catalogue_has_its_model() {
    let mut kernels = Kernels::new();
    let mut memory = Ram(vec![0; 65_536]);
    for operation in 0..=8 {
        let target = RpcTarget { operation, flags: 0xff, ..RpcTarget::default() };
        let none = Parameters::new(&[]).unwrap();
        let outcome = kernels.serve(asked(target, 7, none, &[]), Qpn::new(3), 0, &mut memory);
        // Flags are bad parameters to every kernel.
        let is_known = (1..=6).contains(&operation);
        assert_eq!(outcome.status >= RpcStatus::KERNEL, is_known, "{operation}: {outcome:?}");
        assert!(is_known || outcome.status == RpcStatus::UnknownOperation as u32);
    }
}

#[test]
fn the_sketch_stays_from_call_to_call() {
    let (mut kernels, mut memory) = (Kernels::new(), Ram(vec![0; 65_536]));
    let items: Vec<u8> = (0..1000_u64).flat_map(u64::to_le_bytes).collect();
    let other = call(&mut kernels, &mut memory, &sketches::read(9), &[]);
    assert!(matches!(other, Err(Failed::Kernel { code: 0x100, .. })));
    call(&mut kernels, &mut memory, &sketches::clear(9), &[]).unwrap();
    call(&mut kernels, &mut memory, &sketches::count(9, 8, BASE).unwrap(), &items).unwrap();
    let mut expected = sketches::Sketch::default();
    items.chunks(8).for_each(|item| expected.insert(item));
    let sketch = call(&mut kernels, &mut memory, &sketches::read(9), &[]).unwrap();
    assert!(sketch == expected && memory.0[..8000] == items);
    assert_eq!(sketch.registers().len(), REGISTERS);
}

#[test]
fn answers_are_held_to_what_the_request_allows() {
    let mut kernels = Kernels::<Ram>::new();
    let model = |asked: &Invocation, _: &mut Ram| Outcome {
        status: u32::from(asked.command.flags) * 0x111,
        data: vec![5; 10],
    };
    kernels.add(40, Box::new(model));
    let mut ask = |flags, response_max| {
        let target = RpcTarget { response_max, flags, parameter_words: 0, operation: 40 };
        let asked = asked(target, 7, Parameters::new(&[]).unwrap(), &[]);
        let outcome = kernels.serve(asked, Qpn::new(3), 100, &mut Ram(Vec::new()));
        (outcome.status, outcome.data.len())
    };
    assert_eq!((ask(0, 10), ask(0, 100)), ((0, 10), (0, 10)));
    assert_eq!((ask(0, 9), ask(0, 0)), ((RpcStatus::Limit as u32, 9), (RpcStatus::Limit as u32, 0)));
    assert_eq!(ask(1, 9), (0x111, 9));
    assert_eq!(ask(0, 101), (RpcStatus::TooLong as u32, 0));
}

#[test]
fn what_the_key_does_not_open_is_refused() {
    let (mut kernels, mut memory) = (Kernels::new(), Ram(vec![0; 65_536]));
    let walk = Traversal {
        root: BASE,
        hop_limit: 1,
        key_words: 1,
        element_words: 3,
        inline: true,
        value_length: 8,
        ..Traversal::default()
    };
    assert_eq!(call(&mut kernels, &mut memory, &walk, &[]), Ok(Some(vec![0; 8])));
    let outside = call(&mut kernels, &mut memory, &Traversal { root: 0x10, ..walk }, &[]);
    assert_eq!(outside, Err(Failed::Card { operation: 1, status: RpcStatus::Access }));
    let foreign = asked(walk.target(), 8, walk.parameters(), &[]);
    let foreign = kernels.serve(foreign, Qpn::new(3), ANSWER_MAX, &mut memory);
    assert_eq!(foreign, Outcome::bare(RpcStatus::Access as u32));
}

proptest! {
    /// Parameters, payload and memory that nobody meant: there is an outcome, and not too long a one.
    #[test]
    fn no_request_makes_a_kernel_panic(
        operation in 1..=6_u16,
        words in prop::collection::vec(prop_oneof![Just(0), 1..64_u32, 0x1000..0x3000_u32, any::<u32>()], 0..=16),
        payload in prop::collection::vec(prop_oneof![Just(0), 1..64_u64, BASE..0x3000, any::<u64>()], 0..90),
        cut in 0..8_usize,
        memory in prop::collection::vec(prop_oneof![Just(0), 1..64_u64, BASE..0x3000, any::<u64>()], 0..600),
        response_max in prop_oneof![0..600_u32, Just(65_536)],
        natural in any::<bool>(),
    ) {
        let mut payload: Vec<u8> = payload.iter().flat_map(|word| word.to_le_bytes()).collect();
        payload.truncate(payload.len().saturating_sub(cut));
        let mut words = words;
        if natural {
            let bytes = [Traversal::LEN, Get::LEN, Consistency::LEN, Shuffle::LEN, HyperLogLog::LEN, Chain::LEN];
            words.resize(bytes[usize::from(operation) - 1] / 4, 0);
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let parameters = Parameters::new(&bytes).unwrap();
        let target = RpcTarget { response_max, flags: 0, parameter_words: parameters.words(), operation };
        let mut memory = Ram(memory.iter().flat_map(|word| word.to_le_bytes()).collect());
        let outcome = Kernels::new().serve(asked(target, 7, parameters, &payload), Qpn::new(3), ANSWER_MAX, &mut memory);
        prop_assert!(outcome.data.len() <= response_max as usize);
    }
}
