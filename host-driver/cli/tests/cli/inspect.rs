//! Cards whose programs are asked what is on them.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use stroma_abi::{Psn, Qpn};
use stroma_device::{Backing, DmaMemory, VfioUser};
use stroma_verbs::{Access, Connection, Device, QueuePairKind};

use crate::stage::{Stage, until};

fn open(stage: &Stage, card: &str) -> Arc<Device> {
    Device::open(Arc::new(VfioUser::open(&stage.fabric().join(card)).unwrap())).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_program_is_asked_for_its_queue_pairs_keys_and_pages_and_goes_on() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "2"]);
    let device = open(&stage, "card1");
    let port = device.port();
    port.set_mac([2, 0, 0, 0, 0, 7]).unwrap();
    port.set_address(0, "192.0.2.1".parse().unwrap()).unwrap();
    let domain = device.protection_domain().unwrap();
    let completions = device.completion_queue(64).unwrap();
    let pair = || domain.queue_pair(&completions).kind(QueuePairKind::Reliable).build().unwrap();
    let (connected, fresh) = (pair(), pair());
    let way = port.way("192.0.2.2".parse().unwrap(), [2, 0, 0, 0, 0, 8]).unwrap();
    let connection = Connection::new(way, Qpn::new(77), Psn::new(1234), Psn::new(0xff_fff0));
    connected.connect(&connection).unwrap();
    let memory = Arc::new(DmaMemory::allocate(3 * 4096, None).unwrap());
    let region = domain.region(Access::LOCAL_WRITE | Access::REMOTE_READ).page_list(Backing::Small);
    let region = region.register(memory).unwrap();
    let key = format!("{:#x}", region.rkey());

    let shown = json(&stage.done(&["inspect", "stroma1", "--json"]));
    assert_eq!((&shown["card"], &shown["version"]), (&"stroma1".into(), &1.into()));
    assert_eq!(shown["pid"], std::process::id());
    let row = &shown["qp"][0];
    assert_eq!((&row["lqpn"], &row["rqpn"]), (&connected.number().into(), &77.into()), "{row}");
    assert_eq!((&row["type"], &row["state"]), (&"RC".into(), &"RTS".into()));
    assert_eq!((&row["sq-psn"], &row["rq-psn"]), (&1234.into(), &0xff_fff0.into()));
    assert_eq!((&row["peer"], &row["path-mtu"]), (&"192.0.2.2".into(), &4096.into()), "{row}");
    assert_eq!(shown["qp"][1]["lqpn"], fresh.number());
    assert_eq!(shown["qp"][1]["state"], "RESET");
    let row = &shown["mr"][0];
    assert_eq!((&row["rkey"], &row["access"]), (&key.as_str().into(), &"lw,rr".into()), "{row}");
    assert_eq!((&row["way"], &row["page"], &row["pages"]), (&"list".into(), &4096.into(), &3.into()));
    assert_eq!(row["pages-at"].as_array().unwrap().len(), 3);
    assert_eq!(shown["cq"][0]["cqe"], 64);
    assert_eq!((&shown["srq"], &shown["tlb"]["hits"]), (&Value::Array(Vec::new()), &0.into()));
    assert_eq!(shown["port"]["mac"], "02:00:00:00:00:07");

    // All cards that answer: one.
    let all = json(&stage.done(&["inspect", "--qp", "--json"]));
    assert_eq!(all.as_array().unwrap().len(), 1);
    assert!(all[0].get("mr").is_none(), "{all}");
    let text = stage.done(&["inspect", "1", "--qp", &connected.number().to_string(), "--mr", &key]);
    assert!(text.starts_with(&format!("stroma1: pid {} (", std::process::id())), "{text}");
    assert!(text.contains("queue pairs 1\n") && text.contains("memory regions 1\n"), "{text}");
    assert!(!text.contains("completion queues"), "{text}");
    let said = stage.run(&["inspect", "stroma1", "--qp", "99"]);
    assert_eq!((said.code, said.error.as_str()), (Some(1), "error: queue pair 99 is not on stroma1\n"));
    let tlb = stage.done(&["inspect", "stroma1", "--tlb"]);
    assert!(tlb.contains("hits  misses  walks") && tlb.contains("pages-at"), "{tlb}");

    // The program goes on, and a region that has ended is gone.
    drop(region);
    assert_eq!(stage.run(&["inspect", "stroma1", "--mr", &key]).code, Some(1));
    domain.allocate(4096, Access::LOCAL_WRITE).unwrap();
}

#[test]
fn a_card_that_no_program_has_is_told_at_once() {
    let stage = Stage::new();
    let said = stage.run(&["inspect"]);
    assert_eq!(said.code, Some(1));
    assert!(said.error.contains("no fabric runs at ") && said.error.contains("starts one"), "{said:?}");
    let said = stage.run(&["inspect", "stroma0"]);
    assert!(said.code == Some(1) && said.error.contains("no fabric runs at "), "{said:?}");
    let _cards = stage.serve(&["--cards", "2"]);
    let said = stage.run(&["inspect", "0"]);
    assert_eq!(said.code, Some(1));
    assert!(said.error.contains("stroma0: no program has it open"), "{said:?}");
    let said = stage.run(&["inspect", "stroma2"]);
    assert!(said.error.contains("card 2: the fabric has 2"), "{said:?}");
    let said = stage.run(&["inspect", "--json"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "[]\n"));
    assert!(said.error.contains("no program that tells of its card has one open"), "{said:?}");
    let said = stage.run(&["inspect", "0000:41:00.0"]);
    assert!(said.code == Some(1) && said.error.contains("no program has it open"), "{said:?}");
    assert_eq!(stage.run(&["inspect", "--mr", "dance"]).code, Some(2));
    // One that has it without a driver of ours.
    let _taken = VfioUser::open(&stage.fabric().join("card1")).unwrap();
    let said = stage.run(&["inspect", "stroma1"]);
    assert_eq!(said.code, Some(1));
    let user = format!("stroma1: pid {} (", std::process::id());
    assert!(said.error.contains(&user) && said.error.contains("has it, and tells nothing at"), "{said:?}");
}

/// Pings without end, and has begun to.
fn pinging(stage: &Stage) -> Child {
    let words = ["ping", "-c", "1000000", "--interval", "0.01"];
    let mut child = stage.command(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("seq=1 ")));
    // Read on, so that it does not end for want of a reader.
    std::thread::spawn(move || lines.count());
    child
}

#[test]
fn commands_of_ours_are_asked_hostile_neighbours_or_not_and_one_that_was_killed_is_followed_by_the_next() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "2"]);
    let socket = stage.fabric().join("card0.inspect");
    let mut first = pinging(&stage);
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let shown = |stage: &Stage| json(&stage.done(&["inspect", "--qp", "--json"]));
    let both = shown(&stage);
    assert_eq!(both.as_array().unwrap().len(), 2, "{both}");
    assert_eq!((&both[0]["comm"], &both[0]["pid"]), (&"stroma".into(), &first.id().into()));
    assert_eq!(both[0]["qp"][0]["rqpn"], both[1]["qp"][0]["lqpn"]);
    let sent = |shown: &Value| shown[0]["qp"][0]["counters"]["sent_pkts"].as_u64().unwrap();
    let before = sent(&both);

    let _silent = UnixStream::connect(&socket).unwrap();
    for bytes in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[b'x'; 10_000], &[0xff, b'\n'], b"{\"request\":\"show\"}\n"]
    {
        // Each goes away without a look at what it is told.
        let _ = UnixStream::connect(&socket).unwrap().write_all(bytes);
    }
    assert!(sent(&shown(&stage)) > before, "it goes on, and is asked");

    first.kill().unwrap();
    first.wait().unwrap();
    assert!(socket.exists(), "it had no time to remove it");
    until("the cards are free", || (!stage.status().unwrap().cards[0].is_taken).then_some(()));
    let started = Instant::now();
    let said = stage.run(&["inspect", "stroma0"]);
    assert!(said.code == Some(1) && said.error.contains("no program has it open"), "{said:?}");
    assert!(started.elapsed().as_secs() < 10, "nobody is waited for");
    let mut next = pinging(&stage);
    assert_eq!(shown(&stage)[0]["pid"], next.id());
    next.kill().unwrap();
    next.wait().unwrap();
    let words = ["ping", "-c", "1", "-q"];
    stage.done(&words);
    assert!(!socket.exists(), "one that ends well removes it");
}
