//! READs and their data. 700 bytes are a First, a Middle and a Last; a READ is asked for again from the first that is missing.

use crate::case::{Case, case};
use crate::operation::Operation::{self, Read, Write};

/// Three packets.
const LONG: &[Operation] = &[Read(700)];

pub(crate) const CASES: &[Case] = &[
    case("the request of a READ is lost", LONG).near("drop the next READ request").timeouts(1).again(1),
    case("the data of a READ of one packet are lost", &[Read(100)])
        .far("drop the next READ response")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    // A gap in the data tells at once.
    case("the First of a READ's data is lost", LONG)
        .far("drop the next READ response First")
        .again(1)
        .duplicates(1),
    case("the Middle of a READ's data is lost", LONG)
        .far("drop the next READ response Middle")
        .again(1)
        .duplicates(1),
    case("the Last of a READ's data is lost", LONG)
        .far("drop the next READ response Last")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("all data of a READ are lost", LONG)
        .far("drop READ responses 1 to 3")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("the request of a READ comes twice", LONG).near("duplicate the next READ request").duplicates(1),
    case("all data of a READ come twice", LONG).far("duplicate all READ responses"),
    case("First and Middle of a READ's data change places", LONG)
        .far("reorder the next two READ responses")
        .again(1)
        .duplicates(1),
    case("data of a READ come again long after it is over", LONG)
        .far("hold the 2nd READ response for 90 us")
        .again(1)
        .duplicates(1),
    case("the request of a READ comes again long after it is over", &[Read(100)])
        .near("hold the next READ request for 90 us")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("data of a READ are broken, and the FCS tells", LONG)
        .far("corrupt byte 100 of the next READ response Middle")
        .fcs(1)
        .again(1)
        .duplicates(1),
    case("data of a READ are broken, and the ICRC tells", LONG)
        .far("corrupt byte 100 of the next READ response Middle undetected")
        .icrc(1)
        .again(1)
        .duplicates(1),
    case("the request of a READ is broken, and the ICRC tells", LONG)
        .near("corrupt bit 7 of byte 60 of the next READ request undetected")
        .icrc(1)
        .timeouts(1)
        .again(1),
    // READs and WRITEs together: an answer to one tells of the other.
    case("the ACK of a WRITE before a READ is lost", &[Write(100), Read(100)])
        .near("hold the next READ request for 5 us")
        .far("drop the next ACK"),
    case("a READ's data before the ACK of a WRITE are lost", &[Read(100), Write(100)])
        .far("drop the next READ response")
        .again(2)
        .duplicates(2),
    case("a WRITE before a READ is lost", &[Write(100), Read(100)])
        .near("drop the next WRITE")
        .naks(1)
        .again(2),
    case("a READ's data are lost where PSNs come round", LONG)
        .psn(0xff_ffff)
        .far("drop the next READ response with PSN 0")
        .again(1)
        .duplicates(1),
];
