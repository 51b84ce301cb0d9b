//! Completion queues.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{
    ffi::c_void,
    sync::{Arc, Mutex},
    time::Duration,
};

use libc::c_int;
use rdma_sys::{
    ibv_comp_channel, ibv_context, ibv_cq, ibv_cq_ex, ibv_cq_init_attr_ex, ibv_event_type, ibv_modify_cq_attr,
};
use stroma_abi::desc::completion_queue::CQ_LOG_MAX;
use stroma_verbs::CompletionQueue;

use crate::{
    acks::Acks,
    channel::{CHANNELS, Channel},
    context::{CONTEXTS, Context, Told},
    extended,
    failure::{Outcome, invalid, pointer, refuse, status, unsupported},
    handle::{Held, Parent, Shell, Table, Users, given, zeroed},
};

/// A completion queue.
pub(crate) struct Queue {
    pub(crate) inner: Arc<CompletionQueue>,
    pub(crate) context: Held<Context>,
    channel: Option<Held<Channel>>,
    users: Users,
    face: usize,
    /// What the program wants to have back with its events.
    pub(crate) program: usize,
    /// Events on the channel.
    pub(crate) announcements: Acks,
    /// Events that are no completions.
    pub(crate) events: Acks,
    /// What the program is looking at, one completion at a time.
    pub(crate) cursor: Mutex<extended::Cursor>,
}

impl Shell for ibv_cq_ex {}

impl Parent for Queue {
    fn users(&self) -> &Users {
        &self.users
    }
}

/// All completion queues.
pub(crate) static QUEUES: Table<ibv_cq_ex, Queue> =
    Table::new("no completion queue of ours, or one that was destroyed");

impl Queue {
    /// It has something, and the program asked to be told.
    pub(crate) fn announce(&self) {
        if let Some(channel) = &self.channel {
            channel.ready.push(self.face);
        }
    }

    /// It had no room for a completion.
    pub(crate) fn failed(&self) {
        self.context.push(Told { kind: ibv_event_type::IBV_EVENT_CQ_ERR, about: self.face });
    }
}

/// What a program asks for.
struct Wanted {
    entries: u32,
    program: *mut c_void,
    channel: *mut ibv_comp_channel,
    vector: u32,
    is_extended: bool,
}

fn create(context: *mut ibv_context, wanted: &Wanted) -> Outcome<*mut ibv_cq_ex> {
    let context = CONTEXTS.find(context)?;
    if wanted.entries == 0 || wanted.entries > 1 << CQ_LOG_MAX || wanted.vector != 0 {
        return Err(invalid("no entries, too many, or a vector other than 0"));
    }
    let channel = if wanted.channel.is_null() { None } else { Some(CHANNELS.find(wanted.channel)?) };
    if channel.as_ref().is_some_and(|channel| !Arc::ptr_eq(&channel.context.card, &context.card)) {
        return Err(invalid("a completion channel of another card"));
    }
    let builder = context.device().build_completion_queue(wanted.entries as usize);
    let card = Arc::clone(&context.card.inner);
    let builder = if channel.is_some() { builder.channel(card.channel()) } else { builder };
    let queue = builder.build()?;
    let mut shell: ibv_cq_ex = zeroed();
    shell.context = context.face();
    shell.channel = wanted.channel;
    shell.cq_context = wanted.program;
    shell.handle = queue.number();
    shell.cqe = c_int::try_from(queue.size()).unwrap_or(c_int::MAX);
    if wanted.is_extended {
        extended::equip(&mut shell);
    }
    let number = queue.number();
    let (context, channel) = (Held::new(context)?, channel.map(Held::new).transpose()?);
    let mut made = None;
    let face = QUEUES.add(shell, |face| {
        let queue = Arc::new(Queue {
            inner: queue,
            context,
            channel,
            users: Users::default(),
            face,
            program: wanted.program.expose_provenance(),
            announcements: Acks::default(),
            events: Acks::default(),
            cursor: Mutex::default(),
        });
        Arc::clone(made.insert(queue))
    });
    if let Some(queue) = made {
        card.enter_queue(number, &queue);
    }
    Ok(face)
}

/// Makes a completion queue of at least so many entries.
///
/// # Safety
/// None: pointers are looked up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_cq(
    context: *mut ibv_context,
    entries: c_int,
    program: *mut c_void,
    channel: *mut ibv_comp_channel,
    vector: c_int,
) -> *mut ibv_cq {
    pointer("ibv_create_cq", || {
        let negative = |_| invalid("a number below 0");
        let entries = u32::try_from(entries).map_err(negative)?;
        let vector = u32::try_from(vector).map_err(negative)?;
        let wanted = Wanted { entries, program, channel, vector, is_extended: false };
        create(context, &wanted).map(<*mut ibv_cq_ex>::cast)
    })
}

/// Makes one that is looked at completion by completion.
pub(crate) unsafe extern "C" fn create_ex(
    context: *mut ibv_context,
    attr: *mut ibv_cq_init_attr_ex,
) -> *mut ibv_cq_ex {
    pointer("ibv_create_cq_ex", || {
        given(attr)?;
        // SAFETY: `ibv_create_cq_ex` promises a structure.
        let attr = unsafe { &*attr };
        if attr.wc_flags & !extended::FIELDS != 0 {
            return Err(unsupported("a field of completions that cards do not tell"));
        }
        if attr.comp_mask & !KNOWN != 0 || attr.comp_mask & FLAGS != 0 && attr.flags & !HARMLESS != 0 {
            return Err(unsupported("an attribute of completion queues"));
        }
        let wanted = Wanted {
            entries: attr.cqe,
            program: attr.cq_context,
            channel: attr.channel,
            vector: attr.comp_vector,
            is_extended: true,
        };
        create(context, &wanted)
    })
}

/// `IBV_CQ_INIT_ATTR_MASK_FLAGS`, and all of the mask that is known: that and a parent domain, of which nothing is made.
const FLAGS: u32 = 1;
const KNOWN: u32 = 0b11;
/// Flags that ask for less care (`IBV_CREATE_CQ_ATTR_SINGLE_THREADED`) than there is, or for what is so (`IGNORE_OVERRUN`).
const HARMLESS: u32 = 0b01;

/// Puts events off until so many completions have come, or so many microseconds have gone by.
pub(crate) unsafe extern "C" fn modify(cq: *mut ibv_cq, attr: *mut ibv_modify_cq_attr) -> c_int {
    status("ibv_modify_cq", || {
        let queue = QUEUES.find(cq)?;
        given(attr)?;
        // SAFETY: `ibv_modify_cq` promises a structure.
        let attr = unsafe { &*attr };
        if attr.attr_mask != 1 {
            return Err(invalid("moderation alone can be modified"));
        }
        let period = Duration::from_micros(attr.moderate.cq_period.into());
        Ok(queue.inner.moderate(attr.moderate.cq_count, period)?)
    })
}

/// Another size, which queues do not take.
///
/// # Safety
/// None: nothing is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_resize_cq(_cq: *mut ibv_cq, _entries: c_int) -> c_int {
    refuse("ibv_resize_cq")
}

/// Ends a completion queue that no queue pair uses, when all its events are acknowledged.
///
/// # Safety
/// None: a pointer that is no completion queue of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_cq(cq: *mut ibv_cq) -> c_int {
    status("ibv_destroy_cq", || {
        let queue = QUEUES.close(cq)?;
        if let Some(channel) = &queue.channel {
            channel.ready.withdraw(|face| *face == cq.addr());
        }
        queue.context.withdraw(cq.addr());
        // Acknowledgements still find it.
        queue.announcements.settle();
        queue.events.settle();
        QUEUES.remove(cq).map(drop)
    })
}
