//! `hyperloglog` in plain Rust. What it does is told in [`stroma_abi::kernel::hyperloglog`].

use stroma_abi::kernel::hyperloglog::{
    Action, HyperLogLog, HyperLogLogStatus, ITEMS, REGISTERS, hash, place,
};
use stroma_abi::wire::RpcStatus;

use crate::{Failure, Invocation, Memory, Outcome};

/// Most bytes of one write.
const WRITE_MAX: u64 = 4096;
/// Writes begin at multiples of so many bytes of the payload.
const STEP: u64 = 64;

/// The kernel, with the one sketch that it has.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name and the domain whose it is.
    sketch: Option<(u64, u16)>,
    registers: Vec<u8>,
}

impl Default for Kernel {
    fn default() -> Self {
        Self { sketch: None, registers: vec![0; REGISTERS] }
    }
}

impl Kernel {
    /// Carries an invocation out.
    pub fn run(&mut self, invocation: &Invocation, memory: &mut impl Memory) -> Outcome {
        let Some((task, action)) = accepted(invocation) else {
            return Outcome::bare(HyperLogLogStatus::BadParameters as u32);
        };
        let own = (task.sketch, invocation.command.domain);
        if action == Action::Clear {
            if self.sketch.is_some_and(|(_, domain)| domain != own.1) {
                return Outcome::bare(HyperLogLogStatus::Taken as u32);
            }
            self.registers.fill(0);
            self.sketch = Some(own).filter(|_| !task.release);
        } else if self.sketch != Some(own) {
            return Outcome::bare(HyperLogLogStatus::OtherSketch as u32);
        }
        let data = match action {
            Action::Count => {
                self.count(&invocation.data, usize::from(task.item));
                if let Some(failure) = store(&task, invocation, memory) {
                    return failure.into();
                }
                Vec::new()
            }
            Action::Read => self.registers.clone(),
            Action::Take => std::mem::replace(&mut self.registers, vec![0; REGISTERS]),
            Action::Clear => Vec::new(),
        };
        Outcome { status: RpcStatus::Ok as u32, data }
    }

    fn count(&mut self, payload: &[u8], item: usize) {
        for item in payload.chunks(item) {
            let (register, rank) = place(hash::of(item));
            let register = &mut self.registers[usize::from(register)];
            *register = rank.max(*register);
        }
    }
}

/// The parameters and the action, if the kernel begins with them.
#[must_use]
pub fn accepted(invocation: &Invocation) -> Option<(HyperLogLog, Action)> {
    let command = &invocation.command;
    if usize::from(command.parameter_words) * 4 != HyperLogLog::LEN || command.flags != 0 {
        return None;
    }
    let payload = (command.request_length as usize).checked_sub(HyperLogLog::LEN)?;
    let task = HyperLogLog::parse(invocation.parameters.block())?;
    let action = Action::from_code(task.action)?;
    let fits = match action {
        Action::Count => ITEMS.contains(&task.item) && payload.is_multiple_of(task.item.into()),
        Action::Read | Action::Take => payload == 0 && command.response_max as usize >= REGISTERS,
        Action::Clear => payload == 0,
    };
    fits.then_some((task, action))
}

/// Stores the payload; how the first write that failed did so. A write ends with the last 64 bytes that begin in a 4 KiB page.
fn store(task: &HyperLogLog, invocation: &Invocation, memory: &mut impl Memory) -> Option<Failure> {
    let mut rest = if task.discard { &[][..] } else { &invocation.data[..] };
    let (mut at, mut first) = (task.address, None);
    while !rest.is_empty() {
        let room = WRITE_MAX - at % WRITE_MAX / STEP * STEP;
        let (piece, behind) = rest.split_at(rest.len().min(usize::try_from(room).expect("a page")));
        first = first.or(memory.write(invocation.command.key, at, piece).err());
        (at, rest) = (at.wrapping_add(room), behind);
    }
    first
}

#[cfg(test)]
mod tests;
