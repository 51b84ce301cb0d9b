//! What became of a received frame: accepted, or the one reason why not.

use core::fmt;

macro_rules! classes {
    ($($index:literal $variant:ident $name:literal $prose:literal;)*) => {
        /// The verdict on a frame. RTL counters, model and documents share this list; [`classify`] holds the
        /// rule that chooses.
        ///
        /// [`classify`]: super::classify::classify
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Class {
            $(#[doc = $prose] $variant = $index,)*
        }

        impl Class {
            /// Every class, by index.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),*];
            /// How many there are.
            pub const COUNT: usize = [$($name),*].len();

            /// Short name, as printed.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it means.
            #[must_use]
            pub const fn prose(self) -> &'static str {
                match self { $(Self::$variant => $prose,)* }
            }
        }
    };
}

classes! {
    0  Roce       "roce"        "Accepted: RoCE v2 with a right ICRC.";
    1  MacError   "mac-error"   "The MAC reported the frame as bad.";
    2  Runt       "runt"        "The frame ends inside a fixed header of its kind (Ethernet, tag, IP, UDP, BTH).";
    3  NotIp      "not-ip"      "The Ethernet type, behind at most one 802.1Q tag, is neither IPv4 nor IPv6.";
    4  IpVersion  "ip-version"  "The IP version does not match the Ethernet type.";
    5  IpOptions  "ip-options"  "The IPv4 header is not five words long.";
    6  IpChecksum "ip-checksum" "The IPv4 header checksum is wrong.";
    7  Fragment   "fragment"    "An IPv4 fragment.";
    8  NotUdp     "not-udp"     "The IP protocol, or IPv6 next header, is not UDP.";
    9  WrongPort  "wrong-port"  "The UDP destination port is not 4791.";
    10 Length     "length"      "The IP length is no multiple of 4, contradicts the UDP length, or cannot hold headers, pad and ICRC.";
    11 Oversize   "oversize"    "The payload is longer than 4096 bytes.";
    12 BthVersion "bth-version" "The transport header version is not 0.";
    13 Opcode     "opcode"      "The op-code is not one the card knows.";
    14 Truncated  "truncated"   "The frame ends before the IP length says.";
    15 Icrc       "icrc"        "The invariant CRC is wrong.";
}

impl Class {
    /// Those that other people's traffic falls under: well formed as far as it was read, and not RoCE. Such frames go to
    /// the raw Ethernet queue.
    ///
    /// | class | |
    /// |---|---|
    /// | `NotIp` | ARP, LLDP, a second tag |
    /// | `IpOptions`, `Fragment`, `NotUdp`, `WrongPort` | IP that this card does not read: ICMP, neighbour discovery, TCP, ... |
    /// | `Roce` | goes to its queue pair |
    /// | all others | defective: no stack would take it, or RoCE that was spoilt on its way |
    ///
    /// The checksum of an IPv4 header with options is not looked at here; whoever reads the frame does.
    pub const RAW: [Self; 5] = [Self::NotIp, Self::IpOptions, Self::Fragment, Self::NotUdp, Self::WrongPort];

    /// Is it one of [`Self::RAW`]?
    #[must_use]
    pub const fn is_raw(self) -> bool {
        let mut at = 0;
        while at < Self::RAW.len() {
            if Self::RAW[at] as u8 == self as u8 {
                return true;
            }
            at += 1;
        }
        false
    }

    /// Number of its counter.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a frame was not accepted, and the values that decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The reason, never [`Class::Roce`].
    pub class: Class,
    /// What the frame says.
    pub found: u32,
    /// What it would have to say. For lengths the least or most that is allowed; zero where no single value is.
    pub wanted: u32,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {:#x}, wanted {:#x}", self.class, self.found, self.wanted)
    }
}

impl core::error::Error for Reject {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_count_from_zero_without_gaps() {
        assert_eq!(Class::COUNT, 16);
        for (index, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class.index(), index);
        }
    }

    #[test]
    fn no_defective_frame_and_no_roce_is_raw() {
        use Class::{
            BthVersion, Icrc, IpChecksum, IpVersion, Length, MacError, Opcode, Oversize, Roce, Runt,
            Truncated,
        };
        let defective =
            [MacError, Runt, IpVersion, IpChecksum, Length, Oversize, BthVersion, Opcode, Truncated, Icrc];
        for class in Class::ALL {
            assert_eq!(class.is_raw(), class != Roce && !defective.contains(&class), "{class}");
        }
    }

    #[test]
    fn names_are_distinct() {
        for class in Class::ALL {
            assert_eq!(Class::ALL.into_iter().filter(|other| other.name() == class.name()).count(), 1);
        }
    }
}
