//! What a request to `column_sum` says, and what its answer means.
//!
//! A table is `rows` rows, `stride` bytes apart. In each of them the word of 8 bytes at `filter_at` is held against `operand`, unsigned; where the
//! comparison holds, the word at `column_at` is added to the sum, modulo 2^64. Both words are read in every row, and the first read that
//! fails ends the request with its status.

use stroma_abi::desc::Parameters;
use stroma_abi::wire::RpcStatus;
use stroma_abi::{codes, layout};
use stroma_kernel_client::{Call, Failed, block, failed};

/// RPC op-code of the kernel.
pub const OPERATION: u16 = 0x8001;
/// Bytes of a column's value.
pub const WORD_LEN: usize = 8;
/// Fewest bytes from a row to the next.
pub const STRIDE_MIN: u16 = 8;
/// Most bytes from a row to the next.
pub const STRIDE_MAX: u16 = 4096;

layout! {
    /// The parameters, all of them in every request.
    ColumnSum: Little, 28 bytes;
    ADDRESS    address:    u64 =  0, 0, 64, "of the first row, at any alignment";
    OPERAND    operand:    u64 =  8, 0, 64, "what the filter column is held against";
    ROWS       rows:       u32 = 16, 0, 32, "how many rows there are";
    STRIDE     stride:     u16 = 20, 0, 16, "bytes from a row to the next: 8 to 4096";
    COLUMN_AT  column_at:  u16 = 22, 0, 16, "where in a row the column is; its 8 bytes are within the stride";
    FILTER_AT  filter_at:  u16 = 24, 0, 16, "where in a row the filter column is; its 8 bytes are within the stride";
    COMPARISON comparison: u8  = 26, 0,  8, "a `Comparison`: bit 0, rows below the operand count; bit 1, those equal to it; bit 2, those above it";
}

layout! {
    /// The answer.
    Totals: Little, 16 bytes;
    SUM      sum:      u64 = 0, 0, 64, "of the column in the rows that match, modulo 2^64";
    MATCHING matching: u64 = 8, 0, 64, "how many rows match";
}

codes! {
    /// Which rows match, by the word in their filter column.
    Comparison: u8 {
        1 Less     "Below the operand.";
        2 Equal    "The operand.";
        3 AtMost   "Not above the operand.";
        4 Greater  "Above the operand.";
        5 NotEqual "Any other than the operand.";
        6 AtLeast  "Not below the operand.";
        7 Always   "Any.";
    }
}

codes! {
    /// Statuses of the kernel's own.
    ColumnSumStatus: u32 {
        0x100 BadRequest "A parameter is out of range, their number is wrong, the request allows no answer of 16 bytes, or it has flags or payload; nothing was read.";
    }
}

const _: () = assert!(ColumnSumStatus::BadRequest as u32 >= RpcStatus::KERNEL);

/// Rows in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Of the first.
    pub address: u64,
    /// How many there are.
    pub count: u32,
    /// Bytes from one to the next.
    pub stride: u16,
}

/// Why the kernel would refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Rows too close together, or too far apart.
    #[error("rows {stride} bytes apart: the kernel takes 8 to 4096")]
    Stride {
        /// Bytes from a row to the next.
        stride: u16,
    },
    /// A column that leaves its row.
    #[error("a column of 8 bytes at {at} of a row of {stride} bytes")]
    Column {
        /// Where it begins.
        at: u16,
        /// Bytes from a row to the next.
        stride: u16,
    },
}

impl ColumnSum {
    /// Asks for the sum of a column, over all rows.
    ///
    /// # Errors
    /// When the kernel would refuse it.
    pub fn new(rows: Rows, column_at: u16) -> Result<Self, Error> {
        let Rows { address, count, stride } = rows;
        if !(STRIDE_MIN..=STRIDE_MAX).contains(&stride) {
            return Err(Error::Stride { stride });
        }
        let comparison = Comparison::Always as u8;
        let asked = Self { address, operand: 0, rows: count, stride, column_at, filter_at: 0, comparison };
        asked.within(column_at)
    }

    /// Only over rows whose word at `filter_at` compares so with `operand`.
    ///
    /// # Errors
    /// When the kernel would refuse it.
    pub fn only(self, filter_at: u16, comparison: Comparison, operand: u64) -> Result<Self, Error> {
        Self { operand, filter_at, comparison: comparison as u8, ..self }.within(filter_at)
    }

    fn within(self, at: u16) -> Result<Self, Error> {
        let fits = usize::from(at) + WORD_LEN <= usize::from(self.stride);
        if fits { Ok(self) } else { Err(Error::Column { at, stride: self.stride }) }
    }
}

/// The sum, and over how many rows it goes.
impl Call for ColumnSum {
    type Answer = Totals;
    const OPERATION: u16 = OPERATION;

    fn parameters(&self) -> Parameters {
        block(&self.to_bytes())
    }

    fn response_max(&self) -> u32 {
        2 * u64::BITS / 8
    }

    fn answer(&self, status: u32, bytes: &[u8]) -> Result<Totals, Failed> {
        if status != RpcStatus::Ok as u32 {
            return Err(failed(OPERATION, status));
        }
        let totals = Totals::parse(bytes).filter(|_| bytes.len() == Totals::LEN);
        totals.ok_or(Failed::Answer { operation: OPERATION, length: bytes.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: Rows = Rows { address: 0x1000, count: 3, stride: 24 };

    #[test]
    fn parameters_land_on_the_bytes_the_kernel_reads() {
        let asked = ColumnSum {
            address: 0x0807_0605_0403_0201,
            operand: 0x100f_0e0d_0c0b_0a09,
            rows: 0x1413_1211,
            stride: 0x1615,
            column_at: 0x1817,
            filter_at: 0x1a19,
            comparison: 0x1b,
        };
        let mut expected: [u8; ColumnSum::LEN] =
            std::array::from_fn(|at| u8::try_from(at + 1).expect("small"));
        expected[27] = 0;
        assert_eq!(asked.to_bytes(), expected);
    }

    #[test]
    fn what_the_kernel_would_refuse_cannot_be_asked() {
        for stride in [0, 7, 4097, u16::MAX] {
            assert_eq!(ColumnSum::new(Rows { stride, ..ROWS }, 0), Err(Error::Stride { stride }));
        }
        for at in [17, 24, u16::MAX] {
            assert_eq!(ColumnSum::new(ROWS, at), Err(Error::Column { at, stride: 24 }));
            let asked = ColumnSum::new(ROWS, 16).expect("within the row");
            assert_eq!(asked.only(at, Comparison::Less, 7), Err(Error::Column { at, stride: 24 }));
        }
        let asked = ColumnSum::new(ROWS, 16).and_then(|asked| asked.only(8, Comparison::Less, 7));
        let (rows, stride, column_at, filter_at) = (3, 24, 16, 8);
        let expected =
            ColumnSum { address: 0x1000, operand: 7, rows, stride, column_at, filter_at, comparison: 1 };
        assert_eq!(asked, Ok(expected));
    }

    #[test]
    fn an_answer_is_a_sum_and_a_count_and_a_status_is_an_error() {
        let asked = ColumnSum::new(ROWS, 0).expect("within the row");
        let bytes = [1, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(asked.answer(0, &bytes), Ok(Totals { sum: 0x201, matching: 3 }));
        for length in [0, 8, 15, 17] {
            let wrong = Failed::Answer { operation: OPERATION, length };
            assert_eq!(asked.answer(0, &vec![0; length]), Err(wrong));
        }
        let host = Failed::Card { operation: OPERATION, status: RpcStatus::Host };
        assert_eq!(asked.answer(6, &bytes), Err(host));
        assert_eq!(asked.answer(0x100, &[]), Err(Failed::Kernel { operation: OPERATION, code: 0x100 }));
    }
}
