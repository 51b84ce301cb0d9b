//! `kernel_name` in plain Rust: what its RTL is held against, and what a driver runs where a card lacks the kernel.

use stroma_abi::wire::RpcStatus;
use stroma_kernel_models::{Failure, Invocation, Memory, Outcome};

use crate::call::{KernelName, KernelNameStatus, WORD_LEN};

/// Carries an invocation out.
pub fn run(invocation: &Invocation, memory: &mut impl Memory) -> Outcome {
    match accepted(invocation) {
        Some(asked) => raise(&asked, invocation.command.key, memory).unwrap_or_else(Outcome::from),
        None => Outcome::bare(KernelNameStatus::BadRequest as u32),
    }
}

/// The parameters, if the kernel begins with them.
fn accepted(invocation: &Invocation) -> Option<KernelName> {
    let command = &invocation.command;
    let is_whole = usize::from(command.parameter_words) * 4 == KernelName::LEN
        && command.request_length as usize == KernelName::LEN
        && command.response_max as usize >= WORD_LEN
        && command.flags == 0;
    KernelName::parse(invocation.parameters.block()).filter(|_| is_whole)
}

fn raise(asked: &KernelName, key: u32, memory: &mut impl Memory) -> Result<Outcome, Failure> {
    let data = memory.read(key, asked.address, WORD_LEN)?;
    let value = asked.value.to_le_bytes();
    // As numbers: the last byte counts most.
    if value.iter().rev().gt(data.iter().rev()) {
        memory.write(key, asked.address, &value)?;
    }
    Ok(Outcome { status: RpcStatus::Ok as u32, data })
}

#[cfg(test)]
mod tests {
    use stroma_abi::desc::SlotCommand;
    use stroma_kernel_client::Call;

    use super::*;

    /// One word at address 0x1000, under key 7.
    struct Word(u64);

    impl Memory for Word {
        fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
            let is_there = (key, va, len) == (7, 0x1000, 8);
            is_there.then(|| self.0.to_le_bytes().to_vec()).ok_or(Failure::Refused)
        }

        fn write(&mut self, _: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
            assert_eq!(va, 0x1000);
            self.0 = u64::from_le_bytes(bytes.try_into().expect("a word"));
            Ok(())
        }
    }

    fn ask(asked: &KernelName, memory: &mut Word) -> Outcome {
        let command = SlotCommand { key: 7, response_max: 8, ..SlotCommand::default() };
        run(&Invocation::new(command, asked.parameters(), Vec::new()), memory)
    }

    #[test]
    fn a_word_is_raised_and_never_lowered() {
        let mut memory = Word(5);
        for (value, before, after) in
            [(4, 5, 5), (5, 5, 5), (6, 5, 6), (1 << 63, 6, 1 << 63), (9, 1 << 63, 1 << 63)]
        {
            let outcome = ask(&KernelName { address: 0x1000, value }, &mut memory);
            assert_eq!(outcome, Outcome { status: 0, data: u64::to_le_bytes(before).to_vec() });
            assert_eq!(memory.0, after);
        }
    }

    #[test]
    fn what_is_not_the_callers_is_refused() {
        assert_eq!(ask(&KernelName { address: 0x1001, value: 9 }, &mut Word(5)), Outcome::bare(2));
    }
}
