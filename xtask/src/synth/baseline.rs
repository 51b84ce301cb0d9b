//! `hw/top/area.toml`: what each block came to when that was last found good, and what a change may add.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use stroma_boards::Board;

use super::figures::{Figures, nanoseconds};
use crate::workspace;

/// The period of the 100g card is 4 ns; the estimate may be a quarter longer.
const LONGEST_PERIOD: u32 = 5000;
/// Lookup tables on a path.
const MOST_LEVELS: u32 = 10;
/// How much more than the baseline is no finding yet, in percent. Memories may not grow at all.
const MORE_LUTS: u64 = 3;
const MORE_FLIP_FLOPS: u64 = 1;
const LONGER_PERIOD: u64 = 3;

/// A block on the list.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Measured by `ci`.
    #[serde(default)]
    pub(crate) ci: bool,
    /// Why the block may be deeper or slower than the limits.
    pub(crate) exception: Option<String>,
    pub(crate) figures: Figures,
}

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    /// The whole card, measured by command alone.
    pub(crate) card: Option<Row>,
    /// Whole tops of boards, by the names of the boards; they have several clocks, and no period.
    #[serde(default)]
    pub(crate) board: BTreeMap<String, Row>,
    /// Blocks that can be emitted and are not measured, each with the reason.
    pub(crate) left_out: BTreeMap<String, String>,
    pub(crate) block: BTreeMap<String, Row>,
}

/// Where the committed file is.
pub(crate) fn path() -> PathBuf {
    workspace::root().join("hw/top/area.toml")
}

impl Baseline {
    /// Reads the committed file.
    pub(crate) fn load() -> Result<Self> {
        let path = path();
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("parse {}", workspace::shown(&path)))
    }

    fn parse(text: &str) -> Result<Self> {
        let baseline: Self = toml::from_str(text)?;
        for (name, why) in &baseline.left_out {
            if why.trim().is_empty() {
                bail!("`{name}` is left out without a reason");
            }
            if baseline.block.contains_key(name) {
                bail!("`{name}` is both measured and left out");
            }
        }
        for name in baseline.board.keys() {
            Board::named(name)?;
        }
        let one_clock = baseline
            .block
            .iter()
            .map(|(name, row)| (name.as_str(), row))
            .chain(baseline.card.iter().map(|row| ("card", row)));
        let several_clocks = baseline.board.iter().map(|(name, row)| (name.as_str(), row));
        if let Some((name, _)) = one_clock.clone().find(|(_, row)| row.figures.period_ps.is_none()) {
            bail!("`{name}` has no period");
        }
        if let Some((name, _)) = several_clocks.clone().find(|(_, row)| row.figures.period_ps.is_some()) {
            bail!("`{name}` has a period, and more than one clock");
        }
        for (name, row) in one_clock.chain(several_clocks) {
            if row.exception.as_ref().is_some_and(|why| why.trim().is_empty()) {
                bail!("`{name}` is an exception without a reason");
            }
        }
        Ok(baseline)
    }

    /// Every block that there is has a row or is left out, and no row is without a block.
    pub(crate) fn covers(&self, blocks: &BTreeSet<String>) -> Result<()> {
        let known: BTreeSet<String> = self.block.keys().chain(self.left_out.keys()).cloned().collect();
        if let Some(missing) = blocks.difference(&known).next() {
            bail!(
                "hw/top/area.toml does not know the block `{missing}`\nnext step: cargo xtask synth --block {missing} --update, or leave it out with the reason"
            );
        }
        if let Some(gone) = known.difference(blocks).next() {
            bail!("hw/top/area.toml names `{gone}`, and there is no such block\nnext step: remove it there");
        }
        Ok(())
    }

    /// The file's text. What was written by hand, `ci` and `exception`, is part of it.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(
            "# What each block takes of the chip, 100g profile; `cargo xtask synth` compares with this.\n\
             # `--update` writes the figures; `ci` (measured there), `exception` (why it may be over a limit)\n\
             # and `left_out` are written by hand and kept.\n",
        );
        if let Some(card) = &self.card {
            text += &card.text("card");
        }
        for (name, row) in &self.board {
            text += &row.text(&format!("board.{name}"));
        }
        text += "\n[left_out]\n";
        for (name, why) in &self.left_out {
            let _ = writeln!(text, "{name} = {}", quoted(why));
        }
        for (name, row) in &self.block {
            text += &row.text(&format!("block.{name}"));
        }
        text
    }
}

impl Row {
    fn text(&self, name: &str) -> String {
        let mut text = format!("\n[{name}]\n");
        if self.ci {
            text += "ci = true\n";
        }
        if let Some(why) = &self.exception {
            let _ = writeln!(text, "exception = {}", quoted(why));
        }
        let _ = writeln!(text, "figures = {}", inline(&self.figures));
        text
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn inline(figures: &Figures) -> String {
    let Figures { lut, lut_ram, ff, bram18, uram, dsp, levels, period_ps } = figures;
    let period = period_ps.map(|period| format!(", period_ps = {period}")).unwrap_or_default();
    format!(
        "{{ lut = {lut}, lut_ram = {lut_ram}, ff = {ff}, bram18 = {bram18}, uram = {uram}, dsp = {dsp}, levels = {levels}{period} }}"
    )
}

/// What is wrong with a block's figures, one line each.
pub(crate) fn findings(name: &str, row: &Row, now: &Figures) -> Vec<String> {
    let before = &row.figures;
    let mut findings = Vec::new();
    let grown = [
        ("LUT", before.lut, now.lut, MORE_LUTS),
        ("FF", before.ff, now.ff, MORE_FLIP_FLOPS),
        ("BRAM (18 Kb)", before.bram18, now.bram18, 0),
        ("URAM", before.uram, now.uram, 0),
        ("DSP", before.dsp, now.dsp, 0),
    ];
    for (what, before, now, percent) in grown {
        if exceeds(before, now, percent) {
            findings.push(format!("{name}: {what} {before} -> {now}, more than {percent} %"));
        }
    }
    let longer = |(before, now): (u32, u32)| exceeds(before.into(), now.into(), LONGER_PERIOD);
    if before.period_ps.zip(now.period_ps).is_some_and(longer) {
        findings.push(format!(
            "{name}: period {} -> {} ns, more than {LONGER_PERIOD} %",
            before.period(),
            now.period()
        ));
    }
    let too_slow = now.period_ps.is_some_and(|period| period > LONGEST_PERIOD);
    let too_deep = now.levels > MOST_LEVELS;
    match &row.exception {
        None if too_slow => {
            findings.push(format!(
                "{name}: period {} ns, over {} ns",
                now.period(),
                nanoseconds(LONGEST_PERIOD)
            ));
        }
        Some(_) if !too_slow && !too_deep => {
            findings.push(format!("{name}: within the limits, and needs its exception no more"));
        }
        _ => {}
    }
    if row.exception.is_none() && too_deep {
        findings.push(format!("{name}: {} LUT levels, over {MOST_LEVELS}", now.levels));
    }
    findings
}

fn exceeds(before: u64, now: u64, percent: u64) -> bool {
    now * 100 > before * (100 + percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: Figures = Figures {
        lut: 1000,
        lut_ram: 64,
        ff: 1000,
        bram18: 3,
        uram: 2,
        dsp: 1,
        levels: 9,
        period_ps: Some(4000),
    };

    /// Gives one figure a value.
    type Set = fn(&mut Figures, u32);

    fn row() -> Row {
        Row { ci: false, exception: None, figures: FIGURES }
    }

    /// The top of a board: it has no period.
    fn top() -> Row {
        Row { figures: Figures { period_ps: None, ..FIGURES }, ..row() }
    }

    fn changed(change: impl Fn(&mut Figures)) -> Vec<String> {
        let mut now = FIGURES;
        change(&mut now);
        findings("parse", &row(), &now)
    }

    #[test]
    fn each_limit_holds_exactly_where_it_is_drawn() {
        assert!(changed(|_| ()).is_empty());
        let pairs: [(Set, u32, u32, &str); 8] = [
            (|now, to| now.lut = to.into(), 1030, 1031, "LUT 1000 -> 1031"),
            (|now, to| now.ff = to.into(), 1010, 1011, "FF 1000 -> 1011"),
            (|now, to| now.bram18 = to.into(), 3, 4, "BRAM (18 Kb) 3 -> 4"),
            (|now, to| now.uram = to.into(), 2, 3, "URAM 2 -> 3"),
            (|now, to| now.dsp = to.into(), 1, 2, "DSP 1 -> 2"),
            (|now, to| now.period_ps = Some(to), 4120, 4121, "period 4.00 -> 4.12 ns"),
            (|now, to| now.levels = to, 10, 11, "11 LUT levels, over 10"),
            (|now, to| now.lut_ram = to.into(), 64, 65, ""),
        ];
        for (set, within, beyond, finding) in pairs {
            assert!(changed(|now| set(now, within)).is_empty(), "{finding}: {within} is within");
            let found = changed(|now| set(now, beyond));
            if finding.is_empty() {
                assert!(found.is_empty(), "LUT RAM is counted among the lookup tables: {found:?}");
            } else {
                assert!(found.len() == 1 && found[0].contains(finding), "{finding}: {found:?}");
            }
        }
    }

    #[test]
    fn less_of_everything_is_no_finding() {
        assert!(findings("parse", &row(), &Figures::default()).is_empty());
    }

    #[test]
    fn the_longest_period_is_a_quarter_over_the_clocks_whatever_the_baseline_was() {
        let now = |period| Figures { period_ps: Some(period), ..FIGURES };
        let row = |period| Row { figures: now(period), ..row() };
        assert!(findings("parse", &row(5000), &now(5000)).is_empty());
        assert_eq!(findings("parse", &row(5001), &now(5001)), ["parse: period 5.00 ns, over 5.00 ns"]);
    }

    #[test]
    fn an_exception_lifts_the_two_limits_and_not_the_baseline_and_goes_when_it_is_idle() {
        let figures = Figures { levels: 12, period_ps: Some(6000), ..FIGURES };
        let row = Row { exception: Some("a reason".into()), figures, ..row() };
        assert!(findings("parse", &row, &figures).is_empty());
        let slower = findings("parse", &row, &Figures { period_ps: Some(6181), ..figures });
        assert_eq!(slower, ["parse: period 6.00 -> 6.18 ns, more than 3 %"]);
        let idle = findings("parse", &row, &Figures { levels: 10, period_ps: Some(5000), ..figures });
        assert_eq!(idle, ["parse: within the limits, and needs its exception no more"]);
    }

    #[test]
    fn the_top_of_a_board_is_held_to_its_size_and_levels_and_to_no_period() {
        let row = top();
        let now = |change: fn(&mut Figures)| {
            let mut now = row.figures;
            change(&mut now);
            findings("u55c", &row, &now)
        };
        assert!(now(|_| ()).is_empty());
        assert_eq!(now(|now| now.lut = 1031), ["u55c: LUT 1000 -> 1031, more than 3 %"]);
        assert_eq!(now(|now| now.levels = 11), ["u55c: 11 LUT levels, over 10"]);
    }

    #[test]
    fn the_file_comes_back_as_it_was_written() {
        let mut baseline = Baseline { card: Some(row()), ..Baseline::default() };
        baseline.board.insert("u55c".into(), top());
        baseline.left_out.insert("skid".into(), "part of \"others\"".into());
        baseline.block.insert("parse".into(), Row { ci: true, ..row() });
        baseline.block.insert("mmu".into(), Row { exception: Some("deep".into()), ..row() });
        assert_eq!(Baseline::parse(&baseline.text()).unwrap(), baseline);
    }

    #[test]
    fn a_malformed_file_is_refused_with_the_reason() {
        let good = Baseline {
            block: BTreeMap::from([("parse".into(), row())]),
            left_out: BTreeMap::from([("skid".into(), "a primitive".into())]),
            board: BTreeMap::from([("u55c".into(), top())]),
            ..Baseline::default()
        };
        let text = good.text();
        let wrong = |from: &str, to: &str| {
            assert!(text.contains(from), "{from} is not in {text}");
            format!("{:#}", Baseline::parse(&text.replace(from, to)).unwrap_err())
        };
        assert!(wrong("lut = 1000", "luts = 1000").contains("unknown field `luts`"));
        assert!(wrong("lut = 1000, ", "").contains("missing field `lut`"));
        assert!(wrong("lut = 1000", "lut = -1").contains("-1"));
        assert!(
            wrong("figures =", "exception = ' '\nfigures =")
                .contains("`parse` is an exception without a reason")
        );
        assert!(wrong("a primitive", " ").contains("`skid` is left out without a reason"));
        assert!(wrong("skid", "parse").contains("`parse` is both measured and left out"));
        assert!(wrong("[block.parse]", "[block.parse]\nsize = 1").contains("unknown field `size`"));
        assert!(wrong("[left_out]", "[left_out").contains("left_out"));
        assert!(wrong("[board.u55c]", "[board.u55]").contains("no board is called u55;"));
        assert!(wrong(", period_ps = 4000", "").contains("`parse` has no period"));
        assert!(wrong("levels = 9 }", "levels = 9, period_ps = 1 }").contains("`u55c` has a period"));
        assert!(
            wrong("[board.u55c]", "[board.u55c]\nexception = ' '")
                .contains("`u55c` is an exception without a reason")
        );
    }

    #[test]
    fn every_block_has_a_row_or_is_left_out_and_every_row_has_a_block() {
        let baseline = Baseline {
            block: BTreeMap::from([("parse".into(), row())]),
            left_out: BTreeMap::from([("skid".into(), "a primitive".into())]),
            ..Baseline::default()
        };
        let covers = |blocks: &[&str]| {
            let blocks = blocks.iter().map(ToString::to_string).collect();
            baseline.covers(&blocks).map_err(|error| error.to_string())
        };
        assert_eq!(covers(&["parse", "skid"]), Ok(()));
        assert!(covers(&["parse", "skid", "mmu"]).unwrap_err().contains("does not know the block `mmu`"));
        assert!(covers(&["skid"]).unwrap_err().contains("names `parse`, and there is no such block"));
        assert!(covers(&["parse"]).unwrap_err().contains("names `skid`, and there is no such block"));
    }
}
