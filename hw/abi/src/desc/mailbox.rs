//! The command mailbox: 128 bytes in, 128 bytes out, one command at a time.
//!
//! An op-code names a kind of object and what is to become of it; the driver chooses the object's number. A body is
//! the object's own layout: [`QueuePair`](super::QueuePair), [`CompletionQueue`](super::CompletionQueue),
//! [`Region`](super::Region) or [`SharedQueue`](super::SharedQueue), in a create and a modify command and in the reply to a query;
//! [`Statistics`](super::Statistics) in the reply to a query alone, [`AddressHandle`](super::AddressHandle) in a create command alone.

use crate::codes::codes;
use crate::layout::layout;

/// Bytes of each direction.
pub const MAILBOX_LEN: usize = 128;
/// Where the body of a command begins, and that of a reply.
pub const BODY_AT: usize = Command::LEN;
/// Bytes of a body.
pub const BODY_LEN: usize = MAILBOX_LEN - BODY_AT;

layout! {
    /// What a command begins with; its body follows.
    Command: Little, 16 bytes;
    VERB       verb:       u8  = 0, 0,  8, "a `Verb`";
    OBJECT_KIND object_kind: u8 = 1, 0, 8, "an `ObjectKind`";
    MODIFIER   modifier:   u16 = 2, 0, 16, "returned as the reply's token";
    OBJECT     object:     u32 = 4, 0, 32, "number of the object, chosen by the driver";
    ATTRIBUTES attributes: u64 = 8, 0, 64, "modify: mask of the attributes in the body; otherwise 0";
}

layout! {
    /// What a reply begins with; its body follows at the same place as a command's.
    Reply: Little, 16 bytes;
    STATUS status: u16 = 0, 0, 16, "a `CommandStatus`";
    TOKEN  token:  u16 = 2, 0, 16, "the command's modifier, returned";
    OBJECT object: u32 = 4, 0, 32, "the command's object, returned";
    FIELD  field:  u16 = 8, 0, 16, "with `BadField`: the byte of the body where the field that was refused begins";
}

const _: () = assert!(Reply::LEN == BODY_AT);

codes! {
    /// What is to become of an object.
    Verb: u8 {
        1 Create  "Makes the object of the body.";
        2 Modify  "Changes the attributes named in the mask.";
        3 Query   "The reply's body shows the object.";
        4 Destroy "Ends the object. When the reply comes, nothing begun for it is under way any more.";
    }
}

codes! {
    /// Kinds of objects.
    ObjectKind: u8 {
        1 QueuePair       "Queue pair.";
        2 CompletionQueue "Completion queue.";
        3 Region          "Memory region. There is no modify.";
        4 SharedQueue     "Shared receive queue. Queue pairs that use it end before it does.";
        5 Statistics      "What a queue pair is doing, by its number. There is query alone.";
        6 AddressHandle   "Way of datagrams. There are create and destroy alone; a datagram under way may miss one that ends, or take the next of its number.";
    }
}

codes! {
    /// How a command ended. Any but `Done` has changed nothing. Of several causes the first told is: `UnknownKind`,
    /// `UnknownVerb`, `OutOfRange` (create, and query of statistics), `NoObject` or `Exists`, `BadAttribute` (create), then the fields in
    /// their order.
    CommandStatus: u16 {
        0 Done         "Carried out.";
        1 UnknownKind  "There is no such kind of object.";
        2 UnknownVerb  "The kind has no such verb.";
        3 OutOfRange   "The number is beyond the card's capacity.";
        4 NoObject     "There is no object of this number.";
        5 Exists       "There is one already.";
        6 BadField     "A field of the body holds what it may not.";
        7 BadAttribute "The mask lacks an attribute that is needed, or names one that may not change now.";
        8 BadState     "The queue pair cannot go to this state from its present one.";
        9 InUse        "Memory windows are bound to the region.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn heads_come_back_as_they_were(bytes in any::<[u8; 16]>()) {
            prop_assert_eq!(Command::parse(&bytes).unwrap().to_bytes(), bytes);
            let reply = Reply::parse(&bytes).unwrap();
            prop_assert_eq!(Reply::parse(&reply.to_bytes()), Some(reply));
        }
    }

    #[test]
    fn codes_are_found_and_zero_is_no_verb_and_no_object() {
        assert!(Verb::ALL.iter().all(|(verb, _)| Verb::from_code(*verb as u8) == Some(*verb)));
        assert_eq!((Verb::from_code(0), ObjectKind::from_code(0)), (None, None));
        assert_eq!(CommandStatus::from_code(6), Some(CommandStatus::BadField));
    }
}
