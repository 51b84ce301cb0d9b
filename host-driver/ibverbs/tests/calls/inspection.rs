//! A program of libibverbs that is asked, from outside, what is on its card.

use std::path::PathBuf;
use std::time::Duration;

use stroma_control::inspect::{Kind, Only, Question, Report, Selection, ask};

use crate::stage::End;

const PATIENCE: Duration = Duration::from_mins(1);

fn show(card: usize, only: Vec<Only>) -> Report {
    let folder = PathBuf::from(std::env::var_os("STROMA_FABRIC").unwrap());
    let socket = stroma_control::inspection(&stroma_control::card(&folder, card));
    let told = ask(&socket, &Question::Show { only: Selection(only) }, PATIENCE).unwrap();
    assert_eq!(told.pid, std::process::id());
    told.report
}

#[test]
fn a_program_that_knows_nothing_of_cards_is_asked_what_is_on_its_own_and_its_children_do_not_answer_for_it() {
    let ends = End::pair();
    // SAFETY: objects of this story, which live.
    let (number, peer, key) = unsafe { ((*ends[0].qp).qp_num, (*ends[1].qp).qp_num, (*ends[0].mr).rkey) };
    let only = || {
        let region = Only { kind: Kind::Mr, number: Some(key >> u8::BITS) };
        vec![Only { kind: Kind::Qp, number: Some(number) }, region]
    };
    let shown = show(0, only());
    let pair = &shown.qp.as_ref().unwrap()[0];
    assert_eq!((pair.state.number, pair.state.peer), (number, peer));
    assert_eq!((pair.state.state.as_str(), pair.setup.path_mtu), ("RTS", 1024));
    let region = &shown.mr.as_ref().unwrap()[0];
    assert_eq!(region.region.key, format!("{key:#x}"));

    // SAFETY: the child does nothing but sleep, which needs no lock of its parent's.
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            // SAFETY: sleeps until it is killed.
            unsafe { libc::pause() };
        }
    }
    assert!(child > 0);
    let again = show(0, only());
    // SAFETY: the child of this story, which nobody else waits for.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    assert_eq!(again, shown);
}
