//! Frames other people made: Linux Soft-RoCE, recorded, and scapy's.

use std::{collections::BTreeMap, fs, path::PathBuf};

use pcap_file::pcap::PcapReader;
use stroma_abi::wire::{Class, Frame, Ip, classify, icrc, print};

fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors")
}

fn recorded(name: &str) -> Vec<Vec<u8>> {
    let file = fs::File::open(vectors().join(name)).unwrap();
    PcapReader::new(file).unwrap().into_iter().map(|packet| packet.unwrap().data().to_vec()).collect()
}

/// Everything a frame by somebody else must survive. Returns its op-code's name.
fn check(bytes: &[u8]) -> &'static str {
    let frame = Frame::parse(bytes).unwrap_or_else(|reject| panic!("{reject}: {bytes:02x?}"));
    let name = frame.opcode().unwrap().name;
    assert_eq!(frame.to_vec().unwrap(), bytes, "emitted otherwise than received");
    let sealed = Frame { pad: &[], icrc: 0, ..frame }.seal().unwrap();
    assert_eq!(sealed, frame, "pad, lengths, checksum or ICRC filled in otherwise than the sender did");
    let line = print::line(bytes).to_string();
    assert!(line.contains(name) && !line.contains('\n'), "{line}");

    let shape = classify(bytes).unwrap();
    assert!(icrc::is_right(&bytes[shape.ip_at..shape.end]));
    let residue = bytes[shape.ip_at..shape.end]
        .iter()
        .zip(mask(&frame))
        .fold(icrc::SEED, |state, (byte, ones)| icrc::step(state, byte | ones));
    assert_eq!(residue, icrc::RESIDUE);
    name
}

fn mask(frame: &Frame<'_>) -> impl Iterator<Item = u8> {
    let mask: &[u8] = if matches!(frame.ip, Ip::V6(_)) { &icrc::MASK_IPV6 } else { &icrc::MASK_IPV4 };
    mask.iter().copied().chain(std::iter::repeat(0))
}

fn counts(name: &str) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for bytes in recorded(name) {
        *counts.entry(check(&bytes)).or_default() += 1;
    }
    counts
}

/// Frames by op-code, counted in the file by a script that looks at byte 42 alone.
const GOLDEN: [(&str, usize); 21] = [
    ("RC_SEND_FIRST", 4),
    ("RC_SEND_MIDDLE", 1),
    ("RC_SEND_LAST", 3),
    ("RC_SEND_LAST_IMM", 1),
    ("RC_SEND_ONLY", 20),
    ("RC_SEND_ONLY_IMM", 1),
    ("RC_WRITE_FIRST", 8),
    ("RC_WRITE_MIDDLE", 6),
    ("RC_WRITE_LAST", 7),
    ("RC_WRITE_LAST_IMM", 1),
    ("RC_WRITE_ONLY", 6),
    ("RC_WRITE_ONLY_IMM", 1),
    ("RC_READ_REQUEST", 7),
    ("RC_READ_RESPONSE_FIRST", 2),
    ("RC_READ_RESPONSE_MIDDLE", 3),
    ("RC_READ_RESPONSE_LAST", 2),
    ("RC_READ_RESPONSE_ONLY", 4),
    ("RC_ACKNOWLEDGE", 41),
    ("RC_ATOMIC_ACKNOWLEDGE", 3),
    ("RC_CMP_SWAP", 2),
    ("RC_FETCH_ADD", 1),
];

#[test]
fn every_recorded_rc_frame_is_parsed_printed_and_emitted_unchanged() {
    assert_eq!(counts("golden_rxe61.pcap"), BTreeMap::from(GOLDEN));
}

#[test]
fn every_recorded_uc_and_ud_frame_is_parsed_printed_and_emitted_unchanged() {
    assert_eq!(counts("uc_pingpong_rxe61.pcap"), BTreeMap::from([("UC_SEND_ONLY", 40)]));
    assert_eq!(counts("ud_pingpong_rxe61.pcap"), BTreeMap::from([("UD_SEND_ONLY", 40)]));
}

#[test]
fn the_recorded_errors_print_as_what_they_are() {
    let lines: Vec<_> =
        recorded("golden_rxe61.pcap").iter().map(|bytes| print::line(bytes).to_string()).collect();
    let seen = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(seen("rnr-nak wait-us") && seen("nak remote-access") && seen("nak remote-operational"));
    assert!(seen("psn 0xfffff8") && seen("psn 0x000000") && seen("va 0x2000000000"));
}

#[test]
fn every_frame_of_scapy_is_parsed_with_the_fields_scapy_was_given() {
    let text = fs::read_to_string(vectors().join("scapy.hex")).unwrap();
    let rows: Vec<Vec<&str>> =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect()).collect();
    assert_eq!(rows.len(), 28);
    for row in rows {
        let [version, vlan, opcode, qp, psn, payload, hex] = row[..] else {
            panic!("a row of {} cells", row.len())
        };
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let frame =
            Frame::parse(&bytes).unwrap_or_else(|reject| panic!("{opcode} over IPv{version}: {reject}"));
        assert_eq!(check(&bytes), opcode);
        assert_eq!(if matches!(frame.ip, Ip::V6(_)) { "6" } else { "4" }, version);
        assert_eq!(frame.tag.map_or("-".to_owned(), |tag| tag.vlan.to_string()), vlan);
        assert_eq!(format!("{:06x}", frame.bth.destination_qp.value()), qp);
        assert_eq!(format!("{:06x}", frame.bth.psn.value()), psn);
        assert_eq!(frame.payload.len().to_string(), payload);
    }
}

#[test]
fn one_flipped_bit_is_noticed_wherever_the_icrc_or_a_header_check_reaches() {
    let frames = recorded("golden_rxe61.pcap");
    let mut chosen: Vec<&Vec<u8>> = Vec::new();
    for code in [0x00, 0x03, 0x04, 0x06, 0x0a, 0x0c, 0x10, 0x11, 0x12, 0x13] {
        chosen.push(frames.iter().find(|bytes| bytes[42] == code).unwrap());
    }
    for bytes in chosen {
        let mut flipped = bytes.clone();
        for bit in 0..bytes.len() * 8 {
            flipped[bit / 8] ^= 0x80 >> (bit % 8);
            let class = classify(&flipped).map_or_else(|reject| reject.class, |_| Class::Roce);
            assert_eq!(class == Class::Roce, is_unguarded(bit / 8), "bit {bit}: {class}");
            flipped[bit / 8] ^= 0x80 >> (bit % 8);
        }
    }
}

/// Bytes of an untagged IPv4 frame that neither a check nor the ICRC covers: the MAC addresses (the FCS does),
/// the UDP checksum and the BTH byte with FECN and BECN.
fn is_unguarded(byte: usize) -> bool {
    matches!(byte, 0..12 | 40..42 | 46)
}
