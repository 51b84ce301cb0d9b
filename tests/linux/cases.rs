//! What is tried: links of each service, operations, sizes, and who asks whom.

use std::fmt::{self, Display};

use stroma_verbs::Grh;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Write,
    WriteImmediate,
    Read,
    Send,
    SendImmediate,
    FetchAdd,
    CompareSwap,
}

/// One row an operation: its name here, its order to the guest, and whether it works on a word.
struct Row {
    operation: Operation,
    name: &'static str,
    order: &'static str,
    is_atomic: bool,
}

const TABLE: [Row; 7] = [
    //   operation                 name         order        is atomic
    row(Operation::Write, "WRITE", "write", false),
    row(Operation::WriteImmediate, "WRITE_IMM", "write_imm", false),
    row(Operation::Read, "READ", "read", false),
    row(Operation::Send, "SEND", "send", false),
    row(Operation::SendImmediate, "SEND_IMM", "send_imm", false),
    row(Operation::FetchAdd, "FETCH_ADD", "fetch_add", true),
    row(Operation::CompareSwap, "CMP_SWAP", "cmp_swap", true),
];

const fn row(operation: Operation, name: &'static str, order: &'static str, is_atomic: bool) -> Row {
    Row { operation, name, order, is_atomic }
}

/// What a queue pair promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Reliable,
    Unreliable,
    Datagram,
}

impl Service {
    #[cfg(test)]
    const ALL: [Self; 3] = [Self::Reliable, Self::Unreliable, Self::Datagram];

    /// As the specification abbreviates it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reliable => "RC",
            Self::Unreliable => "UC",
            Self::Datagram => "UD",
        }
    }

    /// What the guest calls it.
    pub(crate) fn order(self) -> &'static str {
        match self {
            Self::Reliable => "rc",
            Self::Unreliable => "uc",
            Self::Datagram => "ud",
        }
    }

    /// What it carries out.
    fn operations(self) -> &'static [Operation] {
        use Operation::{CompareSwap, FetchAdd, Read, Send, SendImmediate, Write, WriteImmediate};
        match self {
            Self::Reliable => &[Write, WriteImmediate, Read, Send, SendImmediate, FetchAdd, CompareSwap],
            Self::Unreliable => &[Write, WriteImmediate, Send, SendImmediate],
            Self::Datagram => &[Send, SendImmediate],
        }
    }

    /// What is tried of it.
    pub(crate) fn trials(self) -> Vec<Trial> {
        let mut trials: Vec<_> = self.operations().iter().copied().map(Trial::Once).collect();
        if self == Self::Datagram {
            trials.extend([Trial::Answer, Trial::WrongKey]);
        }
        trials
    }

    /// Bytes in front of what a receive gets.
    pub(crate) fn header(self) -> usize {
        if self == Self::Datagram { Grh::LEN } else { 0 }
    }
}

/// What is tried on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// One operation.
    Once(Operation),
    /// A datagram, and an answer to whoever it says that it is from.
    Answer,
    /// A datagram with a wrong key, and one with the right key behind it.
    WrongKey,
}

impl Trial {
    /// What the client posts.
    pub(crate) fn operation(self) -> Operation {
        match self {
            Self::Once(operation) => operation,
            Self::Answer => Operation::SendImmediate,
            Self::WrongKey => Operation::Send,
        }
    }
}

impl Display for Trial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Once(operation) => operation.row().name,
            Self::Answer => "answer",
            Self::WrongKey => "wrong key",
        })
    }
}

/// Addresses of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub(crate) const BOTH: [Self; 2] = [Self::V4, Self::V6];
}

impl Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// A connection to be made, or queue pairs for datagrams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) service: Service,
    pub(crate) family: Family,
    /// Path MTU in bytes: the one of ordinary Ethernet frames, or the largest. Datagrams have that of the guest's port.
    pub(crate) mtu: usize,
}

/// Each service over both families, and connections with both path MTUs.
pub(crate) const LINKS: [Link; 6] = [
    Link { service: Service::Reliable, family: Family::V4, mtu: 1024 },
    Link { service: Service::Reliable, family: Family::V6, mtu: 4096 },
    Link { service: Service::Unreliable, family: Family::V4, mtu: 4096 },
    Link { service: Service::Unreliable, family: Family::V6, mtu: 1024 },
    Link { service: Service::Datagram, family: Family::V4, mtu: 4096 },
    Link { service: Service::Datagram, family: Family::V6, mtu: 4096 },
];

impl Link {
    /// Payloads in bytes: nothing; less than the four bytes that packets are padded to; a packet just full, one byte more; a few packets;
    /// many, and a few bytes. Atomics are of eight bytes. A datagram is one packet: as many bytes as its GRH, an odd number, a packet
    /// just full.
    pub(crate) fn sizes(&self, trial: Trial) -> Vec<usize> {
        let mtu = self.mtu;
        match (trial, self.service) {
            (Trial::Answer | Trial::WrongKey, _) => vec![1023],
            (Trial::Once(operation), _) if operation.row().is_atomic => vec![8],
            (_, Service::Datagram) => vec![0, 1, 3, Grh::LEN, 1023, mtu],
            (_, Service::Reliable | Service::Unreliable) => vec![0, 1, 3, mtu, mtu + 1, 3 * mtu + 2, 100_003],
        }
    }
}

impl Display for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, family, mtu } = self;
        write!(formatter, "{} {family}, path MTU {mtu}", service.name())
    }
}

impl Operation {
    fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.operation == self).expect("every operation has a row")
    }

    /// What the guest calls it.
    pub(crate) fn order(self) -> &'static str {
        self.row().order
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

/// One trial with a payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) link: Link,
    pub(crate) trial: Trial,
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
            for other in &TABLE[index + 1..] {
                assert!(
                    row.operation != other.operation && row.name != other.name && row.order != other.order
                );
            }
        }
    }

    #[test]
    fn every_service_meets_both_families_and_carries_out_something() {
        for service in Service::ALL {
            let families = Family::BOTH.map(|family| {
                LINKS.iter().filter(|link| link.service == service && link.family == family).count()
            });
            assert!(families.iter().all(|count| *count > 0), "{service:?}");
            assert!(!service.trials().is_empty(), "{service:?}");
        }
    }
}
