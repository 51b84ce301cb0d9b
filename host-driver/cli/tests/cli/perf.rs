//! Figures of two cards, by their own clock.

use serde_json::Value;

use crate::stage::Stage;

pub(crate) fn json(stage: &Stage, words: &[&str]) -> Value {
    serde_json::from_str(&stage.done(&[words, &["--json"]].concat())).unwrap()
}

#[test]
fn every_verb_is_measured_and_every_byte_compared() {
    let stage = Stage::new();
    let _cards = stage.serve(&[]);
    for verb in ["write", "read", "send"] {
        let found =
            json(&stage, &["perf", verb, "--sizes", "512..4096", "-n", "20", "--qps", "2", "--batch", "4"]);
        let rows = found["results"].as_array().unwrap();
        let sizes: Vec<u64> = rows.iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
        assert_eq!(sizes, [512, 1024, 2048, 4096], "{verb}");
        for row in rows {
            let [peak, average] = ["peak_gbps", "average_gbps"].map(|name| row[name].as_f64().unwrap());
            assert_eq!(row["iterations"], 40, "two queue pairs: {row}");
            assert!(average > 1.0 && average <= peak && average < 10.0, "a line of 10 Gb/s: {row}");
        }
        assert_eq!((&found["time"], &found["clock_khz"]), (&"simulated".into(), &156_250.into()));
    }
    let found = json(&stage, &["perf", "atomic", "-n", "20"]);
    assert_eq!(found["results"][0]["bytes"], 8);
}

#[test]
fn latency_is_the_cards_and_the_same_whatever_the_machine_does() {
    let stage = Stage::new();
    let _cards = stage.serve(&[]);
    let measure =
        || json(&stage, &["perf", "write", "--latency", "--size", "64", "-n", "5"])["results"][0].clone();
    let (one, other) = (measure(), measure());
    for name in ["min_us", "typical_us", "max_us"] {
        assert_eq!(one[name], other[name], "{one} {other}");
    }
    // Two wires of 350 ns, and memory at both ends.
    assert!(one["min_us"].as_f64().unwrap() > 1.5, "{one}");
}

#[test]
fn figures_are_told_as_perftest_tells_them_and_as_tables() {
    let stage = Stage::new();
    let _cards = stage.serve(&[]);
    let text = stage.done(&["perf", "write", "--size", "256", "-n", "4", "--mtu", "1024"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains("RC RDMA_Write BW test"), "{text}");
    assert!(lines[3].contains("time is simulated"), "{text}");
    assert!(lines[5].starts_with(" #bytes   #iterations   BW peak[Gb/sec]"), "{text}");
    assert!(lines[6].starts_with(" 256      4 "), "{text}");
    let csv = stage.done(&["perf", "send", "--latency", "-n", "2", "--csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "bytes,iterations,min_us,max_us,typical_us,average_us,stdev_us,p99_us,p999_us,wall_s"
    );
    assert_eq!((lines.len(), lines[1].split(',').count()), (2, 10));
}

#[test]
fn cards_that_cannot_be_measured_are_named() {
    let stage = Stage::new();
    let said = stage.run(&["perf", "write", "--to", "stroma0"]);
    assert!(said.error.contains("--from and --to are the same card"), "{said:?}");
    let said = stage.run(&["ping", "--from", "sim", "--to", "sim:100g"]);
    assert!(said.error.contains("a card of this process alone is on no wire"), "{said:?}");
    let _cards = stage.serve(&["--cards", "1"]);
    let said = stage.run(&["perf", "write"]);
    assert!(said.error.contains("card 1: the fabric has 1"), "{said:?}");
    assert_eq!(stage.run(&["perf", "juggle"]).code, Some(2));
}
