//! `consistency` in plain Rust. What it does is told in [`stroma_abi::kernel::consistency`].

use stroma_abi::kernel::consistency::{
    Consistency, ConsistencyStatus, OBJECT_MAX, OBJECT_MIN, PAUSES_END, TRAILER_LEN, crc,
};
use stroma_abi::wire::RpcStatus;

use crate::{Failure, Invocation, Memory, Outcome};

/// Most bytes of one read.
const READ_MAX: usize = 4096;

/// Carries an invocation out.
pub fn run(invocation: &Invocation, memory: &mut impl Memory) -> Outcome {
    match accepted(invocation) {
        Some(task) => attempt(&task, invocation.command.key, memory).unwrap_or_else(Outcome::from),
        None => Outcome::bare(ConsistencyStatus::BadParameters as u32),
    }
}

/// The parameters, if the kernel begins with them.
#[must_use]
pub fn accepted(invocation: &Invocation) -> Option<Consistency> {
    let command = &invocation.command;
    let whole = usize::from(command.parameter_words) * 4 == Consistency::LEN
        && command.request_length as usize == Consistency::LEN
        && command.flags == 0;
    let task = Consistency::parse(invocation.parameters.block())?;
    let fits = (OBJECT_MIN..=OBJECT_MAX).contains(&task.length)
        && task.length as usize - TRAILER_LEN <= command.response_max as usize
        && task.attempts != 0;
    (whole && fits).then_some(task)
}

fn attempt(task: &Consistency, key: u32, memory: &mut impl Memory) -> Result<Outcome, Failure> {
    let mut paused = 0;
    for _ in 0..task.attempts {
        if paused >= PAUSES_END {
            break;
        }
        let mut data = read(task, key, memory)?;
        let trailer = data.split_off(data.len() - TRAILER_LEN);
        if crc(&data).to_le_bytes() == *trailer {
            return Ok(Outcome { status: RpcStatus::Ok as u32, data });
        }
        paused += u32::from(task.pause);
    }
    Ok(Outcome::bare(ConsistencyStatus::Inconsistent as u32))
}

/// All of an attempt is read, whatever comes of its parts: they are asked for at once.
fn read(task: &Consistency, key: u32, memory: &mut impl Memory) -> Result<Vec<u8>, Failure> {
    let length = task.length as usize;
    let pieces = (0..length).step_by(READ_MAX);
    let mut read =
        |at: usize| memory.read(key, task.address.wrapping_add(at as u64), (length - at).min(READ_MAX));
    let pieces: Vec<_> = pieces.map(&mut read).collect();
    Ok(pieces.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stroma_abi::desc::{Parameters, SlotCommand};

    /// Shows one content after the other at address 0x1000, and the last for ever.
    struct Changing {
        versions: Vec<Vec<u8>>,
        reads: usize,
    }

    impl Memory for Changing {
        fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
            let at = usize::try_from(va.checked_sub(0x1000).ok_or(Failure::Refused)?).expect("small");
            let version = &self.versions[(self.reads).min(self.versions.len() - 1)];
            if at + len >= version.len() {
                self.reads += 1;
            }
            let bytes = version.get(at..at + len).filter(|_| key == 7);
            bytes.map(<[u8]>::to_vec).ok_or(if at > 0x8000 { Failure::Host } else { Failure::Refused })
        }

        fn write(&mut self, _: u32, _: u64, _: &[u8]) -> Result<(), Failure> {
            unreachable!("consistency writes nothing")
        }
    }

    fn task(length: u32, attempts: u16) -> Consistency {
        Consistency { address: 0x1000, length, pause: 3, attempts }
    }

    fn ask(task: &Consistency, memory: &mut Changing) -> Outcome {
        let command = SlotCommand { key: 7, response_max: OBJECT_MAX, ..SlotCommand::default() };
        let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
        run(&Invocation::new(command, parameters, Vec::new()), memory)
    }

    /// "123456789" and its CRC, as the catalogue has it.
    const GOOD: &[u8] = b"123456789\xfa\x39\x19\xdf\xbb\xc9\x5d\x99";

    fn bad() -> Vec<u8> {
        let mut bad = GOOD.to_vec();
        bad[4] ^= 1;
        bad
    }

    #[test]
    fn an_object_that_fits_is_answered_without_its_crc() {
        let mut memory = Changing { versions: vec![GOOD.to_vec()], reads: 0 };
        assert_eq!(ask(&task(17, 1), &mut memory), Outcome { status: 0, data: b"123456789".to_vec() });
        assert_eq!(memory.reads, 1);
    }

    #[test]
    fn an_object_is_read_until_it_fits_and_no_oftener_than_allowed() {
        for (bads, attempts, expected, reads) in [
            (0, 1, 0, 1),
            (1, 1, 0x100, 1),
            (1, 2, 0, 2),
            (5, 5, 0x100, 5),
            (5, 6, 0, 6),
            (5, u16::MAX, 0, 6),
        ] {
            let mut versions = vec![bad(); bads];
            versions.push(GOOD.to_vec());
            let mut memory = Changing { versions, reads: 0 };
            assert_eq!(ask(&task(17, attempts), &mut memory).status, expected);
            assert_eq!(memory.reads, reads);
        }
    }

    #[test]
    fn pauses_end_the_attempts_when_they_take_too_long_together() {
        for (pause, attempts, reads) in
            [(0xffff, u16::MAX, 17), (0x8000, u16::MAX, 32), (0x8000, 32, 32), (0x7fff, 40, 33), (1, 9, 9)]
        {
            let mut memory = Changing { versions: vec![bad()], reads: 0 };
            let task = Consistency { pause, ..task(17, attempts) };
            assert_eq!((ask(&task, &mut memory).status, memory.reads), (0x100, reads), "{pause:#x}");
        }
    }

    #[test]
    fn every_bit_of_object_and_crc_counts() {
        for bit in 0..GOOD.len() * 8 {
            let mut object = GOOD.to_vec();
            object[bit / 8] ^= 1 << (bit % 8);
            let mut memory = Changing { versions: vec![object], reads: 0 };
            assert_eq!(ask(&task(17, 1), &mut memory).status, 0x100, "bit {bit}");
        }
    }

    #[test]
    fn failures_have_their_statuses_at_any_attempt() {
        let mut memory = Changing { versions: vec![GOOD.to_vec()], reads: 0 };
        assert_eq!(ask(&Consistency { address: 0xfff, ..task(17, 1) }, &mut memory).status, 2);
        assert_eq!(ask(&Consistency { address: 0xffff, ..task(17, 1) }, &mut memory).status, 6);
        let mut memory = Changing { versions: vec![bad(), vec![0; 16]], reads: 0 };
        assert_eq!(ask(&task(17, 9), &mut memory).status, 2);
        assert_eq!(memory.reads, 2);
    }

    #[test]
    fn each_parameter_out_of_range_is_refused() {
        let mut memory = Changing { versions: vec![vec![0; 20_000]], reads: 0 };
        for task in [task(15, 1), task(0, 1), task(16_385, 1), task(u32::MAX, 1), task(16, 0)] {
            assert_eq!(ask(&task, &mut memory).status, 0x101, "{task:?}");
        }
        assert_eq!(
            (ask(&task(16, 1), &mut memory).status, ask(&task(16_384, 1), &mut memory).status),
            (0x100, 0x100)
        );
    }

    #[test]
    fn commands_with_other_lengths_or_flags_are_refused() {
        let parameters = Parameters::new(&task(17, 1).to_bytes()).expect("whole words");
        let command = SlotCommand { key: 7, response_max: 9, ..SlotCommand::default() };
        let good = Invocation::new(command, parameters, Vec::new());
        assert!(accepted(&good).is_some());
        let shorter = Parameters::new(&task(17, 1).to_bytes()[..12]).expect("whole words");
        let head = good.command;
        let cases = [
            Invocation::new(command, shorter, Vec::new()),
            Invocation::new(command, parameters, vec![0; 4]),
            Invocation {
                command: SlotCommand { parameter_words: 5, request_length: 20, ..head },
                ..good.clone()
            },
            Invocation { command: SlotCommand { flags: 1, ..head }, ..good.clone() },
            Invocation { command: SlotCommand { response_max: 8, ..head }, ..good.clone() },
        ];
        for invocation in cases {
            assert_eq!(accepted(&invocation), None, "{invocation:?}");
        }
    }
}
