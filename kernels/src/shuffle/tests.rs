//! The kernel against its model.

mod cases;
mod follow;
mod scene;
mod timing;

use stroma_kernel_models::shuffle;
use stroma_kernel_rig::Rig;
use stroma_verilate::effort::one_width;

use super::{Shuffle64, Shuffle512};

fn narrow() -> Rig<64> {
    Rig::with_writes("shuffle", Shuffle64::default, shuffle::run)
}

fn wide() -> Rig<512> {
    Rig::with_writes("shuffle", Shuffle512::default, shuffle::run)
}

#[test]
fn agrees_with_the_model() {
    cases::random_scenes(&mut narrow());
    cases::random_scenes(&mut wide());
}

#[test]
fn calls_that_follow_each_other_agree_with_the_model() {
    follow::random_scenes(&mut narrow());
    follow::random_scenes(&mut wide());
}

#[test]
fn a_call_that_followed_one_that_failed_begins_once_more() {
    follow::failures(&mut narrow());
    follow::failures(&mut wide());
}

#[test]
fn a_call_that_differs_reads_its_table() {
    follow::differences(&mut narrow());
    follow::differences(&mut wide());
}

#[test]
fn survives_stalls() {
    one_width(|| cases::stalls(&mut wide()), || cases::stalls(&mut narrow()));
}

#[test]
fn nothing_is_written_beyond_a_buffer() {
    cases::overflow(&mut narrow());
    cases::overflow(&mut wide());
}

#[test]
fn a_bad_address_ends_with_its_status_and_no_buffer_grows() {
    one_width(|| cases::bad_addresses(&mut narrow()), || cases::bad_addresses(&mut wide()));
}

#[test]
fn bad_parameters_are_refused_before_anything_is_read() {
    cases::bad_parameters(&mut narrow());
    cases::bad_parameters(&mut wide());
}

#[test]
fn recovers_from_reset() {
    one_width(|| cases::resets(&mut narrow()), || cases::resets(&mut wide()));
}
