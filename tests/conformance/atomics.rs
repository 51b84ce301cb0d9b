//! Atomics: carried out once, whatever is lost. The word is looked at afterwards, and what the answer said it was before.

use stroma_verbs::Status::{Flushed, RemoteAccess, RemoteInvalid, RetryExceeded, Success};

use crate::case::{Case, case};
use crate::connection::Terms;
use crate::operation::Operation::{Add, AddMisaligned, AddWrongKey, Read, Swap, Write, WriteWrongKey};

pub(crate) const CASES: &[Case] = &[
    case("the request of an addition is lost", &[Add])
        .near("drop the next ATOMIC request")
        .timeouts(1)
        .again(1),
    case("the request of a swap is lost", &[Swap]).near("drop the next ATOMIC request").timeouts(1).again(1),
    // It comes again, and is answered with what it found the first time.
    case("the answer of an addition is lost", &[Add])
        .far("drop the next ATOMIC response")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("the answer of a swap is lost", &[Swap])
        .far("drop the next ATOMIC response")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("the answer of an addition is lost twice", &[Add])
        .far("drop the next two ATOMIC responses")
        .timeouts(2)
        .again(2)
        .duplicates(2),
    case("the answers of three atomics are lost", &[Add, Swap, Add])
        .far("drop the next three ATOMIC responses")
        .timeouts(1)
        .again(3)
        .duplicates(3),
    // A gap tells at once.
    case("the answer of the first of two atomics is lost", &[Add, Swap])
        .far("drop the next ATOMIC response")
        .again(2)
        .duplicates(2),
    case("the request of the first of two atomics is lost", &[Swap, Add])
        .near("drop the next ATOMIC request")
        .naks(1)
        .again(2),
    // Something comes twice, late, or in another order.
    case("the request of an addition comes twice", &[Add])
        .near("duplicate the next ATOMIC request")
        .duplicates(1),
    case("the answer of an addition comes twice", &[Add]).far("duplicate the next ATOMIC response"),
    case("the request of an addition comes again long after it is over", &[Add])
        .near("hold the next ATOMIC request for 90 us")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("the answer of a swap comes when it was sent again", &[Swap])
        .far("hold the next ATOMIC response for 45 us")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    // What is answered before it is its turn to be sent again is not sent again, so the answer waits.
    case("a WRITE overtakes the addition before it", &[Add, Write(100)])
        .near("reorder the next two requests")
        .far("hold the next ATOMIC response for 20 us")
        .naks(1)
        .again(2)
        .duplicates(1),
    case("an addition overtakes the WRITE before it", &[Write(100), Add])
        .near("reorder the next two requests")
        .far("drop the next ACK")
        .naks(1)
        .again(2)
        .duplicates(1),
    case("a WRITE before an addition is lost", &[Write(100), Add])
        .near("drop the next WRITE")
        .naks(1)
        .again(2),
    // Something is broken. Byte 60 lies in the address.
    case("the request of an addition is broken, and the ICRC tells", &[Add])
        .near("corrupt byte 60 of the next ATOMIC request undetected")
        .icrc(1)
        .timeouts(1)
        .again(1),
    case("the request of a swap is broken, and the FCS tells", &[Swap])
        .near("corrupt byte 75 of the next ATOMIC request")
        .fcs(1)
        .timeouts(1)
        .again(1),
    case("the answer of an addition is broken, and the ICRC tells", &[Add])
        .far("corrupt byte 60 of the next ATOMIC response undetected")
        .icrc(1)
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("an addition's answer is lost where PSNs come round", &[Write(100), Add])
        .psn(0xff_ffff)
        .far("drop the next ATOMIC response with PSN 0")
        .timeouts(1)
        .again(1)
        .duplicates(1),
    case("every answer of a swap is lost", &[Swap])
        .far("drop everything")
        .ends(&[RetryExceeded])
        .timeouts(4)
        .again(3)
        .duplicates(3),
    // What may not be.
    case("an addition to what is no word", &[AddMisaligned, Add]).ends(&[RemoteInvalid, Flushed]).naks(1),
    case("an addition with a wrong key", &[AddWrongKey, Write(100)]).ends(&[RemoteAccess, Flushed]).naks(1),
    case("an addition where the queue pair allows none", &[Add])
        .terms(Terms { may_apply: false, ..Terms::USUAL })
        .ends(&[RemoteInvalid])
        .naks(1),
    case("an addition where none may be open", &[Add])
        .terms(Terms { reads_in: 0, ..Terms::USUAL })
        .ends(&[RemoteInvalid])
        .naks(1),
    // What came before a refused one is answered before it.
    case("a READ before an addition to what is no word", &[Read(4000), AddMisaligned])
        .ends(&[Success, RemoteInvalid])
        .naks(1),
    case("a READ before an addition with a wrong key", &[Read(4000), AddWrongKey, Write(10)])
        .ends(&[Success, RemoteAccess, Flushed])
        .naks(1),
    case("a READ before a WRITE with a wrong key", &[Read(4000), WriteWrongKey, Write(10)])
        .ends(&[Success, RemoteAccess, Flushed])
        .naks(1),
    case("a swap before an addition with a wrong key", &[Swap, AddWrongKey])
        .ends(&[Success, RemoteAccess])
        .naks(1),
    // It waits in the card for the atomic before it, and is refused after that one's value.
    case("an addition before one to what is no word", &[Add, AddMisaligned])
        .ends(&[Success, RemoteInvalid])
        .naks(1),
    // A NAK that overtakes the value asks for both packets again. The value comes then, but the far queue pair has failed and
    // hears nothing any more: the second packet is sent three times in vain.
    case("a refusal overtakes the value of the addition before it", &[Add, AddMisaligned])
        .far("hold the next ATOMIC response for 8 us")
        .ends(&[Success, RetryExceeded])
        .naks(1)
        .timeouts(4)
        .again(5),
    case("a second READ where one may be open", &[Read(4000), Read(100)])
        .terms(Terms { reads_in: 1, ..Terms::USUAL })
        .ends(&[Success, RemoteInvalid])
        .naks(1),
];
