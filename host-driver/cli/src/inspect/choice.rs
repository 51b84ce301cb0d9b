//! What of a card is to be shown.

use stroma_control::inspect::{Kind, Only, Report, Selection};

/// What is to be shown; everything, if nothing is named.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct Choice {
    /// Queue pairs, or the one of this number.
    #[arg(long, num_args = 0..=1, value_name = "N")]
    #[expect(clippy::option_option, reason = "no flag, a flag, a flag with a value")]
    qp: Option<Option<u32>>,
    /// Completion queues, or the one of this number.
    #[arg(long, num_args = 0..=1, value_name = "N")]
    #[expect(clippy::option_option, reason = "no flag, a flag, a flag with a value")]
    cq: Option<Option<u32>>,
    /// Shared receive queues, or the one of this number.
    #[arg(long, num_args = 0..=1, value_name = "N")]
    #[expect(clippy::option_option, reason = "no flag, a flag, a flag with a value")]
    srq: Option<Option<u32>>,
    /// Memory regions and windows, or the one with this key, such as 0x102.
    #[arg(long, num_args = 0..=1, value_name = "KEY", value_parser = key)]
    #[expect(clippy::option_option, reason = "no flag, a flag, a flag with a value")]
    mr: Option<Option<u32>>,
    /// What the TLB has done, and how regions are translated.
    #[arg(long)]
    tlb: bool,
    /// The port and its counters.
    #[arg(long)]
    port: bool,
}

/// A key, as it is told.
fn key(text: &str) -> Result<u32, String> {
    let key = text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u32::from_str_radix(hex, 16));
    key.map_err(|_| "a key such as 0x102".to_owned())
}

impl Choice {
    /// What the driver is asked for.
    pub(super) fn selection(&self) -> Selection {
        let one = |kind: Kind, chosen: Option<Option<u32>>| chosen.map(|number| Only { kind, number });
        let all = |kind: Kind, is_chosen: bool| is_chosen.then_some(Only { kind, number: None });
        // A key is the number of its region, and a byte that another region of that number had otherwise.
        let regions = self.mr.map(|key| key.map(|key| key >> u8::BITS));
        let chosen = [
            all(Kind::Port, self.port),
            all(Kind::Tlb, self.tlb),
            one(Kind::Qp, self.qp),
            one(Kind::Cq, self.cq),
            one(Kind::Srq, self.srq),
            one(Kind::Mr, regions.or(self.tlb.then_some(None))),
        ];
        Selection(chosen.into_iter().flatten().collect())
    }

    /// Leaves out a region that has the number of a key and another key.
    pub(super) fn narrow(&self, report: &mut Report) {
        if let (Some(Some(key)), Some(regions)) = (self.mr, &mut report.mr) {
            let key = format!("{key:#x}");
            regions.retain(|shown| shown.region.key == key);
        }
    }

    /// What was named and is on none of the cards.
    pub(super) fn missing(&self, reports: &[&Report]) -> Option<String> {
        fn has<T>(rows: Option<&Vec<T>>) -> bool {
            rows.is_some_and(|rows| !rows.is_empty())
        }
        let named = |chosen: Option<Option<u32>>, what: &str| {
            chosen.flatten().map(|number| format!("{what} {number}"))
        };
        let key = self.mr.flatten().map(|key| format!("a memory region with key {key:#x}"));
        let is_on = |has: fn(&Report) -> bool| reports.iter().any(|report| has(report));
        let named = [
            (named(self.qp, "queue pair"), is_on(|report| has(report.qp.as_ref()))),
            (named(self.cq, "completion queue"), is_on(|report| has(report.cq.as_ref()))),
            (named(self.srq, "shared receive queue"), is_on(|report| has(report.srq.as_ref()))),
            (key, is_on(|report| has(report.mr.as_ref()))),
        ];
        named.into_iter().find_map(|(named, is_there)| named.filter(|_| !is_there))
    }
}

#[cfg(test)]
mod tests {
    use stroma_control::inspect::{MemoryRegion, QueuePair, Region};

    use super::*;

    fn regions(keys: &[&str]) -> Report {
        let region = |key: &&str| MemoryRegion {
            region: Region { key: (*key).to_owned(), ..Default::default() },
            ..Default::default()
        };
        Report { mr: Some(keys.iter().map(region).collect()), ..Report::default() }
    }

    #[test]
    fn a_key_is_asked_for_by_the_number_of_its_region_and_has_to_be_the_same() {
        assert_eq!((key("0x102"), key("258")), (Ok(0x102), Ok(0x102)));
        assert!(key("0xg").is_err() && key("").is_err() && key("-1").is_err());
        let choice = Choice { mr: Some(Some(0x102)), ..Choice::default() };
        assert_eq!(choice.selection().0, [Only { kind: Kind::Mr, number: Some(1) }]);
        let mut report = regions(&["0x102"]);
        choice.narrow(&mut report);
        assert_eq!((report.mr.as_ref().unwrap().len(), choice.missing(&[&report])), (1, None));
        let mut report = regions(&["0x103"]);
        choice.narrow(&mut report);
        let missing = choice.missing(&[&report]);
        assert_eq!(missing.as_deref(), Some("a memory region with key 0x102"));
    }

    #[test]
    fn the_tlb_brings_the_regions_that_it_translates() {
        let tlb = Choice { tlb: true, ..Choice::default() };
        assert!(tlb.selection().has_one(Kind::Mr, 9) && !tlb.selection().has(Kind::Qp));
        let one = Choice { mr: Some(Some(0x102)), ..tlb };
        assert!(one.selection().has_one(Kind::Mr, 1) && !one.selection().has_one(Kind::Mr, 2));
        assert!(Choice::default().selection().has(Kind::Port), "everything, if nothing is named");
    }

    #[test]
    fn what_is_on_one_card_is_not_missed_on_another() {
        let choice = Choice { qp: Some(Some(3)), ..Choice::default() };
        let (with, without) = (Some(vec![QueuePair::default()]), Some(Vec::new()));
        let reports = [with, without].map(|qp| Report { qp, ..Report::default() });
        assert_eq!(choice.missing(&[&reports[0], &reports[1]]), None);
        assert_eq!(choice.missing(&[&reports[1]]).as_deref(), Some("queue pair 3"));
    }
}
