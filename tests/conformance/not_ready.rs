//! No receive is posted: the far end says so, and the near end waits 10 us before it sends again, as often as agreed.

use stroma_verbs::Status::{Flushed, RetryExceeded, RnrRetryExceeded, Success};

use crate::case::Ready::{AfterRefusals, Never};
use crate::case::{Case, case};
use crate::connection::Terms;
use crate::operation::Operation::{Read, Send, SendImm, Write, WriteImm};

/// So many refusals are borne.
const fn bears(rnr_retry: u8) -> Terms {
    Terms { rnr_retry, ..Terms::USUAL }
}

pub(crate) const CASES: &[Case] = &[
    // The receive comes in time.
    case("a receive comes while the sender rests", &[Send(100)]).ready(AfterRefusals(1)).rnr(1).again(1),
    case("a receive comes while the sender rests for the third time", &[Send(100)])
        .ready(AfterRefusals(3))
        .rnr(3)
        .again(3),
    // Behind the refused one all is thrown away, without another word.
    case("a SEND of three packets is refused", &[Send(700)]).ready(AfterRefusals(1)).rnr(1).again(3),
    case("a SEND is refused before a WRITE", &[Send(100), Write(100)])
        .ready(AfterRefusals(1))
        .rnr(1)
        .again(2),
    case("a SEND is refused before a READ", &[Send(100), Read(100)]).ready(AfterRefusals(1)).rnr(1).again(2),
    case("a SEND is refused behind a WRITE", &[Write(100), Send(100)])
        .ready(AfterRefusals(1))
        .rnr(1)
        .again(1),
    case("a SEND without bytes is refused", &[SendImm(0)]).ready(AfterRefusals(1)).rnr(1).again(1),
    // Data of a WRITE are placed without a receive: only its last packet is refused.
    case("immediate data of a WRITE are refused", &[WriteImm(700)]).ready(AfterRefusals(1)).rnr(1).again(1),
    case("a shared queue is empty", &[Send(100), Send(100)])
        .terms(Terms { is_shared: true, ..Terms::USUAL })
        .ready(AfterRefusals(1))
        .rnr(1)
        .again(2),
    // So often, and no more.
    case("no refusal is borne", &[Send(100), Write(100)])
        .terms(bears(0))
        .ready(Never)
        .ends(&[RnrRetryExceeded, Flushed])
        .rnr(1),
    case("one refusal is borne, and the second is not", &[Send(100)])
        .terms(bears(1))
        .ready(Never)
        .ends(&[RnrRetryExceeded])
        .rnr(2)
        .again(1),
    case("one refusal is borne, and a receive comes", &[Send(100)])
        .terms(bears(1))
        .ready(AfterRefusals(1))
        .rnr(1)
        .again(1),
    case("one refusal is borne, and a receive comes after the second", &[Send(100)])
        .terms(bears(1))
        .ready(AfterRefusals(2))
        .ends(&[RnrRetryExceeded])
        .rnr(2)
        .again(1),
    case("six refusals are borne, and the seventh is not", &[Send(100)])
        .terms(bears(6))
        .ready(Never)
        .ends(&[RnrRetryExceeded])
        .rnr(7)
        .again(6),
    case("seven stands for any number of refusals", &[Send(100)])
        .terms(bears(7))
        .ready(AfterRefusals(17))
        .rnr(17)
        .again(17),
    case("a message before it is over, and the refused one is not", &[Write(100), Send(100)])
        .terms(bears(0))
        .ready(Never)
        .ends(&[Success, RnrRetryExceeded])
        .rnr(1),
    // Something goes wrong besides.
    case("a refusal is lost", &[Send(100)])
        .ready(AfterRefusals(1))
        .far("drop the next RNR")
        .rnr(1)
        .timeouts(1)
        .again(1),
    case("a refusal comes twice, and counts once", &[Send(100)])
        .terms(bears(1))
        .ready(AfterRefusals(1))
        .far("duplicate the next RNR")
        .rnr(1)
        .again(1),
    case("a refusal comes when its SEND is over", &[Send(100)])
        .ready(AfterRefusals(1))
        .far("hold the next RNR for 60 us")
        .rnr(1)
        .timeouts(1)
        .again(1),
    case("a refusal is broken, and the ICRC tells", &[Send(100)])
        .ready(AfterRefusals(1))
        .far("corrupt byte 56 of the next RNR undetected")
        .icrc(1)
        .rnr(1)
        .timeouts(1)
        .again(1),
    case("the SEND after the rest is lost", &[Send(100)])
        .ready(AfterRefusals(1))
        .near("drop the 2nd SEND")
        .rnr(1)
        .timeouts(1)
        .again(2),
    case("the ACK after the rest is lost", &[Send(100)])
        .ready(AfterRefusals(1))
        .far("drop the next ACK")
        .rnr(1)
        .timeouts(1)
        .again(2)
        .duplicates(1),
    case("the First is lost, and then refused", &[Send(700)])
        .ready(AfterRefusals(1))
        .near("drop the next SEND First")
        .naks(1)
        .rnr(1)
        .again(6),
    case("every refusal is lost", &[Send(100)])
        .ready(Never)
        .far("drop RNRs")
        .ends(&[RetryExceeded])
        .rnr(4)
        .timeouts(4)
        .again(3),
];
