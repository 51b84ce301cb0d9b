//! What Fetch talks to: the MMU and the read engine.

use super::Rig;
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::state::access::XlatRequest;
use crate::stream::beats;
use crate::testing::{collect, push};
use crate::transport::fetch::model::{answers, byte, is_broken};

/// Questions and reads that may be open.
const QUESTIONS: usize = 16;
const READS: usize = 32;

impl<const D: usize, const LOG: usize> Rig<D, LOG> {
    /// The MMU: answers in order, one a cycle, all of which are taken.
    pub(super) fn translate(&mut self, now: u64) {
        assert!(self.port("answer$ready"), "an answer has to wait");
        for request in collect::<XlatRequest>(&mut self.bench, self.xlat) {
            assert_eq!(Some(request), self.questions.pop_front());
            self.at.question.push(now);
            self.open_questions += 1;
            self.most_questions = self.most_questions.max(self.open_questions);
            let due = now + self.xlat_latency.0 + self.rng.below(self.xlat_latency.1 - self.xlat_latency.0);
            self.answers.extend(answers(&request).into_iter().map(|answer| (due, answer)));
        }
        assert!(self.open_questions <= QUESTIONS, "too many questions are open");
        while self.seen[0] < self.bench[self.answer].sent() {
            self.seen[0] += 1;
            let answer = self.answering.pop_front().expect("there is one");
            self.at.answer.push(now);
            self.open_questions -= usize::from(!answer.more);
            let command = ReadCommand { iova: answer.iova, len: answer.len, tag: 0.into() };
            self.commands.extend(answer.ok.then_some(command));
        }
        if self.answers.front().is_some_and(|(due, _)| *due <= now) {
            let (_, answer) = self.answers.pop_front().expect("there is one");
            push(&mut self.bench, self.answer, &[answer]);
            self.answering.push_back(answer);
        }
    }

    /// The read engine: commands are answered in order, one beat a cycle.
    pub(super) fn host(&mut self, now: u64) {
        for command in collect::<ReadCommand>(&mut self.bench, self.read) {
            assert_eq!(Some(command), self.commands.pop_front());
            self.at.command.push(now);
            self.open_reads += 1;
            self.most_reads = self.most_reads.max(self.open_reads);
            let (iova, len) = (u64::from(command.iova), u64::from(command.len));
            let bytes: Vec<u8> = (iova..iova + len).map(byte).collect();
            let due = now + self.read_latency.0 + self.rng.below(self.read_latency.1 - self.read_latency.0);
            for beat in beats::<D>(&bytes) {
                let err = if beat.eop { is_broken(iova) } else { self.rng.below(2) == 1 };
                let data = ReadData {
                    data: beat.data,
                    nbytes: beat.nbytes,
                    sop: beat.sop,
                    eop: beat.eop,
                    err,
                    tag: command.tag,
                };
                self.flights.push_back((due, data));
            }
        }
        assert!(self.open_reads <= READS, "too many reads are open");
        while self.seen[1] < self.bench[self.read_data].sent() {
            self.seen[1] += 1;
            let beat = self.reading.pop_front().expect("there is one");
            if beat.eop {
                self.open_reads -= 1;
                self.at.read.push(now);
            }
        }
        if self.flights.front().is_some_and(|(due, _)| *due <= now) {
            let (_, beat) = self.flights.pop_front().expect("there is one");
            push(&mut self.bench, self.read_data, &[beat]);
            self.reading.push_back(beat);
        }
    }
}
