//! What is run, and what it must print.

use std::ops::RangeInclusive;

use super::row::{Row, WIDE};

/// How pingpongs and perftest are told where to meet.
const MEET: &str = "-p";
/// Sizes of perftest's messages, as powers of two: from 2 bytes to 64 KiB.
const SIZE_LOGS: RangeInclusive<u32> = 1..=16;
/// The fewest requests that perftest takes, its card's address that is one of IPv4, and no frequency of the processor.
const PERFTEST: &str = "-x 1 -F -n 5";
/// A window that five requests fill.
const WINDOW: &str = "-t 4 -Q 1";

/// examples/c/calls.c, compiled.
pub(super) const EXAMPLE: &str = "calls";

/// All rows.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = vec![Row::one("ibv_devices", "stroma0"), Row::one("ibv_devinfo -v", "PORT_ACTIVE")];
    rows.push(Row::one(&format!("./{EXAMPLE}"), "swapped:").with_both());
    rows.extend(pingpongs());
    rows.extend(perftest());
    rows.extend(frameworks());
    rows
}

/// Those of one profile together: cards that start anew begin their recordings anew.
pub(super) fn ordered(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| row.profile == WIDE);
    rows
}

fn pingpongs() -> Vec<Row> {
    let row =
        |program: &str, how: &str| Row::two(&format!("ibv_{program}_pingpong -g 1 {how}"), MEET, "usec/iter");
    let mut rows: Vec<Row> = ["rc", "uc", "ud", "srq"].map(|program| row(program, "-n 20 -s 1024")).into();
    rows.push(row("rc", "-n 10 -s 1024 -e"));
    rows.push(row("rc", "-n 10 -s 1024").wide());
    for size in [1, 64, 65536] {
        rows.push(row("rc", &format!("-n 2 -s {size}")));
    }
    rows.push(row("rc", "-n 1 -s 1048576"));
    for mtu in [256, 512, 1024, 2048, 4096] {
        rows.push(row("rc", &format!("-n 2 -s 10000 -m {mtu}")));
    }
    rows
}

fn perftest() -> Vec<Row> {
    let row = |program: &str, how: &str| Row::two(&format!("ib_{program} {PERFTEST} {how}"), MEET, "#bytes");
    let mut rows = Vec::new();
    for size in SIZE_LOGS.map(|log| 1 << log) {
        for verb in ["write", "read", "send"] {
            let receives = if verb == "send" { "-r 4 " } else { "" };
            rows.extend([
                row(&format!("{verb}_bw"), &format!("-s {size} {receives}{WINDOW}")),
                row(&format!("{verb}_lat"), &format!("-s {size}")),
            ]);
        }
    }
    rows.extend([
        row("atomic_bw", WINDOW),
        row("atomic_bw", &format!("-A CMP_AND_SWAP {WINDOW}")),
        row("atomic_lat", ""),
        row("write_bw", &format!("-s 4096 -q 4 {WINDOW}")),
        row("send_bw", &format!("-s 1024 -q 2 --use-srq -r 8 {WINDOW}")),
        row("send_bw", &format!("-s 1024 -e -r 4 {WINDOW}")),
        row("send_lat", "-s 256 -e"),
        row("read_bw", &format!("-s 1024 -e {WINDOW}")),
        row("write_bw", &format!("-s 1024 -c UC {WINDOW}")),
        row("write_lat", "-s 1024 -c UC"),
        // Without a receive a message of these is lost, and perftest waits for it: there are more than it sends.
        row("send_bw", &format!("-s 1024 -c UC -r 64 {WINDOW}")),
        row("send_bw", &format!("-s 1024 -c UD -r 64 {WINDOW}")),
        row("send_lat", "-s 1024 -c UD"),
        row("write_bw", &format!("-s 4096 {WINDOW}")).wide(),
        row("read_lat", "-s 4096").wide(),
        row("send_lat", "-s 64").wide(),
    ]);
    rows
}

fn frameworks() -> Vec<Row> {
    let ucx = |transports: &str, test: &str| {
        Row::two(&format!("ucx_perftest -t {test} -n 5 -w 2 -s 64"), MEET, "Final:")
            .with(&[&format!("UCX_TLS={transports}"), "UCX_IB_GID_INDEX=1"])
            .with_devices()
    };
    let mut rows = Vec::new();
    for transports in ["rc_verbs,ud_verbs:aux", "ud_verbs"] {
        rows.extend(["tag_lat", "ucp_put_bw"].map(|test| ucx(transports, test)));
    }
    let pingpong = Row::two("fi_pingpong -p verbs -e dgram -I 5 -S 64", "-B", "usec/xfer");
    rows.push(pingpong.client_port("-P").with(&["FI_VERBS_GID_IDX=1"]).with_devices());
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_is_among_them() {
        let all = rows();
        let has = |words: &[&str]| all.iter().any(|row| words.iter().all(|word| row.name.contains(word)));
        for program in ["rc", "uc", "ud", "srq"] {
            assert!(has(&[&format!("ibv_{program}_pingpong")]), "{program}");
        }
        for test in ["write", "read", "send", "atomic"] {
            assert!(has(&[&format!("ib_{test}_bw")]) && has(&[&format!("ib_{test}_lat")]), "{test}");
        }
        for words in
            [["-c UC", ""], ["-c UD", ""], ["--use-srq", ""], ["-q 4", ""], ["ib_", " -e"], ["rc_verbs", ""]]
        {
            assert!(has(&words), "{words:?}");
        }
        assert!(all.iter().filter(|row| row.profile == "100g").count() >= 3);
    }

    #[test]
    fn no_row_is_there_twice() {
        let names: Vec<String> = rows().iter().map(|row| format!("{} {}", row.profile, row.name)).collect();
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }
}
