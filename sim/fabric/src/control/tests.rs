//! A fabric that is asked, by those who know how and by those who do not.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::Receiver;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect as connect_to, socket_with,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stroma_control::Client as Asker;
use tempfile::TempDir;

use super::*;
use crate::order::Request as Given;

/// A desk of two cards, the second of which has a client; and a simulation that knows how late it is, and reads addresses.
fn desk(linger: Option<Duration>) -> (TempDir, Arc<Clients>) {
    let folder = tempfile::tempdir().unwrap();
    let (orders, given): (Vec<Orders>, Receiver<Given>) = Orders::new(2);
    thread::spawn(move || {
        for request in given {
            let value = match request.order {
                Order::Now => 1234,
                Order::WaveTime => 56,
                Order::Peek(address) => 0x8877_6655_0000_0000 | address,
                _ => panic!("nobody asks for that"),
            };
            let _ = request.answer.send(Ok(value));
        }
    });
    let clients = Arc::new(Clients::new(2));
    clients.come(1, Some(77));
    let path = folder.path();
    let waves = vec![None, Some("/waves/card1.vcd".into())];
    let desk = Desk::new(&Plan::new(path), path, &clients, orders).with_waves(waves);
    let control = Control::bind(&stroma_control::control(path), desk).unwrap();
    let report: Report = Arc::new(|_| {});
    thread::spawn(move || control.run(&report));
    if let Some(linger) = linger {
        clients.go(1);
        clients.wait_for_nobody(linger);
    }
    (folder, clients)
}

fn connect(folder: &TempDir) -> UnixStream {
    UnixStream::connect(stroma_control::control(folder.path())).unwrap()
}

/// What is answered to lines, as text.
fn answers(stream: &UnixStream, lines: &str) -> Vec<String> {
    let mut writer = stream;
    writer.write_all(lines.as_bytes()).unwrap();
    let count = lines.matches('\n').count();
    BufReader::new(stream).lines().take(count).map(Result::unwrap).collect()
}

#[test]
fn a_fabric_tells_what_it_is_and_who_has_its_cards() {
    let (folder, _) = desk(None);
    let status = stroma_control::find(folder.path()).unwrap().unwrap();
    assert_eq!((status.profile.as_str(), status.wire.as_str()), ("10g", "cable"));
    assert_eq!((status.simulated_ns, status.process), (1234, std::process::id()));
    let card = |number: usize, pid: Option<u32>| CardStatus {
        number,
        socket: folder.path().join(format!("card{number}")),
        is_taken: pid.is_some(),
        pid,
    };
    assert_eq!(status.cards, [card(0, None), card(1, Some(77))]);
    let plan: Plan = serde_json::from_value(status.plan).unwrap();
    assert_eq!(plan, Plan::new(folder.path()));
}

#[test]
fn what_is_no_request_is_answered_with_an_error_and_the_next_is_served() {
    let (folder, _) = desk(None);
    let lines =
        "dance\n{\"request\":\"dance\"}\n\n{\"request\":\"status\",\"card\":1}\n{\"request\":\"hold\"}\n";
    let stream = connect(&folder);
    let said = answers(&stream, lines);
    for wrong in &said[..4] {
        assert!(wrong.starts_with(r#"{"error":"no request: "#), "{wrong}");
    }
    assert_eq!(said[4], r#"{"ok":null}"#);
}

#[test]
fn a_request_that_is_too_long_ends_its_connection_and_no_other() {
    let (folder, _) = desk(None);
    let (mut long, other) = (connect(&folder), connect(&folder));
    long.write_all(&[b'x'; REQUEST_MAX + 1]).unwrap();
    let mut said = String::new();
    let _ = long.read_to_string(&mut said);
    assert_eq!(said, "{\"error\":\"a line of more than 4096 bytes\"}\n");
    assert_eq!(answers(&other, "{\"request\":\"hold\"}\n"), [r#"{"ok":null}"#]);
}

#[test]
fn clients_that_say_nothing_leave_room_for_others_when_they_go() {
    let (folder, _) = desk(None);
    let silent: Vec<UnixStream> = (0..guests::PLACES_OF_ONE).map(|_| connect(&folder)).collect();
    let refused = answers(&connect(&folder), "\n");
    assert_eq!(refused, [r#"{"error":"this process has 16 connections already"}"#]);
    drop(silent);
    let deadline = Instant::now() + PATIENCE;
    while Asker::connect(folder.path()).unwrap().ask::<()>(&Request::Hold {}).is_err() {
        assert!(Instant::now() < deadline, "places are not given back");
    }
}

/// In a process of its own, for its descriptors are those of all tests.
#[test]
fn a_want_of_descriptors_passes_and_questions_are_answered_again() {
    const ALONE: &str = "STROMA_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let test = "control::tests::a_want_of_descriptors_passes_and_questions_are_answered_again";
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let told = command.args([test, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        assert!(String::from_utf8_lossy(&told.stdout).contains("1 passed"), "there is no test {test}");
        return;
    }
    let (folder, _) = desk(None);
    let early = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).unwrap();
    // The fabric waits with a descriptor for this one, and has none for the next.
    connect_to(&early, &SocketAddrUnix::new(stroma_control::control(folder.path())).unwrap()).unwrap();
    thread::sleep(Duration::from_millis(300));
    setrlimit(Resource::Nofile, limit).unwrap();
    drop(early);
    assert_eq!(answers(&connect(&folder), "{\"request\":\"hold\"}\n"), [r#"{"ok":null}"#]);
}

#[test]
fn the_socket_is_its_users_alone() {
    let (folder, _) = desk(None);
    let found = std::fs::symlink_metadata(stroma_control::control(folder.path())).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_fabric_that_is_about_to_end_promises_nothing() {
    let (folder, _) = desk(Some(Duration::from_millis(1)));
    let refused = Asker::connect(folder.path()).unwrap().ask::<()>(&Request::Hold {}).unwrap_err();
    assert!(matches!(refused, stroma_control::Error::Closed { .. }), "{refused}");
}

#[test]
fn registers_are_read_whoever_has_the_card() {
    let (folder, _) = desk(None);
    let mut asker = Asker::connect(folder.path()).unwrap();
    let mut read = |card, offset, width| {
        asker.ask::<u64>(&Request::Read { card, offset, width }).map_err(|error| error.to_string())
    };
    assert_eq!(read(1, 0x10, 4), Ok(0x10));
    assert_eq!(read(0, 0x14, 4), Ok(0x8877_6655), "the high half of a word");
    assert_eq!(read(0, 0x18, 8), Ok(0x8877_6655_0000_0018));
    assert!(read(2, 0, 4).unwrap_err().contains("card 2: there are 2, counted from 0"));
    for (offset, width) in [(2, 4), (4, 8), (0, 2), (0x1_0000, 4), (u64::MAX - 7, 8)] {
        let error = read(0, offset, width).unwrap_err();
        assert!(error.contains("4 or 8 are read, at a multiple of them, below 0x10000"), "{error}");
    }
}

#[test]
fn cards_with_waves_tell_where_they_are_and_others_what_to_do() {
    let (folder, _) = desk(None);
    let waves = |card| stroma_control::ask::<Waves>(folder.path(), &Request::Waves { card });
    assert_eq!(waves(1).unwrap(), Waves { file: "/waves/card1.vcd".into(), time: 56 });
    assert!(waves(0).unwrap_err().to_string().contains("STROMA_WAVES=FOLDER"));
    assert!(waves(2).unwrap_err().to_string().contains("card 2: there are 2"));
}

#[test]
fn what_is_no_socket_is_left_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = stroma_control::control(folder.path());
    std::fs::write(&path, "mine").unwrap();
    let clients = Arc::new(Clients::new(1));
    let desk = || Desk::new(&Plan::new(folder.path()), folder.path(), &clients, Orders::new(1).0);
    assert_eq!(Control::bind(&path, desk()).err().map(|error| error.kind()), Some(ErrorKind::AddrInUse));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    std::fs::remove_file(&path).unwrap();
    drop(Control::bind(&path, desk()).unwrap());
    Control::bind(&path, desk()).expect("in place of one that nobody serves");
}
