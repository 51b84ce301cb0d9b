//! Queue pairs.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::sync::{Arc, Mutex, MutexGuard};

use libc::c_int;
use rdma_sys::{
    ibv_context, ibv_event_type, ibv_pd, ibv_qp, ibv_qp_attr, ibv_qp_cap, ibv_qp_ex, ibv_qp_init_attr,
    ibv_qp_init_attr_ex, ibv_qp_init_attr_mask, ibv_qp_state, ibv_qp_type,
};
use stroma_verbs::{AsyncEvent, QueuePair, QueuePairKind, Status};

use crate::{
    acks::Acks,
    address::Member,
    attributes,
    builder::{self, Session},
    chains::Scratch,
    context::{CONTEXTS, Context, Told},
    domain::{DOMAINS, Domain},
    failure::{Outcome, invalid, pointer, status, unsupported},
    handle::{Held, Parent, Shell, Table, Users, given, zeroed},
    lock,
    query::REQUESTS_MAX,
    queue::{QUEUES, Queue},
    shared::{SHARED, Shared},
    work::{INLINE_FIRST, PIECES_FIRST, UNIT_BYTES, UNIT_PIECES},
};

/// A queue pair.
pub(crate) struct Pair {
    members: Mutex<Vec<Member>>,
    pub(crate) inner: QueuePair,
    pub(crate) domain: Held<Domain>,
    _queues: [Held<Queue>; 2],
    _shared: Option<Held<Shared>>,
    users: Users,
    pub(crate) events: Acks,
    face: usize,
    pub(crate) cap: ibv_qp_cap,
    /// All requests complete with a completion.
    pub(crate) is_signaled: bool,
    /// Requests that are being described call by call.
    pub(crate) session: Session,
    /// What requests of chains of operations have waiting.
    scratch: Mutex<Scratch>,
    /// What cannot be asked of the card.
    pub(crate) asked: Mutex<attributes::Asked>,
}

impl Shell for ibv_qp_ex {}

impl Parent for Pair {
    fn users(&self) -> &Users {
        &self.users
    }
}

/// All queue pairs.
pub(crate) static PAIRS: Table<ibv_qp_ex, Pair> =
    Table::new("no queue pair of ours, or one that was destroyed");

impl Pair {
    pub(crate) fn context(&self) -> &Context {
        &self.domain.context
    }

    /// The groups that it belongs to.
    pub(crate) fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        lock(&self.members)
    }

    pub(crate) fn scratch(&self) -> MutexGuard<'_, Scratch> {
        lock(&self.scratch)
    }

    /// Tells the program what happened to it.
    pub(crate) fn tell(&self, event: &AsyncEvent) {
        let kind = match event {
            AsyncEvent::LastReceive { .. } => ibv_event_type::IBV_EVENT_QP_LAST_WQE_REACHED,
            AsyncEvent::CommunicationUp { .. } => ibv_event_type::IBV_EVENT_COMM_EST,
            AsyncEvent::SendQueueDrained { .. } => ibv_event_type::IBV_EVENT_SQ_DRAINED,
            AsyncEvent::QueuePairError { status: Some(Status::RemoteAccess), .. } => {
                ibv_event_type::IBV_EVENT_QP_ACCESS_ERR
            }
            AsyncEvent::QueuePairError { status: Some(Status::RemoteInvalid), .. } => {
                ibv_event_type::IBV_EVENT_QP_REQ_ERR
            }
            _ => ibv_event_type::IBV_EVENT_QP_FATAL,
        };
        self.context().push(Told { kind, about: self.face });
    }
}

/// What a program asks for beside the plain structure.
struct More {
    /// Operations that it describes call by call, if it does.
    operations: Option<u64>,
    /// Most bytes of an answer to a kernel that its peer calls.
    result_bytes: usize,
}

fn kind(kind: ibv_qp_type::Type) -> Outcome<QueuePairKind> {
    match kind {
        ibv_qp_type::IBV_QPT_RC => Ok(QueuePairKind::Reliable),
        ibv_qp_type::IBV_QPT_UC => Ok(QueuePairKind::Unreliable),
        ibv_qp_type::IBV_QPT_UD => Ok(QueuePairKind::Datagram),
        ibv_qp_type::IBV_QPT_RAW_PACKET
        | ibv_qp_type::IBV_QPT_XRC_SEND
        | ibv_qp_type::IBV_QPT_XRC_RECV
        | ibv_qp_type::IBV_QPT_DRIVER => Err(unsupported("queue pairs of this kind")),
        _ => Err(invalid("no kind of queue pairs")),
    }
}

/// Units of a request with so many pieces, or so many bytes in it.
fn units(pieces: usize, bytes: usize) -> usize {
    let pieces = 1 + pieces.saturating_sub(PIECES_FIRST).div_ceil(UNIT_PIECES);
    let bytes = 1 + bytes.saturating_sub(INLINE_FIRST).div_ceil(UNIT_BYTES);
    pieces.max(bytes)
}

/// Does the card have what is asked for? Then what there will be.
fn check(context: &Context, cap: &ibv_qp_cap, has_shared: bool) -> Outcome<ibv_qp_cap> {
    let have = context.device().card().capabilities();
    let inline = INLINE_FIRST + (have.wqe_units as usize - 1) * UNIT_BYTES;
    if cap.max_send_wr > REQUESTS_MAX || cap.max_recv_wr > REQUESTS_MAX {
        return Err(invalid("more requests than a queue has room for"));
    }
    if cap.max_send_sge > have.sges || cap.max_recv_sge > have.sges {
        return Err(invalid("more pieces than a request has room for"));
    }
    if cap.max_inline_data as usize > inline {
        return Err(invalid("more inline data than a request has room for"));
    }
    // A unit is there in any case, and has this room.
    let first = u32::try_from(INLINE_FIRST).unwrap_or(u32::MAX);
    Ok(ibv_qp_cap {
        max_send_wr: cap.max_send_wr.max(1),
        max_recv_wr: if has_shared { 0 } else { cap.max_recv_wr },
        max_send_sge: cap.max_send_sge.max(1),
        max_recv_sge: if has_shared { 0 } else { cap.max_recv_sge.max(1) },
        max_inline_data: cap.max_inline_data.max(first),
    })
}

/// The requests and receives that a queue pair has room for: rings are powers of two.
fn room(cap: ibv_qp_cap, pair: &QueuePair, of_request: usize) -> ibv_qp_cap {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    ibv_qp_cap {
        max_send_wr: count(usize::from(pair.send_units()) / of_request),
        max_recv_wr: count(pair.receive_entries()),
        ..cap
    }
}

/// Makes a queue pair. What it has is written over what was asked for.
fn create(pd: *mut ibv_pd, wanted: &mut ibv_qp_init_attr, more: &More) -> Outcome<*mut ibv_qp> {
    let domain = DOMAINS.find(pd)?;
    let (send_cq, recv_cq) = (QUEUES.find(wanted.send_cq)?, QUEUES.find(wanted.recv_cq)?);
    let shared = if wanted.srq.is_null() { None } else { Some(SHARED.find(wanted.srq)?) };
    let kind = kind(wanted.qp_type)?;
    let cap = check(&domain.context, &wanted.cap, shared.is_some())?;
    let of_request = units(cap.max_send_sge as usize, cap.max_inline_data as usize);
    let mut builder = domain
        .inner
        .queue_pair(&send_cq.inner)
        .kind(kind)
        .receive_cq(&recv_cq.inner)
        .send_units(cap.max_send_wr as usize * of_request)
        .receive_entries(cap.max_recv_wr as usize)
        .receive_pieces(cap.max_recv_sge.max(1) as usize)
        .result_bytes(more.result_bytes);
    if let Some(shared) = &shared {
        builder = builder.shared_receive_queue(&shared.queue);
    }
    let pair = builder.build()?;
    let number = pair.number();
    let cap = room(cap, &pair, of_request);
    let mut shell: ibv_qp_ex = zeroed();
    shell.qp_base.context = domain.context.face();
    shell.qp_base.qp_context = wanted.qp_context;
    shell.qp_base.pd = pd;
    shell.qp_base.send_cq = wanted.send_cq;
    shell.qp_base.recv_cq = wanted.recv_cq;
    shell.qp_base.srq = wanted.srq;
    shell.qp_base.handle = number;
    shell.qp_base.qp_num = number;
    shell.qp_base.state = ibv_qp_state::IBV_QPS_RESET;
    shell.qp_base.qp_type = wanted.qp_type;
    if let Some(operations) = more.operations {
        builder::equip(&mut shell, operations)?;
    }
    let card = Arc::clone(&domain.context.card.inner);
    let domain = Held::new(domain)?;
    let queues = [Held::new(send_cq)?, Held::new(recv_cq)?];
    let shared = shared.map(Held::new).transpose()?;
    let mut made = None;
    let face = PAIRS.add(shell, |face| {
        let pair = Arc::new(Pair {
            members: Mutex::default(),
            inner: pair,
            domain,
            _queues: queues,
            _shared: shared,
            users: Users::default(),
            events: Acks::default(),
            face,
            cap,
            is_signaled: wanted.sq_sig_all != 0,
            session: Session::default(),
            scratch: Mutex::default(),
            asked: Mutex::default(),
        });
        Arc::clone(made.insert(pair))
    });
    if let Some(pair) = made {
        card.enter_pair(number, &pair);
    }
    wanted.cap = cap;
    Ok(face)
}

/// Makes a queue pair. What it has is written over what was asked for.
///
/// # Safety
/// `init` is a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_qp(pd: *mut ibv_pd, init: *mut ibv_qp_init_attr) -> *mut ibv_qp {
    pointer("ibv_create_qp", || {
        given(init)?;
        // SAFETY: by contract.
        create(pd, unsafe { &mut *init }, &More { operations: None, result_bytes: 0 })
    })
}

/// The same, also for requests that are described call by call.
pub(crate) unsafe extern "C" fn create_ex(
    context: *mut ibv_context,
    init: *mut ibv_qp_init_attr_ex,
) -> *mut ibv_qp {
    // SAFETY: `ibv_create_qp_ex` promises a structure.
    pointer("ibv_create_qp_ex", || unsafe { extended(context, init, 0) })
}

/// Makes a queue pair, on which answers to kernels that the peer calls have up to so many bytes.
///
/// # Safety
/// `init` is null, or a structure.
pub(crate) unsafe fn extended(
    context: *mut ibv_context,
    init: *mut ibv_qp_init_attr_ex,
    result_bytes: usize,
) -> Outcome<*mut ibv_qp> {
    CONTEXTS.find(context)?;
    given(init)?;
    // SAFETY: by contract.
    let init = unsafe { &mut *init };
    let has = |mask: ibv_qp_init_attr_mask| init.comp_mask & mask.0 != 0;
    let known = ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_PD
        | ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
        | ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_CREATE_FLAGS;
    if init.comp_mask & !known.0 != 0
        || has(ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_CREATE_FLAGS) && init.create_flags != 0
    {
        return Err(unsupported("an attribute of queue pairs"));
    }
    if !has(ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_PD) {
        return Err(invalid("no protection domain"));
    }
    let describes = has(ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
    let more = More { operations: describes.then_some(init.send_ops_flags), result_bytes };
    let pd = init.pd;
    // SAFETY: the larger structure begins as the plain one does.
    let plain = unsafe { &mut *std::ptr::from_mut(init).cast() };
    create(pd, plain, &more)
}

/// The larger structure around a queue pair that was made with operations, or null.
///
/// # Safety
/// None: a pointer that is none of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_qp_to_qp_ex(qp: *mut ibv_qp) -> *mut ibv_qp_ex {
    let larger: *mut ibv_qp_ex = qp.cast();
    // SAFETY: read only when the pointer is in the table, where shells are of the larger structure.
    let describes = PAIRS.find(qp).is_ok() && unsafe { (*larger).wr_start.is_some() };
    if describes { larger } else { std::ptr::null_mut() }
}

/// Changes state and attributes.
///
/// # Safety
/// `attr` is a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_modify_qp(qp: *mut ibv_qp, attr: *mut ibv_qp_attr, mask: c_int) -> c_int {
    status("ibv_modify_qp", || {
        let pair = PAIRS.find(qp)?;
        given(attr)?;
        // SAFETY: by contract.
        attributes::modify(&pair, unsafe { &*attr }, mask.cast_unsigned())?;
        let state = pair.inner.state() as u32;
        PAIRS.show(qp, |shell| shell.qp_base.state = state)
    })
}

/// What a queue pair is set to.
///
/// # Safety
/// `attr` and `init` are places for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_qp(
    qp: *mut ibv_qp,
    attr: *mut ibv_qp_attr,
    _mask: c_int,
    init: *mut ibv_qp_init_attr,
) -> c_int {
    status("ibv_query_qp", || {
        let pair = PAIRS.find(qp)?;
        given(attr)?;
        given(init)?;
        let found = attributes::query(&pair)?;
        PAIRS.show(qp, |shell| shell.qp_base.state = found.qp_state)?;
        // SAFETY: by contract; the shell is that of a queue pair in the table.
        unsafe {
            attr.write(found);
            init.write(ibv_qp_init_attr {
                qp_context: (*qp).qp_context,
                send_cq: (*qp).send_cq,
                recv_cq: (*qp).recv_cq,
                srq: (*qp).srq,
                cap: pair.cap,
                qp_type: (*qp).qp_type,
                sq_sig_all: pair.is_signaled.into(),
            });
        }
        Ok(())
    })
}

/// Ends a queue pair, when all its events are acknowledged.
///
/// # Safety
/// None: a pointer that is none of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_qp(qp: *mut ibv_qp) -> c_int {
    status("ibv_destroy_qp", || {
        let pair = PAIRS.close(qp)?;
        pair.context().withdraw(qp.addr());
        pair.events.settle();
        PAIRS.remove(qp).map(drop)
    })
}
