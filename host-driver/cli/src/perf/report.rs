//! A table as perftest has it, or the same for programs.

use serde::Serialize;

use super::bandwidth::Bandwidth;
use super::latency::Latency;
use super::verb::Verb;
use crate::out;
use crate::progress::Progress;
use crate::time::Time;

/// How it is told.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Form {
    /// For programs: JSON.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// For tables: CSV.
    #[arg(long)]
    csv: bool,
}

/// What was measured, and how.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Head {
    pub(crate) verb: Verb,
    pub(crate) latency: bool,
    pub(crate) between: [String; 2],
    pub(crate) queue_pairs: usize,
    pub(crate) mtu: usize,
    pub(crate) batch: u64,
    pub(crate) clock_khz: u32,
    pub(crate) time: Time,
}

/// One size.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Row {
    Bandwidth(Bandwidth),
    Latency(Latency),
}

/// Columns: what perftest calls them, and what a table of numbers does.
const BANDWIDTH: [(&str, &str); 6] = [
    ("#bytes", "bytes"),
    ("#iterations", "iterations"),
    ("BW peak[Gb/sec]", "peak_gbps"),
    ("BW average[Gb/sec]", "average_gbps"),
    ("MsgRate[Mpps]", "mpps"),
    ("wall[sec]", "wall_s"),
];
const LATENCY: [(&str, &str); 10] = [
    ("#bytes", "bytes"),
    ("#iterations", "iterations"),
    ("t_min[usec]", "min_us"),
    ("t_max[usec]", "max_us"),
    ("t_typical[usec]", "typical_us"),
    ("t_avg[usec]", "average_us"),
    ("t_stdev[usec]", "stdev_us"),
    ("99% percentile[usec]", "p99_us"),
    ("99.9% percentile[usec]", "p999_us"),
    ("wall[sec]", "wall_s"),
];

impl Row {
    fn cells(&self) -> Vec<String> {
        match self {
            Self::Bandwidth(row) => vec![
                row.bytes.to_string(),
                row.iterations.to_string(),
                format!("{:.3}", row.peak_gbps),
                format!("{:.3}", row.average_gbps),
                format!("{:.6}", row.mpps),
                format!("{:.2}", row.wall_s),
            ],
            Self::Latency(row) => {
                let times = &row.summary;
                let times = [
                    times.min_us,
                    times.max_us,
                    times.typical_us,
                    times.average_us,
                    times.stdev_us,
                    times.p99_us,
                    times.p999_us,
                ];
                let times = times.map(|time| format!("{time:.3}"));
                let mut cells = vec![row.bytes.to_string(), row.iterations.to_string()];
                cells.extend(times);
                cells.push(format!("{:.2}", row.wall_s));
                cells
            }
        }
    }
}

impl Head {
    fn columns(&self) -> &'static [(&'static str, &'static str)] {
        if self.latency { &LATENCY } else { &BANDWIDTH }
    }

    /// What stands above the table.
    fn lines(&self) -> Vec<String> {
        let what = if self.latency { "Latency" } else { "BW" };
        let names: Vec<&str> = self.columns().iter().map(|(name, _)| *name).collect();
        let header = line(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), self.columns());
        let rule = "-".repeat(header.len());
        let title = format!("RC {} {what} test", self.verb.title());
        let [from, to] = &self.between;
        let how = if self.latency {
            format!(" {from} -> {to}   MTU {}   one request at a time", self.mtu)
        } else {
            format!(
                " {from} -> {to}   queue pairs {}   MTU {}   batch {}",
                self.queue_pairs, self.mtu, self.batch
            )
        };
        let time = format!(" {}, by the time stamps of completions", self.time.words(self.clock_khz));
        vec![
            rule.clone(),
            format!("{title:^width$}", width = rule.len()).trim_end().to_owned(),
            how,
            time,
            rule,
            header,
        ]
    }
}

/// Cells under their columns.
fn line(cells: &[String], columns: &[(&str, &str)]) -> String {
    let cells =
        cells.iter().zip(columns).map(|(cell, (name, _))| format!(" {cell:<width$}", width = name.len() + 2));
    cells.collect::<String>().trim_end().to_owned()
}

/// A report that grows.
pub(crate) struct Report<'a> {
    head: Head,
    form: Form,
    progress: &'a Progress,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    head: &'a Head,
    results: &'a [Row],
}

impl<'a> Report<'a> {
    /// Says what will be measured.
    pub(crate) fn begin(head: Head, form: Form, progress: &'a Progress) -> anyhow::Result<Self> {
        let report = Self { head, form, progress, rows: Vec::new() };
        if form.csv {
            let names: Vec<&str> = report.head.columns().iter().map(|(_, name)| *name).collect();
            report.say(&names.join(","))?;
        } else if !form.json {
            report.say(&report.head.lines().join("\n"))?;
        }
        Ok(report)
    }

    fn say(&self, text: &str) -> anyhow::Result<()> {
        self.progress.suspend(|| out::line(text))
    }

    /// One more size.
    pub(crate) fn add(&mut self, row: Row) -> anyhow::Result<()> {
        if self.form.csv {
            self.say(&row.cells().join(","))?;
        } else if !self.form.json {
            self.say(&line(&row.cells(), self.head.columns()))?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// That was all.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.progress.finish();
        if self.form.json {
            let whole = Whole { head: &self.head, results: &self.rows };
            return out::json(&whole);
        }
        if !self.form.csv {
            let rule = self.head.lines().first().cloned().unwrap_or_default();
            return out::line(&rule);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_as_perftest_has_it() {
        let head = Head {
            verb: Verb::Write,
            latency: false,
            between: ["stroma0", "stroma1"].map(str::to_owned),
            queue_pairs: 2,
            mtu: 1024,
            batch: 16,
            clock_khz: 156_250,
            time: Time::Simulated,
        };
        let lines = head.lines();
        assert_eq!(lines[1].trim(), "RC RDMA_Write BW test");
        assert_eq!(lines[2], " stroma0 -> stroma1   queue pairs 2   MTU 1024   batch 16");
        assert!(lines[3].starts_with(" time is simulated: the card's own clock of 156.250 MHz"));
        let header =
            " #bytes   #iterations   BW peak[Gb/sec]   BW average[Gb/sec]   MsgRate[Mpps]   wall[sec]";
        assert_eq!(lines[5], header);
        assert_eq!(lines[4], "-".repeat(header.len()));
        let row = Row::Bandwidth(Bandwidth {
            bytes: 65536,
            iterations: 40,
            peak_gbps: 9.8,
            average_gbps: 9.75,
            mpps: 0.018_6,
            card_us: 2150.0,
            wall_s: 3.5,
        });
        let cells = line(&row.cells(), &BANDWIDTH);
        assert_eq!(
            cells,
            " 65536    40            9.800             9.750                0.018600        3.50"
        );
    }
}
