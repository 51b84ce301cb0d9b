//! Requests that break a rule of the transport: refused as invalid, with nothing moved.

use stroma_abi::wire::opcode;

use super::responses::{Bench, INVALID, KEY, fetch_add, only, read, request};
use crate::model::{Dropped, Packet};

/// After these good packets, the last one is an invalid request, changes nothing and ends the connection.
fn is_invalid(name: &str, good: &[Packet], bad: &Packet) {
    let mut bench = Bench::new();
    bench.post(1, &[(0x1000, 2000)]);
    for packet in good {
        bench.give(packet).unwrap();
    }
    bench.answers();
    let before = bench.memory.region(KEY).unwrap().clone();
    let answer = bench.ask(bad);
    assert_eq!(answer, [(bad.psn.value(), INVALID, 0)], "{name}");
    assert_eq!(*bench.memory.region(KEY).unwrap(), before, "{name}");
    assert!(bench.responder.is_failed(), "{name}");
    assert_eq!(bench.give(&only(bad.psn.value(), 1)), Err(Dropped::Failed), "{name}");
}

#[test]
fn packets_out_of_their_place_in_a_message_are_invalid() {
    let first = request(opcode::RC_WRITE_FIRST, 0, 600, 256);
    let after = std::slice::from_ref(&first);
    is_invalid("Middle without First", &[], &request(opcode::RC_WRITE_MIDDLE, 0, 0, 256));
    is_invalid("Last without First", &[], &request(opcode::RC_WRITE_LAST, 0, 0, 8));
    is_invalid("First after First", after, &request(opcode::RC_WRITE_FIRST, 1, 600, 256));
    is_invalid("Only after First", after, &only(1, 8));
    is_invalid("READ after First", after, &read(1, 8));
    is_invalid("SEND after First", after, &request(opcode::RC_SEND_LAST, 1, 0, 8));
    is_invalid("SEND Middle without First", &[], &request(opcode::RC_SEND_MIDDLE, 0, 0, 256));
    is_invalid("SEND Last without First", &[], &request(opcode::RC_SEND_LAST, 0, 0, 8));
    is_invalid("SEND Only after First", after, &request(opcode::RC_SEND_ONLY, 1, 0, 8));
    is_invalid("atomic after First", after, &fetch_add(1, 0, 1));
    let send = request(opcode::RC_SEND_FIRST, 0, 0, 256);
    let after_send = std::slice::from_ref(&send);
    is_invalid("WRITE Last in a SEND", after_send, &request(opcode::RC_WRITE_LAST, 1, 0, 8));
    is_invalid("SEND First after SEND First", after_send, &request(opcode::RC_SEND_FIRST, 1, 0, 256));
    is_invalid("READ in a SEND", after_send, &read(1, 8));
}

#[test]
fn packets_whose_length_contradicts_mtu_or_message_are_invalid() {
    let first = request(opcode::RC_WRITE_FIRST, 0, 600, 256);
    let after = std::slice::from_ref(&first);
    is_invalid("First shorter than the MTU", &[], &request(opcode::RC_WRITE_FIRST, 0, 600, 252));
    is_invalid("First longer than the MTU", &[], &request(opcode::RC_WRITE_FIRST, 0, 600, 260));
    is_invalid("First that is the whole message", &[], &request(opcode::RC_WRITE_FIRST, 0, 256, 256));
    is_invalid("Only longer than the MTU", &[], &only(0, 260));
    is_invalid("Only shorter than its message", &[], &request(opcode::RC_WRITE_ONLY, 0, 9, 8));
    is_invalid("Only longer than its message", &[], &request(opcode::RC_WRITE_ONLY, 0, 7, 8));
    is_invalid("Middle shorter than the MTU", after, &request(opcode::RC_WRITE_MIDDLE, 1, 0, 252));
    is_invalid("Last too early", after, &request(opcode::RC_WRITE_LAST, 1, 0, 256));
    is_invalid("Last without bytes", after, &request(opcode::RC_WRITE_LAST, 1, 0, 0));
    is_invalid("READ with a payload", &[], &request(opcode::RC_READ_REQUEST, 0, 8, 4));
    let most = 1 << 31;
    is_invalid("READ beyond the longest message", &[], &read(0, most + 1));
    is_invalid("WRITE beyond the longest message", &[], &request(opcode::RC_WRITE_FIRST, 0, most + 1, 256));
    let send = request(opcode::RC_SEND_FIRST, 0, 0, 256);
    let after_send = std::slice::from_ref(&send);
    is_invalid("SEND First shorter than the MTU", &[], &request(opcode::RC_SEND_FIRST, 0, 0, 252));
    is_invalid("SEND Only longer than the MTU", &[], &request(opcode::RC_SEND_ONLY, 0, 0, 260));
    is_invalid("SEND Last without bytes", after_send, &request(opcode::RC_SEND_LAST, 1, 0, 0));
    is_invalid("SEND Last longer than the MTU", after_send, &request(opcode::RC_SEND_LAST_IMM, 1, 0, 260));
    let mut fat = fetch_add(0, 0, 1);
    fat.payload = vec![0; 4];
    is_invalid("atomic with a payload", &[], &fat);
    is_invalid("atomic across words", &[], &fetch_add(0, 4, 1));
    let long = request(opcode::RC_WRITE_FIRST, 0, 512, 256);
    is_invalid("Middle that leaves nothing", &[long], &request(opcode::RC_WRITE_MIDDLE, 1, 0, 256));
}
