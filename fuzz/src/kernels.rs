//! Parameters and payload of RPCs, for the models of all kernels.

use stroma_abi::desc::{Parameters, SlotCommand};
use stroma_abi::desc::rpc::PARAMETERS_MAX;
use stroma_kernel_models::{Failure, Invocation, Memory, consistency, get, hyperloglog, prism, shuffle, traversal};

/// Where the caller's memory begins.
const BASE: u64 = 0x1000;
/// Its bytes.
const SIZE: usize = 4096;
/// The most that a kernel asks for at once: the longest value of `get`, as an answer has no more.
const LONGEST: usize = 1 << 20;

/// A caller's memory, with words of the input in it so that what points may point somewhere.
struct Room(Vec<u8>);

impl Room {
    fn place(&self, va: u64, len: usize) -> Result<usize, Failure> {
        assert!(len <= LONGEST, "{len} bytes at once");
        let at = usize::try_from(va.checked_sub(BASE).ok_or(Failure::Refused)?).map_err(|_| Failure::Refused)?;
        let end = at.checked_add(len).ok_or(Failure::Refused)?;
        (end <= self.0.len()).then_some(at).ok_or(Failure::Refused)
    }
}

impl Memory for Room {
    fn read(&mut self, _key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        let at = self.place(va, len)?;
        Ok(self.0[at..at + len].to_vec())
    }

    fn write(&mut self, _key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        let at = self.place(va, bytes.len())?;
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

/// Whatever a kernel is asked, it ends, and with an error it brings nothing.
///
/// The input: which kernel, how many words of parameters, the command, the parameters, how much payload, that, and what is in memory.
pub fn kernels(bytes: &[u8]) {
    let Some((&[which, words, length], rest)) = bytes.split_first_chunk::<3>() else { return };
    let Some((command, rest)) = rest.split_at_checked(SlotCommand::LEN) else { return };
    let words = usize::from(words) % (PARAMETERS_MAX / 4 + 1);
    let Some((parameters, rest)) = rest.split_at_checked(words * 4) else { return };
    let Some((data, rest)) = rest.split_at_checked(usize::from(length)) else { return };
    let command = SlotCommand::parse(command).expect("it is as long");
    let parameters = Parameters::new(parameters).expect("whole words, and few");
    let invocation = Invocation::new(command, parameters, data.to_vec());
    let filling = if rest.is_empty() { &[0] } else { rest };
    let mut room = Room(filling.iter().copied().cycle().take(SIZE).collect());
    let outcome = match which % 6 {
        0 => consistency::run(&invocation, &mut room),
        1 => get::run(&invocation, &mut room),
        2 => prism::run(&invocation, &mut room),
        3 => shuffle::run(&invocation, &mut room),
        4 => traversal::run(&invocation, &mut room),
        _ => {
            let mut kernel = hyperloglog::Kernel::default();
            kernel.run(&invocation, &mut room);
            kernel.run(&invocation, &mut room)
        }
    };
    assert!(outcome.status == 0 || outcome.data.is_empty(), "{outcome:?}");
}
