//! What a driver tells of its card, for people: tables whose columns have the names that users of `rdma resource` and `rdma statistic` know.

use std::fmt;

use super::columns::{Columns, line, table};
use super::{CompletionQueue, MemoryRegion, Port, QueuePair, Report, SharedQueue};

/// Columns behind the number that they belong to.
struct Of<T>(&'static str, u32, T);

impl<T: Columns> Columns for Of<T> {
    fn columns(&self) -> Vec<(&str, String)> {
        let mut columns = vec![(self.0, self.1.to_string())];
        columns.extend(self.2.columns());
        columns
    }
}

/// The counters of a queue pair.
struct Counters<'a>(&'a QueuePair);

impl Columns for Counters<'_> {
    fn columns(&self) -> Vec<(&str, String)> {
        self.0.counters.iter().map(|(name, count)| (name.as_str(), count.to_string())).collect()
    }
}

/// How a region is translated.
struct Pages<'a>(&'a MemoryRegion);

impl Columns for Pages<'_> {
    fn columns(&self) -> Vec<(&str, String)> {
        let mut columns = self.0.translation.columns();
        let at = if self.0.pages_at.is_empty() { "-".to_owned() } else { self.0.pages_at.join(",") };
        columns.push(("pages-at", at));
        columns
    }
}

impl fmt::Display for QueuePair {
    /// One line: names and values, counters that are not zero behind.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = Counters(self);
        let mut columns = self.state.columns();
        columns.extend(counters.columns().into_iter().filter(|(_, count)| count != "0"));
        line(out, &columns)
    }
}

impl fmt::Display for CompletionQueue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(out, &self.columns())
    }
}

impl fmt::Display for SharedQueue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(out, &self.columns())
    }
}

impl fmt::Display for MemoryRegion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(out, &self.region.columns())
    }
}

impl fmt::Display for Port {
    /// Counters that are zero are left out.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "link {} mac {} address {}", self.link, self.mac, self.address)?;
        let mut moved = self.counters.iter().filter(|(_, count)| **count != 0);
        moved.try_for_each(|(name, count)| writeln!(out, "{name} {count}"))
    }
}

fn queue_pairs(out: &mut fmt::Formatter<'_>, pairs: &[QueuePair]) -> fmt::Result {
    table(out, pairs.iter().map(|pair| &pair.state), usize::MAX)?;
    if pairs.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    table(out, pairs.iter().map(|pair| Of("lqpn", pair.state.number, &pair.setup)), usize::MAX)?;
    if pairs.iter().all(|pair| pair.counters.values().all(|count| *count == 0)) {
        return Ok(());
    }
    writeln!(out)?;
    table(out, pairs.iter().map(|pair| Of("lqpn", pair.state.number, Counters(pair))), 1)
}

fn regions(out: &mut fmt::Formatter<'_>, regions: &[MemoryRegion]) -> fmt::Result {
    table(out, regions.iter().map(|shown| &shown.region), usize::MAX)?;
    if regions.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    table(out, regions.iter().map(|shown| Of("mrn", shown.region.number, Pages(shown))), usize::MAX)
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_first = true;
        let mut gap = |out: &mut fmt::Formatter<'_>| {
            if std::mem::take(&mut is_first) { Ok(()) } else { writeln!(out) }
        };
        if let Some(port) = &self.port {
            gap(out)?;
            write!(out, "{port}")?;
        }
        if let Some(tlb) = &self.tlb {
            gap(out)?;
            writeln!(out, "tlb")?;
            table(out, [tlb], usize::MAX)?;
        }
        if let Some(pairs) = &self.qp {
            gap(out)?;
            writeln!(out, "queue pairs {}", pairs.len())?;
            queue_pairs(out, pairs)?;
        }
        if let Some(queues) = &self.cq {
            gap(out)?;
            writeln!(out, "completion queues {}", queues.len())?;
            table(out, queues, usize::MAX)?;
        }
        if let Some(queues) = &self.srq {
            gap(out)?;
            writeln!(out, "shared receive queues {}", queues.len())?;
            table(out, queues, usize::MAX)?;
        }
        if let Some(shown) = &self.mr {
            gap(out)?;
            writeln!(out, "memory regions {}", shown.len())?;
            regions(out, shown)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::inspect::{QueuePairState, Region, Tlb, Translation};

    fn pair(number: u32, sent: u32, again: u32) -> QueuePair {
        let state = QueuePairState {
            number,
            kind: "RC".into(),
            state: "RTS".into(),
            flags: "-".into(),
            ..Default::default()
        };
        let counters = BTreeMap::from([
            ("duplicate_request".into(), again),
            ("sent_pkts".into(), sent),
            ("naks".into(), 0),
        ]);
        QueuePair { state, counters, ..Default::default() }
    }

    #[test]
    fn what_was_asked_for_has_a_table_each_and_no_column_of_zeros() {
        let qp = Some(vec![pair(2, 5, 0), pair(10, 700_000, 1)]);
        let port = Port {
            link: "ACTIVE".into(),
            mac: "02:00:00:00:00:0a".into(),
            address: "10.0.0.1".into(),
            ..Default::default()
        };
        let port = Port { counters: BTreeMap::from([("naks".into(), 0), ("tx_frames".into(), 12)]), ..port };
        let report = Report { port: Some(port), qp, srq: Some(Vec::new()), ..Report::default() };
        let expected = "\
link ACTIVE mac 02:00:00:00:00:0a address 10.0.0.1
tx_frames 12

queue pairs 2
lqpn  rqpn  type  state  sq-psn  rq-psn  msn  unacked  reads  posted  flags
   2     0    RC    RTS       0       0    0        0      0       0      -
  10     0    RC    RTS       0       0    0        0      0       0      -

lqpn  pdn  scqn  rcqn  srqn  path-mtu  timeout  retry-cnt  rnr-retry  peer
   2    0     0     0               0        0          0          0      
  10    0     0     0               0        0          0          0      

lqpn  duplicate_request  sent_pkts
   2                  0          5
  10                  1     700000

shared receive queues 0
";
        assert_eq!(report.to_string(), expected);
    }

    #[test]
    fn a_region_has_a_row_and_its_translation_another() {
        let region = Region {
            number: 1,
            key: "0x102".into(),
            base: "0x7000".into(),
            length: 8192,
            domain: 3,
            access: "lw,rr".into(),
        };
        let translation =
            Translation { way: "list".into(), page: 4096, pages: 2, list: "0x100003000".into() };
        let pages_at = vec!["0x100000000".into(), "0x100001000".into()];
        let shown = MemoryRegion { region, translation, pages_at };
        let report = Report {
            tlb: Some(Tlb { hits: 90, misses: 10, walks: 2 }),
            mr: Some(vec![shown]),
            ..Report::default()
        };
        let expected = "\
tlb
hits  misses  walks
  90      10      2

memory regions 1
mrn   rkey    iova  mrlen  pdn  access
  1  0x102  0x7000   8192    3   lw,rr

mrn   way  page  pages         list                 pages-at
  1  list  4096      2  0x100003000  0x100000000,0x100001000
";
        assert_eq!(report.to_string(), expected);
    }
}
