//! Completion channels: where a program sleeps until a completion queue has something.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{ffi::c_void, sync::Arc};

use libc::{c_int, c_uint};
use rdma_sys::{ibv_comp_channel, ibv_context, ibv_cq};

use crate::{
    context::{CONTEXTS, Context},
    failure::{number, pointer, quiet, status},
    flag::Flag,
    handle::{Held, Parent, Shell, Table, Users, given, zeroed},
    outbox::Outbox,
    queue::QUEUES,
};

/// A completion channel.
pub(crate) struct Channel {
    pub(crate) context: Held<Context>,
    /// Shells of completion queues that have something.
    pub(crate) ready: Outbox<usize>,
    users: Users,
}

impl Shell for ibv_comp_channel {}

impl Parent for Channel {
    fn users(&self) -> &Users {
        &self.users
    }
}

/// All channels.
pub(crate) static CHANNELS: Table<ibv_comp_channel, Channel> =
    Table::new("no completion channel of ours, or one that was destroyed");

/// Makes a channel. Its descriptor is readable while there are events.
///
/// # Safety
/// None: a pointer that is no context of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_comp_channel(context: *mut ibv_context) -> *mut ibv_comp_channel {
    pointer("ibv_create_comp_channel", || {
        let context = CONTEXTS.find(context)?;
        let ready = Outbox::new(Flag::new()?);
        let mut shell: ibv_comp_channel = zeroed();
        (shell.context, shell.fd) = (context.face(), ready.flag().descriptor());
        let context = Held::new(context)?;
        Ok(CHANNELS.add(shell, |_| Arc::new(Channel { context, ready, users: Users::default() })))
    })
}

/// Ends a channel that no completion queue uses.
///
/// # Safety
/// None: a pointer that is no channel of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int {
    status("ibv_destroy_comp_channel", || CHANNELS.remove(channel).map(drop))
}

/// Waits until a completion queue has something; which one.
///
/// # Safety
/// `cq` and `cq_context` are places for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_cq_event(
    channel: *mut ibv_comp_channel,
    cq: *mut *mut ibv_cq,
    cq_context: *mut *mut c_void,
) -> c_int {
    number("ibv_get_cq_event", || {
        let channel = CHANNELS.find(channel)?;
        given(cq)?;
        given(cq_context)?;
        // One that ends at this moment has nothing to say any more.
        let (face, queue) = loop {
            let face = channel.ready.take()?;
            if let Ok(queue) = QUEUES.at(face)
                && queue.announcements.deliver()
            {
                break (face, queue);
            }
        };
        // SAFETY: by contract.
        unsafe {
            cq.write(std::ptr::with_exposed_provenance_mut(face));
            cq_context.write(std::ptr::with_exposed_provenance_mut(queue.program));
        }
        Ok(0)
    })
}

/// Acknowledges events of a completion queue, which can be destroyed when all of them are.
///
/// # Safety
/// None: a pointer that is no completion queue of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_ack_cq_events(cq: *mut ibv_cq, count: c_uint) {
    quiet("ibv_ack_cq_events", || {
        QUEUES.find(cq)?.announcements.acknowledge(count.into());
        Ok(())
    });
}
