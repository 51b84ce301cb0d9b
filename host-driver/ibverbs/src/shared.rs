//! Shared receive queues.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::sync::Arc;

use libc::c_int;
use rdma_sys::{
    ibv_context, ibv_event_type, ibv_pd, ibv_recv_wr, ibv_srq, ibv_srq_attr, ibv_srq_attr_mask,
    ibv_srq_init_attr, ibv_srq_init_attr_ex, ibv_srq_type,
};
use stroma_abi::desc::shared_queue::SRQ_LOG_MAX;
use stroma_verbs::SharedReceiveQueue;

use crate::{
    acks::Acks,
    context::{CONTEXTS, Told},
    domain::{DOMAINS, Domain},
    failure::{Outcome, invalid, pointer, status, unsupported},
    handle::{Held, Parent, Shell, Table, Users, given, zeroed},
    post::receives,
};

/// A shared receive queue.
pub(crate) struct Shared {
    pub(crate) queue: Arc<SharedReceiveQueue>,
    pub(crate) domain: Held<Domain>,
    pieces: u32,
    users: Users,
    pub(crate) events: Acks,
    face: usize,
}

impl Shell for ibv_srq {}

impl Parent for Shared {
    fn users(&self) -> &Users {
        &self.users
    }
}

/// All shared receive queues.
pub(crate) static SHARED: Table<ibv_srq, Shared> =
    Table::new("no shared receive queue of ours, or one that was destroyed");

impl Shared {
    /// It has fewer entries than the program wants it to have.
    pub(crate) fn low(&self) {
        self.domain
            .context
            .push(Told { kind: ibv_event_type::IBV_EVENT_SRQ_LIMIT_REACHED, about: self.face });
    }

    fn size(&self) -> u32 {
        u32::try_from(self.queue.size()).unwrap_or(u32::MAX)
    }
}

/// The limit in the words of the card.
fn limit(value: u32) -> Outcome<u16> {
    u16::try_from(value).map_err(|_| invalid("a limit beyond the queue's entries"))
}

fn create(pd: *mut ibv_pd, program: *mut libc::c_void, attr: &mut ibv_srq_attr) -> Outcome<*mut ibv_srq> {
    let domain = DOMAINS.find(pd)?;
    let most = domain.context.device().card().capabilities().sges;
    if attr.max_wr == 0 || attr.max_wr > 1 << SRQ_LOG_MAX || attr.max_sge > most {
        return Err(invalid("no entries, too many, or too many pieces"));
    }
    let pieces = attr.max_sge.max(1);
    let queue = domain.inner.shared_receive_queue(attr.max_wr as usize, pieces as usize)?;
    let number = queue.number();
    let mut shell: ibv_srq = zeroed();
    (shell.context, shell.srq_context, shell.pd) = (domain.context.face(), program, pd);
    shell.handle = number;
    let card = Arc::clone(&domain.context.card.inner);
    let domain = Held::new(domain)?;
    let mut made = None;
    let face = SHARED.add(shell, |face| {
        let (users, events) = (Users::default(), Acks::default());
        Arc::clone(made.insert(Arc::new(Shared { queue, domain, pieces, users, events, face })))
    });
    if let Some(shared) = made {
        (attr.max_wr, attr.max_sge) = (shared.size(), pieces);
        card.enter_shared(number, &shared);
    }
    Ok(face)
}

/// Makes a shared receive queue. What it has is written over what was asked for.
///
/// # Safety
/// `init` is a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_srq(pd: *mut ibv_pd, init: *mut ibv_srq_init_attr) -> *mut ibv_srq {
    pointer("ibv_create_srq", || {
        given(init)?;
        // SAFETY: by contract.
        let init = unsafe { &mut *init };
        create(pd, init.srq_context, &mut init.attr)
    })
}

/// The same, of the one kind there is.
pub(crate) unsafe extern "C" fn create_ex(
    context: *mut ibv_context,
    init: *mut ibv_srq_init_attr_ex,
) -> *mut ibv_srq {
    pointer("ibv_create_srq_ex", || {
        CONTEXTS.find(context)?;
        given(init)?;
        // SAFETY: `ibv_create_srq_ex` promises a structure.
        let init = unsafe { &mut *init };
        if init.comp_mask & TYPE != 0 && init.srq_type != ibv_srq_type::IBV_SRQT_BASIC {
            return Err(unsupported("shared receive queues for XRC or with tags"));
        }
        if init.comp_mask & PD == 0 {
            return Err(invalid("no protection domain"));
        }
        create(init.pd, init.srq_context, &mut init.attr)
    })
}

/// `IBV_SRQ_INIT_ATTR_TYPE` and `IBV_SRQ_INIT_ATTR_PD`.
const TYPE: u32 = 1;
const PD: u32 = 2;

/// Arms the limit. The size is what it is.
///
/// # Safety
/// `attr` is a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_modify_srq(srq: *mut ibv_srq, attr: *mut ibv_srq_attr, mask: c_int) -> c_int {
    status("ibv_modify_srq", || {
        let shared = SHARED.find(srq)?;
        given(attr)?;
        if mask & ibv_srq_attr_mask::IBV_SRQ_MAX_WR.0.cast_signed() != 0 {
            return Err(unsupported("another size of a shared receive queue"));
        }
        if mask != ibv_srq_attr_mask::IBV_SRQ_LIMIT.0.cast_signed() {
            return Err(invalid("nothing to modify, or something that there is not"));
        }
        // SAFETY: by contract.
        let wanted = unsafe { (*attr).srq_limit };
        if wanted > shared.size() {
            return Err(invalid("a limit beyond the queue's entries"));
        }
        Ok(shared.queue.arm_limit(limit(wanted)?)?)
    })
}

/// What a shared receive queue has.
///
/// # Safety
/// `attr` is a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_srq(srq: *mut ibv_srq, attr: *mut ibv_srq_attr) -> c_int {
    status("ibv_query_srq", || {
        let shared = SHARED.find(srq)?;
        given(attr)?;
        let limit = shared.queue.query()?.limit;
        let found = ibv_srq_attr { max_wr: shared.size(), max_sge: shared.pieces, srq_limit: limit.into() };
        // SAFETY: by contract.
        unsafe { attr.write(found) };
        Ok(())
    })
}

/// Its number.
pub(crate) unsafe extern "C" fn number_of(srq: *mut ibv_srq, number: *mut u32) -> c_int {
    status("ibv_get_srq_num", || {
        let shared = SHARED.find(srq)?;
        given(number)?;
        // SAFETY: `ibv_get_srq_num` promises a place for a number.
        unsafe { number.write(shared.queue.number()) };
        Ok(())
    })
}

/// Ends a shared receive queue that no queue pair uses, when all its events are acknowledged.
///
/// # Safety
/// None: a pointer that is none of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_srq(srq: *mut ibv_srq) -> c_int {
    status("ibv_destroy_srq", || {
        let shared = SHARED.close(srq)?;
        shared.domain.context.withdraw(srq.addr());
        shared.events.settle();
        SHARED.remove(srq).map(drop)
    })
}

/// Posts receives, up to the first that is refused.
pub(crate) unsafe extern "C" fn post(
    srq: *mut ibv_srq,
    wr: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    status("ibv_post_srq_recv", || {
        let shared = SHARED.find(srq)?;
        // SAFETY: `ibv_post_srq_recv` promises a list.
        unsafe { receives(wr, bad, || Ok(shared.queue.receives())) }
    })
}
