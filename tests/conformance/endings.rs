//! Nothing helps: after three repetitions without an answer the connection ends, and what was posted behind is flushed.

use stroma_verbs::Status::{Flushed, RetryExceeded, Success};

use crate::case::{Case, case};
use crate::operation::Operation::{Read, Write};

pub(crate) const CASES: &[Case] = &[
    case("every request is lost", &[Write(100), Read(100)])
        .near("drop everything")
        .ends(&[RetryExceeded, Flushed])
        .timeouts(4)
        .again(6),
    case("every answer is lost", &[Write(100)])
        .far("drop everything")
        .ends(&[RetryExceeded])
        .timeouts(4)
        .again(3)
        .duplicates(3),
    case("every request of a READ is lost", &[Read(700)])
        .near("drop READ requests")
        .ends(&[RetryExceeded])
        .timeouts(4)
        .again(3),
    case("the last repetition arrives", &[Write(100)])
        .near("drop the next three WRITEs")
        .timeouts(3)
        .again(3),
    case("a peer falls silent behind the first of two messages", &[Write(100), Write(700)])
        .near("drop WRITEs 2 to 1000")
        .ends(&[Success, RetryExceeded])
        .timeouts(4)
        .again(9),
];
