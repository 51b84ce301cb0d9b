//! Frames of a port, while others work.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use stroma_sim::pcap::{self, Direction};

use crate::neighbour::{address, answering, neighbour};
use crate::stage::{Stage, until};

/// Two cards that talk for as long as somebody wants to listen.
fn chatter(stage: &Stage, mut is_enough: impl FnMut() -> bool) {
    let ((_one, near), (_other, far)) = (neighbour(stage, 0), neighbour(stage, 1));
    answering(&far, || {
        loop {
            near.ping(address(1), 100, Duration::from_secs(30)).unwrap();
            if is_enough() {
                break;
            }
        }
    });
}

#[test]
fn frames_are_shown_a_line_each_until_there_are_enough() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "2"]);
    let mut command = stage.command(&["capture", "stroma0", "-c", "6"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    chatter(&stage, || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let lines: Vec<String> = output.stdout.lines().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert!(lines[0].contains(" Out ") && lines[0].contains("ARP who-has 10.0.0.2"), "{lines:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "6 frames\n");
    assert!(output.status.success());
}

#[test]
fn frames_go_to_a_file_until_it_is_time() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "2"]);
    let file = stage.path("frames.pcapng");
    let words = ["capture", "stroma1", "--seconds", "1", "-w", file.to_str().unwrap()];
    let mut child = None;
    chatter(&stage, || {
        // They talk already.
        let child = child.get_or_insert_with(|| stage.command(&words).stderr(Stdio::null()).spawn().unwrap());
        child.try_wait().unwrap().is_some_and(|ended| ended.success())
    });
    let frames = pcap::read(&file).unwrap();
    let count = |direction| frames.iter().filter(|frame| frame.direction == Some(direction)).count();
    assert!(count(Direction::In) > 1 && count(Direction::Out) > 1, "{} frames", frames.len());
    assert!(frames.is_sorted_by_key(|frame| frame.time), "time goes on");
}

#[test]
fn a_pipe_carries_frames_as_they_come_and_its_end_is_the_end() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "2"]);
    let mut command = stage.command(&["capture", "stroma0", "-w", "-"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut live = Some(pcap::Live::new(child.stdout.take().unwrap(), "pipe".as_ref()).unwrap());
    chatter(&stage, || {
        // One is enough: the pipe is closed, while frames go on.
        if let Some(mut live) = live.take() {
            assert!(matches!(live.next().unwrap(), Some(pcap::News::Frame(_))));
        }
        child.try_wait().unwrap().is_some()
    });
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_interrupt_is_the_end_and_the_file_is_whole() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "1"]);
    let file = stage.path("frames.pcapng");
    let words = ["capture", "stroma0", "-w", file.to_str().unwrap()];
    let mut child = stage.command(&words).stderr(Stdio::piped()).spawn().unwrap();
    until("the file has begun", || std::fs::metadata(&file).is_ok_and(|file| file.len() > 0).then_some(()));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "0 frames\n");
    assert!(child.wait().unwrap().success());
    assert_eq!(pcap::read(&file).unwrap(), []);
}

#[test]
fn what_is_no_card_of_a_fabric_has_no_frames_to_show() {
    let stage = Stage::new();
    let said = stage.run(&["capture", "0000:41:00.0"]);
    assert!(said.error.contains("frames are recorded at cards of a fabric"), "{said:?}");
    assert_eq!(stage.run(&["capture", "stroma0", "--seconds", "-1"]).code, Some(2));
}

#[test]
fn cards_without_waves_say_what_to_do() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "1"]);
    let said = stage.run(&["trace", "stroma0", "-o", stage.path("x.vcd").to_str().unwrap()]);
    assert_eq!(said.code, Some(1));
    assert!(said.error.contains("start a fabric with STROMA_WAVES=FOLDER in its environment"), "{said:?}");
}
