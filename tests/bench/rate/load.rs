//! What is asked of the cards in a run.

use stroma_verbs::{Access, Batch};

use super::field::Field;

/// How the bytes move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// A WRITE whose payload the card reads from memory.
    Write,
    /// A WRITE whose payload is in its work request.
    WriteInline,
    /// A READ.
    Read,
}

impl Verb {
    /// As figures are named.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Write | Self::WriteInline => "write",
            Self::Read => "read",
        }
    }

    /// The card that writes the payload to its host.
    pub(crate) fn target(self) -> usize {
        usize::from(self != Self::Read)
    }

    /// In words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Write => "WRITE, payload read from memory",
            Self::WriteInline => "WRITE, payload inline in the WQE",
            Self::Read => "READ, 16 outstanding on each queue pair",
        }
    }
}

/// What each end allows.
pub(crate) fn rights() -> Access {
    Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ
}

/// Messages on some queue pairs, posted with one doorbell for each queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) verb: Verb,
    /// Bytes of a message.
    pub(crate) size: usize,
    pub(crate) queue_pairs: usize,
    /// Messages of each queue pair.
    pub(crate) count: usize,
}

impl Load {
    /// Offset of a message in the memory of either end.
    pub(crate) fn place(&self, field: &Field, queue_pair: usize, index: usize) -> usize {
        // Each begins with a beat of its own, so that the card's writes of small messages can be counted.
        let step = self.size.next_multiple_of(64);
        queue_pair * field.slot + index % (field.slot / step) * step
    }

    /// Puts one message into a batch. Every 16th and the last are signaled.
    pub(crate) fn put<'a>(
        &self,
        batch: Batch<'a>,
        field: &Field,
        queue_pair: usize,
        index: usize,
    ) -> Batch<'a> {
        let at = self.place(field, queue_pair, index);
        let [near, far] = &field.memories;
        let batch = batch.wr_id(index as u64);
        let is_signaled = index % 16 == 15 || index + 1 == self.count;
        let batch = if is_signaled { batch.signaled() } else { batch };
        let piece = [near.piece(at, self.size).expect("inside the memory")];
        let (remote, key) = (far.address(at).expect("inside the memory"), far.rkey());
        match self.verb {
            Verb::Write => batch.write(&piece, remote, key),
            Verb::Read => batch.read(&piece, remote, key),
            Verb::WriteInline => {
                let mut bytes = vec![0; self.size];
                near.read(at, &mut bytes).expect("inside the memory");
                batch.inline_write(&bytes, remote, key)
            }
        }
    }

    /// For a figure's entry.
    pub(crate) fn text(&self) -> String {
        let Self { verb, queue_pairs, count, .. } = self;
        let verb = verb.text();
        format!(
            "{verb}; queue pairs: {queue_pairs}, {count} messages at one doorbell on each, every 16th signaled"
        )
    }
}
