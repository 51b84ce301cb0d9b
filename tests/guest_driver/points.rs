//! What is shown, point by point. Each has evidence, which is printed, and fails when there is none.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use stroma_abi::regs::map::MAGIC;
use stroma_party::{address, alone};

use crate::guest::Guest;
use crate::stage::{LOCKED_KIB, Stage, USER};

/// One point, shown on a stage or on less.
pub(crate) struct Point<On> {
    /// Its number among those that are asked for; 0 for what comes before.
    pub(crate) number: usize,
    pub(crate) name: &'static str,
    pub(crate) show: fn(&mut On) -> Result<String>,
}

/// In a guest whose kernel leaves the IOMMU off.
pub(crate) const NO_IOMMU: Point<Guest> = point(0, "a machine without IOMMU", no_iommu);

pub(crate) const POINTS: [Point<Stage>; 16] = [
    //    number  name                           show
    point(0, "a card that is not bound", not_bound),
    point(0, "a user without the group", no_group),
    point(0, "too little memory to lock", no_memory),
    point(1, "registers in the mapped BAR", registers),
    point(2, "rings and doorbells", rings),
    point(3, "DMA of user memory", copies),
    point(4, "MSI-X completion events", events),
    point(5, "WRITE", write),
    point(5, "READ", read),
    point(5, "SEND", send),
    point(5, "kernel RPC", call),
    point(6, "a DMA read that is not mapped", stray_read),
    point(6, "a DMA write that is not mapped", stray_write),
    point(7, "function reset", reset),
    point(8, "a driver that is killed", killed),
    point(8, "and one that ends", ended),
];

const fn point<On>(number: usize, name: &'static str, show: fn(&mut On) -> Result<String>) -> Point<On> {
    Point { number, name, show }
}

/// Requests through rings of 16 units.
const NOPS: u64 = 200;
/// How long the peer lets the guest sleep, and how long it must have slept at least: the order to sleep is under way for a while.
const SLEEP: Duration = Duration::from_secs(2);
const SLEPT_MS: u64 = 500;
/// A sleeper has the processor for at most one part in so many of the time.
const ASLEEP: u64 = 4;
/// The kernel tells of a few faults in five seconds, and then of none.
const TALKATIVE: Duration = Duration::from_secs(6);
/// Of a user without rights to lock memory.
const LITTLE_KIB: u64 = 64;

fn no_iommu(guest: &mut Guest) -> Result<String> {
    let order = format!("start {USER} {LOCKED_KIB}");
    guest.refuses(&order, &["IOMMU group", &guest.card.clone(), "intel_iommu=on"])
}

fn not_bound(stage: &mut Stage) -> Result<String> {
    let order = format!("start {USER} {LOCKED_KIB}");
    stage.guest.refuses(&order, &["driver vfio-pci", &stage.guest.card.clone(), "driverctl"])
}

fn no_group(stage: &mut Stage) -> Result<String> {
    stage.guest.tell(&["bind"])?;
    let order = format!("start {USER} {LOCKED_KIB}");
    stage.guest.refuses(&order, &["/dev/vfio/", "ermission denied", "let this user read and write"])
}

fn no_memory(stage: &mut Stage) -> Result<String> {
    stage.guest.tell(&[&format!("give {USER}")])?;
    stage.guest.refuses(&format!("start {USER} {LITTLE_KIB}"), &["mapping", "ulimit -l", "LimitMEMLOCK"])
}

/// The same as a card of the same kind says over a socket, the port's address apart, which is each one's own.
fn registers(stage: &mut Stage) -> Result<String> {
    stage.start()?;
    let found = stage.guest.ask("registers")?;
    let [magic, abi, mac, mapped] = words(&found)?;
    let peer = alone::registers(stage.peer.device().card())?;
    let [peer_magic, peer_abi, peer_mac] = words(&peer)?;
    ensure!(magic == format!("{MAGIC:#010x}"), "magic is {magic}");
    ensure!((&magic, &abi) == (&peer_magic, &peer_abi), "the guest reads {found}, the peer {peer}");
    ensure!([&mac, &peer_mac] == [&own(0), &own(1)], "MAC addresses: {mac}, {peer_mac}");
    ensure!(mapped == "2", "{mapped} pieces of the device are mapped, expected BAR0 and BAR2");
    Ok(format!("magic {magic}, version {abi}; both BARs are mapped"))
}

/// The MAC address that a party has given to its card, as the register has it: first byte lowest.
fn own(number: usize) -> String {
    let value = address(number).mac.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    format!("{value:#x}")
}

fn rings(stage: &mut Stage) -> Result<String> {
    stage.guest.tell(&[&format!("rings {NOPS}")])?;
    Ok(format!("{NOPS} requests through rings of 16, in order"))
}

fn copies(stage: &mut Stage) -> Result<String> {
    let pages = stage.guest.ask("copies")?;
    ensure!(pages.parse::<usize>().is_ok_and(|pages| pages > 2), "{pages} pages");
    Ok(format!("{pages} pages read and written, every byte and those beside them"))
}

/// The guest sleeps in the kernel until the peer's message has come.
fn events(stage: &mut Stage) -> Result<String> {
    let interrupts = |stage: &mut Stage| stage.guest.ask("interrupts")?.parse::<u64>().context("a count");
    stage.guest.tell(&["clear 400000 5000", "receive 400000 5000"])?;
    let before = interrupts(stage)?;
    stage.guest.order("sleep")?;
    std::thread::sleep(SLEEP);
    stage.peer(&["fill 11 500000 4097", "send 500000 4097"])?;
    let answer = stage.guest.answer()?;
    let [slept, busy] = words(&answer)?.map(|word| word.parse::<u64>());
    let (slept, busy) = (slept?, busy?);
    ensure!(slept >= SLEPT_MS, "the guest waited for {slept} ms only: nothing was to be waited for");
    ensure!(busy * ASLEEP < slept, "of {slept} ms the guest was busy for {busy}: that is no sleep");
    let told = interrupts(stage)? - before;
    ensure!(told > 0, "the kernel has counted no interrupt");
    stage.guest.tell(&["check 11 400000 4097"])?;
    Ok(format!("asleep for {slept} ms, busy for {busy} ms, interrupts counted: {told}"))
}

fn write(stage: &mut Stage) -> Result<String> {
    stage.write().map(|()| "20000 bytes, compared at both ends".into())
}

fn read(stage: &mut Stage) -> Result<String> {
    stage.read().map(|()| "9000 bytes, compared at both ends".into())
}

fn send(stage: &mut Stage) -> Result<String> {
    stage.send().map(|()| "4097 bytes each way, compared".into())
}

fn call(stage: &mut Stage) -> Result<String> {
    stage.call().map(|()| "either card walks a list for the other, values compared".into())
}

/// Memory that is taken away under its key: the request fails, nothing arrives, and the system knows of it.
fn stray_read(stage: &mut Stage) -> Result<String> {
    stage.peer(&["fill 5 700000 8192"])?;
    let answer = stage.guest.ask("stray 700000")?;
    let [address, status, left_in] = words(&answer)?;
    ensure!(
        status == "General" && left_in == "Error",
        "the request ended with {status}, its queue pair is in {left_in}"
    );
    stage.peer(&["check 5 700000 8192"])?;
    let line = stage.guest.fault(number(&address)?)?;
    stage.reconnect()?;
    stage.exchange()?;
    Ok(format!("{status}; {line}"))
}

fn stray_write(stage: &mut Stage) -> Result<String> {
    std::thread::sleep(TALKATIVE);
    let address = stage.guest.ask("stray-write")?;
    let line = stage.guest.fault(number(&address)?)?;
    stage.exchange()?;
    Ok(format!("event at {address}; {line}"))
}

fn reset(stage: &mut Stage) -> Result<String> {
    let place = stage.guest.ask("reset")?;
    stage.connect(&place)?;
    stage.exchange()?;
    let slept = events(stage)?;
    Ok(format!("registers are forgotten; all of 5, and of 4: {slept}"))
}

/// Killed with most of its WRITEs under way: the one behind them all never arrives.
fn killed(stage: &mut Stage) -> Result<String> {
    stage.peer(&["clear 65536 65536", "clear 200000 8"])?;
    stage.guest.tell(&["fill 7 0 65536", "flood 65536 65536 100", "mark 200000"])?;
    stage.peer(&["watch 65536"])?;
    stage.guest.tell(&["kill"])?;
    stage.start()?;
    stage.peer(&["blank 200000 8"])?;
    stage.exchange()?;
    Ok("in the midst of 100 WRITEs of 64 KiB; all of 5 by the next one".into())
}

fn ended(stage: &mut Stage) -> Result<String> {
    stage.guest.tell(&["end"])?;
    stage.start()?;
    stage.exchange()?;
    Ok("all of 5 by the next one".into())
}

fn words<const COUNT: usize>(text: &str) -> Result<[String; COUNT]> {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    words.try_into().map_err(|_| anyhow::anyhow!("`{text}` has other than {COUNT} words"))
}

fn number(text: &str) -> Result<u64> {
    let digits = text.strip_prefix("0x").with_context(|| format!("an address: {text}"))?;
    u64::from_str_radix(digits, 16).with_context(|| format!("an address: {text}"))
}
