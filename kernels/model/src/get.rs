//! `get` in plain Rust. What it does is told in [`stroma_abi::kernel::get`].

use stroma_abi::kernel::get::{
    BUCKET_ENTRIES, BUCKET_LEN, BucketEntry, BucketLink, Get, GetStatus, KEY_MAX, LINK_AT, ObjectHead,
    VALUE_MAX,
};
use stroma_abi::wire::RpcStatus;

use crate::{Failure, Invocation, Memory, Outcome};

/// Most bytes of one read.
const READ_MAX: usize = 4096;

/// Carries an invocation out.
pub fn run(invocation: &Invocation, memory: &mut impl Memory) -> Outcome {
    let Some(task) = accepted(invocation) else {
        return Outcome::bare(GetStatus::BadParameters as u32);
    };
    let value_max = invocation.command.response_max.min(VALUE_MAX);
    let mut search = Search { task, value_max, key: invocation.command.key, memory };
    search.chain().unwrap_or_else(Outcome::from)
}

/// The parameters, if the kernel begins with them.
#[must_use]
pub fn accepted(invocation: &Invocation) -> Option<Get> {
    let command = &invocation.command;
    let whole = usize::from(command.parameter_words) * 4 == Get::LEN
        && command.request_length as usize == Get::LEN
        && command.flags == 0;
    let task = Get::parse(invocation.parameters.block())?;
    let fits = task.hop_limit != 0
        && (1..=KEY_MAX).contains(&task.key_length)
        && task.key_block()[usize::from(task.key_length)..].iter().all(|byte| *byte == 0);
    (whole && fits).then_some(task)
}

struct Search<'a, M> {
    task: Get,
    /// Most bytes of an answer.
    value_max: u32,
    key: u32,
    memory: &'a mut M,
}

impl<M: Memory> Search<'_, M> {
    fn chain(&mut self) -> Result<Outcome, Failure> {
        let mut bucket = self.task.bucket;
        for _ in 0..self.task.hop_limit {
            if bucket == 0 {
                break;
            }
            let bytes = self.memory.read(self.key, bucket, BUCKET_LEN)?;
            for entry in bytes[..LINK_AT].chunks(BucketEntry::LEN).take(BUCKET_ENTRIES) {
                let entry = BucketEntry::parse(entry).expect("a whole entry");
                if entry.address != 0
                    && entry.fingerprint == self.task.fingerprint
                    && let Some(outcome) = self.object(&entry)?
                {
                    return Ok(outcome);
                }
            }
            bucket = BucketLink::parse(&bytes[LINK_AT..]).expect("a whole link").next;
        }
        let is_over = bucket == 0;
        Ok(Outcome::bare(if is_over { GetStatus::NotFound as u32 } else { RpcStatus::Limit as u32 }))
    }

    /// What comes of an object; nothing if it is another key's.
    fn object(&mut self, entry: &BucketEntry) -> Result<Option<Outcome>, Failure> {
        let malformed = Outcome::bare(GetStatus::Malformed as u32);
        if (entry.length as usize) < ObjectHead::LEN {
            return Ok(Some(malformed));
        }
        let value_at = ObjectHead::value_at(self.task.key_length.into());
        let is_too_long = entry.length > value_at + self.value_max;
        let length = if is_too_long { value_at } else { entry.length } as usize;

        let mut bytes = self.memory.read(self.key, entry.address, length.min(READ_MAX))?;
        let head = ObjectHead::parse(&bytes).expect("at least a head");
        if head.object_length() != u64::from(entry.length) || head.flags != 0 {
            return Ok(Some(malformed));
        }
        let value_at = value_at as usize;
        let sought = &self.task.key_block()[..value_at - ObjectHead::LEN];
        if head.key_length != u16::from(self.task.key_length) || bytes[ObjectHead::LEN..value_at] != *sought {
            return Ok(None);
        }
        if is_too_long {
            return Ok(Some(Outcome::bare(GetStatus::TooLong as u32)));
        }
        while bytes.len() < length {
            let (piece, va) =
                ((length - bytes.len()).min(READ_MAX), entry.address.wrapping_add(bytes.len() as u64));
            bytes.extend(self.memory.read(self.key, va, piece)?);
        }
        Ok(Some(Outcome { status: RpcStatus::Ok as u32, data: bytes.split_off(value_at) }))
    }
}

#[cfg(test)]
mod tests;
