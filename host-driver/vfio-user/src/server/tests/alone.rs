//! What concerns a whole process, in one of its own.

use std::process;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::*;
use crate::message::DESCRIPTORS_MAX;

/// Set in a process that runs one test alone.
const ALONE: &str = "STROMA_TEST_ALONE";

/// Runs a test of this module once more, in a process of its own; `true` in there.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = process::Command::new(std::env::current_exe().unwrap());
    let name = format!("server::tests::alone::{test}");
    let told = command.args([&name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let ran = String::from_utf8_lossy(&told.stdout).contains("1 passed");
    assert!(ran, "there is no test {name}");
    false
}

#[test]
fn a_want_of_descriptors_passes_and_clients_are_let_in_again() {
    if !is_alone("a_want_of_descriptors_passes_and_clients_are_let_in_again") {
        return;
    }
    let (path, fake) = served();
    let early = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).unwrap();
    // The server waits with a descriptor for this one, and has none for the next.
    connect(&early, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    thread::sleep(Duration::from_millis(300));
    setrlimit(Resource::Nofile, limit).unwrap();
    drop(early);
    Client::connect(&path).unwrap().info().unwrap();
    assert!(fake.delays() > 0, "it is told");
}

/// Who waits at the same time.
const MANY: usize = 32;

#[test]
fn who_waits_or_is_refused_costs_the_server_a_connection_and_no_other_descriptor() {
    if !is_alone("who_waits_or_is_refused_costs_the_server_a_connection_and_no_other_descriptor") {
        return;
    }
    let (path, _fake) = served();
    let _first = Client::connect(&path).unwrap();
    let file = tempfile::tempfile().unwrap();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    let waiting: Vec<Socket> = (0..MANY)
        .map(|_| {
            let socket = Socket::with_patience(UnixStream::connect(&path).unwrap(), PATIENCE);
            // Not all of what it announces, so that the rest is waited for.
            let header = Header::request(0, Command::Version, 64);
            socket.send(&header, &[&[0; 8]], &[file.as_fd(); DESCRIPTORS_MAX]).unwrap();
            socket
        })
        .collect();
    let (started, mut most) = (Instant::now(), 0);
    while started.elapsed() < 3 * PATIENCE {
        most = most.max(open());
        thread::sleep(PATIENCE / 100);
    }
    // Both ends of each are in this process.
    assert!((before + 2 * MANY..before + 2 * MANY + 8).contains(&most), "{before} and then {most}");
    drop(waiting);
}
