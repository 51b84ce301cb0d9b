//! SENDs and immediate data: as WRITEs are lost and repaired, and each takes one receive, however often it comes. 700 bytes are
//! a First, a Middle and a Last.

use stroma_verbs::Status::{Flushed, LocalLength, RemoteInvalid, RetryExceeded, Success};

use crate::case::{Case, case};
use crate::connection::Terms;
use crate::operation::Operation::{self, Read, Send, SendImm, Write, WriteImm};

/// Three packets.
const LONG: &[Operation] = &[Send(700)];
/// The far end takes its receives from a shared queue.
const SHARED: Terms = Terms { is_shared: true, ..Terms::USUAL };

pub(crate) const CASES: &[Case] = &[
    // Requests are lost.
    case("a SEND of one packet is lost", &[Send(100)]).near("drop the next SEND").timeouts(1).again(1),
    case("the First of a SEND is lost", LONG).near("drop the next SEND First").naks(1).again(3),
    case("the Middle of a SEND is lost", LONG).near("drop the next SEND Middle").naks(1).again(2),
    case("the Last of a SEND is lost", LONG)
        .near("drop the next SEND Last")
        .timeouts(1)
        .again(3)
        .duplicates(2),
    case("a whole SEND of three packets is lost", LONG).near("drop SENDs 1 to 3").timeouts(1).again(3),
    case("the second of three SENDs is lost", &[Send(100), Send(100), Send(100)])
        .near("drop the 2nd SEND")
        .naks(1)
        .again(2),
    case("a SEND without bytes is lost", &[Send(0)]).near("drop the next SEND").timeouts(1).again(1),
    case("a SEND between a WRITE and a READ is lost", &[Write(100), Send(100), Read(100)])
        .near("drop the next SEND")
        .naks(1)
        .again(2),
    // Answers are lost.
    case("the ACK of a SEND is lost", &[Send(100)])
        .far("drop the next ACK")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("the ACK of a SEND of three packets is lost", LONG)
        .far("drop the next ACK")
        .timeouts(1)
        .again(3)
        .duplicates(3),
    case("the ACK of a SEND without bytes is lost", &[Send(0)])
        .far("drop the next ACK")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("the NAK of a SEND is lost", LONG)
        .near("drop the next SEND First")
        .far("drop NAKs")
        .naks(1)
        .timeouts(1)
        .again(3),
    // Something comes twice, late, or in another order.
    case("every packet of a SEND comes twice", LONG).near("duplicate all SENDs").duplicates(3),
    case("the ACK of a SEND comes twice", LONG).far("duplicate the next ACK"),
    case("a SEND comes again long after it is over", LONG)
        .near("hold the next SEND First for 90 us")
        .naks(1)
        .again(3)
        .duplicates(1),
    case("Middle and Last of a SEND change places", LONG)
        .near("swap the 2nd and the 3rd SEND")
        .naks(1)
        .again(2)
        .duplicates(1),
    case("an ACK comes when its SEND was sent again", &[Send(100)])
        .far("hold the next ACK for 45 us")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    // Something is broken. Byte 80 lies in the payload.
    case("a SEND is broken, and the FCS tells", LONG)
        .near("corrupt byte 80 of the next SEND Middle")
        .fcs(1)
        .naks(1)
        .again(2),
    case("a SEND is broken, and the ICRC tells", LONG)
        .near("corrupt byte 80 of the next SEND Middle undetected")
        .icrc(1)
        .naks(1)
        .again(2),
    case("the ACK of a SEND is broken, and the ICRC tells", &[Send(100)])
        .far("corrupt byte 56 of the next ACK undetected")
        .icrc(1)
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("a SEND meets congestion", &[Send(100)]).near("mark the next SEND").cnps(1),
    case("a SEND is lost where PSNs come round", LONG)
        .psn(0xff_ffff)
        .near("drop the next SEND with PSN 0")
        .naks(1)
        .again(2),
    // Immediate data: a WRITE's take a receive with its last packet.
    case("a SEND with immediate data is lost", &[SendImm(100)])
        .near("drop the next SEND")
        .timeouts(1)
        .again(1),
    case("the Last of a SEND with immediate data is lost", &[SendImm(700)])
        .near("drop the next SEND Last")
        .timeouts(1)
        .again(3)
        .duplicates(2),
    case("every packet of a WRITE with immediate data comes twice", &[WriteImm(700)])
        .near("duplicate all WRITEs")
        .duplicates(3),
    case("the Last of a WRITE with immediate data is lost", &[WriteImm(700)])
        .near("drop the next WRITE Last")
        .timeouts(1)
        .again(3)
        .duplicates(2),
    case("the First of a WRITE with immediate data is lost", &[WriteImm(700), Send(0)])
        .near("drop the next WRITE First")
        .naks(1)
        .again(4),
    case("the ACK of immediate data without bytes is lost", &[WriteImm(0)])
        .far("drop the next ACK")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    // A shared queue gives a message one receive.
    case("the Middle of a SEND to a shared queue is lost", LONG)
        .terms(SHARED)
        .near("drop the next SEND Middle")
        .naks(1)
        .again(2),
    // One ACK is for both: they are posted together.
    case("the ACK of two messages to a shared queue is lost", &[Send(100), SendImm(0)])
        .terms(SHARED)
        .far("drop the next ACK")
        .timeouts(1)
        .again(2)
        .duplicates(2),
    case("every packet of two messages to a shared queue comes twice", &[WriteImm(300), Send(300)])
        .terms(SHARED)
        .near("duplicate all requests")
        .duplicates(4),
    // Messages too long for their receives.
    case("a SEND is longer than its receive", &[Send(100), Send(100)])
        .room(99)
        .ends(&[RemoteInvalid, Flushed])
        .receives_end(&[LocalLength, Flushed])
        .naks(1),
    case("the Middle of a SEND goes beyond its receive", LONG)
        .room(300)
        .ends(&[RemoteInvalid])
        .receives_end(&[LocalLength])
        .naks(1),
    case("a SEND is longer than a receive of a shared queue", &[Send(100)])
        .terms(SHARED)
        .room(99)
        .ends(&[RemoteInvalid])
        .receives_end(&[LocalLength])
        .naks(1),
    case("nobody hears that a SEND is longer than its receive", &[Send(100)])
        .room(99)
        .far("drop NAKs")
        .ends(&[RetryExceeded])
        .receives_end(&[LocalLength])
        .naks(1)
        .timeouts(4)
        .again(3),
    case("every answer to a SEND is lost", &[Send(100)])
        .far("drop everything")
        .ends(&[RetryExceeded])
        .receives_end(&[Success])
        .timeouts(4)
        .again(3)
        .duplicates(3),
];
