//! `cargo xtask demo`: two cards on a cable, an application on each, and where the time goes.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Parser;
use stroma_sim::Kind;
use stroma_sim::host::timing::Timing;
use stroma_sim::link::LinkConfig;
use stroma_sim::pcap;
use stroma_tests::calls::Calls;
use stroma_tests::far::{Hash, List};
use stroma_tests::pair::{End, Pair, pattern};
use stroma_tests::path::PathLatency;
use stroma_top::Profile;
use stroma_top::kernels::Chosen;
use stroma_verbs::QueuePair;

/// Bytes that the applications exchange.
const LETTER: usize = 100_000;
/// Where a letter stands, and the byte that says it is there.
const INBOX: usize = 4096;
const FLAG: usize = 0;
/// Elements of the lists that are walked.
const LISTS: [usize; 3] = [2, 8, 32];

/// Runs two applications on two simulated cards.
#[derive(Parser)]
struct Arguments {
    /// The cards.
    #[arg(long, value_enum, default_value = "100g")]
    profile: Profile,
    /// Where the frames of card 0 are recorded.
    #[arg(long, default_value = "target/demo/first-light.pcapng")]
    capture: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let Arguments { profile, capture } = Arguments::parse();
    if let Some(folder) = capture.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    let started = Instant::now();
    let (Timing { name, .. }, cable) = (Timing::ALVEO_GEN3X16, LinkConfig::cable(profile));
    println!(
        "two {} cards, {} Gb/s, {} ns of cable and MACs; hosts: {name}",
        profile.name(),
        cable.megabits / 1000,
        cable.delay_ns
    );
    // A card with fewer kernels is built sooner.
    let kind = Kind { profile, kernels: Chosen::named(&["traversal", "get"])? };
    letters(&kind, &capture)?;
    table(&kind);
    kernels(&kind)?;
    println!("\nframes of card 0: {} (open it in Wireshark)", capture.display());
    println!("{:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// One application writes a letter into the other's memory. That one sees it arrive, reads the original back to compare, and
/// writes an answer.
fn letters(kind: &Kind, capture: &Path) -> anyhow::Result<()> {
    let pair = Pair::new(kind.clone());
    pair.shared.world().start_capture(0, pcap::Writer::create(capture)?);
    let [alice, bob] = &pair.ends;
    let [to_bob, to_alice] = pair.connect();
    let start = pair.now();

    alice.put(INBOX, &pattern(1, LETTER));
    send(alice, bob, &to_bob)?;
    let looks = wait(&pair, bob);
    alice.expect(1);
    ensure!(bob.bytes(INBOX, LETTER) == pattern(1, LETTER), "the letter is another one");
    println!("bob:   a letter of {LETTER} bytes arrived by WRITE; he had looked {looks} times");

    let copy = INBOX + LETTER;
    let batch = to_alice.start().wr_id(7).signaled();
    batch.read(&[bob.piece(copy, LETTER)], alice.at(INBOX), alice.memory.rkey()).post()?;
    bob.expect(7);
    ensure!(bob.bytes(copy, LETTER) == pattern(1, LETTER), "the original is another one");
    println!("bob:   fetched alice's original by READ: the same bytes");

    bob.put(INBOX, &pattern(2, LETTER));
    send(bob, alice, &to_alice)?;
    wait(&pair, alice);
    bob.expect(1);
    ensure!(alice.bytes(INBOX, LETTER) == pattern(2, LETTER), "the answer is another one");
    println!("alice: the answer arrived; {:.1} us in all", microseconds(kind.profile, pair.now() - start));
    pair.shared.world().finish_capture(0)?;
    Ok(())
}

/// Writes what is in one's inbox to the other's, then the flag: WRITEs of a queue pair take effect in order.
fn send(from: &End, to: &End, queue_pair: &QueuePair) -> anyhow::Result<()> {
    let key = to.memory.rkey();
    let batch = queue_pair.start().write(&[from.piece(INBOX, LETTER)], to.at(INBOX), key);
    Ok(batch.wr_id(1).signaled().inline_write(&[1], to.at(FLAG), key).post()?)
}

/// Looks at the flag until it is there; how often that was.
fn wait(pair: &Pair, end: &End) -> u32 {
    let mut looks = 0;
    while end.bytes(FLAG, 1) == [0] {
        pair.run(50);
        looks += 1;
    }
    end.put(FLAG, &[0]);
    looks
}

#[expect(clippy::cast_precision_loss, reason = "cycles of a demonstration are far below 2^53")]
fn microseconds(profile: Profile, cycles: u64) -> f64 {
    cycles as f64 * 1000.0 / f64::from(profile.clock_khz())
}

fn table(kind: &Kind) {
    println!("\none request at a time, microseconds: from the doorbell to the completion in memory");
    println!(
        "(host: its latencies; wire: from the first bit to the last, and the cable; card: all else, payload passing through)"
    );
    println!("{:<6} {:>8}  {:>8} {:>8} {:>8} {:>8}", "verb", "bytes", "total", "host", "card", "wire");
    for is_read in [false, true] {
        for bytes in [8, 64, 512, 4096, 32_768] {
            let PathLatency { total, host, card, wire, .. } =
                PathLatency::measure(kind.clone(), bytes, is_read);
            let [total, host, card, wire] =
                [total, host, card, wire].map(|cycles| microseconds(kind.profile, cycles));
            let verb = if is_read { "READ" } else { "WRITE" };
            println!("{verb:<6} {bytes:>8}  {total:>8.2} {host:>8.2} {card:>8.2} {wire:>8.2}");
        }
    }
}

/// Values are fetched out of bob's memory by READs, and by a kernel of his card.
fn kernels(kind: &Kind) -> anyhow::Result<()> {
    println!(
        "\nvalues of 64 bytes in bob's memory, microseconds: found by READs, and by a kernel of his card"
    );
    println!("{:<26} {:>5} {:>8} {:>8} {:>8}", "where", "READs", "by READs", "kernel", "gain");
    let row = |place: &str, count: usize, reads: u64, kernel: u64| {
        let [reads, kernel] = [reads, kernel].map(|cycles| microseconds(kind.profile, cycles));
        println!("{place:<26} {count:>5} {reads:>8.2} {kernel:>8.2} {:>7.1}x", reads / kernel);
    };
    let calls = Calls::new(kind.clone(), 1 << 21, |_| {});
    let list = List::new(&calls, LISTS[LISTS.len() - 1]);
    let mut right = true;
    for length in LISTS {
        let reads = calls.time(|| right &= list.by_reads(length) == list.value(length));
        let kernel = calls.time(|| right &= list.by_kernel(length) == list.value(length));
        row(&format!("{length} elements down a list"), length + 1, reads, kernel);
    }
    let table = Hash::new(&calls);
    let reads = calls.time(|| right &= table.by_reads() == Hash::value());
    let kernel = calls.time(|| right &= table.by_kernel() == Hash::value());
    row("GET from a hash table", 2, reads, kernel);
    ensure!(right, "a value is another one than bob has stored");
    println!("every value compared with what bob had stored: the same");
    Ok(())
}
