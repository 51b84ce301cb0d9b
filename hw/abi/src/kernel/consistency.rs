//! `consistency`: an object that carries its own CRC is read until it fits, so that nobody sees half of a change.
//!
//! The last 8 bytes of the object are the CRC-64/XZ of those before, least significant byte first. The kernel reads the whole object; if its CRC fits, the
//! object without the CRC is the answer. If not, somebody was changing it: the kernel waits for `pause` cycles and reads it again, at most `attempts` times
//! in all, and as long as its pauses take fewer than [`PAUSES_END`] cycles together: others wait for the kernel meanwhile. Nothing of an object that
//! does not fit is answered.

use crate::codes::codes;
use crate::layout::layout;
use crate::wire::RpcStatus;

/// RPC op-code of the kernel.
pub const OPERATION: u16 = 3;
/// Bytes of the CRC at an object's end.
pub const TRAILER_LEN: usize = 8;
/// Fewest bytes of an object, CRC included.
pub const OBJECT_MIN: u32 = 16;
/// Most bytes of an object, CRC included.
pub const OBJECT_MAX: u32 = 1 << 14;

/// The pauses of a request take fewer cycles than this together.
pub const PAUSES_END: u32 = 1 << 20;

/// The polynomial of CRC-64/XZ, lowest power of x in the highest bit: it is that of ECMA-182.
pub const POLYNOMIAL: u64 = 0xc96c_5795_d787_0f42;
/// State before the first byte; the CRC is the complement of the last.
pub const SEED: u64 = u64::MAX;
/// State behind an object and its CRC.
pub const RESIDUE: u64 = 0x4995_8c9a_bd7d_353f;

layout! {
    /// The parameters, all of them in every request.
    Consistency: Little, 16 bytes;
    ADDRESS  address:  u64 =  0, 0, 64, "of the object";
    LENGTH   length:   u32 =  8, 0, 32, "bytes of the object, CRC included: 16 to 16384, and at most 8 more than the request allows for the answer";
    PAUSE    pause:    u16 = 12, 0, 16, "cycles between an attempt and the next; there is no other when all pauses would take 2^20 or more";
    ATTEMPTS attempts: u16 = 14, 0, 16, "how often the object is read at most, at least 1";
}

codes! {
    /// Statuses of the kernel's own.
    ConsistencyStatus: u32 {
        0x100 Inconsistent  "The CRC did not fit at any attempt, of which there were fewer than allowed if the pauses took too long.";
        0x101 BadParameters "A parameter is out of range, the answer would be longer than allowed, the number of parameters is wrong, or the request has flags or more payload; nothing was read.";
    }
}

const _: () = assert!(ConsistencyStatus::Inconsistent as u32 >= RpcStatus::KERNEL);

/// The state after one more byte.
#[must_use]
pub const fn step(state: u64, byte: u8) -> u64 {
    let mut state = state ^ byte as u64;
    let mut bit = 0;
    while bit < 8 {
        state = if state & 1 == 1 { state >> 1 ^ POLYNOMIAL } else { state >> 1 };
        bit += 1;
    }
    state
}

/// The CRC of these bytes.
#[must_use]
pub fn crc(bytes: &[u8]) -> u64 {
    !bytes.iter().fold(SEED, |state, byte| step(state, *byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_land_on_the_bytes_the_kernel_reads() {
        let parameters = Consistency {
            address: 0x0807_0605_0403_0201,
            length: 0x0c0b_0a09,
            pause: 0x0e0d,
            attempts: 0x100f,
        };
        assert_eq!(parameters.to_bytes(), core::array::from_fn(|at| u8::try_from(at + 1).unwrap()));
    }

    /// The catalogue of parametrised CRC algorithms has this check value.
    #[test]
    fn the_crc_is_crc_64_xz() {
        assert_eq!(crc(b"123456789"), 0x995d_c9bb_df19_39fa);
        assert_eq!(crc(b""), 0);
        let mut object = std::vec::Vec::from(*b"123456789");
        object.extend(crc(b"123456789").to_le_bytes());
        assert_eq!(object.iter().fold(SEED, |state, byte| step(state, *byte)), RESIDUE);
    }

    proptest! {
        #[test]
        fn parameters_come_back_as_they_were(bytes in any::<[u8; Consistency::LEN]>()) {
            let parameters = Consistency::parse(&bytes).unwrap();
            prop_assert_eq!(Consistency::parse(&parameters.to_bytes()), Some(parameters));
        }
    }
}
