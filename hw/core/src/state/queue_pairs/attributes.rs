//! Which fields of a queue pair belong to which attribute, as masks over its body.

use num_bigint::BigUint;
use rust_hdl::prelude::*;
use stroma_abi::Field;
use stroma_abi::desc::QueuePair;
use stroma_abi::desc::queue_pair::attribute;

/// Attributes there are; the first so many bits of a modify command's mask.
pub(super) const ATTRIBUTES: usize = attribute::ALL.len();

/// The fields that each attribute sets, in the order of [`attribute::ALL`].
const FIELDS: [&[Field]; ATTRIBUTES] = [
    &[QueuePair::STATE, QueuePair::NOTIFY, QueuePair::DRAINING],
    &[QueuePair::RIGHTS],
    &[QueuePair::PATH_MTU],
    &[QueuePair::Q_KEY],
    &[QueuePair::PEER],
    &[QueuePair::MIN_RNR],
    &[QueuePair::SEND_PSN],
    &[QueuePair::TIMEOUT],
    &[QueuePair::RECEIVE_PSN],
    &[QueuePair::RETRY],
    &[QueuePair::RNR_RETRY],
    &[QueuePair::READS_OUT],
    &[QueuePair::READS_IN],
    &[QueuePair::P_KEY],
    &[
        QueuePair::PEER_MAC,
        QueuePair::SOURCE_PORT,
        QueuePair::PEER_IP,
        QueuePair::HOP_LIMIT,
        QueuePair::TRAFFIC_CLASS,
        QueuePair::VLAN,
        QueuePair::FLOW_LABEL,
        QueuePair::SOURCE_ADDRESS,
        QueuePair::HAS_VLAN,
    ],
    &[QueuePair::PACE],
    &[QueuePair::RESULT_BASE, QueuePair::RESULT_LOG, QueuePair::RESULT_KEY],
];

/// Place of an attribute in the mask.
pub(super) const fn place(attribute: u64) -> usize {
    attribute.trailing_zeros() as usize
}

/// Ones where the fields are.
pub(super) fn ones(fields: impl IntoIterator<Item = Field>) -> Bits<896> {
    let mut bytes = [0; QueuePair::LEN];
    fields.into_iter().for_each(|field| field.write(&mut bytes, field.max()));
    BigUint::from_bytes_le(&bytes).into()
}

/// Ones in the fields that attribute number `index` sets.
pub(super) fn set_by(index: usize) -> Bits<896> {
    ones(FIELDS[index].iter().copied())
}

/// Ones in the fields that creation sets: those with a name and without an attribute.
pub(super) fn set_by_creation() -> Bits<896> {
    let is_modified = |field: &Field| FIELDS.iter().any(|fields| fields.contains(field));
    ones(QueuePair::TABLE.iter().map(|entry| entry.field).filter(|field| !is_modified(field)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_set_by_whom_its_description_names() {
        for entry in QueuePair::TABLE.iter().filter(|entry| entry.field != QueuePair::STATE) {
            let named = entry.prose.rsplit("; ").next().expect("a description ends in who sets the field");
            let named = named.trim_matches('`');
            let setter = FIELDS.iter().position(|fields| fields.contains(&entry.field));
            let setter = setter.map_or("at creation only", |index| attribute::ALL[index].1);
            assert_eq!(named, setter, "{}", entry.name);
        }
    }

    #[test]
    fn attributes_are_counted_from_bit_zero_without_a_gap() {
        for (index, (bit, name, _)) in attribute::ALL.iter().enumerate() {
            assert_eq!(index, *bit as usize, "{name}");
        }
        assert_eq!(place(attribute::RESULT_AREA), ATTRIBUTES - 1);
    }
}
