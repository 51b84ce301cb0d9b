//! Contexts: a program's hold on a card, and the functions that programs reach through it.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{fs::File, os::fd::AsRawFd, sync::Arc};

use libc::c_int;
use rdma_sys::{
    ibv_async_event, ibv_async_event_element_t, ibv_context, ibv_context_ops, ibv_device, ibv_event_type,
    verbs_context,
};
use stroma_verbs::{AsyncEvent, Device};

use crate::{
    address::HANDLES,
    card::Card,
    channel::CHANNELS,
    device, domain,
    failure::{Failure, Outcome, number, pointer, quiet, status},
    flag::Flag,
    handle::{Parent, Shell, Table, Users, zeroed},
    outbox::Outbox,
    pair::PAIRS,
    queue::QUEUES,
    region::REGIONS,
    shared::SHARED,
    window::WINDOWS,
};

/// A program's hold on a card.
pub(crate) struct Context {
    pub(crate) card: Arc<Card>,
    events: Outbox<Told>,
    /// What programs may duplicate, and nothing else: there is no kernel behind it.
    _command: File,
    users: Users,
    /// Where its shell is.
    face: usize,
}

/// An event, and what it is about: the address of a shell, or a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) kind: ibv_event_type,
    pub(crate) about: usize,
}

/// The only port of a card.
pub(crate) const PORT: u8 = 1;

impl Shell for verbs_context {
    const FACE: usize = std::mem::offset_of!(verbs_context, context);
}

impl Parent for Context {
    fn users(&self) -> &Users {
        &self.users
    }
}

/// All contexts.
pub(crate) static CONTEXTS: Table<verbs_context, Context> =
    Table::new("no context of ours, or one that was closed");

impl Context {
    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.card.inner.device
    }

    /// What programs know it by.
    pub(crate) fn face(&self) -> *mut ibv_context {
        std::ptr::with_exposed_provenance_mut(self.face)
    }

    /// Tells the program of an event of an object of this context.
    pub(crate) fn push(&self, told: Told) {
        self.events.push(told);
    }

    /// Takes events of an object back that ends.
    pub(crate) fn withdraw(&self, about: usize) {
        self.events.withdraw(|told| told.about == about);
    }

    /// Tells of what concerns the whole card.
    pub(crate) fn tell(&self, event: &AsyncEvent) {
        let kind = match event {
            AsyncEvent::Port { is_up: true } => ibv_event_type::IBV_EVENT_PORT_ACTIVE,
            AsyncEvent::Port { is_up: false } => ibv_event_type::IBV_EVENT_PORT_ERR,
            AsyncEvent::CardError { .. } => ibv_event_type::IBV_EVENT_DEVICE_FATAL,
            // Nothing of libibverbs says that events were lost, or are new.
            _ => return,
        };
        self.push(Told { kind, about: PORT.into() });
    }
}

/// Functions that inline code of the header calls. All others are symbols.
fn operations() -> ibv_context_ops {
    ibv_context_ops {
        alloc_mw: Some(crate::window::alloc),
        bind_mw: Some(crate::window::bind),
        dealloc_mw: Some(crate::window::dealloc),
        poll_cq: Some(crate::poll::poll),
        req_notify_cq: Some(crate::poll::notify),
        post_srq_recv: Some(crate::shared::post),
        post_send: Some(crate::post::send),
        post_recv: Some(crate::post::receive),
        ..zeroed()
    }
}

const NO_DESCRIPTOR: Failure = Failure::Call { errno: libc::EMFILE, why: "opening /dev/null" };

/// Opens a card; all contexts of a process share it.
///
/// # Safety
/// None: a pointer that is no device of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_open_device(device: *mut ibv_device) -> *mut ibv_context {
    pointer("ibv_open_device", || open(device))
}

/// Makes a context.
pub(crate) fn open(device: *mut ibv_device) -> Outcome<*mut ibv_context> {
    let card = Card::open(&device::find(device)?)?;
    let events = Outbox::new(Flag::new()?);
    let command = File::open("/dev/null").map_err(|_| NO_DESCRIPTOR)?;
    let mut shell: verbs_context = zeroed();
    shell.query_port = Some(crate::query::port);
    shell.query_device_ex = Some(crate::query::device_ex);
    shell.query_rt_values = Some(crate::query::clock);
    shell.create_cq_ex = Some(crate::queue::create_ex);
    shell.modify_cq = Some(crate::queue::modify);
    shell.create_qp_ex = Some(crate::pair::create_ex);
    shell.create_srq_ex = Some(crate::shared::create_ex);
    shell.get_srq_num = Some(crate::shared::number_of);
    shell.alloc_td = Some(crate::domain::alloc_td);
    shell.dealloc_td = Some(crate::domain::dealloc_td);
    shell.alloc_parent_domain = Some(crate::domain::alloc_parent);
    shell.sz = size_of::<verbs_context>();
    shell.context.device = device;
    shell.context.ops = operations();
    shell.context.cmd_fd = command.as_raw_fd();
    shell.context.async_fd = events.flag().descriptor();
    shell.context.num_comp_vectors = 1;
    // The value by which programs know that the larger structure is around this one.
    shell.context.abi_compat = std::ptr::without_provenance_mut(usize::MAX);
    let mut made = None;
    let face = CONTEXTS.add(shell, |face| {
        let context = Arc::new(Context { card, events, _command: command, users: Users::default(), face });
        Arc::clone(made.insert(context))
    });
    if let Some(context) = made {
        context.card.inner.enter_context(&context);
    }
    Ok(face)
}

/// Closes a context. What the program has left of it goes with it, as the kernel would have it. The card is another process's to open
/// when the last one is closed.
///
/// # Safety
/// None: a pointer that is no context of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_close_device(context: *mut ibv_context) -> c_int {
    status("ibv_close_device", || {
        let closing = CONTEXTS.find(context)?;
        let is_his = |other: &Context| std::ptr::eq(other, &raw const *closing);
        // Who stands on others goes first.
        PAIRS.purge(|pair| is_his(pair.context()));
        SHARED.purge(|shared| is_his(&shared.domain.context));
        HANDLES.purge(|handle| is_his(&handle.domain.context));
        WINDOWS.purge(|window| is_his(&window.domain.context));
        REGIONS.purge(|region| region.domain().is_some_and(|domain| is_his(&domain.context)));
        QUEUES.purge(|queue| is_his(&queue.context));
        CHANNELS.purge(|channel| is_his(&channel.context));
        domain::purge(&is_his);
        CONTEXTS.remove(context).map(drop)
    })
}

/// Waits for an event that is no completion.
///
/// # Safety
/// `event` is a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_async_event(
    context: *mut ibv_context,
    event: *mut ibv_async_event,
) -> c_int {
    number("ibv_get_async_event", || {
        let context = CONTEXTS.find(context)?;
        // One about an object that has ended meanwhile has nothing to say any more.
        let told = loop {
            let told = context.events.take()?;
            if deliver(told) {
                break told;
            }
        };
        let about = std::ptr::with_exposed_provenance_mut(told.about);
        let element = ibv_async_event_element_t { cq: about };
        // SAFETY: by contract.
        unsafe { event.write(ibv_async_event { element, event_type: told.kind }) };
        Ok(0)
    })
}

/// May the event be handed over? One about a queue pair, a completion queue or a shared receive queue waits for an acknowledgement, and
/// is none any more when the object ends.
fn deliver(told: Told) -> bool {
    if told.about == usize::from(PORT) {
        true
    } else if let Ok(pair) = PAIRS.at(told.about) {
        pair.events.deliver()
    } else if let Ok(queue) = QUEUES.at(told.about) {
        queue.events.deliver()
    } else {
        SHARED.at(told.about).is_ok_and(|shared| shared.events.deliver())
    }
}

/// Acknowledges an event: what it is about may be destroyed.
///
/// # Safety
/// `event` is one that `ibv_get_async_event` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_ack_async_event(event: *mut ibv_async_event) {
    quiet("ibv_ack_async_event", || {
        // SAFETY: by contract; all elements are a pointer, or a number in its place.
        let about = unsafe { (*event).element.cq };
        if let Ok(pair) = PAIRS.find(about) {
            pair.events.acknowledge(1);
        } else if let Ok(queue) = QUEUES.find(about) {
            queue.events.acknowledge(1);
        } else if let Ok(shared) = SHARED.find(about) {
            shared.events.acknowledge(1);
        }
        Ok(())
    });
}
