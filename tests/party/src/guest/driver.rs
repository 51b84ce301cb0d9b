//! A driver: opens the card through kernel VFIO and takes orders from standard input.

use std::io::BufRead;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use stroma_device::{Backend, Vfio};
use stroma_party::{Client, alone};

use crate::answer;

/// Its number among the two parties, from which its addresses follow.
const NUMBER: usize = 0;

/// Drives the card at a PCI address until there are no more orders. Says first where a peer finds it.
pub(crate) fn run(address: &str) -> Result<()> {
    let backend: Arc<dyn Backend> = Arc::new(Vfio::open(address)?);
    let mut client = Some(Client::open(NUMBER, Arc::clone(&backend))?);
    println!("{}", place(client.as_ref())?);
    for order in std::io::stdin().lock().lines() {
        let order = order.context("an order")?;
        println!("{}", answer(obey(&order, &backend, &mut client)));
    }
    Ok(())
}

fn place(client: Option<&Client>) -> Result<String> {
    Ok(format!("ok {}", client.context("no card is open")?.place()?))
}

fn obey(order: &str, backend: &Arc<dyn Backend>, client: &mut Option<Client>) -> Result<String> {
    if order == "reset" {
        // Nothing of it may be left: a reset takes from the card what its objects stand for.
        *client = None;
        alone::reset(backend)?;
        *client = Some(Client::open(NUMBER, Arc::clone(backend))?);
        return place(client.as_ref());
    }
    let client = client.as_mut().context("no card is open")?;
    let device = Arc::clone(client.device());
    let words: Vec<&str> = order.split(' ').collect();
    match words[..] {
        ["registers"] => Ok(format!("ok {} {}", alone::registers(device.card())?, mapped_bars()?)),
        ["rings", count] => alone::rings(&device, count.parse()?).map(|()| "ok".into()),
        ["copies"] => alone::copies(&device).map(|pages| format!("ok {pages}")),
        ["stray-write"] => alone::stray_write(&device).map(|iova| format!("ok {iova:#x}")),
        ["interrupts"] => interrupts(&backend.identity().name).map(|count| format!("ok {count}")),
        ["renew"] => client.obey(order).map(|place| format!("ok {place}")),
        _ => client.obey(order),
    }
}

/// How many pieces of the card are mapped into this process.
fn mapped_bars() -> Result<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").context("read the process's mappings")?;
    Ok(maps.lines().filter(|line| line.contains("[vfio-device]")).count())
}

/// How many interrupts of the card the kernel has counted.
fn interrupts(address: &str) -> Result<u64> {
    let text = std::fs::read_to_string("/proc/interrupts").context("read the counts of interrupts")?;
    let lines: Vec<&str> =
        text.lines().filter(|line| line.contains("vfio-msix") && line.contains(address)).collect();
    if lines.is_empty() {
        bail!("/proc/interrupts has no vfio-msix of {address}");
    }
    // A number for each processor, behind the number of the interrupt.
    let counts = lines
        .iter()
        .flat_map(|line| line.split_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok()));
    Ok(counts.sum())
}
