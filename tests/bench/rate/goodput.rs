//! One connection, many messages.

use stroma_top::Profile;

use super::field::Field;
use super::load::{Load, Verb};
use crate::report::{Metric, Report};

const LARGE: usize = 65_536;

/// WRITEs and READs of 64 KiB, back to back.
pub(crate) fn one_queue_pair(report: &mut Report) {
    let field = Field::new(Profile::HundredGig, 1, LARGE, |_| 256);
    for verb in [Verb::Write, Verb::Read] {
        let name = format!("{}.goodput.64KiB.qp1", verb.name());
        large(report, &field, verb, 64, &name);
    }
}

/// The same with the card for 10 GbE.
pub(crate) fn ten_gig(report: &mut Report) {
    let field = Field::new(Profile::TenGig, 1, LARGE, |_| 256);
    large(report, &field, Verb::Write, 12, "10g.write.goodput");
}

fn large(report: &mut Report, field: &Field, verb: Verb, count: usize, name: &str) {
    let load = Load { verb, size: LARGE, queue_pairs: 1, count };
    let window = field.run(&load).window;
    let how = format!("{}; {}", load.text(), window.text(LARGE));
    report.add(name, Metric::Goodput, window.goodput(field.profile), field.profile, &how);
}

/// WRITEs of 64 bytes from memory.
pub(crate) fn gathered(report: &mut Report) {
    let field = Field::new(Profile::HundredGig, 1, LARGE, |_| 1024);
    let load = Load { verb: Verb::Write, size: 64, queue_pairs: 1, count: 1000 };
    let window = field.run(&load).window;
    let how = format!("{}; {}", load.text(), window.text(64));
    let rate = window.rate(64, field.profile);
    report.add("write.rate.64B-gather.qp1", Metric::Rate, rate, field.profile, &how);
}
