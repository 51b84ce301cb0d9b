//! `column_sum` in plain Rust: what its RTL is held against, and what a driver runs where a card lacks the kernel.

use std::cmp::Ordering;

use stroma_abi::wire::RpcStatus;
use stroma_kernel_models::{Failure, Invocation, Memory, Outcome};

use crate::call::{ColumnSum, ColumnSumStatus, Comparison, STRIDE_MAX, STRIDE_MIN, Totals, WORD_LEN};

/// Carries an invocation out.
pub fn run(invocation: &Invocation, memory: &mut impl Memory) -> Outcome {
    match accepted(invocation) {
        Some(asked) => add_up(&asked, invocation.command.key, memory).unwrap_or_else(Outcome::from),
        None => Outcome::bare(ColumnSumStatus::BadRequest as u32),
    }
}

/// The parameters, if the kernel begins with them.
fn accepted(invocation: &Invocation) -> Option<ColumnSum> {
    let command = &invocation.command;
    let is_whole = usize::from(command.parameter_words) * 4 == ColumnSum::LEN
        && command.request_length as usize == ColumnSum::LEN
        && command.response_max as usize >= Totals::LEN
        && command.flags == 0;
    let asked = ColumnSum::parse(invocation.parameters.block())?;
    let is_within = |at: u16| usize::from(at) + WORD_LEN <= usize::from(asked.stride);
    let fits = (STRIDE_MIN..=STRIDE_MAX).contains(&asked.stride)
        && is_within(asked.column_at)
        && is_within(asked.filter_at)
        && Comparison::from_code(asked.comparison).is_some();
    (is_whole && fits).then_some(asked)
}

fn add_up(asked: &ColumnSum, key: u32, memory: &mut impl Memory) -> Result<Outcome, Failure> {
    let mut word = |at: u64| {
        let bytes = memory.read(key, at, WORD_LEN)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    };
    let mut totals = Totals::default();
    let mut row = asked.address;
    for _ in 0..asked.rows {
        let filter = word(row.wrapping_add(asked.filter_at.into()))?;
        let value = word(row.wrapping_add(asked.column_at.into()))?;
        let bit = match filter.cmp(&asked.operand) {
            Ordering::Less => Comparison::Less,
            Ordering::Equal => Comparison::Equal,
            Ordering::Greater => Comparison::Greater,
        };
        if asked.comparison & bit as u8 != 0 {
            totals.sum = totals.sum.wrapping_add(value);
            totals.matching += 1;
        }
        row = row.wrapping_add(asked.stride.into());
    }
    Ok(Outcome { status: RpcStatus::Ok as u32, data: totals.to_bytes().to_vec() })
}

#[cfg(test)]
mod tests {
    use stroma_abi::desc::SlotCommand;
    use stroma_kernel_client::Call;

    use super::*;
    use crate::call::Rows;

    /// Words from address 0x1000 on, under key 7.
    struct Words(Vec<u64>);

    impl Memory for Words {
        fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
            let at = usize::try_from(va.checked_sub(0x1000).ok_or(Failure::Refused)?).expect("small");
            let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
            let found = bytes.get(at..at + len).filter(|_| key == 7);
            found.map(<[u8]>::to_vec).ok_or(Failure::Refused)
        }

        fn write(&mut self, _: u32, _: u64, _: &[u8]) -> Result<(), Failure> {
            unreachable!("column_sum writes nothing")
        }
    }

    fn ask(asked: &ColumnSum, words: &[u64]) -> Outcome {
        let command = SlotCommand { key: 7, response_max: 16, ..SlotCommand::default() };
        run(&Invocation::new(command, asked.parameters(), Vec::new()), &mut Words(words.to_vec()))
    }

    fn totals(asked: &ColumnSum, words: &[u64]) -> (u64, u64) {
        let outcome = ask(asked, words);
        let Totals { sum, matching } = asked.answer(outcome.status, &outcome.data).expect("an answer");
        (sum, matching)
    }

    /// Three rows of two words.
    const TABLE: [u64; 6] = [5, 100, 6, 20, 7, 3];

    fn all(count: u32) -> ColumnSum {
        ColumnSum::new(Rows { address: 0x1000, count, stride: 16 }, 8).expect("within the row")
    }

    #[test]
    fn each_comparison_chooses_its_rows() {
        for (comparison, expected) in [
            (Comparison::Less, (100, 1)),
            (Comparison::Equal, (20, 1)),
            (Comparison::AtMost, (120, 2)),
            (Comparison::Greater, (3, 1)),
            (Comparison::NotEqual, (103, 2)),
            (Comparison::AtLeast, (23, 2)),
            (Comparison::Always, (123, 3)),
        ] {
            let asked = all(3).only(0, comparison, 6).expect("within the row");
            assert_eq!(totals(&asked, &TABLE), expected, "{comparison:?}");
        }
    }

    #[test]
    fn no_rows_have_no_sum_and_sums_wrap() {
        assert_eq!(totals(&all(0), &[]), (0, 0));
        assert_eq!(totals(&all(2), &[0, u64::MAX, 0, 3]), (2, 2));
    }

    #[test]
    fn a_row_out_of_reach_ends_it_whether_it_matches_or_not() {
        let asked = all(4).only(0, Comparison::Equal, 6).expect("within the row");
        assert_eq!(ask(&asked, &TABLE), Outcome::bare(2));
        assert_eq!(ask(&all(3), &TABLE[..5]), Outcome::bare(2));
    }

    #[test]
    fn each_parameter_out_of_range_is_refused() {
        let good = all(3);
        for bad in [
            ColumnSum { stride: 7, column_at: 0, ..good },
            ColumnSum { stride: 4097, ..good },
            ColumnSum { column_at: 9, ..good },
            ColumnSum { filter_at: 9, ..good },
            ColumnSum { filter_at: u16::MAX, ..good },
            ColumnSum { comparison: 0, ..good },
            ColumnSum { comparison: 8, ..good },
        ] {
            assert_eq!(ask(&bad, &TABLE), Outcome::bare(0x100), "{bad:?}");
        }
    }
}
