//! The steps.

use std::net::Ipv6Addr;
use std::time::Instant;

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::{self, Traversal};
use stroma_abi::wire::RpcTarget;
use stroma_device::BarId;

use super::Outcome;
use super::bench::{Bench, MEMORY};
use crate::pattern::pattern;

/// A step, by its name.
pub(crate) type Step = (&'static str, fn(&Bench) -> Outcome);

/// All of them, in order.
pub(crate) const STEPS: [Step; 7] = [
    ("identity", identity),
    ("registers", registers),
    ("dma", dma),
    ("interrupts", interrupts),
    ("loop", transport),
    ("messages", messages),
    ("kernel", kernel),
];

/// Where bytes go: behind those that are sent.
const TARGET: usize = MEMORY / 2;
/// Lengths around those of beats, pages and packets.
const LENGTHS: [usize; 7] = [1, 63, 64, 4095, 4096, 4097, 100_001];

fn identity(bench: &Bench) -> Outcome {
    let card = bench.device.card();
    let limits = card.capabilities();
    let (name, version) = (&card.backend().identity().name, card.version());
    let [bar0, bar2] = [BarId::Bar0, BarId::Bar2].map(|bar| card.backend().bar_len(bar) / 1024);
    let link = if card.link_is_up()? { "up" } else { "down" };
    Ok(format!(
        "{name}: version {version}, {} queue pairs, BAR0 {bar0} KiB, BAR2 {bar2} KiB, link {link}",
        limits.queue_pairs
    ))
}

/// Every bit of the address table can be set and cleared; what was there is there again.
fn registers(bench: &Bench) -> Outcome {
    let (port, last) = (bench.device.port(), 15);
    let before = port.address(last)?;
    let started = Instant::now();
    let mut accesses = 0;
    for bit in 0..128 {
        let address = Ipv6Addr::from(1_u128 << bit).to_canonical();
        port.set_address(last, address)?;
        let found = port.address(last)?;
        if found != address {
            port.set_address(last, before)?;
            return Err(format!("bit {bit} of an address: wrote {address}, read {found}").into());
        }
        accesses += 4;
    }
    port.set_address(last, before)?;
    Ok(format!(
        "{accesses} stores and loads, {:.1} us each",
        started.elapsed().as_secs_f64() * 1e6 / f64::from(accesses)
    ))
}

/// Bytes go through the card, from memory to memory.
fn dma(bench: &Bench) -> Outcome {
    let key = bench.memory.lkey();
    for (seed, len) in LENGTHS.into_iter().enumerate() {
        let bytes = pattern(seed as u64 + 1, len);
        // Neither begins with a page.
        bench.memory.write(seed, &bytes)?;
        let (piece, target) = (bench.memory.piece(seed, len)?, bench.memory.address(TARGET + 1)?);
        bench.local.start().wr_id(1).signaled().gather(&[piece], target, key).post()?;
        bench.complete(1)?;
        bench.check(TARGET + 1, &bytes)?;
    }
    Ok(format!("{} copies of up to {} bytes", LENGTHS.len(), LENGTHS[LENGTHS.len() - 1]))
}

/// Somebody who sleeps is woken.
fn interrupts(bench: &Bench) -> Outcome {
    const TIMES: u32 = 3;
    let started = Instant::now();
    for _ in 0..TIMES {
        bench.completions.request_notify(false)?;
        bench.local.start().wr_id(2).signaled().nop().post()?;
        let woken = bench.channel.wait(bench.patience)?;
        if woken.is_none() {
            return Err(format!("no interrupt for a completion in {:?}", bench.patience).into());
        }
        bench.complete(2)?;
    }
    Ok(format!(
        "woken {TIMES} times, {:.0} us each",
        started.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES)
    ))
}

/// WRITE and READ to the card itself: all of the transport but the wire.
fn transport(bench: &Bench) -> Outcome {
    let ([one, _], key) = (&bench.pair, bench.memory.rkey());
    for (seed, len) in LENGTHS.into_iter().enumerate() {
        let bytes = pattern(seed as u64 + 11, len);
        bench.memory.write(seed, &bytes)?;
        let (near, far) = (bench.memory.piece(seed, len)?, bench.memory.address(TARGET + 3)?);
        one.start().wr_id(3).signaled().write(&[near], far, key).post()?;
        bench.complete(3)?;
        bench.check(TARGET + 3, &bytes)?;
        let (near, far) = (bench.memory.piece(TARGET + 5, len)?, bench.memory.address(seed)?);
        one.start().wr_id(4).signaled().read(&[near], far, key).post()?;
        bench.complete(4)?;
        bench.check(TARGET + 5, &bytes)?;
    }
    Ok(format!("{} WRITEs and READs, within the card", LENGTHS.len()))
}

/// SEND, with a receive at the other end.
fn messages(bench: &Bench) -> Outcome {
    let [one, other] = &bench.pair;
    for (seed, len) in LENGTHS.into_iter().enumerate() {
        let bytes = pattern(seed as u64 + 21, len);
        bench.memory.write(0, &bytes)?;
        other.receives()?.receive(5, &[bench.memory.piece(TARGET, len)?]).post()?;
        // The receive alone completes where it is looked at: the request tells of nothing.
        one.start().wr_id(6).send(&[bench.memory.piece(0, len)?]).post()?;
        let found = bench.complete(5)?;
        if found.length as usize != len {
            return Err(format!("a message of {len} bytes arrives with {}", found.length).into());
        }
        bench.check(TARGET, &bytes)?;
    }
    Ok(format!("{} SENDs, within the card", LENGTHS.len()))
}

/// A list is walked by the card's own kernel, if it has that kernel.
fn kernel(bench: &Bench) -> Outcome {
    const ELEMENTS: usize = 8;
    const VALUE: usize = 100;
    const VALUES_AT: usize = 4096;
    let kernels = bench.device.kernels()?;
    let walker = kernels.iter().find(|kernel| kernel.operation == traversal::OPERATION);
    let Some(slot) = walker.map(|walker| walker.slot) else {
        return Ok(format!("{} kernels, `traversal` is not among them: left out", kernels.len()));
    };
    let values = pattern(31, ELEMENTS * VALUE);
    bench.memory.write(VALUES_AT, &values)?;
    for index in 0..ELEMENTS {
        let next = if index + 1 < ELEMENTS { bench.memory.address((index + 1) * 64)? } else { 0 };
        let value = bench.memory.address(VALUES_AT + index * VALUE)?;
        let words = [1000 + index as u64, next, value];
        bench.memory.write(index * 64, &words.map(u64::to_le_bytes).concat())?;
    }
    let task = Traversal {
        root: bench.memory.address(0)?,
        sought: 1000 + ELEMENTS as u64 - 1,
        mask: u64::MAX,
        hop_limit: 100,
        key_words: 1,
        element_words: 3,
        next_at: 1,
        value_at: 2,
        value_length: u32::try_from(VALUE)?,
        ..Traversal::default()
    };
    let target = RpcTarget {
        response_max: task.value_length,
        flags: 0,
        parameter_words: 0,
        operation: traversal::OPERATION,
    };
    let parameters = Parameters::new(&task.to_bytes()).ok_or("parameters that are no whole words")?;
    let answer = bench.memory.piece(TARGET, VALUE)?;
    bench.pair[0].start().wr_id(7).signaled().rpc(answer, &target, bench.memory.rkey(), parameters).post()?;
    let found = bench.complete(7)?;
    if (found.rpc, found.length) != (Some(0), task.value_length) {
        return Err(format!("the kernel answers {found:?}").into());
    }
    bench.check(TARGET, &values[(ELEMENTS - 1) * VALUE..])?;
    Ok(format!("slot {slot} of {} walks a list of {ELEMENTS}", kernels.len()))
}
