//! Work that never leaves: memory windows are bound, and their keys ended, by the queue pair whose peer uses them.

use stroma_abi::desc::Status;

use super::Requester;
use crate::model::{Access, Memory, Operation, Window};

impl Requester {
    /// Does the local work whose turn it is: all before it is answered, and nothing behind it has begun.
    pub(super) fn work(&mut self, memory: &mut Memory) {
        while let Some(job) = self.jobs.pop_front_if(|job| job.work.operation.is_local()) {
            if self.is_done(job.work.operation, memory) {
                self.complete(&job, Status::Success);
            } else {
                self.complete(&job, Status::WindowBind);
                self.flush();
            }
        }
    }

    fn is_done(&self, operation: Operation, memory: &mut Memory) -> bool {
        match operation {
            Operation::Bind { key, window } if self.may_bind(&window, memory) => {
                memory.bind(key, window);
                true
            }
            Operation::Invalidate(key) => memory.invalidate(key, self.settings.local).is_some(),
            _ => false,
        }
    }

    /// Is the window for this queue pair's own peer, and all of it in one region of the domain?
    fn may_bind(&self, window: &Window, memory: &Memory) -> bool {
        let &Window { region: key, base: address, length, .. } = window;
        let access = Access { key, domain: self.settings.domain, rights: 0, address, queue_pair: None };
        window.queue_pair == self.settings.local && length > 0 && memory.check(&access, length).is_ok()
    }
}
