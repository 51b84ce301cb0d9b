//! What the bodies of messages hold: a few numbers without gaps, then perhaps bytes.

/// A body by its fields, in their order.
macro_rules! body {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $kind,)* }

        impl $name {
            /// Bytes of its numbers.
            pub const LEN: usize = 0 $(+ size_of::<$kind>())*;

            /// Its numbers, and the bytes behind them; `None` when it ends before.
            #[must_use]
            pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
                let rest = bytes;
                $(
                    let (number, rest) = rest.split_first_chunk()?;
                    let $field = <$kind>::from_ne_bytes(*number);
                )*
                Some((Self { $($field),* }, rest))
            }

            /// As it is sent.
            #[must_use]
            pub fn to_bytes(&self) -> Vec<u8> {
                let mut bytes = Vec::with_capacity(Self::LEN);
                $(bytes.extend(self.$field.to_ne_bytes());)*
                bytes
            }
        }
    };
}

body! {
    /// Begins the body of a version; a text follows.
    VersionNumbers {
        /// Changes when old and new do not understand each other.
        major: u16,
        /// Grows with what was added.
        minor: u16,
    }
}

body! {
    /// Memory for the device. A descriptor comes with it.
    DmaMap {
        /// Bytes of this body.
        argsz: u32,
        /// [`READ`] and [`WRITE`].
        flags: u32,
        /// Where the memory begins in what the descriptor stands for.
        offset: u64,
        /// Where the device sees it.
        address: u64,
        /// Bytes of it.
        size: u64,
    }
}

/// The device may read the memory.
pub const READ: u32 = 1;
/// The device may write to it.
pub const WRITE: u32 = 2;

body! {
    /// An end of mappings.
    DmaUnmap {
        /// Bytes of this body.
        argsz: u32,
        /// [`UNMAP_ALL`], or nothing.
        flags: u32,
        /// From here on.
        address: u64,
        /// So many bytes.
        size: u64,
    }
}

/// All mappings end, wherever they are.
pub const UNMAP_ALL: u32 = 1 << 2;

body! {
    /// What kind of device it is.
    DeviceInfo {
        /// Bytes of this body.
        argsz: u32,
        /// [`RESETTABLE`] and [`PCI`].
        flags: u32,
        /// How many regions it has.
        regions: u32,
        /// How many kinds of interrupts.
        interrupts: u32,
    }
}

/// The device can be reset.
pub const RESETTABLE: u32 = 1;
/// It is a PCI function.
pub const PCI: u32 = 2;

body! {
    /// One region.
    RegionInfo {
        /// Bytes of this body.
        argsz: u32,
        /// [`READ`] and [`WRITE`].
        flags: u32,
        /// Which region.
        index: u32,
        /// Where capabilities begin; ours have none.
        capabilities_at: u32,
        /// Bytes of the region.
        size: u64,
        /// Where it would be mapped; ours are not.
        offset: u64,
    }
}

body! {
    /// One kind of interrupts.
    InterruptInfo {
        /// Bytes of this body.
        argsz: u32,
        /// [`EVENT_DESCRIPTORS`], where it is told by them.
        flags: u32,
        /// Which kind.
        index: u32,
        /// How many of it.
        count: u32,
    }
}

/// Interrupts of this kind are told by event descriptors.
pub const EVENT_DESCRIPTORS: u32 = 1;

body! {
    /// What becomes of some interrupts. Descriptors come with it.
    SetInterrupts {
        /// Bytes of this body.
        argsz: u32,
        /// What comes along ([`DATA_NONE`], [`DATA_DESCRIPTORS`]), and what for ([`ACTION_TRIGGER`]).
        flags: u32,
        /// Which kind.
        index: u32,
        /// The first of them.
        start: u32,
        /// How many.
        count: u32,
    }
}

/// Nothing comes along.
pub const DATA_NONE: u32 = 1;
/// Event descriptors come along.
pub const DATA_DESCRIPTORS: u32 = 1 << 2;
/// They tell of interrupts.
pub const ACTION_TRIGGER: u32 = 1 << 5;

body! {
    /// An access to a region; of a write, the bytes follow, and of the reply to a read.
    RegionAccess {
        /// Byte in the region.
        offset: u64,
        /// Which region.
        region: u32,
        /// Bytes.
        count: u32,
    }
}

body! {
    /// An access of the device to memory by message.
    DmaAccess {
        /// The address, as the device sees memory.
        address: u64,
        /// Bytes.
        count: u64,
    }
}

/// Places of a PCI function's regions, as VFIO numbers them: six BARs, ROM, configuration space, VGA.
pub mod region {
    /// BAR 0; the others follow.
    pub const BAR0: usize = 0;
    /// The configuration space.
    pub const CONFIG: usize = 7;
    /// How many there are.
    pub const COUNT: usize = 9;
}

/// Places of a PCI function's interrupts, as VFIO numbers them: `INTx`, MSI, MSI-X, errors, requests.
pub mod interrupt {
    /// MSI-X.
    pub const MSIX: usize = 2;
    /// How many there are.
    pub const COUNT: usize = 5;
}

/// The number of bytes of a body, as bodies tell it.
///
/// # Panics
/// When no message is so long.
#[must_use]
pub const fn argsz(bytes: usize) -> u32 {
    assert!(bytes <= crate::message::MESSAGE_MAX, "bodies are short");
    #[expect(clippy::cast_possible_truncation, reason = "it was compared above")]
    {
        bytes as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_the_lengths_of_the_specification() {
        let lengths = [
            VersionNumbers::LEN,
            DmaMap::LEN,
            DmaUnmap::LEN,
            DeviceInfo::LEN,
            RegionInfo::LEN,
            InterruptInfo::LEN,
            SetInterrupts::LEN,
            RegionAccess::LEN,
            DmaAccess::LEN,
        ];
        assert_eq!(lengths, [4, 32, 24, 16, 32, 16, 20, 16, 16]);
    }

    #[test]
    fn fields_lie_one_behind_the_other_and_bytes_behind_them() {
        let mut bytes = Vec::new();
        bytes.extend(0x1122_3344_5566_7788_u64.to_ne_bytes());
        bytes.extend(7_u32.to_ne_bytes());
        bytes.extend(4_u32.to_ne_bytes());
        let access = RegionAccess { offset: 0x1122_3344_5566_7788, region: 7, count: 4 };
        assert_eq!(access.to_bytes(), bytes);
        bytes.extend([1, 2, 3, 4]);
        assert_eq!(RegionAccess::parse(&bytes), Some((access, &[1, 2, 3, 4][..])));
        for short in 0..RegionAccess::LEN {
            assert_eq!(RegionAccess::parse(&bytes[..short]), None, "{short} bytes");
        }
    }
}
