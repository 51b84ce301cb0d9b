//! From 8 bytes to 64 KiB on 32 queue pairs.

use stroma_sim::host::timing::Timing;
use stroma_top::Profile;

use super::field::{Field, Measured};
use super::load::{Load, Verb};
use super::number;
use crate::report::document::Plot;
use crate::report::{Metric, Report};

const PROFILE: Profile = Profile::HundredGig;
const QUEUE_PAIRS: usize = 32;
const LARGEST: usize = 65_536;
/// Bytes of a run on all queue pairs, unless that makes too few messages or too many.
const BYTES: usize = 4 << 20;

/// Figures that are points of the curves.
const FIGURES: [(&str, Verb, usize, Metric); 4] = [
    ("write.rate.64B-gather.qp32", Verb::Write, 64, Metric::Rate),
    ("read.goodput.8KiB.qp32", Verb::Read, 8192, Metric::Goodput),
    ("write.goodput.64KiB.qp32", Verb::Write, LARGEST, Metric::Goodput),
    ("read.goodput.64KiB.qp32", Verb::Read, LARGEST, Metric::Goodput),
];

/// The curves, and the figures on them.
pub(crate) fn measure(report: &mut Report) {
    let field = Field::new(PROFILE, QUEUE_PAIRS, LARGEST, |_| 256);
    for (verb, name) in [(Verb::Write, "WRITE, payload from memory"), (Verb::Read, "READ")] {
        let (mut goodput, mut rate) = (Vec::new(), Vec::new());
        for size in (3..=16).map(|log| 1 << log) {
            report.progress.doing(format!("{name}: {size} bytes on {QUEUE_PAIRS} queue pairs"));
            let count = (BYTES / size / QUEUE_PAIRS).clamp(16, 128);
            let load = Load { verb, size, queue_pairs: QUEUE_PAIRS, count };
            let measured = field.run(&load);
            let x = number(size as u64);
            goodput.push([x, measured.window.goodput(PROFILE)]);
            rate.push([x, measured.window.rate(size, PROFILE)]);
            figures(report, &load, &measured);
        }
        report.curve(Plot::PayloadGoodput, name, goodput);
        report.curve(Plot::PayloadRate, name, rate);
    }
}

fn figures(report: &mut Report, load: &Load, Measured { window, host_reads }: &Measured) {
    let reads = Timing::ALVEO_GEN3X16.reads;
    let [near, far] = host_reads;
    for (name, _, size, metric) in
        FIGURES.into_iter().filter(|(_, verb, size, _)| (*verb, *size) == (load.verb, load.size))
    {
        let value = match metric {
            Metric::Goodput => window.goodput(PROFILE),
            _ => window.rate(size, PROFILE),
        };
        let how = format!(
            "{}; {}; host reads in flight, of {reads}: {near:.1} near, {far:.1} far",
            load.text(),
            window.text(size)
        );
        report.add(name, metric, value, PROFILE, &how);
        if size == LARGEST {
            let name = format!("{}.fairness.64KiB.qp32", load.verb.name());
            let how = format!("least share of a queue pair over the largest; {}", window.text(size));
            report.add(&name, Metric::Ratio, window.fairness(), PROFILE, &how);
        }
    }
}
