//! What many times have in common.

use serde::Serialize;

/// A summary, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "they are the names in JSON, and a unit belongs to a number")]
pub(crate) struct Summary {
    pub(crate) min_us: f64,
    pub(crate) max_us: f64,
    /// Half are shorter.
    pub(crate) typical_us: f64,
    pub(crate) average_us: f64,
    pub(crate) stdev_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
}

impl Summary {
    /// Of times in nanoseconds; all zero for none.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 of them")]
    pub(crate) fn of(nanoseconds: &[f64]) -> Self {
        let mut sorted: Vec<f64> = nanoseconds.iter().map(|time| time / 1e3).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len().max(1) as f64;
        let average = sorted.iter().sum::<f64>() / count;
        let variance = sorted.iter().map(|time| (time - average).powi(2)).sum::<f64>() / count;
        Self {
            min_us: part(&sorted, 0, 1000),
            max_us: part(&sorted, 1000, 1000),
            typical_us: part(&sorted, 500, 1000),
            average_us: average,
            stdev_us: variance.sqrt(),
            p90_us: part(&sorted, 900, 1000),
            p99_us: part(&sorted, 990, 1000),
            p999_us: part(&sorted, 999, 1000),
        }
    }
}

/// The smallest that so many of so many parts do not exceed.
fn part(sorted: &[f64], part: usize, of: usize) -> f64 {
    let rank = (sorted.len() * part).div_ceil(of).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

/// Bars of how many times fall into each of some ranges, a line each.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few bars"
)]
pub(crate) fn histogram(microseconds: &[f64], bars: usize, width: usize) -> Vec<String> {
    let min = microseconds.iter().copied().fold(f64::INFINITY, f64::min);
    let max = microseconds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !min.is_finite() {
        return Vec::new();
    }
    // All the same is one bar.
    let step = if max > min { (max - min) / bars as f64 } else { 1.0 };
    let bars = if max > min { bars } else { 1 };
    let mut counts = vec![0_usize; bars];
    for time in microseconds {
        counts[(((time - min) / step) as usize).min(bars - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let line = |(bar, count): (usize, &usize)| {
        let from = min + step * bar as f64;
        let bar = "#".repeat((count * width).div_ceil(most));
        format!("{from:>12.3} us  {count:>6}  {bar}").trim_end().to_owned()
    };
    counts.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_what_the_textbook_says() {
        let times: Vec<f64> = (1..=1000).map(|time| f64::from(time) * 1e3).collect();
        let summary = Summary::of(&times);
        assert_eq!((summary.min_us, summary.max_us), (1.0, 1000.0));
        assert_eq!(
            (summary.typical_us, summary.p90_us, summary.p99_us, summary.p999_us),
            (500.0, 900.0, 990.0, 999.0)
        );
        assert!((summary.average_us - 500.5).abs() < 1e-9);
        assert!((summary.stdev_us - 288.675).abs() < 1e-3);
        let one = Summary::of(&[7e3]);
        assert_eq!((one.min_us, one.p999_us, one.stdev_us), (7.0, 7.0, 0.0));
        assert!(Summary::of(&[]).max_us.abs() < f64::EPSILON);
    }

    #[test]
    fn bars_are_as_long_as_there_are_times() {
        let bars = histogram(&[1.0, 1.1, 1.2, 1.9, 3.0], 2, 8);
        assert_eq!(bars, ["       1.000 us       4  ########", "       2.000 us       1  ##"]);
        assert_eq!(histogram(&[5.0, 5.0], 4, 3), ["       5.000 us       2  ###"]);
        assert!(histogram(&[], 4, 4).is_empty());
    }
}
