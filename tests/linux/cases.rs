//! What is tried: operations, sizes, path MTUs, and who asks whom.

use std::fmt::{self, Display};

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Write,
    Read,
    Send,
    SendImmediate,
    FetchAdd,
    CompareSwap,
}

/// One row an operation: its name here, its order to the guest, and the sizes it is tried with.
struct Row {
    operation: Operation,
    name: &'static str,
    order: &'static str,
    sizes: &'static [usize],
}

/// Nothing, less than the four bytes that packets are padded to, one that needs padding, and for both path MTUs: packets just
/// full, many packets and a few bytes.
const SIZES: &[usize] = &[0, 1, 13, 1024, 4096, 65_539];
/// Atomics are of eight bytes.
const WORD: &[usize] = &[8];

const TABLE: [Row; 6] = [
    //   operation                 name         order        sizes
    row(Operation::Write, "WRITE", "write", SIZES),
    row(Operation::Read, "READ", "read", SIZES),
    row(Operation::Send, "SEND", "send", SIZES),
    row(Operation::SendImmediate, "SEND_IMM", "send_imm", SIZES),
    row(Operation::FetchAdd, "FETCH_ADD", "fetch_add", WORD),
    row(Operation::CompareSwap, "CMP_SWAP", "cmp_swap", WORD),
];

const fn row(operation: Operation, name: &'static str, order: &'static str, sizes: &'static [usize]) -> Row {
    Row { operation, name, order, sizes }
}

/// What the card and its driver carry out; the others join when they do.
pub(crate) const ENABLED: &[Operation] = &[
    Operation::Write,
    Operation::Read,
    Operation::Send,
    Operation::SendImmediate,
    Operation::FetchAdd,
    Operation::CompareSwap,
];

impl Operation {
    fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.operation == self).expect("every operation has a row")
    }

    /// What the guest calls it.
    pub(crate) fn order(self) -> &'static str {
        self.row().order
    }

    /// Payloads in bytes.
    pub(crate) fn sizes(self) -> &'static [usize] {
        self.row().sizes
    }
}

impl Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.row().name)
    }
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    Linux,
    Card,
}

impl Client {
    pub(crate) const BOTH: [Self; 2] = [Self::Linux, Self::Card];
}

impl Display for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Linux => "Linux -> card",
            Self::Card => "card -> Linux",
        })
    }
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) operation: Operation,
    pub(crate) bytes: usize,
    /// Of its payload; guards around it have the next ones.
    pub(crate) seed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_row_of_its_own() {
        for (index, row) in TABLE.iter().enumerate() {
            assert!(!row.sizes.is_empty());
            for other in &TABLE[index + 1..] {
                assert!(
                    row.operation != other.operation && row.name != other.name && row.order != other.order
                );
            }
        }
        assert!(ENABLED.iter().all(|operation| TABLE.iter().any(|row| row.operation == *operation)));
    }
}
