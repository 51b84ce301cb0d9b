//! Against Linux: for recorded requests the model answers what Soft-RoCE answered, and for the recorded operations it
//! asks what Soft-RoCE asked; both memories end as Linux left them.
//!
//! Frames are compared byte for byte after one change: the IPv4 identification, a counter of Linux's and zero here, is made
//! zero in the recording, and the header checksum and ICRC that cover it are computed again. One answer differs, and is
//! named where it is compared.

mod story;

use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::{Aeth, Frame, NakCode, Role, Syndrome};

use super::rig::{list, sge};
use crate::model::{Receive, Received};
use story::{
    CLIENT_KEY, Chapter, RECEIVES_AT, SERVER, SERVER_KEY, buffers, chapters, hash, logged, recorded, speaker,
};

/// Receives the server had posted in its chapters: before which request, how many, and of which length. The lengths are
/// chosen: long enough for all messages, or too short for the one that was.
fn receives(chapter: &Chapter) -> (usize, u64, u32) {
    match chapter.queue_pair {
        0x11 => (0, 16, 4096),
        0x12 => (9, 1, 4096),
        0x15 => (0, 1, 16),
        _ => (0, 0, 0),
    }
}

/// What the server's log says of receives.
fn completions() -> Vec<Received> {
    let lines = logged("server");
    let received = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let &["RECV", "success", "op", code, "len", bytes, "imm", immediate, "flags", flags] =
            words.as_slice()
        else {
            return None;
        };
        let immediate = u32::from_str_radix(immediate.trim_start_matches("0x"), 16).unwrap();
        // libibverbs: the second flag tells of immediate data, and 129 of a WRITE that brought it.
        let immediate = (flags == "3").then_some(immediate);
        let operation = match (code, immediate) {
            ("129", _) => WorkOp::WriteImm,
            (_, None) => WorkOp::Send,
            (_, Some(_)) => WorkOp::SendImm,
        };
        Some((operation, bytes.parse().unwrap(), immediate))
    };
    let received = lines.iter().filter_map(|line| received(line));
    (0..)
        .zip(received)
        .map(|(id, (operation, bytes, immediate))| Received {
            operation,
            bytes,
            immediate,
            // The log does not tell; one message asked for it.
            solicited: id == 11,
            ..Received::failed(id, Status::Success)
        })
        .collect()
}

/// Linux 6.1 calls a message that is longer than its receive its own fault; the specification calls it the peer's.
fn as_specified(chapter: &Chapter, answer: &[u8]) -> Vec<u8> {
    let mut frame = Frame::parse(answer).unwrap();
    if let (0x15, Some(aeth)) = (chapter.queue_pair, frame.extended.aeth.as_mut()) {
        assert_eq!(Syndrome::decode(aeth.syndrome), Syndrome::Nak(NakCode::RemoteOperational));
        *aeth = Aeth { syndrome: Syndrome::Nak(NakCode::InvalidRequest).encode(), ..*aeth };
    }
    frame.seal().unwrap().to_vec().unwrap()
}

#[test]
fn the_responder_answers_recorded_requests_as_linux_did() {
    let (mut server, _) = buffers();
    for chapter in chapters() {
        let frames = recorded(&chapter);
        let of = |wanted| frames.iter().filter(move |(role, _)| *role == wanted).map(|(_, bytes)| bytes);
        let answers: Vec<_> = of(Role::Response).map(|answer| as_specified(&chapter, answer)).collect();
        let mut pair = speaker(&chapter, &answers[0]);
        let (late, count, length) = receives(&chapter);
        let mut found = Vec::new();
        for (index, request) in of(Role::Request).enumerate() {
            if index == late {
                let pieces = list(&[sge(SERVER_KEY, SERVER + RECEIVES_AT, length)]);
                (0..count).for_each(|id| pair.responder.post_receive(Receive { id, pieces }));
            }
            pair.receive(0, &Frame::parse(request).unwrap(), &mut server).unwrap();
            found.extend(std::iter::from_fn(|| pair.transmit(0, &mut server)));
        }
        assert_eq!(found, answers, "{:#x}", chapter.queue_pair);
        assert_eq!(pair.is_failed(), chapter.status != Status::Success, "{:#x}", chapter.queue_pair);
        let received: Vec<_> = std::iter::from_fn(|| pair.responder.poll_receive()).collect();
        let bytes = &server.region(SERVER_KEY).unwrap().bytes;
        match chapter.queue_pair {
            0x11 => {
                assert_eq!(received, completions());
                assert_eq!(hash(bytes), chapter.server_hash.unwrap());
            }
            0x12 => assert_eq!((received.len(), received[0].bytes), (1, 32), "`RNR recv success len 32`"),
            0x15 => assert_eq!(received, [Received::failed(0, Status::LocalLength)]),
            _ => assert_eq!(received, []),
        }
    }
}

#[test]
fn the_requester_asks_and_completes_as_linux_did() {
    let (_, mut client) = buffers();
    for chapter in chapters() {
        let frames = recorded(&chapter);
        let name = format!("{:#x}", chapter.queue_pair);
        let mut pair = speaker(&chapter, &frames[0].1);
        let mut now = 0;
        chapter.posts.iter().for_each(|work| pair.requester.post(*work));
        for (role, frame) in &frames {
            if *role == Role::Request {
                assert_eq!(pair.transmit(now, &mut client).as_ref(), Some(frame), "{name}");
                continue;
            }
            pair.receive(now, &Frame::parse(frame).unwrap(), &mut client).unwrap();
            // There is no other timer: after an RNR NAK the time is up when it says so.
            now = pair.requester.deadline().unwrap_or(now);
            pair.tick(now);
        }
        assert_eq!(pair.transmit(now, &mut client), None, "{name}");
        let done: Vec<_> = std::iter::from_fn(|| pair.requester.poll()).collect();
        let expected = chapter.posts.iter().map(|work| (work.id, chapter.status));
        assert!(done.iter().map(|done| (done.id, done.status)).eq(expected), "{name}: {done:?}");
        if let Some(expected) = chapter.client_hash {
            assert_eq!(hash(&client.region(CLIENT_KEY).unwrap().bytes), expected);
        }
    }
}

#[test]
fn the_recording_holds_every_operation_and_every_way_to_fail() {
    let chapters = chapters();
    let counts: Vec<_> = chapters.iter().map(|chapter| (chapter.queue_pair, chapter.posts.len())).collect();
    assert_eq!(counts, [(0x11, 37), (0x12, 1), (0x13, 1), (0x14, 1), (0x15, 1)]);
    let frames: Vec<_> = chapters.iter().map(|chapter| recorded(chapter).len()).collect();
    assert_eq!(frames, [98, 20, 2, 2, 2]);
    assert_eq!(completions().len(), 16);
}
