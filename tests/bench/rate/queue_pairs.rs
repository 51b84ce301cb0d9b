//! Messages of 64 bytes on one queue pair, on two, and so on to all that the card has.

use stroma_report::document::Plot;
use stroma_sim::host::timing::Timing;
use stroma_top::Profile;

use super::field::{Field, Measured};
use super::load::{Load, Verb};
use super::number;
use crate::report::{Metric, Report};

const PROFILE: Profile = Profile::HundredGig;
const SIZE: usize = 64;
/// Of the card's, two belong to management.
const ALL: usize = PROFILE.capacity().queue_pairs() - 2;

/// Figures that are points of the curves.
const FIGURES: [(&str, Verb, usize); 5] = [
    ("write.rate.64B.qp1", Verb::WriteInline, 1),
    ("write.rate.64B.qp32", Verb::WriteInline, 32),
    ("write.rate.64B.qp1024", Verb::WriteInline, ALL),
    ("read.rate.64B.qp32", Verb::Read, 32),
    ("read.rate.64B.qp1024", Verb::Read, ALL),
];

/// Messages of each of so many queue pairs.
fn count(queue_pairs: usize) -> usize {
    (4096 / queue_pairs).clamp(16, 1000)
}

/// The curves, and the figures on them.
pub(crate) fn measure(report: &mut Report) {
    report.progress.doing(format!("connecting {ALL} queue pairs"));
    // An inline message takes two units, and no queue pair sends more than in a run where it is the last.
    let field = Field::new(PROFILE, ALL, 1024, |index| 2 * count(index + 1));
    for (verb, name) in [(Verb::WriteInline, "WRITE, inline"), (Verb::Read, "READ")] {
        let mut rate = Vec::new();
        for queue_pairs in (0..=10).map(|log| (1 << log).min(ALL)) {
            report.progress.doing(format!("{name}: {SIZE} bytes on {queue_pairs} queue pairs"));
            let load = Load { verb, size: SIZE, queue_pairs, count: count(queue_pairs) };
            let measured = field.run(&load);
            rate.push([number(queue_pairs as u64), measured.window.rate(SIZE, PROFILE)]);
            figure(report, &load, &measured);
        }
        report.curve(Plot::QueuePairs, name, rate);
    }
}

fn figure(report: &mut Report, load: &Load, Measured { window, host_reads }: &Measured) {
    let reads = Timing::ALVEO_GEN3X16.reads;
    let [near, far] = host_reads;
    let here = |(_, verb, queue_pairs): &&(&str, Verb, usize)| {
        (*verb, *queue_pairs) == (load.verb, load.queue_pairs)
    };
    if let Some((name, ..)) = FIGURES.iter().find(here) {
        let how = format!(
            "{}; {}; host reads in flight, of {reads}: {near:.1} near, {far:.1} far",
            load.text(),
            window.text(SIZE)
        );
        report.add(name, Metric::Rate, window.rate(SIZE, PROFILE), PROFILE, &how);
    }
}
