//! WRITEs, their ACKs and NAKs. 700 bytes are a First, a Middle and a Last.

use crate::case::{Case, case};
use crate::operation::Operation::{self, Write};

/// Three packets.
const LONG: &[Operation] = &[Write(700)];

pub(crate) const CASES: &[Case] = &[
    // Requests are lost. A gap is answered by one NAK, and all from there on comes again; at the end time tells.
    case("a WRITE of one packet is lost", &[Write(100)]).near("drop the next WRITE").timeouts(1).again(1),
    case("the First of a WRITE is lost", LONG).near("drop the next WRITE First").naks(1).again(3),
    case("the Middle of a WRITE is lost", LONG).near("drop the next WRITE Middle").naks(1).again(2),
    case("the Last of a WRITE is lost", LONG)
        .near("drop the next WRITE Last")
        .timeouts(1)
        .again(3)
        .duplicates(2),
    case("First and Middle of a WRITE are lost", LONG).near("drop WRITEs 1 to 2").naks(1).again(3),
    case("a whole WRITE of three packets is lost", LONG).near("drop WRITEs 1 to 3").timeouts(1).again(3),
    case("the wire is dead while two messages leave", &[Write(700), Write(100)])
        .near("drop everything until 20 us")
        .timeouts(1)
        .again(4),
    // What follows comes a second time, so the far end says once more what is missing.
    case("the First of a WRITE is lost twice", LONG).near("drop the next two WRITE Firsts").naks(2).again(6),
    case("the Middle of a WRITE is lost twice", LONG)
        .near("drop the next two WRITE Middles")
        .naks(2)
        .again(4),
    case("the second of three WRITEs is lost", &[Write(100), Write(100), Write(100)])
        .near("drop the 2nd WRITE")
        .naks(1)
        .again(2),
    // Answers are lost.
    case("the ACK of the last message is lost", &[Write(100)])
        .far("drop the next ACK")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("the ACK of a WRITE of three packets is lost", LONG)
        .far("drop the next ACK")
        .timeouts(1)
        .again(3)
        .duplicates(3),
    case("a NAK is lost", LONG)
        .near("drop the next WRITE First")
        .far("drop NAKs")
        .naks(1)
        .timeouts(1)
        .again(3),
    case("the ACK of a message is lost twice", &[Write(100)])
        .far("drop the next two ACKs")
        .timeouts(2)
        .again(2)
        .duplicates(2),
    // Something comes twice.
    case("every packet of a WRITE comes twice", LONG).near("duplicate all WRITEs").duplicates(3),
    case("an ACK comes twice", LONG).far("duplicate the next ACK"),
    case("a NAK comes twice", LONG)
        .near("drop the next WRITE First")
        .far("duplicate the next NAK")
        .naks(1)
        .again(3),
    // Something comes late, or in another order.
    case("two ACKs change places", &[Write(100), Write(700)]).far("reorder the next two ACKs"),
    case("an ACK comes when its WRITE was sent again", &[Write(100)])
        .far("hold the next ACK for 45 us")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("a WRITE comes again long after it is over", LONG)
        .near("hold the next WRITE First for 90 us")
        .naks(1)
        .again(3)
        .duplicates(1),
    case("Middle and Last of a WRITE change places", LONG)
        .near("swap the 2nd and the 3rd WRITE")
        .naks(1)
        .again(2)
        .duplicates(1),
    // Something is broken. Byte 80 lies in the payload, byte 53 in the PSN.
    case("a WRITE is broken, and the FCS tells", LONG)
        .near("corrupt byte 80 of the next WRITE Middle")
        .fcs(1)
        .naks(1)
        .again(2),
    case("the payload of a WRITE is broken, and the ICRC tells", LONG)
        .near("corrupt byte 80 of the next WRITE Middle undetected")
        .icrc(1)
        .naks(1)
        .again(2),
    case("the PSN of a WRITE is broken, and the ICRC tells", LONG)
        .near("corrupt byte 53 of the next WRITE Middle undetected")
        .icrc(1)
        .naks(1)
        .again(2),
    case("an ACK is broken, and the FCS tells", &[Write(100)])
        .far("corrupt byte 56 of the next ACK")
        .fcs(1)
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("an ACK is broken, and the ICRC tells", &[Write(100)])
        .far("corrupt byte 56 of the next ACK undetected")
        .icrc(1)
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("a WRITE meets congestion", &[Write(100)]).near("mark the next WRITE").cnps(1),
    // PSNs come round.
    case("the packet before the wrap of PSNs is lost", LONG)
        .psn(0xff_fffe)
        .near("drop the next WRITE with PSN 0xffffff")
        .naks(1)
        .again(2),
    case("the packet behind the wrap of PSNs is lost", &[Write(700), Write(100)])
        .psn(0xff_fffe)
        .near("drop the next WRITE with PSN 0")
        .naks(1)
        .again(2),
];
