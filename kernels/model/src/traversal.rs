//! `traversal` in plain Rust. What it does is told in [`stroma_abi::kernel::traversal`].

use stroma_abi::kernel::traversal::{ELEMENT_WORDS_MAX, Predicate, Traversal, TraversalStatus, VALUE_MAX};
use stroma_abi::wire::RpcStatus;

use crate::{Failure, Invocation, Memory, Outcome};

/// Bytes of a word.
const WORD: u64 = 8;
/// Most bytes of one read.
const READ_MAX: usize = 4096;

/// Carries an invocation out.
pub fn run(invocation: &Invocation, memory: &mut impl Memory) -> Outcome {
    match accepted(invocation) {
        Some(task) => walk(&task, invocation.command.key, memory).unwrap_or_else(Outcome::from),
        None => Outcome::bare(TraversalStatus::BadParameters as u32),
    }
}

/// The parameters, if the kernel begins with them.
#[must_use]
pub fn accepted(invocation: &Invocation) -> Option<Traversal> {
    let command = &invocation.command;
    let whole = usize::from(command.parameter_words) * 4 == Traversal::LEN
        && command.request_length as usize == Traversal::LEN
        && command.flags == 0;
    let task = Traversal::parse(invocation.parameters.block())?;
    let within = |word: u8| word < task.element_words;
    let mut keys = (0..ELEMENT_WORDS_MAX).filter(|word| task.key_words >> word & 1 == 1);
    let fits = (1..=ELEMENT_WORDS_MAX).contains(&task.element_words)
        && task.key_words != 0
        && keys.clone().all(within)
        && within(task.next_at)
        && (!task.tree || within(task.right_at))
        && task.value_at < ELEMENT_WORDS_MAX
        && keys.all(|key| within(value_word(&task, key)))
        && task.hop_limit != 0
        && task.value_length <= VALUE_MAX
        && task.value_length <= command.response_max;
    (whole && fits).then_some(task)
}

/// The word of the value, of an element in which word `key` fits.
fn value_word(task: &Traversal, key: u8) -> u8 {
    if task.relative { (key + task.value_at) % ELEMENT_WORDS_MAX } else { task.value_at }
}

fn walk(task: &Traversal, key: u32, memory: &mut impl Memory) -> Result<Outcome, Failure> {
    let predicate = Predicate::ALL[usize::from(task.predicate)].0;
    let sought = task.sought & task.mask;
    let mut element = task.root;
    for _ in 0..task.hop_limit {
        if element == 0 {
            return Ok(Outcome::bare(TraversalStatus::NotFound as u32));
        }
        let bytes = memory.read(key, element, usize::from(task.element_words) * 8)?;
        let word = |at: u8| {
            let at = usize::from(at) * 8;
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
        };
        let mut keys = (0..ELEMENT_WORDS_MAX).filter(|at| task.key_words >> at & 1 == 1);
        let lowest = keys.clone().next().expect("there is a key word");
        if let Some(found) = keys.find(|at| predicate.fits(word(*at) & task.mask, sought)) {
            let at = value_word(task, found);
            let value = if task.inline { element.wrapping_add(WORD * u64::from(at)) } else { word(at) };
            let data = read_value(key, value, task.value_length, memory)?;
            return Ok(Outcome { status: RpcStatus::Ok as u32, data });
        }
        let is_right = task.tree && sought >= word(lowest) & task.mask;
        element = word(if is_right { task.right_at } else { task.next_at });
    }
    let is_over = element == 0;
    Ok(Outcome::bare(if is_over { TraversalStatus::NotFound as u32 } else { RpcStatus::Limit as u32 }))
}

fn read_value(key: u32, va: u64, len: u32, memory: &mut impl Memory) -> Result<Vec<u8>, Failure> {
    let len = len as usize;
    let mut value = Vec::with_capacity(len);
    while value.len() < len {
        let piece = (len - value.len()).min(READ_MAX);
        value.extend(memory.read(key, va.wrapping_add(value.len() as u64), piece)?);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stroma_abi::desc::{Parameters, SlotCommand};

    /// 64 KiB from address 0x1000 on, of which the last page is refused, and the one before fails.
    struct Ram(Vec<u8>);

    const BASE: u64 = 0x1000;

    impl Memory for Ram {
        fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
            let at = usize::try_from(va.wrapping_sub(BASE)).map_err(|_| Failure::Refused)?;
            let bytes = at.checked_add(len).and_then(|end| self.0.get(at..end)).filter(|_| key == 7);
            let bytes = bytes.ok_or(Failure::Refused)?;
            if at + len > 0xf000 {
                Err(Failure::Refused)
            } else if at + len > 0xe000 {
                Err(Failure::Host)
            } else {
                Ok(bytes.to_vec())
            }
        }

        fn write(&mut self, _: u32, _: u64, _: &[u8]) -> Result<(), Failure> {
            unreachable!("traversal writes nothing")
        }
    }

    impl Ram {
        fn new(words: &[(u64, u64)]) -> Self {
            let mut ram =
                Self((0..0x10000_u32).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect());
            for (va, word) in words {
                let at = usize::try_from(va - BASE).expect("inside");
                ram.0[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            ram
        }
    }

    /// Key in word 0, next in word 1, value in word 2.
    fn list() -> Traversal {
        Traversal {
            root: 0x1003,
            sought: 5,
            mask: u64::MAX,
            value_length: 10,
            hop_limit: 9,
            key_words: 1,
            element_words: 3,
            next_at: 1,
            value_at: 2,
            ..Traversal::default()
        }
    }

    const LIST: &[(u64, u64)] =
        &[(0x1003, 4), (0x100b, 0x1041), (0x1013, 0x2000), (0x1041, 5), (0x1049, 0), (0x1051, 0x3001)];

    fn call(task: &Traversal, words: &[(u64, u64)]) -> Outcome {
        let command = SlotCommand { key: 7, response_max: VALUE_MAX, ..SlotCommand::default() };
        let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
        run(&Invocation::new(command, parameters, Vec::new()), &mut Ram::new(words))
    }

    fn value(va: u64, len: usize) -> Outcome {
        let at = usize::try_from(va - BASE).expect("inside");
        Outcome { status: 0, data: Ram::new(&[]).0[at..at + len].to_vec() }
    }

    #[test]
    fn a_list_gives_the_value_of_the_first_element_that_fits() {
        assert_eq!(call(&list(), LIST), value(0x3001, 10));
        assert_eq!(call(&Traversal { predicate: Predicate::Less as u8, ..list() }, LIST), value(0x2000, 10));
        assert_eq!(call(&Traversal { sought: 0xf4, mask: 0xf, ..list() }, LIST), value(0x2000, 10));
        assert_eq!(call(&Traversal { value_length: 0, ..list() }, LIST), Outcome::bare(0));
    }

    #[test]
    fn an_end_is_told_apart_from_a_limit() {
        assert_eq!(call(&Traversal { sought: 6, ..list() }, LIST).status, 0x100);
        assert_eq!(call(&Traversal { sought: 6, hop_limit: 2, ..list() }, LIST).status, 0x100);
        assert_eq!(call(&Traversal { sought: 6, hop_limit: 1, ..list() }, LIST).status, 3);
        assert_eq!(call(&Traversal { root: 0, ..list() }, LIST).status, 0x100);
    }

    #[test]
    fn a_bucket_has_several_keys_each_with_its_value() {
        let words = [(0x1000, 1), (0x1008, 0x2000), (0x1010, 2), (0x1018, 0x3000), (0x1020, 0)];
        let bucket = Traversal {
            root: 0x1000,
            key_words: 0b101,
            element_words: 5,
            next_at: 4,
            value_at: 1,
            relative: true,
            ..list()
        };
        assert_eq!(call(&Traversal { sought: 1, ..bucket }, &words), value(0x2000, 10));
        assert_eq!(call(&Traversal { sought: 2, ..bucket }, &words), value(0x3000, 10));
        let both = Traversal { predicate: Predicate::NotEqual as u8, sought: 9, ..bucket };
        assert_eq!(call(&both, &words), value(0x2000, 10), "the lowest wins");
        let inline = call(&Traversal { sought: 2, inline: true, value_length: 8, ..bucket }, &words);
        assert_eq!(inline.data, 0x3000_u64.to_le_bytes());
        // Word 2 + 6 is word 0, word 0 + 6 is none.
        let wraps =
            Traversal { value_at: 6, key_words: 0b100, sought: 2, inline: true, value_length: 8, ..bucket };
        assert_eq!(call(&wraps, &words).data, 1_u64.to_le_bytes());
        assert_eq!(call(&Traversal { key_words: 0b101, ..wraps }, &words).status, 0x101);
    }

    #[test]
    fn a_tree_goes_left_below_the_key_of_an_element_and_else_right() {
        let node =
            |va: u64, key, left, right| [(va, key), (va + 8, left), (va + 16, right), (va + 24, va + 0x1000)];
        let words =
            [node(0x1000, 50, 0x1100, 0x1200), node(0x1100, 20, 0, 0), node(0x1200, 70, 0, 0)].concat();
        let tree =
            Traversal { root: 0x1000, tree: true, element_words: 4, right_at: 2, value_at: 3, ..list() };
        assert_eq!(call(&Traversal { sought: 20, ..tree }, &words), value(0x2100, 10));
        assert_eq!(call(&Traversal { sought: 70, ..tree }, &words), value(0x2200, 10));
        assert_eq!(call(&Traversal { sought: 60, ..tree }, &words).status, 0x100);
    }

    #[test]
    fn failures_of_elements_and_values_have_their_statuses() {
        assert_eq!(call(&Traversal { root: 0xff00, ..list() }, LIST).status, 6);
        assert_eq!(call(&Traversal { root: 0x1_0ff0, ..list() }, LIST).status, 2);
        let far = |value| [LIST[3], LIST[4], (0x1051, value)];
        let at = |value| call(&Traversal { root: 0x1041, value_length: 8192, ..list() }, &far(value)).status;
        assert_eq!([at(0xd000), at(0xe000), at(0xf000), at(0x1_0000)], [0, 6, 6, 2]);
    }

    #[test]
    fn each_parameter_out_of_range_is_refused() {
        let bad = [
            Traversal { element_words: 0, ..list() },
            Traversal { element_words: 9, ..list() },
            Traversal { key_words: 0, ..list() },
            Traversal { key_words: 0b1001, ..list() },
            Traversal { next_at: 3, ..list() },
            Traversal { right_at: 3, tree: true, ..list() },
            Traversal { value_at: 3, ..list() },
            Traversal { value_at: 8, relative: true, ..list() },
            Traversal { value_at: 3, relative: true, ..list() },
            Traversal { hop_limit: 0, ..list() },
            Traversal { value_length: VALUE_MAX + 1, ..list() },
        ];
        for task in bad {
            assert_eq!(call(&task, LIST).status, 0x101, "{task:?}");
        }
        assert_eq!(call(&Traversal { right_at: 9, ..list() }, LIST).status, 0, "no tree");
    }

    #[test]
    fn commands_with_other_lengths_or_flags_are_refused() {
        let parameters = Parameters::new(&list().to_bytes()).expect("whole words");
        let command = SlotCommand { key: 7, response_max: 10, ..SlotCommand::default() };
        let good = Invocation::new(command, parameters, Vec::new());
        assert!(accepted(&good).is_some());
        let head = good.command;
        let shorter = Parameters::new(&list().to_bytes()[..32]).expect("whole words");
        let cases = [
            Invocation::new(command, shorter, Vec::new()),
            Invocation::new(command, parameters, vec![0; 4]),
            Invocation {
                command: SlotCommand { parameter_words: 10, request_length: 40, ..head },
                ..good.clone()
            },
            Invocation { command: SlotCommand { flags: 1, ..head }, ..good.clone() },
            Invocation { command: SlotCommand { response_max: 9, ..head }, ..good.clone() },
        ];
        for invocation in cases {
            assert_eq!(accepted(&invocation), None, "{invocation:?}");
        }
    }
}
