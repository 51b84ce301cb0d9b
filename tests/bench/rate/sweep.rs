//! From 8 bytes to 64 KiB on 32 queue pairs, and on one.

use stroma_report::document::Plot;
use stroma_report::document::over_payload::{READ_MANY, WRITE_MANY, WRITE_ONE};
use stroma_sim::host::timing::Timing;
use stroma_top::Profile;

use super::field::{Field, Measured};
use super::load::{Load, Verb};
use super::number;
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
    let field = Field::new(PROFILE, 1, LARGEST, |_| 1024);
    sweep(report, &field, WRITE_ONE, |size| {
        let count = (BYTES / size).clamp(64, 1000);
        Load { verb: Verb::Write, size, queue_pairs: 1, count }
    });
    let field = Field::new(PROFILE, QUEUE_PAIRS, LARGEST, |_| 256);
    for (name, verb) in [(WRITE_MANY, Verb::Write), (READ_MANY, Verb::Read)] {
        sweep(report, &field, name, |size| {
            let count = (BYTES / size / QUEUE_PAIRS).clamp(16, 128);
            Load { verb, size, queue_pairs: QUEUE_PAIRS, count }
        });
    }
}

/// One curve over payload in both of its plots.
fn sweep(report: &mut Report, field: &Field, name: &str, load: impl Fn(usize) -> Load) {
    let (mut goodput, mut rate) = (Vec::new(), Vec::new());
    for size in (3..=16).map(|log| 1 << log) {
        report.progress.doing(format!("{name}: {size} bytes"));
        let load = load(size);
        let measured = field.run(&load);
        let x = number(size as u64);
        goodput.push([x, measured.window.goodput(PROFILE)]);
        rate.push([x, measured.window.rate(size, PROFILE)]);
        figures(report, &load, &measured);
    }
    report.curve(Plot::PayloadGoodput, name, goodput);
    report.curve(Plot::PayloadRate, name, rate);
}

fn figures(report: &mut Report, load: &Load, Measured { window, host_reads }: &Measured) {
    let reads = Timing::ALVEO_GEN3X16.reads;
    let [near, far] = host_reads;
    let here = |(_, verb, size, _): &(&str, Verb, usize, Metric)| {
        (*verb, *size, QUEUE_PAIRS) == (load.verb, load.size, load.queue_pairs)
    };
    for (name, _, size, metric) in FIGURES.into_iter().filter(here) {
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
