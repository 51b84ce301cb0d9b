//! `shuffle` in plain Rust. What it does is told in [`stroma_abi::kernel::shuffle`].

use stroma_abi::kernel::shuffle::{Buffer, PARTITIONS_LOG_MAX, Shuffle, ShuffleStatus};
use stroma_abi::wire::RpcStatus;

use crate::{Failure, Invocation, Memory, Outcome};

/// Most bytes of one read or write.
const TRANSFER_MAX: usize = 4096;

/// Carries an invocation out.
pub fn run(invocation: &Invocation, memory: &mut impl Memory) -> Outcome {
    let key = invocation.command.key;
    match accepted(invocation) {
        None => Outcome::bare(ShuffleStatus::BadParameters as u32),
        Some(_) if invocation.data.is_empty() => Outcome::bare(RpcStatus::Ok as u32),
        Some(task) => shuffle(&task, key, &invocation.data, memory).map_or_else(Outcome::from, Outcome::bare),
    }
}

/// The parameters, if the kernel begins with them.
#[must_use]
pub fn accepted(invocation: &Invocation) -> Option<Shuffle> {
    let command = &invocation.command;
    let task = Shuffle::parse(invocation.parameters.block())?;
    let payload = (command.request_length as usize).checked_sub(Shuffle::LEN)?;
    let fits = usize::from(command.parameter_words) * 4 == Shuffle::LEN
        && command.flags == 0
        && task.partitions_log <= PARTITIONS_LOG_MAX
        && u32::from(task.first_bit) + u32::from(task.partitions_log) <= u64::BITS
        && payload.is_multiple_of(task.tuple_bytes());
    fits.then_some(task)
}

/// Of several failures, one that forbids comes before one of the host.
fn worst(failures: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
    let mut worst = Ok(());
    for one in failures {
        worst = match (worst, one) {
            (Err(Failure::Refused), _) | (_, Ok(())) => worst,
            (_, failure) => failure,
        };
    }
    worst
}

fn shuffle(task: &Shuffle, key: u32, data: &[u8], memory: &mut impl Memory) -> Result<u32, Failure> {
    let mut table = Vec::new();
    let bytes = task.partitions() * Buffer::LEN;
    let pieces = (0..bytes).step_by(TRANSFER_MAX);
    worst(pieces.map(|at| {
        let len = TRANSFER_MAX.min(bytes - at);
        memory.read(key, task.buffers.wrapping_add(at as u64), len).map(|piece| table.extend(piece))
    }))?;
    let mut buffers: Vec<Buffer> = table.chunks(Buffer::LEN).filter_map(Buffer::parse).collect();

    let mut kept = vec![Vec::new(); buffers.len()];
    let tuple_bytes = u32::from(task.wide) * 8 + 8;
    let mut overflows = false;
    for tuple in data.chunks(task.tuple_bytes()) {
        let first = u64::from_le_bytes(tuple[..8].try_into().expect("eight bytes"));
        let (buffer, kept) = (&mut buffers[task.partition(first)], &mut kept[task.partition(first)]);
        if buffer.room(tuple_bytes) > 0 {
            kept.extend_from_slice(tuple);
        } else {
            overflows = true;
        }
        buffer.used = buffer.used.saturating_add(tuple_bytes);
    }

    let mut write_all = |va: u64, bytes: &[u8]| {
        let pieces = bytes.chunks(TRANSFER_MAX).enumerate();
        worst(pieces.map(|(at, piece)| memory.write(key, va.wrapping_add((at * TRANSFER_MAX) as u64), piece)))
    };
    let before = table.chunks(Buffer::LEN).filter_map(Buffer::parse);
    let stored = before.zip(&kept);
    worst(stored.map(|(buffer, kept)| write_all(buffer.address.wrapping_add(buffer.used.into()), kept)))?;
    let table: Vec<u8> = buffers.iter().flat_map(Buffer::to_bytes).collect();
    write_all(task.buffers, &table)?;
    Ok(if overflows { ShuffleStatus::Overflow as u32 } else { RpcStatus::Ok as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stroma_abi::desc::{Parameters, SlotCommand};

    /// 32 KiB from address 0x1000 on under key 7, of which the last page is refused, and the one before fails.
    struct Ram(Vec<u8>);

    const BASE: usize = 0x1000;
    const TABLE: u64 = 0x1008;

    impl Ram {
        fn check(key: u32, va: u64, len: usize) -> Result<std::ops::Range<usize>, Failure> {
            let at = usize::try_from(va).ok().and_then(|va| va.checked_sub(BASE)).ok_or(Failure::Refused)?;
            match at + len {
                _ if key != 7 => Err(Failure::Refused),
                0..=0x6000 => Ok(at..at + len),
                0x6001..=0x7000 => Err(Failure::Host),
                _ => Err(Failure::Refused),
            }
        }

        fn with(buffers: &[(u64, u32, u32)]) -> Self {
            let mut ram = Self(vec![0xee; 0x8000]);
            for (at, (address, capacity, used)) in buffers.iter().enumerate() {
                let buffer = Buffer { address: *address, capacity: *capacity, used: *used };
                buffer.emit(&mut ram.0[8 + 16 * at..]);
            }
            ram
        }

        fn used(&self) -> [u32; 2] {
            [0, 1].map(|at| Buffer::parse(&self.0[8 + 16 * at..]).expect("whole").used)
        }

        fn at(&self, va: usize, len: usize) -> &[u8] {
            &self.0[va - BASE..va - BASE + len]
        }
    }

    impl Memory for Ram {
        fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
            Self::check(key, va, len).map(|range| self.0[range].to_vec())
        }

        fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
            let range = Self::check(key, va, bytes.len())?;
            self.0[range].copy_from_slice(bytes);
            Ok(())
        }
    }

    /// Two partitions, by bit 4.
    const TASK: Shuffle = Shuffle { buffers: TABLE, partitions_log: 1, first_bit: 4, wide: false };
    const WIDE: Shuffle = Shuffle { wide: true, ..TASK };

    fn call(task: &Shuffle, words: &[u64], ram: &mut Ram) -> u32 {
        let command = SlotCommand { key: 7, ..SlotCommand::default() };
        let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
        let data = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let outcome = run(&Invocation::new(command, parameters, data), ram);
        assert_eq!(outcome.data, []);
        outcome.status
    }

    #[test]
    fn tuples_go_behind_what_their_buffer_holds_in_the_order_of_the_stream() {
        let mut ram = Ram::with(&[(0x2001, 100, 0), (0x3000, 64, 16)]);
        assert_eq!(call(&TASK, &[0x10, 0x01, 0x11, 0x02], &mut ram), 0);
        assert_eq!(ram.at(0x2001, 17), [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0xee]);
        assert_eq!(ram.at(0x300f, 10), [0xee, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x11]);
        assert_eq!(ram.used(), [16, 32]);
        assert_eq!(call(&TASK, &[0x03], &mut ram), 0);
        assert_eq!(ram.at(0x2011, 2), [3, 0], "and the next one goes on there");
        assert_eq!(ram.used(), [24, 32]);
        assert_eq!(call(&Shuffle { partitions_log: 0, ..TASK }, &[0x1f], &mut ram), 0, "one partition");
        assert_eq!(ram.at(0x2019, 2), [0x1f, 0]);
    }

    #[test]
    fn wide_tuples_stay_together() {
        let mut ram = Ram::with(&[(0x2000, 100, 0), (0x3000, 100, 0)]);
        assert_eq!(call(&WIDE, &[0x10, 0x01, 0x02, 0x11], &mut ram), 0);
        assert_eq!((ram.at(0x3000, 1), ram.at(0x3008, 1)), (&[0x10][..], &[1][..]));
        assert_eq!((ram.at(0x2000, 1), ram.at(0x2008, 1)), (&[2][..], &[0x11][..]));
        assert_eq!(ram.used(), [16, 16]);
    }

    #[test]
    fn nothing_is_stored_beyond_a_buffer_and_what_is_missing_is_counted() {
        let mut ram = Ram::with(&[(0x2000, 20, 0), (0x3000, 100, 0)]);
        assert_eq!(call(&TASK, &[1, 2, 0x10, 3, 4, 0x11], &mut ram), 0x100);
        assert_eq!(
            ram.at(0x2008, 16),
            [2, 0, 0, 0, 0, 0, 0, 0, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee]
        );
        assert_eq!(ram.at(0x3008, 1), [0x11], "the other partition is whole");
        assert_eq!(ram.used(), [32, 16]);
        assert_eq!(call(&TASK, &[0x12], &mut ram), 0, "nobody asked for the full one");
        assert_eq!(call(&TASK, &[5], &mut ram), 0x100);
        assert_eq!(ram.used(), [40, 24]);
        let mut ram = Ram::with(&[(0x2000, 24, 0), (0x3000, u32::MAX - 5, u32::MAX - 9)]);
        assert_eq!(call(&WIDE, &[1, 1, 2, 2], &mut ram), 0x100, "half a tuple is none");
        assert_eq!(ram.at(0x2010, 8), [0xee; 8]);
        assert_eq!(call(&TASK, &[0x10, 0x10], &mut ram), 0x100);
        assert_eq!(ram.used(), [32, u32::MAX], "and counts no further");
    }

    #[test]
    fn a_failure_leaves_the_table_as_it_was() {
        let cases = [(0x7ff8, 6), (0x7fff, 2), (0x6ff9, 6), (0, 2)];
        for (address, status) in cases {
            let mut ram = Ram::with(&[(0x2000, 20, 0), (address, 100, 0)]);
            assert_eq!(call(&TASK, &[1, 0x10], &mut ram), status, "{address:x}");
            assert_eq!(ram.used(), [0, 0]);
            assert_eq!(call(&TASK, &[1], &mut ram), 0, "nobody asked for the bad one");
        }
        let mut both = Ram::with(&[(0x7000, 20, 0), (0x8000, 100, 0)]);
        assert_eq!(call(&TASK, &[1, 0x10], &mut both), 2, "what is forbidden comes first");
        assert_eq!(call(&TASK, &[0x10, 1], &mut both), 2);
        for (table, status) in [(0x6ff0, 6), (0x8ff0, 2), (0, 2)] {
            assert_eq!(call(&Shuffle { buffers: table, ..TASK }, &[1], &mut both), status, "{table:x}");
        }
    }

    #[test]
    fn an_empty_payload_reads_nothing() {
        assert_eq!(call(&Shuffle { buffers: 0, ..TASK }, &[], &mut Ram::with(&[])), 0);
    }

    #[test]
    fn each_parameter_out_of_range_is_refused() {
        let command = SlotCommand { key: 7, ..SlotCommand::default() };
        let of = |task: &Shuffle, len| {
            let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
            Invocation::new(command, parameters, vec![0; len])
        };
        let good = of(&TASK, 8);
        assert!(accepted(&good).is_some());
        assert!(
            accepted(&of(&Shuffle { partitions_log: 10, first_bit: 54, wide: true, ..TASK }, 32)).is_some()
        );
        assert!(accepted(&of(&Shuffle { partitions_log: 0, first_bit: 64, ..TASK }, 8)).is_some());
        let head = good.command;
        let bad = [
            of(&Shuffle { partitions_log: 11, ..TASK }, 8),
            of(&Shuffle { partitions_log: 10, first_bit: 55, ..TASK }, 8),
            of(&Shuffle { partitions_log: 0, first_bit: 65, ..TASK }, 8),
            of(&Shuffle { first_bit: 255, ..TASK }, 8),
            of(&TASK, 9),
            of(&WIDE, 24),
            Invocation { command: SlotCommand { flags: 1, ..head }, ..good.clone() },
            Invocation {
                command: SlotCommand { parameter_words: 2, request_length: 16, ..head },
                ..good.clone()
            },
            Invocation {
                command: SlotCommand { parameter_words: 4, request_length: 24, ..head },
                ..good.clone()
            },
            Invocation { command: SlotCommand { request_length: 11, ..head }, ..good },
        ];
        for invocation in bad {
            assert_eq!(accepted(&invocation), None, "{invocation:?}");
            assert_eq!(run(&invocation, &mut Ram::with(&[])).status, 0x101);
        }
    }
}
