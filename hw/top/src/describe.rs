//! A card in words that any language reads: registers, descriptors and codes as JSON, for those who drive it without Rust.
//!
//! ```text
//! registers  "block.name": { address on the AXI4-Lite port, bytes, stride to the next element, parts: { name: [first bit, bits] },
//!                            reads: what it always reads }
//! layouts    "Name": { bytes, fields: { name: [first bit, bits] } }      little-endian
//! codes      "Enum": { "Variant": number }
//! numbers    "name": number
//! ```

use std::fmt::Debug;

use serde_json::{Map, Value, json};
use stroma_abi::Entry;
use stroma_abi::desc::{
    Command, CommandStatus, CompletionQueue, Cqe, ObjectKind, QueuePair, QueuePairKind, QueuePairState,
    Region, Reply, Sge, Statistics, Status, Verb, WorkOp, WqeHead, queue_pair, region, wqe,
};
use stroma_abi::regs::map::{BAR0, BAR2, BAR2_AT, DOORBELL_PAGE};
use stroma_abi::regs::{Access, Block, Reg};
use stroma_abi::wire::Class;

use crate::Profile;

/// The description of a card. BAR2 is shown by its first page.
#[must_use]
pub fn describe(profile: Profile) -> Value {
    let decisions = profile.decided();
    let decided = |block: &Block, reg: &Reg| {
        let named =
            |(of, register, _): &&(Block, Reg, u64)| of.name == block.name && register.name == reg.name;
        decisions.iter().find(named).map(|(.., value)| *value)
    };
    let fixed = |reg: &Reg| reg.reset.filter(|value| reg.access == Access::ReadOnly && *value != 0);
    let mut registers = Map::new();
    for (bar, at) in [(BAR0, 0), (BAR2, BAR2_AT)] {
        for block in bar.blocks {
            for reg in block.regs {
                let description = json!({
                    "address": at + block.address(reg),
                    "bytes": reg.width / 8,
                    "stride": reg.stride,
                    "parts": places(reg.fields),
                    "reads": decided(block, reg).or(fixed(reg)),
                });
                registers.insert(format!("{}.{}", block.name, reg.name), description);
            }
        }
    }
    json!({
        "top": profile.top(),
        "registers": registers,
        "layouts": layouts(),
        "codes": codes(),
        "numbers": {
            "doorbell_page": DOORBELL_PAGE,
            "local_write": region::rights::LOCAL_WRITE,
            "remote_write": region::rights::REMOTE_WRITE,
            "unit": wqe::UNIT,
        },
    })
}

fn places(table: &[Entry]) -> Value {
    table
        .iter()
        .map(|entry| (entry.name.to_owned(), json!([entry.field.offset(), entry.field.width])))
        .collect()
}

fn layouts() -> Value {
    macro_rules! rows {
        ($($layout:ident)*) => {
            json!({ $(stringify!($layout): { "bytes": $layout::LEN, "fields": places($layout::TABLE) }),* })
        };
    }
    rows!(Command Reply CompletionQueue QueuePair Region Statistics WqeHead Sge Cqe)
}

fn codes() -> Value {
    fn named<T: Debug>(codes: impl IntoIterator<Item = (T, u64)>) -> Value {
        codes.into_iter().map(|(variant, code)| (format!("{variant:?}"), json!(code))).collect()
    }
    macro_rules! rows {
        ($($codes:ident)*) => {
            json!({ $(stringify!($codes): named($codes::ALL.iter().map(|(code, ..)| (*code, *code as u64)))),* })
        };
    }
    let mut codes = rows!(Verb ObjectKind CommandStatus QueuePairState QueuePairKind WorkOp Status);
    codes["Attribute"] = queue_pair::attribute::ALL
        .iter()
        .map(|(bit, name, _)| ((*name).to_owned(), json!(1_u64 << bit)))
        .collect();
    codes["Class"] = named(Class::ALL.iter().map(|class| (*class, class.index() as u64)));
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use stroma_abi::regs::map::{MAGIC, doorbells, rx_classes};

    #[test]
    fn what_is_described_is_what_the_abi_says() {
        let card = describe(Profile::TenGig);
        let registers = &card["registers"];
        assert_eq!(registers["identity.magic"]["reads"], json!(MAGIC));
        assert_eq!(registers["capabilities.data_bits"]["reads"], json!(64));
        assert_eq!(registers["capabilities.shared_receive_queues"]["reads"], json!(64));
        assert_eq!(registers["catalogue.slots"]["reads"], json!(crate::kernels::KERNELS));
        assert_eq!(registers["doorbells.send"]["address"], json!(BAR2_AT + doorbells::SEND.offset));
        assert_eq!(registers["doorbells.send"]["parts"]["producer"], json!([24, 16]));
        assert_eq!(registers["rx_classes.frames"]["stride"], json!(rx_classes::FRAMES.stride));
        assert_eq!(card["codes"]["Class"]["Icrc"], json!(15));
        assert_eq!(card["layouts"]["Cqe"]["fields"]["phase"], json!([31 * 8 + 7, 1]));
        assert_eq!(card["codes"]["WorkOp"]["Gather"], json!(0x0c));
        assert_eq!(card["codes"]["Attribute"]["STATE"], json!(queue_pair::attribute::STATE));
    }

    #[test]
    fn what_moves_has_no_value_that_it_always_reads() {
        let card = describe(Profile::HundredGig);
        for register in ["identity.time", "identity.status", "identity.rtl_hash", "events.config"] {
            assert_eq!(card["registers"][register]["reads"], Value::Null, "{register}");
        }
    }
}
