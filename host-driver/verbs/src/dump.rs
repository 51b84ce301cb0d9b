//! Everything that is on a card, for people.

mod columns;

use std::{fmt, net::IpAddr};

use stroma_abi::desc::{
    CommandStatus, CompletionQueue, ObjectKind, QueuePair, Region, SharedQueue, Statistics, Verb,
    mailbox::BODY_LEN, region::rights,
};
use stroma_abi::regs::map::counters;

pub(crate) use columns::{Columns, line};

use crate::{Device, Error, QueuePairView, Result, mailbox::Order, numbers::Numbers, queue_pair::Counters};
use columns::table;

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
}

impl Device {
    /// Asks the card for all that is on it. Objects that begin or end meanwhile may be missing.
    ///
    /// # Errors
    /// When the card does not answer.
    pub fn dump(&self) -> Result<Dump> {
        let numbers = self.numbers();
        let queue_pairs = numbers.management.in_use().into_iter().chain(numbers.queue_pairs.in_use());
        let queue_pairs = queue_pairs.map(|number| self.view(number));
        let counters = counters::BLOCK.regs.iter();
        let counters = counters.map(|reg| Ok((reg.name, self.card().read(&counters::BLOCK, reg)?)));
        Ok(Dump {
            is_up: self.port().is_up()?,
            mac: self.port().mac()?,
            address: self.port().address(0)?,
            counters: counters.collect::<Result<_>>()?,
            queue_pairs: queue_pairs.filter_map(Result::transpose).collect::<Result<_>>()?,
            completion_queues: self.views(
                ObjectKind::CompletionQueue,
                &numbers.completion_queues,
                CompletionQueue::parse,
            )?,
            shared_queues: self.views(ObjectKind::SharedQueue, &numbers.shared_queues, SharedQueue::parse)?,
            regions: self.views(ObjectKind::Region, &numbers.regions, Region::parse)?,
        })
    }

    /// What the card shows of an object; `None` if there is none.
    fn show(&self, kind: ObjectKind, number: u32) -> Result<Option<[u8; BODY_LEN]>> {
        match self.command(&Order { verb: Verb::Query, kind, number, attributes: 0, body: &[] }) {
            Ok(body) => Ok(Some(body)),
            Err(Error::CommandRefused { status: CommandStatus::NoObject, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn view(&self, number: u32) -> Result<Option<QueuePairView>> {
        let Some(attributes) = self.show(ObjectKind::QueuePair, number)? else { return Ok(None) };
        let Some(live) = self.show(ObjectKind::Statistics, number)? else { return Ok(None) };
        let attributes = QueuePair::parse(&attributes);
        Ok(attributes.zip(Statistics::parse(&live)).map(|(set, live)| QueuePairView::new(number, set, live)))
    }

    fn views<T>(
        &self,
        kind: ObjectKind,
        numbers: &Numbers,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<View<T>>> {
        let shown = numbers.in_use().into_iter().map(|number| {
            let body = self.show(kind, number)?.and_then(|body| parse(&body));
            Ok(body.map(|body| View { number, body }))
        });
        shown.filter_map(Result::transpose).collect()
    }
}

impl Columns for &QueuePairView {
    fn columns(&self) -> Vec<(&'static str, String)> {
        (**self).columns()
    }
}

impl Columns for &View<CompletionQueue> {
    fn columns(&self) -> Vec<(&'static str, String)> {
        let body = &self.body;
        let armed = ["no", "next", "solicited"].get(usize::from(body.armed)).unwrap_or(&"?");
        vec![
            ("cqn", self.number.to_string()),
            ("cqe", (1_u64 << (body.log & 63)).to_string()),
            ("waiting", (body.producer.wrapping_sub(body.consumer) & 0xff_ffff).to_string()),
            ("armed", (*armed).to_owned()),
            ("overflowed", if body.overflowed { "yes" } else { "no" }.to_owned()),
            ("count", body.count.to_string()),
            ("period-us", body.period.to_string()),
        ]
    }
}

impl Columns for &View<SharedQueue> {
    fn columns(&self) -> Vec<(&'static str, String)> {
        vec![
            ("srqn", self.number.to_string()),
            ("entries", (1_u64 << (self.body.log & 63)).to_string()),
            ("pdn", self.body.pd.to_string()),
            ("limit", self.body.limit.to_string()),
        ]
    }
}

impl Columns for &View<Region> {
    fn columns(&self) -> Vec<(&'static str, String)> {
        let body = &self.body;
        vec![
            ("mrn", self.number.to_string()),
            ("rkey", format!("{:#x}", self.number << u8::BITS | u32::from(body.key))),
            ("iova", format!("{:#x}", body.base)),
            ("mrlen", body.length.to_string()),
            ("pdn", body.pd.to_string()),
            ("access", access(body.rights)),
        ]
    }
}

/// Rights in short: local write, remote write, read, atomic, and of kernels.
fn access(bits: u8) -> String {
    let names = [
        (rights::LOCAL_WRITE, "lw"),
        (rights::REMOTE_WRITE, "rw"),
        (rights::REMOTE_READ, "rr"),
        (rights::REMOTE_ATOMIC, "ra"),
        (rights::RPC, "rpc"),
    ];
    let given: Vec<_> = names.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect();
    if given.is_empty() { "-".to_owned() } else { given.join(",") }
}

impl<T> fmt::Display for View<T>
where
    for<'a> &'a Self: Columns,
{
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(out, &self.columns())
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mac = self.mac.map(|byte| format!("{byte:02x}")).join(":");
        write!(out, "link {} ", if self.is_up { "ACTIVE" } else { "DOWN" })?;
        writeln!(out, "mac {mac} address {}", self.address)?;
        let mut moved = self.counters.iter().filter(|(_, count)| *count != 0);
        moved.try_for_each(|(name, count)| writeln!(out, "{name} {count}"))?;
        writeln!(out, "\nqueue pairs {}", self.queue_pairs.len())?;
        table(out, &self.queue_pairs, usize::MAX)?;
        if self.queue_pairs.iter().any(|shown| shown.live.counts().iter().any(|count| *count != 0)) {
            writeln!(out)?;
            table(out, self.queue_pairs.iter().map(Counters), 1)?;
        }
        writeln!(out, "\ncompletion queues {}", self.completion_queues.len())?;
        table(out, &self.completion_queues, usize::MAX)?;
        writeln!(out, "\nshared receive queues {}", self.shared_queues.len())?;
        table(out, &self.shared_queues, usize::MAX)?;
        writeln!(out, "\nmemory regions {}", self.regions.len())?;
        table(out, &self.regions, usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_lines_of_names_and_values() {
        let queue = CompletionQueue {
            log: 4,
            producer: 1,
            consumer: 0xff_ffff,
            armed: 1,
            count: 8,
            ..Default::default()
        };
        let shown = View { number: 9, body: queue };
        assert_eq!(shown.to_string(), "cqn 9 cqe 16 waiting 2 armed next overflowed no count 8 period-us 0");
        let shared = View { number: 1, body: SharedQueue { log: 6, pd: 3, limit: 5, ..Default::default() } };
        assert_eq!(shared.to_string(), "srqn 1 entries 64 pdn 3 limit 5");
        let rights = rights::LOCAL_WRITE | rights::REMOTE_READ;
        let body = Region { base: 0x7000, length: 4096, key: 2, pd: 3, rights, ..Default::default() };
        let region = View { number: 1, body };
        assert_eq!(region.to_string(), "mrn 1 rkey 0x102 iova 0x7000 mrlen 4096 pdn 3 access lw,rr");
    }

    #[test]
    fn a_dump_has_a_table_for_each_kind_and_no_column_of_zeros() {
        let live =
            |sent_pkts, duplicate_request| Statistics { sent_pkts, duplicate_request, ..Default::default() };
        let dump = Dump {
            is_up: true,
            mac: [2, 0, 0, 0, 0, 0xa],
            address: [10, 0, 0, 1].into(),
            counters: vec![("tx_frames", 12), ("naks", 0)],
            queue_pairs: vec![
                QueuePairView::new(2, QueuePair::default(), live(5, 0)),
                QueuePairView::new(10, QueuePair::default(), live(700_000, 1)),
            ],
            completion_queues: Vec::new(),
            shared_queues: Vec::new(),
            regions: Vec::new(),
        };
        let expected = "\
link ACTIVE mac 02:00:00:00:00:0a address 10.0.0.1
tx_frames 12

queue pairs 2
lqpn  rqpn  type  state  sq-psn  rq-psn  msn  unacked  reads  posted  flags
   2     0     0  RESET       0       0    0        0      0       0      -
  10     0     0  RESET       0       0    0        0      0       0      -

lqpn  sent_pkts  duplicate_request
   2          5                  0
  10     700000                  1

completion queues 0

shared receive queues 0

memory regions 0
";
        assert_eq!(dump.to_string(), expected);
    }
}
