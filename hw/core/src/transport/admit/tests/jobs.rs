//! Two jobs of one queue pair under way: the second begins where the first would end if all of it were admitted.

use stroma_abi::desc::{Status, WorkOp};
use stroma_verilate::SplitMix64;

use super::corners::{QPN, locals, nop, parts, read, write};
use crate::host::work::Work;
use crate::testing::noise;
use crate::transport::admit::rig::{Case, Rig, Seen};

/// Jobs one behind the other, each with the index behind it; what came of them, and next index, `blocked` and bytes of each.
fn jobs<const N: usize>(rig: &mut Rig, jobs: [(Vec<Case>, u64); N]) -> (Seen, Vec<(u64, bool, u64)>) {
    for (cases, behind) in jobs {
        for case in cases {
            rig.send(case);
        }
        rig.send(Case::end(QPN, behind));
    }
    let seen = rig.outcome();
    let reports = seen.progress.iter().map(|progress| {
        assert!(!progress.rewinds);
        (progress.next_index.into(), progress.blocked, progress.bytes.into())
    });
    (seen.clone(), reports.collect())
}

/// Works that one may read out of the middle of a WQE, of all op-codes, with a status and without.
fn nonsense(from: u64, count: u64) -> Vec<Case> {
    let mut rng = SplitMix64::new(from);
    let mut make = |index: u64| {
        let work = Work {
            ends: false,
            qpn: QPN.into(),
            index: index.into(),
            status: if index.is_multiple_of(3) { (1 + rng.below(12)).into() } else { 0.into() },
            opcode: (index % 24).into(),
            units: (1 + rng.below(8)).into(),
            ..noise(&mut rng)
        };
        Case { work, units: vec![noise(&mut rng)] }.fit()
    };
    (from..from + count).map(&mut make).collect()
}

#[test]
fn a_second_job_goes_on_where_the_first_has_ended() {
    let mut rig = Rig::new();
    let (seen, reports) =
        jobs(&mut rig, [((0..3).map(write).collect(), 3), ((3..5).map(write).collect(), 5), (vec![], 5)]);
    assert_eq!((seen.message.len(), reports), (5, vec![(3, false, 30), (5, false, 20), (5, false, 0)]));
}

#[test]
fn behind_a_job_that_blocks_all_works_of_the_second_are_passed_over() {
    let goods = || vec![write(6), nop(7), read(8), write(9).status(Status::LocalProtection)];
    for second in [goods(), nonsense(6, 48), vec![]] {
        let mut rig = Rig::new();
        // The fifth READ waits for an answer.
        let first: Vec<Case> = (0..6).map(read).collect();
        let (seen, reports) = jobs(&mut rig, [(first, 6), (second, 60)]);
        assert_eq!((seen.message.len(), locals(&seen), seen.key.len()), (4, (vec![], 0), 0));
        assert_eq!(seen.message_units.len(), 4, "units of what is passed over go nowhere");
        // The second has met nothing that waits.
        assert_eq!(reports, [(4, true, 40), (4, false, 0)]);
        assert_eq!((seen.failures.len(), seen.read_waits), (0, 1));
        rig.acknowledge(QPN, 1, 1);
        let (seen, reports) = jobs(&mut rig, [(vec![read(4), read(5)], 6)]);
        assert_eq!((seen.message.len(), reports), (1, vec![(5, true, 10)]));
    }
}

#[test]
fn behind_a_job_whose_quantum_is_spent_all_works_of_the_second_are_passed_over() {
    let long = || Case::new(WorkOp::Write, QPN, 0, 100_000);
    let large = |index| Case::new(WorkOp::Write, QPN, index, 40_000);
    for second in [vec![write(4), nop(5)], nonsense(4, 48)] {
        let mut rig = Rig::new();
        // In the middle of a message.
        let (seen, reports) = jobs(&mut rig, [(vec![long(), write(1)], 4), (second.clone(), 60)]);
        assert_eq!((parts(&seen), locals(&seen).0), (vec![(0, 64, 0, false)], vec![]));
        assert_eq!(reports, [(0, false, 1 << 16), (0, false, 0)]);
        let (seen, reports) = jobs(&mut rig, [(vec![long(), write(1)], 2)]);
        assert_eq!((seen.message.len(), reports), (2, vec![(2, false, 100_000 - (1 << 16) + 10)]));
        rig.reset();
        // Between two messages.
        let (seen, reports) = jobs(&mut rig, [((0..4).map(large).collect(), 4), (second, 60)]);
        assert_eq!((seen.message.len(), locals(&seen).0), (2, vec![]));
        assert_eq!(reports, [(2, false, 80_000), (2, false, 0)]);
    }
}

#[test]
fn behind_a_job_with_a_tail_that_was_not_parsed_all_works_of_the_second_are_passed_over() {
    let refused = || write(2).status(Status::LocalQueuePair).with(|work| work.units = 9.into());
    for second in [vec![write(8), nop(9)], nonsense(8, 48)] {
        // A WQE of index 3 goes on behind the eight units of the first job.
        for first in [vec![write(0), write(1), write(2)], vec![nop(0), nop(1), refused()]] {
            let mut rig = Rig::new();
            let count = first.len();
            let (seen, reports) = jobs(&mut rig, [(first, 3), (second.clone(), 60)]);
            assert_eq!(seen.message.len() + locals(&seen).0.len(), count);
            assert_eq!(
                reports.iter().map(|report| (report.0, report.1)).collect::<Vec<_>>(),
                [(3, false); 2]
            );
        }
    }
}

#[test]
fn behind_local_work_that_has_not_ended_all_works_of_the_second_are_passed_over() {
    let mut rig = Rig::new();
    let (seen, reports) = jobs(&mut rig, [(vec![nop(0), write(1)], 2), (vec![nop(2), write(3)], 4)]);
    assert_eq!((locals(&seen).0.len(), seen.message.len()), (1, 0));
    assert_eq!(reports, [(1, false, 0); 2]);
}

#[test]
fn behind_a_queue_pair_that_rests_the_second_job_is_blocked_as_well() {
    let mut rig = Rig::new();
    jobs(&mut rig, [(vec![write(0), write(1)], 2)]);
    rig.rewind(crate::transport::records::Rewind {
        qpn: QPN.into(),
        psn: super::corners::FIRST.into(),
        holds: true,
        ..Default::default()
    });
    rig.outcome();
    let (seen, reports) = jobs(&mut rig, [(vec![write(0)], 1), (vec![write(1)], 2)]);
    assert_eq!((seen.message.len(), reports), (0, vec![(0, true, 0); 2]));
}
