//! Everything that is on a card, for people.

mod rows;

use std::{collections::HashMap, fmt, net::IpAddr};

use stroma_abi::desc::{CompletionQueue, ObjectKind, QueuePair, Region, SharedQueue, Statistics};
use stroma_abi::regs::map::counters;
use stroma_control::inspect::{self, Kind, Report, Selection};

use crate::{Device, Port, QueuePairView, Result, controls::Controls, numbers::Numbers};

/// An object as the card knows it. As text it is a line of names and values, in the manner of `rdma resource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct View<T> {
    /// Its number.
    pub number: u32,
    /// The object.
    pub body: T,
}

/// All that is on a card, and what its port has counted.
///
/// As text, tables whose columns have the names that users of `rdma resource` and `rdma statistic` know. Columns of
/// counters that are zero for all are left out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dump {
    /// Is the link up?
    pub is_up: bool,
    /// The port's MAC address.
    pub mac: [u8; 6],
    /// The first of its addresses.
    pub address: IpAddr,
    /// Counters of the port, by the names of their registers.
    pub counters: Vec<(&'static str, u64)>,
    /// Queue pairs.
    pub queue_pairs: Vec<QueuePairView>,
    /// Completion queues.
    pub completion_queues: Vec<View<CompletionQueue>>,
    /// Shared receive queues.
    pub shared_queues: Vec<View<SharedQueue>>,
    /// Memory regions.
    pub regions: Vec<View<Region>>,
    /// Where the first page is of those that have a list of pages.
    lists: HashMap<u32, u64>,
}

/// What is asked for, and whether anybody waits for it still: that is looked at before each object.
pub(crate) struct Asked<'a> {
    pub(crate) only: &'a Selection,
    pub(crate) is_wanted: &'a dyn Fn() -> bool,
}

impl Device {
    /// Asks the card for all that is on it. Objects that begin or end meanwhile may be missing.
    ///
    /// # Errors
    /// When the card does not answer.
    pub fn dump(&self) -> Result<Dump> {
        let (controls, everything) = (self.controls(), Selection::default());
        let asked = Asked { only: &everything, is_wanted: &|| true };
        Ok(Dump {
            is_up: self.port().is_up()?,
            mac: self.port().mac()?,
            address: self.port().address(0)?,
            counters: controls.counters()?,
            queue_pairs: controls.queue_pairs(&asked)?,
            completion_queues: controls.completion_queues(&asked)?,
            shared_queues: controls.shared_queues(&asked)?,
            regions: controls.regions(&asked)?,
            lists: controls.lists().clone(),
        })
    }
}

impl Controls {
    /// What is asked for, as rows.
    pub(crate) fn report(&self, asked: &Asked<'_>) -> Result<Report> {
        let has = |kind| asked.only.has(kind);
        let port = || -> Result<inspect::Port> {
            let port = Port::new(&self.card);
            Ok(port_row(port.is_up()?, port.mac()?, port.address(0)?, &self.counters()?))
        };
        let regions = |views: Vec<View<Region>>| region_rows(&views, &self.lists());
        Ok(Report {
            port: has(Kind::Port).then(port).transpose()?,
            tlb: has(Kind::Tlb).then(|| self.tlb()).transpose()?,
            qp: has(Kind::Qp).then(|| self.queue_pairs(asked)).transpose()?.map(|views| rows(&views)),
            cq: has(Kind::Cq).then(|| self.completion_queues(asked)).transpose()?.map(|views| rows(&views)),
            srq: has(Kind::Srq).then(|| self.shared_queues(asked)).transpose()?.map(|views| rows(&views)),
            mr: has(Kind::Mr).then(|| self.regions(asked)).transpose()?.map(regions),
        })
    }

    fn counters(&self) -> Result<Vec<(&'static str, u64)>> {
        // The first tell of the block itself.
        let counters = counters::BLOCK.regs.iter().filter(|reg| reg.offset >= counters::TX_FRAMES.offset);
        counters.map(|reg| Ok((reg.name, self.card.read(&counters::BLOCK, reg)?))).collect()
    }

    fn tlb(&self) -> Result<inspect::Tlb> {
        Ok(inspect::Tlb {
            hits: self.card.read(&counters::BLOCK, &counters::TLB_HITS)?,
            misses: self.card.read(&counters::BLOCK, &counters::TLB_MISSES)?,
            walks: self.card.read(&counters::BLOCK, &counters::TLB_WALKS)?,
        })
    }

    fn queue_pairs(&self, asked: &Asked<'_>) -> Result<Vec<QueuePairView>> {
        let view = |number| {
            let Some(attributes) = self.show(ObjectKind::QueuePair, number)? else { return Ok(None) };
            let Some(live) = self.show(ObjectKind::Statistics, number)? else { return Ok(None) };
            let both = QueuePair::parse(&attributes).zip(Statistics::parse(&live));
            Ok(both.map(|(attributes, live)| QueuePairView::new(number, attributes, live)))
        };
        let numbers = [&self.numbers.management, &self.numbers.queue_pairs];
        each(asked, Kind::Qp, &numbers.map(|numbers| &**numbers), view)
    }

    fn completion_queues(&self, asked: &Asked<'_>) -> Result<Vec<View<CompletionQueue>>> {
        let view = |number| self.view(ObjectKind::CompletionQueue, number, CompletionQueue::parse);
        each(asked, Kind::Cq, &[&self.numbers.completion_queues], view)
    }

    fn shared_queues(&self, asked: &Asked<'_>) -> Result<Vec<View<SharedQueue>>> {
        let view = |number| self.view(ObjectKind::SharedQueue, number, SharedQueue::parse);
        each(asked, Kind::Srq, &[&self.numbers.shared_queues], view)
    }

    fn regions(&self, asked: &Asked<'_>) -> Result<Vec<View<Region>>> {
        let view = |number| self.view(ObjectKind::Region, number, Region::parse);
        each(asked, Kind::Mr, &[&self.numbers.regions], view)
    }

    fn view<T>(
        &self,
        kind: ObjectKind,
        number: u32,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<View<T>>> {
        let body = self.show(kind, number)?.and_then(|body| parse(&body));
        Ok(body.map(|body| View { number, body }))
    }
}

/// Those in use that are asked for, one by one.
fn each<T>(
    asked: &Asked<'_>,
    kind: Kind,
    numbers: &[&Numbers],
    view: impl Fn(u32) -> Result<Option<T>>,
) -> Result<Vec<T>> {
    let numbers = numbers.iter().flat_map(|numbers| numbers.in_use());
    let numbers = numbers.filter(|number| asked.only.has_one(kind, *number));
    let views = numbers.take_while(|_| (asked.is_wanted)()).map(view);
    views.filter_map(Result::transpose).collect()
}

fn rows<'a, T: 'a, R: From<&'a T>>(views: &'a [T]) -> Vec<R> {
    views.iter().map(R::from).collect()
}

fn region_rows(views: &[View<Region>], lists: &HashMap<u32, u64>) -> Vec<inspect::MemoryRegion> {
    views.iter().map(|view| rows::region(view, lists.get(&view.number).copied())).collect()
}

fn port_row(is_up: bool, mac: [u8; 6], address: IpAddr, counters: &[(&str, u64)]) -> inspect::Port {
    inspect::Port {
        link: if is_up { "ACTIVE" } else { "DOWN" }.to_owned(),
        mac: mac.map(|byte| format!("{byte:02x}")).join(":"),
        address: address.to_string(),
        counters: counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
    }
}

impl fmt::Display for View<CompletionQueue> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        inspect::CompletionQueue::from(self).fmt(out)
    }
}

impl fmt::Display for View<SharedQueue> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        inspect::SharedQueue::from(self).fmt(out)
    }
}

impl fmt::Display for View<Region> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        rows::region(self, None).fmt(out)
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = Report {
            port: Some(port_row(self.is_up, self.mac, self.address, &self.counters)),
            tlb: None,
            qp: Some(rows(&self.queue_pairs)),
            cq: Some(rows(&self.completion_queues)),
            srq: Some(rows(&self.shared_queues)),
            mr: Some(region_rows(&self.regions, &self.lists)),
        };
        report.fmt(out)
    }
}
