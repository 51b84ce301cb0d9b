//! Proofs of the primitives: stream law, no loss, no duplication, order; by induction, for any stall and any length.
//!
//! Each proof is one `SystemVerilog` file, the emitted block and a checker around it, and one `SymbiYosys` script.
//! `cargo xtask formal` runs them all. Proofs can be wrong by proving nothing, so each comes with a cover run (beats do
//! move under its assumptions) and with bugs sown into the emitted text, which it must find.
//!
//! | proved for | depth |
//! |---|---|
//! | `Skid`, `Fifo`, `BlockFifo`, `Arbiter` (order, exactly once, offers stable and independent of `ready`) | any, by induction |
//! | `Arbiter` (a standing offer waits for at most `N - 1` others) | any, by induction |
//! | `PacketFifo`, stalling and dropping (whole good packets exactly once, others counted, never stuck) | any, by induction |
//! | every cover run and every sown bug | bounded, see [`Goal`] |

mod buffers;
mod harness;
mod packets;

/// What a run is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// All assertions hold for ever: a bounded check, then induction over the same number of cycles.
    Prove,
    /// The cover statements are reached within 20 cycles.
    Cover,
    /// An assertion fails within 16 cycles: a bug was sown.
    Refute,
}

impl Goal {
    fn options(self) -> &'static str {
        match self {
            Self::Prove => "mode prove\ndepth 8",
            Self::Cover => "mode cover\ndepth 20",
            Self::Refute => "mode bmc\ndepth 16",
        }
    }
}

/// One run of the proof tool.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name of the run, and of its script without the ending.
    pub name: String,
    /// The script.
    pub sby: String,
    /// Files the script reads, by name.
    pub files: Vec<(String, String)>,
    /// False for a run that must find a bug.
    pub expect_pass: bool,
}

impl Task {
    fn new(name: String, goal: Goal, text: String) -> Self {
        let options = goal.options();
        let sby = format!(
            "[options]\n{options}\n\n[engines]\nsmtbmc yices\n\n\
             [script]\nread -formal {name}.sv\nhierarchy -top proof\nproc\nflatten\nprep -top proof\n\n\
             [files]\n{name}.sv\n"
        );
        Self { sby, files: vec![(format!("{name}.sv"), text)], expect_pass: goal != Goal::Refute, name }
    }
}

/// A block and the checker around it.
struct Proof {
    name: &'static str,
    /// The emitted text.
    block: String,
    /// The module `proof`.
    checker: String,
    /// Bugs to sow: name, text to replace, replacement.
    bugs: &'static [(&'static str, &'static str, &'static str)],
}

impl Proof {
    fn tasks(&self) -> Vec<Task> {
        let Self { name, block, checker, bugs } = self;
        let mut tasks = vec![
            Task::new((*name).to_string(), Goal::Prove, format!("{block}\n{checker}")),
            Task::new(format!("{name}_cover"), Goal::Cover, format!("{block}\n{checker}")),
        ];
        for (bug, from, to) in *bugs {
            assert_eq!(
                block.matches(from).count(),
                1,
                "{name}: `{from}` must occur once, or `{bug}` is not sown"
            );
            let sick = block.replace(from, to);
            tasks.push(Task::new(format!("{name}_bug_{bug}"), Goal::Refute, format!("{sick}\n{checker}")));
        }
        tasks
    }
}

/// Every run: proofs, covers and sown bugs.
///
/// # Panics
/// When a block cannot be emitted, or the text a bug replaces is no longer there.
#[must_use]
pub fn tasks() -> Vec<Task> {
    buffers::proofs().iter().chain(&packets::proofs()).flat_map(Proof::tasks).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_proof_has_a_cover_run_and_a_sown_bug() {
        let tasks = tasks();
        let names: BTreeSet<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names.len(), tasks.len(), "two runs of one name");
        for block in ["skid", "fifo", "block_fifo", "arbiter", "packet_fifo", "packet_fifo_dropping"] {
            assert!(names.contains(block) && names.contains(format!("{block}_cover").as_str()), "{block}");
            let bug = format!("{block}_bug_");
            assert!(tasks.iter().any(|task| task.name.starts_with(&bug) && !task.expect_pass), "{block}");
        }
    }

    #[test]
    fn every_script_names_the_files_it_comes_with() {
        for task in tasks() {
            for (file, text) in &task.files {
                assert!(task.sby.contains(&format!("read -formal {file}")), "{}", task.name);
                assert!(text.contains("assert("), "{} asserts nothing", task.name);
            }
        }
    }
}
