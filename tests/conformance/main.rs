//! What a connection makes of a wire on which exactly this goes wrong: a table of cases, each a row.
//!
//! A row is a sentence, the operations that are posted together, what the [script](stroma_sim::link::script) of either line
//! does to their packets, when there are receives, and what has to come of it: how requests and receives complete, and how often
//! anything was sent again, refused, repeated or noticed as broken. Counters that a row does not name do not move. Rows for
//! other operations go into a table beside these; what such an operation does is said once, in [`operation`].
//!
//! Of every case besides: memory is right when a request completes, and nothing that comes late touches it again; each request
//! and each receive completes once, in order; and the connection carries on, with the next case, if it did not end.

mod atomics;
mod case;
mod connection;
mod counts;
mod endings;
mod not_ready;
mod operation;
mod reads;
mod run;
mod sends;
mod unreliable;
mod writes;

use case::{Case, case};
use operation::Operation::Write;
use run::Stage;
use stroma_top::Profile;

const TABLES: [&[Case]; 6] =
    [writes::CASES, reads::CASES, sends::CASES, not_ready::CASES, atomics::CASES, endings::CASES];

fn all_cases(profile: Profile) {
    let mut stage = Stage::new(profile);
    let failures: Vec<String> =
        TABLES.into_iter().flatten().filter_map(|case| stage.run(case).err()).collect();
    assert!(failures.is_empty(), "{profile:?}:\n{}", failures.join("\n"));
}

#[test]
fn every_case_ends_as_its_row_says_10g() {
    all_cases(Profile::TenGig);
}

#[test]
fn every_case_ends_as_its_row_says_100g() {
    all_cases(Profile::HundredGig);
}

#[test]
fn a_case_that_ends_otherwise_is_found() {
    let mut stage = Stage::new(Profile::HundredGig);
    let lost = case("a WRITE is lost", &[Write(100)]).near("drop the next WRITE");
    let right = lost.timeouts(1).again(1);
    stage.run(&right).unwrap_or_else(|failure| panic!("{failure}"));
    for (wrong, says) in [
        (lost.timeouts(1), "again: 1"),
        (right.naks(1), "naks: 0"),
        (right.ends(&[stroma_verbs::Status::RetryExceeded]), "Success"),
        (case("nothing is lost", &[Write(100)]).near("drop the 2nd WRITE"), "strikes nothing"),
    ] {
        let failure = stage.run(&wrong).expect_err("it does not end so");
        assert!(failure.contains(says), "{failure}");
    }
}

#[test]
fn every_case_has_a_name_of_its_own() {
    let mut names: Vec<&str> = TABLES.into_iter().flatten().map(|case| case.name).collect();
    names.sort_unstable();
    assert!(names.is_sorted_by(|one, other| one < other), "{names:?}");
    assert!(names.len() >= 130, "the tables are there");
}
