//! How large a card is, and what it can do.

use stroma_abi::regs::map::capabilities as map;

use crate::{Card, Result, part};

macro_rules! capabilities {
    (numbers { $($number:ident = $reg:ident;)* }
     limits { $($limit:ident;)* }
     features { $($feature:ident $feature_prose:literal;)* }) => {
        /// How large a card is: registers of the block `capabilities`, and the parts of its `limits`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Capabilities {
            $(#[doc = concat!("Register `", stringify!($number), "`.")]
            pub $number: u32,)*
            $(#[doc = concat!("Part `", stringify!($limit), "` of `limits`.")]
            pub $limit: u32,)*
            /// What it can do.
            pub features: Features,
        }

        /// What a card can do.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Features {
            $(#[doc = $feature_prose] pub $feature: bool,)*
        }

        impl Capabilities {
            pub(crate) fn read(card: &Card) -> Result<Self> {
                let limits = card.read(&map::BLOCK, &map::LIMITS)?;
                let features = card.read(&map::BLOCK, &map::FEATURES)?;
                Ok(Self {
                    $($number: card.read32(&map::BLOCK, &map::$reg)?,)*
                    $($limit: part(&map::LIMITS, stringify!($limit), limits),)*
                    features: Features {
                        $($feature: part(&map::FEATURES, stringify!($feature), features),)*
                    },
                })
            }
        }
    };
}

capabilities! {
    numbers {
        data_bits = DATA_BITS;
        clock_khz = CLOCK_KHZ;
        queue_pairs = QUEUE_PAIRS;
        completion_queues = COMPLETION_QUEUES;
        shared_receive_queues = SHARED_RECEIVE_QUEUES;
        memory_regions = MEMORY_REGIONS;
        outstanding = OUTSTANDING;
        doorbell_pages = DOORBELL_PAGES;
        vectors = VECTOR_COUNT;
        address_handles = ADDRESS_HANDLES;
    }
    limits {
        wqe_units;
        sges;
        mtu_log;
        parameter_words;
    }
    features {
        rc "Reliable connections.";
        uc "Unreliable connections.";
        ud "Unreliable datagrams.";
        srq "Shared receive queues.";
        rpc "Kernels.";
        push "Push windows.";
        selective_repeat "Lost packets are repeated alone.";
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;
    use crate::{BarId, mock::Mock};

    #[test]
    fn each_capability_is_read_from_its_own_register() {
        let mock = Mock::card();
        for (value, reg) in (0x11..).zip(&map::BLOCK.regs[3..]) {
            mock.poke32(BarId::Bar0, map::BLOCK.address(reg), value);
        }
        mock.poke32(BarId::Bar0, map::BLOCK.address(&map::DOORBELL_PAGES), 1);
        mock.poke32(BarId::Bar0, map::BLOCK.address(&map::LIMITS), 0x78_0c_10_08);
        mock.poke32(BarId::Bar0, map::BLOCK.address(&map::FEATURES), 0b010_1001);
        let found = *Card::open(Arc::new(mock), Duration::ZERO).unwrap().capabilities();
        let expected = Capabilities {
            data_bits: 0x11,
            clock_khz: 0x12,
            queue_pairs: 0x13,
            completion_queues: 0x14,
            shared_receive_queues: 0x15,
            memory_regions: 0x16,
            outstanding: 0x17,
            doorbell_pages: 1,
            vectors: 0x19,
            address_handles: 0x1c,
            wqe_units: 8,
            sges: 16,
            mtu_log: 12,
            parameter_words: 120,
            features: Features {
                rc: true,
                uc: false,
                ud: false,
                srq: true,
                rpc: false,
                push: true,
                selective_repeat: false,
            },
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn every_register_and_part_of_the_block_is_a_field() {
        let card = Card::open(Arc::new(Mock::card()), Duration::ZERO).unwrap();
        let fields = format!("{:?}", card.capabilities());
        for reg in &map::BLOCK.regs[3..] {
            let names =
                reg.fields.iter().map(|part| part.name).chain(reg.fields.is_empty().then_some(reg.name));
            for name in names {
                assert!(fields.contains(&format!("{name}: ")), "{name} is not in {fields}");
            }
        }
    }
}
