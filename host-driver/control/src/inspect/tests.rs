//! Those who ask, and those who only say so.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use tempfile::TempDir;

use super::*;
use crate::{Error, REQUEST_MAX};

const PATIENCE: Duration = Duration::from_secs(20);

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card0.inspect");
    (folder, path)
}

fn report(hits: u64) -> Report {
    Report { tlb: Some(Tlb { hits, ..Tlb::default() }), ..Report::default() }
}

fn serve(path: &Path, hits: u64) -> Inspection {
    Inspection::serve(path.to_path_buf(), move |_, _| Ok(report(hits))).unwrap()
}

fn show(path: &Path) -> Result<Told, Error> {
    ask(path, &Question::Show { only: Selection::default() }, PATIENCE)
}

fn hits(path: &Path) -> u64 {
    show(path).unwrap().report.tlb.unwrap().hits
}

#[test]
fn a_driver_is_asked_and_tells_who_it_is_and_its_socket_is_its_users_alone_and_goes_with_it() {
    let (_folder, path) = place();
    let asked = |question: &Question, _: &dyn Fn() -> bool| match question {
        Question::Show { only } if only.has_one(Kind::Cq, 7) => Ok(report(1)),
        Question::Show { .. } => Err("not this one".to_owned()),
    };
    let inspection = Inspection::serve(path.clone(), asked).unwrap();
    let found = fs::symlink_metadata(&path).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let told = show(&path).unwrap();
    let name = fs::read_to_string("/proc/self/comm").unwrap();
    assert_eq!((told.pid, told.comm.as_str()), (std::process::id(), name.trim_end()));
    assert_eq!(told.report, report(1));
    let only = Selection(vec![Only { kind: Kind::Cq, number: Some(8) }]);
    let refused = ask(&path, &Question::Show { only }, PATIENCE).unwrap_err().to_string();
    assert!(refused.ends_with("says: not this one"), "{refused}");
    drop(inspection);
    assert!(!path.exists());
    assert!(matches!(show(&path), Err(Error::NoProgram { .. })));
}

#[test]
fn who_says_nothing_or_nonsense_or_too_much_or_goes_away_keeps_others_waiting_for_a_moment_at_most() {
    let (_folder, path) = place();
    let _inspection = serve(&path, 5);
    let _silent = UnixStream::connect(&path).unwrap();
    let started = Instant::now();
    assert_eq!(hits(&path), 5);
    assert!(started.elapsed() < QUESTION_PATIENCE + PATIENCE / 2, "{:?}", started.elapsed());
    drop(UnixStream::connect(&path).unwrap());
    let said = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(&path).unwrap();
        // It may have been told enough before the end.
        let _ = stream.write_all(bytes);
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        said
    };
    assert!(said(b"GET / HTTP/1.1\r\n\r\n").starts_with("{\"error\":\"no question: "));
    assert!(said(b"\xff\xfe\n").starts_with("{\"error\":\"no question: "));
    assert!(said(b"{\"request\":\"show\"").contains("no line has come"), "half a question");
    // What is left unread ends the connection before the answer is fetched, at times.
    let long = said(&vec![b'x'; REQUEST_MAX + 1]);
    assert!(long.is_empty() || long.contains("a line of more than 4096 bytes"), "{long}");
    // Asks, and does not stay for the answer.
    UnixStream::connect(&path).unwrap().write_all(b"{\"request\":\"show\"}\n").unwrap();
    assert_eq!(hits(&path), 5);
}

#[test]
fn who_asks_and_does_not_read_is_left_alone_after_a_while() {
    let (_folder, path) = place();
    let large = || Report { cq: Some(vec![CompletionQueue::default(); 20_000]), ..Report::default() };
    let _inspection = Inspection::serve(path.clone(), move |_, _| Ok(large())).unwrap();
    let mut lazy = UnixStream::connect(&path).unwrap();
    lazy.write_all(b"{\"request\":\"show\"}\n").unwrap();
    let told = show(&path).unwrap();
    assert_eq!(told.report.cq.unwrap().len(), 20_000);
}

#[test]
fn what_a_program_that_was_killed_has_left_is_replaced_and_what_is_no_socket_is_not() {
    let (_folder, path) = place();
    drop(UnixListener::bind(&path).unwrap());
    assert!(matches!(show(&path), Err(Error::NoProgram { .. })), "nobody listens");
    let first = serve(&path, 1);
    assert_eq!(hits(&path), 1);
    drop(first);
    let _second = serve(&path, 2);
    assert_eq!(hits(&path), 2);
    let (_folder, path) = place();
    fs::write(&path, "mine").unwrap();
    assert!(Inspection::serve(path.clone(), |_, _| Ok(report(0))).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_driver_closes_without_waiting_for_who_is_being_answered() {
    let (_folder, path) = place();
    let (tell, told) = mpsc::channel();
    // One answer that takes until nobody waits for it any more.
    let endless = move |_: &Question, is_wanted: &dyn Fn() -> bool| {
        tell.send(()).unwrap();
        while is_wanted() {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(report(0))
    };
    let inspection = Inspection::serve(path.clone(), endless).unwrap();
    let asking = {
        let path = path.clone();
        thread::spawn(move || show(&path))
    };
    told.recv().unwrap();
    drop(inspection);
    assert!(matches!(asking.join().unwrap(), Err(Error::NoProgram { .. })));
    // One who says nothing does not hold it up, either.
    let inspection = serve(&path, 0);
    let _silent = UnixStream::connect(&path).unwrap();
    thread::sleep(Duration::from_millis(50));
    let started = Instant::now();
    drop(inspection);
    assert!(started.elapsed() < QUESTION_PATIENCE / 2, "{:?}", started.elapsed());
}

#[test]
fn a_program_that_was_stopped_is_not_waited_for_without_end() {
    let (_folder, path) = place();
    let stopped = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(&stopped, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&stopped, 1).unwrap();
    // The first wait for an answer, the others for a place in its queue.
    for _ in 0..4 {
        let asked = ask(&path, &Question::Show { only: Selection::default() }, Duration::from_millis(50));
        assert!(matches!(asked, Err(Error::Silent { .. })), "{asked:?}");
    }
}
