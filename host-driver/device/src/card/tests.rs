use stroma_abi::regs::map::{capabilities, doorbells, events, mailbox, moderation};

use super::*;
use crate::mock::{Fault, Mock, Store};

const STATUS_AT: usize = 0x14;
const SOON: Duration = Duration::from_mins(1);

fn open(mock: Mock) -> Result<Card> {
    Card::open(Arc::new(mock), Duration::ZERO)
}

/// A card whose register at `offset` of BAR0 holds `value`.
fn with(offset: usize, value: u32) -> Mock {
    let mock = Mock::card();
    mock.poke32(BarId::Bar0, offset, value);
    mock
}

#[test]
fn a_card_of_our_version_opens() {
    let card = open(Mock::card()).unwrap();
    assert_eq!((card.version(), card.capabilities().vectors), (Version { major: 0, minor: 1 }, 32));
    assert_eq!(card.backend().identity().name, "mock");
    assert_eq!(format!("{card:?}"), "Card(mock, version 0.1)");
}

#[test]
fn another_device_is_refused() {
    let refused = open(with(0x0c, 0x1234_5678)).unwrap_err();
    assert_eq!(refused.to_string(), "magic is 0x12345678 instead of 0x4d525453: this is no Stroma card");
    assert!(matches!(refused, Error::BadMagic { found: 0x1234_5678, .. }));
}

#[test]
fn a_device_that_left_the_bus_is_not_taken_for_a_ready_one() {
    assert!(matches!(open(with(0x0c, u32::MAX)), Err(Error::Gone { register: "magic" })));
    assert!(matches!(open(with(STATUS_AT, u32::MAX)), Err(Error::Gone { register: "status" })));
}

#[test]
fn another_abi_version_is_refused_and_a_later_minor_one_taken() {
    for (value, name) in [(0x0001_0001, "1.1"), (0x0000_0000, "0.0")] {
        let refused = open(with(0x10, value)).unwrap_err();
        assert!(matches!(refused, Error::AbiVersion { .. }), "{refused}");
        assert!(refused.to_string().starts_with(&format!("the card speaks version {name}, this driver 0.1")));
    }
    assert_eq!(open(with(0x10, 0x0000_0007)).unwrap().version().minor, 7);
}

#[test]
fn a_disordered_chain_is_refused() {
    assert!(matches!(open(with(0x08, 0x0001_0000)), Err(Error::BlockOutside { offset: 0x10000, .. })));
    assert!(matches!(open(with(0x108, 0x100)), Err(Error::EndlessChain { from: 0x100, to: 0x100 })));
}

#[test]
fn a_block_of_another_major_version_is_missing() {
    let refused = open(with(0x104, 0x0002_0000)).unwrap_err();
    assert!(matches!(refused, Error::MissingBlock { block: "capabilities", version: 1 }), "{refused}");
}

#[test]
fn bars_too_short_are_refused() {
    let mock = Mock::card();
    mock.resize(BarId::Bar0, 0x1000);
    assert!(matches!(open(mock), Err(Error::BarTooShort { bar: BarId::Bar0, .. })));

    let pages_at = capabilities::BLOCK.address(&capabilities::DOORBELL_PAGES);
    let refused = open(with(pages_at, 3)).unwrap_err();
    assert!(
        matches!(refused, Error::BarTooShort { bar: BarId::Bar2, len: 0x1000, needed: 0x3000 }),
        "{refused}"
    );
    let mock = with(pages_at, 3);
    mock.resize(BarId::Bar2, 0x3000);
    assert!(open(mock).is_ok());
}

#[test]
fn a_card_that_gets_ready_is_waited_for() {
    let mock = Arc::new(Mock::card());
    mock.answer(BarId::Bar0, STATUS_AT, [0, 2, 0]);
    Card::open(mock.clone(), SOON).unwrap();
    assert_eq!(mock.answers_left(), 0);
}

#[test]
fn a_card_that_never_gets_ready_is_given_up() {
    let patience = Duration::from_millis(3);
    let refused = Card::open(Arc::new(with(STATUS_AT, 2)), patience).unwrap_err();
    let Error::NotReady { waited, status } = refused else { panic!("{refused}") };
    assert!(waited >= patience && waited < SOON, "{waited:?}");
    assert_eq!(status, 2);
}

#[test]
fn a_reset_stores_one_bit_and_waits() {
    let mock = Arc::new(Mock::card());
    let card = Card::open(mock.clone(), Duration::ZERO).unwrap();
    mock.answer(BarId::Bar0, STATUS_AT, [0, 0]);
    card.reset(SOON).unwrap();
    assert_eq!(mock.stores(), [Store { bar: BarId::Bar0, offset: 0x20, width: 4, value: 1 }]);
    assert_eq!(mock.answers_left(), 0);

    mock.poke32(BarId::Bar0, STATUS_AT, 0);
    assert!(matches!(card.reset(Duration::ZERO), Err(Error::NotReady { status: 0, .. })));
}

#[test]
fn a_function_reset_goes_to_the_backend_and_waits() {
    let mock = Arc::new(Mock::card());
    let card = Card::open(mock.clone(), Duration::ZERO).unwrap();
    mock.answer(BarId::Bar0, STATUS_AT, [0]);
    card.reset_function(SOON).unwrap();
    assert_eq!((mock.resets(), mock.answers_left(), mock.stores().len()), (1, 0, 0));
    mock.fail(Fault::Reset);
    assert!(matches!(card.reset_function(SOON), Err(Error::Backend { .. })));
}

#[test]
fn the_link_is_a_bit_of_the_status() {
    let mock = Arc::new(Mock::card());
    let card = Card::open(mock.clone(), Duration::ZERO).unwrap();
    assert!(!card.link_is_up().unwrap());
    mock.poke32(BarId::Bar0, STATUS_AT, 3);
    assert!(card.link_is_up().unwrap());
}

#[test]
fn registers_are_reached_where_the_card_has_them() {
    let mock = Arc::new(Mock::card());
    // The mailbox moves to 0x4000.
    mock.poke32(BarId::Bar0, 0x700 + 8, 0x4000);
    for (offset, value) in [(0, 0x08), (4, 0x0001_0000), (8, 0), (0x10, 2)] {
        mock.poke32(BarId::Bar0, 0x4000 + offset, value);
    }
    let card = Card::open(mock.clone(), Duration::ZERO).unwrap();
    assert_eq!(card.read(&mailbox::BLOCK, &mailbox::STATE).unwrap(), 2);
    card.write_element(&mailbox::BLOCK, &mailbox::INPUT, 31, 0xabcd).unwrap();
    card.write_element(&moderation::BLOCK, &moderation::VECTOR, 2, 0x1_0002_0003).unwrap();
    card.write(&events::BLOCK, &events::BASE, 0x12_3456_7000).unwrap();
    let store = |offset, width, value| Store { bar: BarId::Bar0, offset, width, value };
    let expected = [
        store(0x4000 + 0x80 + 31 * 4, 4, 0xabcd),
        store(0x700 + 0x10 + 2 * 8, 8, 0x1_0002_0003),
        store(0x610, 8, 0x12_3456_7000),
    ];
    assert_eq!(mock.stores(), expected);
    assert_eq!(card.read_element(&moderation::BLOCK, &moderation::VECTOR, 2).unwrap(), 0x1_0002_0003);
}

#[test]
fn accesses_against_a_register_s_nature_are_refused() {
    let mock = Arc::new(Mock::card());
    let card = Card::open(mock.clone(), Duration::ZERO).unwrap();
    let refused = card.write(&identity::BLOCK, &identity::STATUS, 1).unwrap_err();
    assert_eq!(refused.to_string(), "write of register identity.status, which is RO");
    assert!(matches!(card.read(&mailbox::BLOCK, &mailbox::GO), Err(Error::Direction { access: "WO", .. })));
    let refused = card.write(&mailbox::BLOCK, &mailbox::GO, 1 << 32).unwrap_err();
    assert!(matches!(refused, Error::TooWide { register: "go", width: 32, .. }), "{refused}");
    let refused = card.write(&doorbells::BLOCK, &doorbells::SEND, 1).unwrap_err();
    assert!(matches!(refused, Error::MissingBlock { block: "doorbells", .. }), "{refused}");
    assert!(mock.stores().is_empty());
}
