//! A kernel's view of an invocation: the command it is handed and its parameters.

use crate::{Qpn, layout::layout};

/// Most bytes of parameters a kernel sees.
pub const PARAMETERS_MAX: usize = 64;
/// Where the parameters begin in a slot command.
pub const PARAMETERS_AT: usize = SlotCommand::LEN;
/// Bytes of a slot command with its parameters.
pub const SLOT_COMMAND_LEN: usize = PARAMETERS_AT + PARAMETERS_MAX;

layout! {
    /// The head of the command that starts a kernel; 64 bytes of parameters follow it. A kernel's RTL sees the same fields
    /// as one record.
    SlotCommand: Little, 24 bytes;
    QUEUE_PAIR      queue_pair:      Qpn =  0, 0, 24, "queue pair that asks";
    FLAGS           flags:           u8  =  3, 0,  8, "from the request, for the kernel";
    TICKET          ticket:          u8  =  4, 0,  4, "names this invocation in all that the kernel asks for and answers; stands for its protection domain";
    PARAMETER_WORDS parameter_words: u8  =  5, 0,  8, "parameters, in 4-byte units, at most 16";
    OPERATION       operation:       u16 =  6, 0, 16, "RPC op-code";
    KEY             key:             u32 =  8, 0, 32, "key the kernel acts under";
    REQUEST_LENGTH  request_length:  u32 = 12, 0, 32, "bytes of the request's payload, parameters included";
    RESPONSE_MAX    response_max:    u32 = 16, 0, 32, "largest answer in bytes";
    DOMAIN          domain:          u16 = 20, 0, 16, "protection domain of that queue pair: whose state a kernel keeps";
}

/// A parameter block: whole words, at most [`PARAMETERS_MAX`] bytes, zero behind its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    words: u8,
    bytes: [u8; PARAMETERS_MAX],
}

impl Parameters {
    /// The block of these bytes; `None` when they are no whole words or too many.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if !bytes.len().is_multiple_of(4) {
            return None;
        }
        let mut block = Self { words: u8::try_from(bytes.len() / 4).ok()?, bytes: [0; PARAMETERS_MAX] };
        block.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(block)
    }

    /// The parameters, without the zeroes behind them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.words) * 4]
    }

    /// The whole block, as a kernel's command carries it.
    #[must_use]
    pub const fn block(&self) -> &[u8; PARAMETERS_MAX] {
        &self.bytes
    }

    /// Value of the fields called `parameter_words`.
    #[must_use]
    pub const fn words(&self) -> u8 {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_block_has_whole_words_and_a_limit() {
        assert_eq!(Parameters::new(&[0; 3]), None);
        assert_eq!(Parameters::new(&[0; PARAMETERS_MAX + 4]), None);
        assert_eq!(Parameters::new(&[0; 2048]), None);
        assert_eq!(Parameters::new(&[1; PARAMETERS_MAX]).unwrap().words(), 16);
        let block = Parameters::new(&[1, 2, 3, 4]).unwrap();
        assert_eq!((block.as_bytes(), block.block()[4..] == [0; 60]), (&[1, 2, 3, 4][..], true));
    }

    proptest! {
        #[test]
        fn commands_come_back_as_they_were(bytes in any::<[u8; SlotCommand::LEN]>()) {
            let command = SlotCommand::parse(&bytes).unwrap();
            prop_assert_eq!(SlotCommand::parse(&command.to_bytes()), Some(command));
        }
    }
}
