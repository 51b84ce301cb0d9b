//! `prism` in plain Rust. What it does is told in [`stroma_abi::kernel::prism`].

#[cfg(test)]
mod tests;

use stroma_abi::kernel::prism::{
    Chain, Comparison, FreeList, Kind, LENGTH_MAX, LINE, OPERATIONS_MAX, Operands, Operation, Outcome as End,
    PAYLOAD_MAX, PrismStatus, REPORTS_LEN, Report, SWAP_MAX, Stage,
};
use stroma_abi::wire::RpcStatus;

use crate::{Failure, Invocation, Memory, Outcome};

/// Carries an invocation out.
pub fn run(invocation: &Invocation, memory: &mut impl Memory) -> Outcome {
    match accepted(invocation) {
        Some(operations) => carry_out(&operations, &invocation.data, memory),
        None => Outcome::bare(PrismStatus::BadParameters as u32),
    }
}

/// The operations, if the kernel begins with them.
#[must_use]
pub fn accepted(invocation: &Invocation) -> Option<Vec<Operation>> {
    let command = &invocation.command;
    let payload = (command.request_length as usize).checked_sub(Chain::LEN)?;
    let count = usize::from(Chain::parse(invocation.parameters.block())?.count);
    let whole = usize::from(command.parameter_words) * 4 == Chain::LEN && command.flags == 0;
    let fits = (1..=OPERATIONS_MAX).contains(&count) && (count * LINE..=PAYLOAD_MAX).contains(&payload);
    if !whole || !fits {
        return None;
    }
    let operations: Vec<Operation> =
        invocation.data.chunks(LINE).take(count).map(Operation::parse).collect::<Option<_>>()?;
    let answer = REPORTS_LEN + operations.iter().map(|operation| padded(answer(operation))).sum::<usize>();
    let is_good = operations.iter().all(|operation| is_allowed(operation, payload));
    (is_good && answer <= command.response_max as usize).then_some(operations)
}

fn kind(operation: &Operation) -> Kind {
    Kind::from_code(operation.kind).expect("two bits name a kind")
}

fn padded(length: usize) -> usize {
    length.next_multiple_of(LINE)
}

/// Most bytes of an operation's result in the answer.
fn answer(operation: &Operation) -> usize {
    let has_bytes = matches!(kind(operation), Kind::Read | Kind::CompareAndSwap);
    if has_bytes && !operation.redirect { operation.length as usize } else { 0 }
}

fn is_allowed(operation: &Operation, payload: usize) -> bool {
    let Operation { indirect, bounded, data_indirect, redirect, forward, .. } = *operation;
    let flags = match kind(operation) {
        Kind::Read => (indirect || !bounded) && !data_indirect && !forward,
        Kind::Write => (indirect || !bounded) && !redirect && !forward,
        Kind::CompareAndSwap => !(bounded || forward && data_indirect),
        Kind::Allocate => !indirect && !bounded && !forward,
    };
    let length = operation.length as usize;
    let is_swap = kind(operation) == Kind::CompareAndSwap;
    let length_fits = if is_swap {
        length.is_multiple_of(8) && (8..=SWAP_MAX).contains(&length)
    } else {
        (1..=LENGTH_MAX as usize).contains(&length)
    };
    let data = match kind(operation) {
        Kind::CompareAndSwap => Operands::LEN,
        Kind::Write | Kind::Allocate if !data_indirect => length,
        _ => 0,
    };
    flags && length_fits && (data == 0 || usize::from(operation.data_line) * LINE + data <= payload)
}

/// An operation under way.
struct Course<'a, M> {
    operation: &'a Operation,
    memory: &'a mut M,
    report: Report,
    /// Bytes of its result.
    result: Vec<u8>,
}

/// Why an operation ended before it was done.
struct Stop(End, Stage);

impl Stop {
    fn of(failure: Failure, stage: Stage) -> Self {
        Self(if failure == Failure::Refused { End::Refused } else { End::Failed }, stage)
    }
}

impl<M: Memory> Course<'_, M> {
    fn read(&mut self, key: u32, va: u64, len: usize, stage: Stage) -> Result<Vec<u8>, Stop> {
        self.memory.read(key, va, len).map_err(|failure| Stop::of(failure, stage))
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8], stage: Stage) -> Result<(), Stop> {
        self.memory.write(key, va, bytes).map_err(|failure| Stop::of(failure, stage))
    }

    fn length(&self) -> usize {
        self.report.length as usize
    }

    /// Finds the target.
    fn resolve(&mut self) -> Result<(), Stop> {
        let Operation { indirect, bounded, key, address, .. } = *self.operation;
        if kind(self.operation) == Kind::Allocate || !indirect {
            return Ok(());
        }
        let bytes = self.read(key, address, if bounded { 16 } else { 8 }, Stage::Pointer)?;
        let pointer = word(&bytes);
        if pointer == 0 {
            return Err(Stop(End::Null, Stage::Nowhere));
        }
        self.report.address = pointer;
        if bounded {
            let bound = u32::try_from(word(&bytes[8..])).unwrap_or(u32::MAX);
            self.report.length = self.report.length.min(bound);
        }
        Ok(())
    }

    /// The data of a write or an allocation, or what a compare-and-swap takes from memory.
    fn data(&mut self, payload: &[u8]) -> Result<Vec<u8>, Stop> {
        let Operation { data_indirect, aside_key, data_address, data_line, .. } = *self.operation;
        let length = self.length();
        if data_indirect && length > 0 {
            return self.read(aside_key, data_address, length, Stage::Data);
        }
        let is_given = matches!(kind(self.operation), Kind::Write | Kind::Allocate);
        let at = usize::from(data_line) * LINE;
        Ok(if is_given { payload[at..at + length].to_vec() } else { Vec::new() })
    }

    fn compare_and_swap(&mut self, data: &[u8], operands: &Operands, allocated: u64) -> Result<(), Stop> {
        let Operation { key, forward, forward_word, comparison, .. } = *self.operation;
        let (va, width) = (self.report.address, self.length());
        self.result = self.read(key, va, width, Stage::Target)?;
        let mut swap = operands.swap;
        swap[..data.len()].copy_from_slice(data);
        if forward {
            let at = usize::from(forward_word) * 8;
            swap[at..at + 8].copy_from_slice(&allocated.to_le_bytes());
        }
        // Compared from the highest byte down.
        let masked = |bytes: &[u8]| -> Vec<u8> {
            bytes[..width].iter().zip(&operands.compare_mask).rev().map(|(byte, mask)| byte & mask).collect()
        };
        let order = masked(&operands.compare).cmp(&masked(&self.result));
        if !Comparison::from_code(comparison).expect("two bits name a comparison").holds(order) {
            return Ok(());
        }
        let masks = operands.swap_mask;
        let new = |at: usize| self.result[at] & !masks[at] | swap[at] & masks[at];
        let new: Vec<u8> = (0..width).map(new).collect();
        self.write(key, va, &new, Stage::Write)?;
        self.report.applied = true;
        Ok(())
    }

    fn allocate(&mut self, data: &[u8]) -> Result<(), Stop> {
        let Operation { key, aside_key, address, .. } = *self.operation;
        let list = self.read(key, address, FreeList::LEN, Stage::List)?;
        let list = FreeList::parse(&list).expect("a whole list");
        if list.head == list.tail {
            return Err(Stop(End::NoBuffer, Stage::Nowhere));
        }
        if self.report.length > list.buffer_length {
            return Err(Stop(End::TooLong, Stage::Nowhere));
        }
        let place = list.head & ((1 << list.places_log) - 1);
        let buffer = word(&self.read(key, list.ring.wrapping_add(8 * place), 8, Stage::List)?);
        if buffer == 0 {
            return Err(Stop(End::Null, Stage::Nowhere));
        }
        self.report.address = buffer;
        // Both writes are under way before either has ended.
        let head = self.write(key, address, &list.head.wrapping_add(1).to_le_bytes(), Stage::Write);
        let body = self.write(aside_key, buffer, data, Stage::Write);
        head.and(body)?;
        self.report.applied = true;
        self.result = buffer.to_le_bytes().to_vec();
        Ok(())
    }

    /// All of it: what came before the redirection, and that.
    fn go(&mut self, payload: &[u8], allocated: u64) -> Result<(), Stop> {
        self.resolve()?;
        let data = self.data(payload)?;
        let Operation { key, aside_key, redirect, redirect_address, .. } = *self.operation;
        let (va, length) = (self.report.address, self.length());
        match kind(self.operation) {
            Kind::Read if length > 0 => self.result = self.read(key, va, length, Stage::Target)?,
            Kind::Write if length > 0 => self.write(key, va, &data, Stage::Write)?,
            Kind::Read | Kind::Write => {}
            Kind::CompareAndSwap => {
                let operands = &payload[usize::from(self.operation.data_line) * LINE..];
                let operands = Operands::parse(operands).expect("they were judged");
                self.compare_and_swap(&data, &operands, allocated)?;
            }
            Kind::Allocate => self.allocate(&data)?,
        }
        self.report.applied |= matches!(kind(self.operation), Kind::Read | Kind::Write);
        if redirect && !self.result.is_empty() {
            let result = std::mem::take(&mut self.result);
            self.write(aside_key, redirect_address, &result, Stage::Redirect)?;
        }
        self.report.answered = !redirect && answer(self.operation) > 0;
        if !self.report.applied {
            return Err(Stop(End::NotSwapped, Stage::Nowhere));
        }
        Ok(())
    }
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))
}

fn carry_out(operations: &[Operation], payload: &[u8], memory: &mut impl Memory) -> Outcome {
    let mut reports = [Report::default(); OPERATIONS_MAX];
    let mut results = Vec::new();
    let (mut is_done, mut allocated) = (true, 0);
    for (operation, report) in operations.iter().zip(&mut reports) {
        if operation.conditional && !is_done {
            report.outcome = End::Skipped as u8;
            continue;
        }
        let is_known = !operation.indirect && kind(operation) != Kind::Allocate;
        let begun = Report {
            length: operation.length,
            address: if is_known { operation.address } else { 0 },
            ..Report::default()
        };
        let mut course = Course { operation, memory, report: begun, result: Vec::new() };
        let Stop(end, stage) = course.go(payload, allocated).err().unwrap_or(Stop(End::Done, Stage::Nowhere));
        let Course { report: found, result, .. } = course;
        *report = Report { outcome: end as u8, stage: stage as u8, ..found };
        if report.answered {
            let end = results.len() + padded(result.len());
            results.extend(result);
            results.resize(end, 0);
        }
        is_done = end == End::Done;
        if is_done && kind(operation) == Kind::Allocate {
            allocated = report.address;
        }
        if matches!(end, End::Refused | End::Failed) {
            break;
        }
    }
    let mut data: Vec<u8> = reports.iter().flat_map(Report::to_bytes).collect();
    data.extend(results);
    Outcome { status: RpcStatus::Ok as u32, data }
}
