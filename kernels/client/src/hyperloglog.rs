//! Client of `hyperloglog`: parameters, sketches and what they tell. What the kernel does is told in
//! [`stroma_abi::kernel::hyperloglog`].

use std::f64::consts::LN_2;

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::hyperloglog::{
    Action, HyperLogLog, ITEMS, OPERATION, RANK_MAX, REGISTERS, REGISTERS_LOG, hash, place,
};
use stroma_abi::wire::RpcStatus;

use crate::call::{Call, Failed, block, failed};

/// A request that is answered without bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting(pub HyperLogLog);

/// A request for the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading(pub HyperLogLog);

fn parameters(sketch: u64, action: Action) -> HyperLogLog {
    HyperLogLog { sketch, action: action as u8, ..HyperLogLog::default() }
}

/// Clears the kernel's sketch and names it: the first request of who wants to count. The name should be one that nobody else has. The sketch is the
/// far queue pair's protection domain's from then on, until [`release`] gives it up.
#[must_use]
pub fn clear(sketch: u64) -> Counting {
    Counting(parameters(sketch, Action::Clear))
}

/// Clears the sketch and gives it up: another protection domain may have it.
#[must_use]
pub fn release() -> Counting {
    Counting(HyperLogLog { release: true, ..parameters(0, Action::Clear) })
}

/// Counts the payload's items of `item` bytes, and stores the payload at `address`; `None` if items cannot have that size.
#[must_use]
pub fn count(sketch: u64, item: u8, address: u64) -> Option<Counting> {
    let task = HyperLogLog { item, address, ..parameters(sketch, Action::Count) };
    ITEMS.contains(&item).then_some(Counting(task))
}

/// As [`count`], but stores nothing.
#[must_use]
pub fn count_only(sketch: u64, item: u8) -> Option<Counting> {
    count(sketch, item, 0).map(|task| Counting(HyperLogLog { discard: true, ..task.0 }))
}

/// Asks for the registers.
#[must_use]
pub fn read(sketch: u64) -> Reading {
    Reading(parameters(sketch, Action::Read))
}

/// As [`read`], and leaves an empty sketch.
#[must_use]
pub fn take(sketch: u64) -> Reading {
    Reading(parameters(sketch, Action::Take))
}

impl Call for Counting {
    type Answer = ();
    const OPERATION: u16 = OPERATION;

    fn parameters(&self) -> Parameters {
        block(&self.0.to_bytes())
    }

    fn response_max(&self) -> u32 {
        0
    }

    fn answer(&self, status: u32, _: &[u8]) -> Result<Self::Answer, Failed> {
        if status == RpcStatus::Ok as u32 { Ok(()) } else { Err(failed(OPERATION, status)) }
    }
}

impl Call for Reading {
    type Answer = Sketch;
    const OPERATION: u16 = OPERATION;

    fn parameters(&self) -> Parameters {
        block(&self.0.to_bytes())
    }

    fn response_max(&self) -> u32 {
        1 << REGISTERS_LOG
    }

    fn answer(&self, status: u32, bytes: &[u8]) -> Result<Self::Answer, Failed> {
        if status != RpcStatus::Ok as u32 {
            return Err(failed(OPERATION, status));
        }
        let length = bytes.len();
        Sketch::from_answer(bytes).ok_or(Failed::Answer { operation: OPERATION, length })
    }
}

const _: () = assert!(REGISTERS == 65_536, "a number of the estimator");

/// A set of items, of which only the number is remembered, with a standard error of 0.4 %.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    registers: Vec<u8>,
}

impl Default for Sketch {
    fn default() -> Self {
        Self { registers: vec![0; REGISTERS] }
    }
}

impl Sketch {
    /// The sketch that a kernel answered with; `None` if the bytes are none.
    #[must_use]
    pub fn from_answer(answer: &[u8]) -> Option<Self> {
        let fits = answer.len() == REGISTERS && answer.iter().all(|register| *register <= RANK_MAX);
        fits.then(|| Self { registers: answer.to_vec() })
    }

    /// The registers, as a kernel answers with them.
    #[must_use]
    pub fn registers(&self) -> &[u8] {
        &self.registers
    }

    /// Counts an item, as the kernel does.
    ///
    /// # Panics
    /// When it has not 4, 8, 12 or 16 bytes.
    pub fn insert(&mut self, item: &[u8]) {
        let (register, rank) = place(hash::of(item));
        let register = &mut self.registers[usize::from(register)];
        *register = rank.max(*register);
    }

    /// Makes this the sketch of both sets together.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// How many different items there are, about.
    ///
    /// The improved raw estimator of O. Ertl, "New cardinality estimation algorithms for `HyperLogLog` sketches" (2017), algorithm 6, which holds from
    /// none to as many as 64 bits can tell apart. It follows from how many registers have which value.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        let count = 65_536.0;
        let mut with = [0_u32; RANK_MAX as usize + 1];
        self.registers.iter().for_each(|register| with[usize::from(*register)] += 1);
        let [none, some @ .., full] = with;
        let start = count * tau(1.0 - f64::from(full) / count);
        let sum = some.iter().rev().fold(start, |sum, registers| 0.5 * (sum + f64::from(*registers)));
        count * count / (2.0 * LN_2 * (sum + count * sigma(f64::from(none) / count)))
    }
}

/// `x + x^2 + 2 x^4 + 4 x^8 + ...`: what registers of 0 stand for.
fn sigma(mut x: f64) -> f64 {
    let (mut weight, mut sum) = (1.0, x);
    if x >= 1.0 {
        return f64::INFINITY;
    }
    loop {
        x *= x;
        let next = sum + x * weight;
        if next <= sum {
            return sum;
        }
        (sum, weight) = (next, 2.0 * weight);
    }
}

/// `(1 - x - (1 - x^1/2)^2 / 2 - (1 - x^1/4)^2 / 4 - ...) / 3`: what full registers stand for.
fn tau(mut x: f64) -> f64 {
    let (mut weight, mut sum) = (1.0, 1.0 - x);
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    loop {
        x = x.sqrt();
        weight *= 0.5;
        let next = sum - (1.0 - x).powi(2) * weight;
        if next >= sum {
            return sum / 3.0;
        }
        sum = next;
    }
}

#[cfg(test)]
mod tests;
