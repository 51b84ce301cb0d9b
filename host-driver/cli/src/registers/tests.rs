//! Registers of a card of arrays.

use std::sync::Arc;
use std::time::Duration;

use stroma_abi::regs::BAR0;
use stroma_device::BarId;
use stroma_device::mock::Mock;

use super::*;

fn card() -> Card {
    let mock = Mock::card();
    mock.poke32(BarId::Bar0, 0x14, 3);
    mock.poke32(BarId::Bar0, 0x310, 77);
    mock.poke32(BarId::Bar0, 0x210 + 15 * 8, 2);
    mock.poke32(BarId::Bar0, 0xe80 + 3 * 8, 5);
    Card::open(Arc::new(mock), Duration::ZERO).unwrap()
}

fn chosen(names: &[&str]) -> Result<Readings, String> {
    let choices: Vec<Choice> = names.iter().map(|name| name.parse().unwrap()).collect();
    read(&card(), &choices).map_err(|error| error.to_string())
}

#[test]
fn registers_are_told_with_their_place_and_their_parts() {
    let text = "\
identity
  0x0014  status      RO   0x00000003          ready=1 link=1
rx_classes
  0x0288  frames[15]  RO   0x0000000000000002  2 icrc
counters
  0x0310  tx_frames   RO   0x000000000000004d  77
kernels
  0x0e98  invoked[3]  RO   0x0000000000000005  5
";
    assert_eq!(
        chosen(&["kernels.invoked[3]", "frames[15]", "status", "counters.tx_frames"]).unwrap().to_string(),
        text
    );
}

#[test]
fn elements_of_arrays_that_are_zero_are_told_when_they_are_named() {
    let block = chosen(&["kernels"]).unwrap().to_string();
    assert!(block.contains("invoked[3]") && !block.contains("invoked[4]"), "{block}");
    assert!(block.contains("63 that are zero"), "{block}");
    let array = chosen(&["invoked"]).unwrap().to_string();
    assert!(array.contains("invoked[4]") && !array.contains("left out"), "{array}");
}

#[test]
fn without_a_name_all_that_can_be_read_is_told() {
    let Readings(all) = chosen(&[]).unwrap();
    let count = |reg: &Reg| if is_readable(reg) { reg.count } else { 0 };
    // Three registers at the beginning of a block say where the next one is.
    let expected: usize =
        BAR0.blocks.iter().map(|block| block.regs[3..].iter().map(count).sum::<usize>()).sum();
    assert_eq!(all.len(), expected);
    assert!(!all.iter().any(|reading| reading.register == "go"), "it can only be stored to");
    assert_eq!(chosen(&["identity.block_type"]).unwrap().0.len(), 1, "by name they can be had");
}

#[test]
fn programs_find_numbers_by_their_names() {
    let json = serde_json::to_value(chosen(&["status"]).unwrap()).unwrap();
    assert_eq!(json[0]["parts"]["link"], 1);
    assert_eq!((&json[0]["value"], &json[0]["offset"]), (&3.into(), &0x14.into()));
    assert_eq!(json[0]["index"], serde_json::Value::Null);
}

#[test]
fn what_is_no_register_is_refused_with_what_there_is() {
    assert!(chosen(&["tx_frame"]).unwrap_err().contains("blocks are identity, capabilities"));
    assert_eq!(chosen(&["go"]).unwrap_err(), "go: it can be stored to, and reads nothing");
    assert_eq!(chosen(&["invoked[16]"]).unwrap_err(), "invoked[16]: there are 16 of it, counted from 0");
    for wrong in ["", "port.", "mac[x]", "a]b[0]"] {
        assert!(wrong.parse::<Choice>().is_err(), "{wrong}");
    }
}
