//! Every op-code the card knows: who sends it, where it stands in a message, which headers follow the BTH.
//!
//! Reliable datagrams, XRC, FLUSH and ATOMIC WRITE are not spoken here; their op-codes have no row, and a frame
//! with one counts as [`Class::Opcode`](super::Class::Opcode).

use super::{Bth, Header, HeaderSet};

/// The service an op-code belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Unreliable datagram.
    Ud,
    /// Congestion notification, which belongs to none.
    Cnp,
    /// Kernel invocation on a reliable connection, in the manufacturer's range.
    Rpc,
}

/// Which side sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The requester.
    Request,
    /// The responder.
    Response,
    /// The receiver of marked packets, outside any message.
    Notice,
}

/// Where a packet stands in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Begins a message of several packets.
    First,
    /// Neither begins nor ends one.
    Middle,
    /// Ends a message of several packets.
    Last,
    /// Is the whole message.
    Only,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// Value of [`Bth::OPCODE`].
    pub code: u8,
    /// Name with its transport, as printed.
    pub name: &'static str,
    /// Service.
    pub transport: Transport,
    /// Sender.
    pub role: Role,
    /// Place in the message.
    pub position: Position,
    /// May a payload follow the headers?
    pub payload: bool,
    /// Headers behind the BTH, in wire order.
    pub headers: &'static [Header],
}

impl Opcode {
    /// The row of a code.
    #[must_use]
    pub const fn lookup(code: u8) -> Option<&'static Self> {
        OPCODES[code as usize].as_ref()
    }

    /// Its headers as a set.
    #[must_use]
    pub const fn header_set(&self) -> HeaderSet {
        HeaderSet::of(self.headers)
    }

    /// Bytes of the headers behind the BTH.
    #[must_use]
    pub const fn extended_len(&self) -> usize {
        let mut bytes = 0;
        let mut index = 0;
        while index < self.headers.len() {
            bytes += self.headers[index].len();
            index += 1;
        }
        bytes
    }

    /// Bytes of the BTH and all headers behind it.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        Bth::LEN + self.extended_len()
    }
}

/// Bits of an op-code below those that name its service; 0 is the reliable connection.
pub const SERVICE_AT: usize = 5;
/// What the op-code of a packet on an unreliable connection has beyond that of the same packet on a reliable one.
pub const UNRELIABLE_BIT: u8 = 1 << SERVICE_AT;
/// Likewise, the op-code of a datagram.
pub const DATAGRAM_BITS: u8 = 3 << SERVICE_AT;

/// Longest [`Opcode::extended_len`] in the table.
pub const EXTENDED_MAX: usize = {
    let mut longest = 0;
    let mut row = 0;
    while row < TABLE.len() {
        if TABLE[row].extended_len() > longest {
            longest = TABLE[row].extended_len();
        }
        row += 1;
    }
    longest
};

/// The table by code.
pub static OPCODES: [Option<Opcode>; 256] = BY_CODE;

/// [`OPCODES`] as a constant, for `const` evaluation.
pub const BY_CODE: [Option<Opcode>; 256] = {
    let mut by_code = [None; 256];
    let mut row = 0;
    while row < TABLE.len() {
        let code = TABLE[row].code as usize;
        assert!(by_code[code].is_none(), "two rows of the op-code table share a code");
        by_code[code] = Some(TABLE[row]);
        row += 1;
    }
    by_code
};

macro_rules! opcodes {
    ($($code:literal $name:ident $transport:ident $role:ident $position:ident $payload:literal [$($header:ident)*];)*) => {
        $(#[doc = concat!("BTH op-code ", stringify!($code), ".")]
        pub const $name: Opcode = Opcode {
            code: $code,
            name: stringify!($name),
            transport: Transport::$transport,
            role: Role::$role,
            position: Position::$position,
            payload: $payload,
            headers: &[$(Header::$header),*],
        };)*

        /// Every row, by rising code.
        pub const TABLE: &[Opcode] = &[$($name),*];
    };
}

opcodes! {
    // code name                transport role position payload headers
    0x00 RC_SEND_FIRST            Rc  Request  First  true  [];
    0x01 RC_SEND_MIDDLE           Rc  Request  Middle true  [];
    0x02 RC_SEND_LAST             Rc  Request  Last   true  [];
    0x03 RC_SEND_LAST_IMM         Rc  Request  Last   true  [ImmDt];
    0x04 RC_SEND_ONLY             Rc  Request  Only   true  [];
    0x05 RC_SEND_ONLY_IMM         Rc  Request  Only   true  [ImmDt];
    0x06 RC_WRITE_FIRST           Rc  Request  First  true  [Reth];
    0x07 RC_WRITE_MIDDLE          Rc  Request  Middle true  [];
    0x08 RC_WRITE_LAST            Rc  Request  Last   true  [];
    0x09 RC_WRITE_LAST_IMM        Rc  Request  Last   true  [ImmDt];
    0x0a RC_WRITE_ONLY            Rc  Request  Only   true  [Reth];
    0x0b RC_WRITE_ONLY_IMM        Rc  Request  Only   true  [Reth ImmDt];
    0x0c RC_READ_REQUEST          Rc  Request  Only   false [Reth];
    0x0d RC_READ_RESPONSE_FIRST   Rc  Response First  true  [Aeth];
    0x0e RC_READ_RESPONSE_MIDDLE  Rc  Response Middle true  [];
    0x0f RC_READ_RESPONSE_LAST    Rc  Response Last   true  [Aeth];
    0x10 RC_READ_RESPONSE_ONLY    Rc  Response Only   true  [Aeth];
    0x11 RC_ACKNOWLEDGE           Rc  Response Only   false [Aeth];
    0x12 RC_ATOMIC_ACKNOWLEDGE    Rc  Response Only   false [Aeth AtomicAckEth];
    0x13 RC_CMP_SWAP              Rc  Request  Only   false [AtomicEth];
    0x14 RC_FETCH_ADD             Rc  Request  Only   false [AtomicEth];
    0x16 RC_SEND_LAST_INV         Rc  Request  Last   true  [Ieth];
    0x17 RC_SEND_ONLY_INV         Rc  Request  Only   true  [Ieth];
    0x20 UC_SEND_FIRST            Uc  Request  First  true  [];
    0x21 UC_SEND_MIDDLE           Uc  Request  Middle true  [];
    0x22 UC_SEND_LAST             Uc  Request  Last   true  [];
    0x23 UC_SEND_LAST_IMM         Uc  Request  Last   true  [ImmDt];
    0x24 UC_SEND_ONLY             Uc  Request  Only   true  [];
    0x25 UC_SEND_ONLY_IMM         Uc  Request  Only   true  [ImmDt];
    0x26 UC_WRITE_FIRST           Uc  Request  First  true  [Reth];
    0x27 UC_WRITE_MIDDLE          Uc  Request  Middle true  [];
    0x28 UC_WRITE_LAST            Uc  Request  Last   true  [];
    0x29 UC_WRITE_LAST_IMM        Uc  Request  Last   true  [ImmDt];
    0x2a UC_WRITE_ONLY            Uc  Request  Only   true  [Reth];
    0x2b UC_WRITE_ONLY_IMM        Uc  Request  Only   true  [Reth ImmDt];
    0x64 UD_SEND_ONLY             Ud  Request  Only   true  [Deth];
    0x65 UD_SEND_ONLY_IMM         Ud  Request  Only   true  [Deth ImmDt];
    0x81 CNP                      Cnp Notice   Only   false [Cnp];
    0xd8 RPC_PARAMS               Rpc Request  Only   true  [Reth];
    0xd9 RPC_WRITE_FIRST          Rpc Request  First  true  [Reth];
    0xda RPC_WRITE_MIDDLE         Rpc Request  Middle true  [];
    0xdb RPC_WRITE_LAST           Rpc Request  Last   true  [];
    0xdc RPC_WRITE_ONLY           Rpc Request  Only   true  [Reth];
    0xdd RPC_RESPONSE             Rpc Response Middle true  [];
    0xde RPC_RESPONSE_END         Rpc Response Last   true  [Aeth RpcEth];
    0xdf RPC_BUSY                 Rpc Response Only   false [Aeth];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::AtomicEth;

    #[test]
    fn codes_rise_and_each_finds_its_own_row() {
        assert!(TABLE.is_sorted_by(|one, next| one.code < next.code));
        for code in 0..=u8::MAX {
            let row = TABLE.iter().find(|row| row.code == code);
            assert_eq!(Opcode::lookup(code), row, "{code:#04x}");
        }
    }

    #[test]
    fn every_service_is_complete() {
        let codes = |range: core::ops::RangeInclusive<u8>| {
            range.filter(|code| Opcode::lookup(*code).is_some()).count()
        };
        // RC 0x00 to 0x17 without 0x15 (RD's RESYNC); UC 0x20 to 0x2b; UD; CNP; ours.
        assert_eq!((codes(0x00..=0x1f), codes(0x20..=0x3f), codes(0x60..=0x7f)), (23, 12, 2));
        assert_eq!((codes(0x81..=0x81), codes(0xd8..=0xdf)), (1, 8));
        assert_eq!(codes(0..=u8::MAX), 46);
    }

    #[test]
    fn unreliable_connections_mirror_the_reliable_ones() {
        for row in TABLE.iter().filter(|row| row.transport == Transport::Uc) {
            let twin = Opcode::lookup(row.code ^ UNRELIABLE_BIT).unwrap();
            assert_eq!(row.name.strip_prefix("UC_"), twin.name.strip_prefix("RC_"));
            assert_eq!((row.position, row.payload, row.headers), (twin.position, twin.payload, twin.headers));
        }
    }

    #[test]
    fn datagrams_mirror_a_send_of_one_packet() {
        for (row, twin) in [(UD_SEND_ONLY, RC_SEND_ONLY), (UD_SEND_ONLY_IMM, RC_SEND_ONLY_IMM)] {
            assert_eq!(row.code ^ DATAGRAM_BITS, twin.code);
            assert_eq!((row.position, row.payload), (twin.position, twin.payload));
        }
    }

    #[test]
    fn names_agree_with_transport_and_position() {
        for row in TABLE {
            let prefix = row.name.split('_').next().unwrap();
            assert_eq!(prefix.to_ascii_lowercase(), std::format!("{:?}", row.transport).to_ascii_lowercase());
            for (word, position) in [
                ("_FIRST", Position::First),
                ("_MIDDLE", Position::Middle),
                ("_LAST", Position::Last),
                ("_ONLY", Position::Only),
            ] {
                assert!(!row.name.contains(word) || row.position == position, "{}", row.name);
            }
        }
    }

    #[test]
    fn headers_are_listed_in_wire_order_and_once() {
        for row in TABLE {
            assert!(row.headers.is_sorted_by(|one, next| (*one as u8) < *next as u8), "{}", row.name);
            let in_set = Header::ALL.into_iter().filter(|header| row.header_set().contains(*header));
            assert!(in_set.eq(row.headers.iter().copied()), "{}", row.name);
        }
        assert_eq!(EXTENDED_MAX, AtomicEth::LEN);
    }

    #[test]
    fn lengths_are_those_of_the_specification() {
        let len = |code: u8| Opcode::lookup(code).unwrap().header_len();
        assert_eq!((len(0x04), len(0x0a), len(0x0b), len(0x11), len(0x12)), (12, 28, 32, 16, 24));
        assert_eq!((len(0x13), len(0x64), len(0x65), len(0x81), len(0xde)), (40, 20, 24, 28, 24));
    }
}
