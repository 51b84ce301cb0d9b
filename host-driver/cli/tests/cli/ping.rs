//! Rounds between cards, and between a card and whoever is beside it.

use crate::neighbour::{answering, neighbour};
use crate::perf::json;
use crate::stage::Stage;

#[test]
fn a_ping_is_a_round_of_cards_and_wire_alone() {
    let stage = Stage::new();
    // Started for it.
    let text = stage.done(&["ping", "--linger", "3", "-c", "3", "--size", "5000"]);
    assert!(text.starts_with("PING stroma1 from stroma0: 5000 bytes; time is simulated"), "{text}");
    assert_eq!(text.matches("5000 bytes from stroma1: seq=").count(), 3, "{text}");
    assert!(text.contains("round min/avg/max/stddev = "), "{text}");
    let found = json(&stage, &["ping", "--from", "stroma1", "--to", "stroma0", "-c", "4"]);
    assert_eq!(found["rounds_us"].as_array().unwrap().len(), 4);
    let longest = found["max_us"].as_f64().unwrap();
    assert!(longest < 20.0, "{longest} us: what programs take does not count");
}

#[test]
fn a_station_of_the_network_is_asked_by_its_address() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "2"]);
    let (_device, far) = neighbour(&stage, 1);
    // Of 10.0.0.2 alone somebody knows where it is.
    let words = ["ping", "--address", "10.0.0.7", "--timeout", "30", "-c", "3", "--to"];
    let (text, found, nobody) = answering(&far, || {
        let text = stage.done(&[&words[..], &["10.0.0.2", "--interval", "0.01"]].concat());
        let found = json(&stage, &[&words[..], &["10.0.0.2", "--size", "4000"]].concat());
        (text, found, stage.run(&["ping", "--address", "10.0.0.7", "--to", "10.0.0.3"]))
    });
    let head = "PING 10.0.0.2 from 10.0.0.7 (stroma0): 64 bytes; time is the wall clock's";
    assert!(text.starts_with(head), "{text}");
    assert_eq!(text.matches("64 bytes from 10.0.0.2: seq=").count(), 3, "{text}");
    assert!(text.contains("3 messages, all answered"), "{text}");
    assert_eq!((&found["answered"], &found["time"]), (&3.into(), &"wall".into()));
    assert_eq!(nobody.code, Some(1));
    assert!(
        nobody.error.contains("10.0.0.3") && nobody.error.contains("the link of stroma0 is up"),
        "{nobody:?}"
    );
}

#[test]
fn who_falls_silent_is_told_and_the_exit_code_says_so() {
    let stage = Stage::new();
    // He says where he is, and an echo is longer than that.
    let _cards = stage.serve(&["--cards", "2", "--rule", "drop all frames larger than 60 bytes"]);
    let (_device, far) = neighbour(&stage, 1);
    let words = ["ping", "--address", "10.0.0.7", "--to", "10.0.0.2", "-c", "2", "--timeout", "0.5"];
    let said = answering(&far, || stage.run(&words));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.out.matches("no answer from 10.0.0.2: seq=").count(), 2, "{said:?}");
    assert!(said.error.contains("10.0.0.2 has answered none of 2 messages"), "{said:?}");
}

#[test]
fn an_address_is_not_asked_by_nobody() {
    let stage = Stage::new();
    let said = stage.run(&["ping", "--to", "10.0.0.2"]);
    assert!(said.error.contains("--to 10.0.0.2 needs --address: an address for stroma0"), "{said:?}");
    assert_eq!((said.code, stage.status().is_none()), (Some(1), true), "and no fabric is started for it");
    let said = stage.run(&["ping", "--address", "10.0.0.1"]);
    assert!(
        said.error.contains("--address is for pings to an IP address, and stroma1 is a card"),
        "{said:?}"
    );
    assert_eq!(stage.run(&["ping", "--to", "nowhere"]).code, Some(2));
}

#[test]
fn a_card_with_a_loopback_module_tests_its_port() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "1", "--wire", "loopback"]);
    let text = stage.done(&["selftest", "stroma0", "--loopback"]);
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("ok    wire         32 datagrams"), "{text}");
}
