//! The command mailbox: 128 bytes in, 128 bytes out, one command at a time.

use crate::layout::layout;

/// Bytes of each direction.
pub const MAILBOX_LEN: usize = 128;

layout! {
    /// What a command begins with; its body follows.
    Command: Little, 16 bytes;
    OPCODE     opcode:     u16 = 0, 0, 16, "create, modify, query or destroy, and of what";
    MODIFIER   modifier:   u16 = 2, 0, 16, "variant of the command; the reply's token";
    OBJECT     object:     u32 = 4, 0, 32, "number of the object";
    ATTRIBUTES attributes: u64 = 8, 0, 64, "mask of the attributes in the body";
}

layout! {
    /// What a reply begins with; its body follows.
    Reply: Little, 8 bytes;
    STATUS status: u16 = 0, 0, 16, "0: done";
    TOKEN  token:  u16 = 2, 0, 16, "the command's modifier, returned";
    OBJECT object: u32 = 4, 0, 32, "number of the object, also of a new one";
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn heads_come_back_as_they_were(bytes in any::<[u8; 16]>()) {
            prop_assert_eq!(Command::parse(&bytes).unwrap().to_bytes(), bytes);
            prop_assert_eq!(&Reply::parse(&bytes).unwrap().to_bytes()[..], &bytes[..Reply::LEN]);
        }
    }
}
