//! Event queue entries.

use crate::layout::layout;

layout! {
    /// One event: a single aligned write, its phase bit in the last byte.
    Eqe: Little, 16 bytes;
    DATA    data:    u64  =  0, 0, 64, "what the event's kind says";
    OBJECT  object:  u32  =  8, 0, 24, "number of the queue pair, CQ or SRQ";
    KIND    kind:    u8   = 12, 0,  8, "an `Event`";
    SUBKIND subkind: u8   = 13, 0,  8, "detail of the kind";
    PHASE   phase:   bool = 15, 7,  1, "flips each lap of the ring";
}

macro_rules! events {
    ($($code:literal $variant:ident $prose:literal;)*) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Event {
            $(#[doc = $prose] $variant = $code,)*
        }

        impl Event {
            /// Every event, with its meaning.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, $prose)),*];

            /// The event of a code.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

events! {
    1 Completion      "An armed CQ has a new entry; `object` is the CQ.";
    2 CqOverflow      "A CQ was full when a completion came; its queue pairs are in error.";
    3 QueuePairError  "A queue pair went into error without a request to tell it; `subkind` is a `Status`.";
    4 SrqLimit        "An SRQ fell below its limit.";
    5 LastReceive     "A queue pair in error has taken its last receive from an SRQ.";
    6 CommunicationUp "The first request of its peer arrived on a queue pair of a connection that is in ready-to-receive.";
    7 Port            "The link went up (`subkind` 1) or down (0).";
    8 CardError       "A DMA of the card itself failed; `data` is the address.";
    9 SendQueueDrained "A queue pair in Drained has finished all requests that it had begun, and `notify` was set.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_land_on_the_bytes_the_driver_reads() {
        let eqe =
            Eqe { data: 0x0807_0605_0403_0201, object: 0x0b_0a09, kind: 0x0c, subkind: 0x0d, phase: true };
        assert_eq!(eqe.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 12, 13, 0, 0x80]);
    }

    #[test]
    fn every_event_is_found_by_its_code() {
        for (event, _) in Event::ALL {
            assert_eq!(Event::from_code(*event as u8), Some(*event));
        }
        assert_eq!(Event::from_code(0), None);
    }

    proptest! {
        #[test]
        fn entries_come_back_as_they_were(bytes in any::<[u8; 16]>()) {
            let eqe = Eqe::parse(&bytes).unwrap();
            prop_assert_eq!(Eqe::parse(&eqe.to_bytes()), Some(eqe));
        }
    }
}
