//! Protection domains.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::sync::Arc;

use libc::c_int;
use rdma_sys::{ibv_context, ibv_parent_domain_init_attr, ibv_pd, ibv_td, ibv_td_init_attr};
use stroma_verbs::ProtectionDomain;

use crate::{
    context::{CONTEXTS, Context},
    failure::{Outcome, invalid, pointer, status},
    handle::{Held, Parent, Shell, Table, Users, given, zeroed},
};

/// A protection domain.
pub(crate) struct Domain {
    pub(crate) inner: Arc<ProtectionDomain>,
    pub(crate) context: Held<Context>,
    users: Users,
    face: usize,
    /// The one it was made of, if it is a parent domain, and its thread domain.
    of: Option<(Held<Domain>, Option<Held<Threads>>)>,
}

/// A thread domain: a promise of the program, of which nothing is made here.
pub(crate) struct Threads {
    context: Held<Context>,
    users: Users,
}

impl Shell for ibv_pd {}
impl Shell for ibv_td {}

impl Parent for Domain {
    fn users(&self) -> &Users {
        &self.users
    }
}

impl Parent for Threads {
    fn users(&self) -> &Users {
        &self.users
    }
}

/// All domains.
pub(crate) static DOMAINS: Table<ibv_pd, Domain> =
    Table::new("no protection domain of ours, or one that was deallocated");
static THREADS: Table<ibv_td, Threads> = Table::new("no thread domain of ours, or one that was deallocated");

impl Domain {
    /// What programs know it by.
    pub(crate) fn face(&self) -> *mut ibv_pd {
        std::ptr::with_exposed_provenance_mut(self.face)
    }
}

/// Ends the domains of a context that is being closed: parent domains before those they are made of.
pub(crate) fn purge(is_his: &dyn Fn(&Context) -> bool) {
    DOMAINS.purge(|domain| domain.of.is_some() && is_his(&domain.context));
    DOMAINS.purge(|domain| is_his(&domain.context));
    THREADS.purge(|threads| is_his(&threads.context));
}

fn add(
    context: Arc<Context>,
    domain: Arc<ProtectionDomain>,
    of: Option<(Held<Domain>, Option<Held<Threads>>)>,
) -> Outcome<*mut ibv_pd> {
    let mut shell: ibv_pd = zeroed();
    shell.context = context.face();
    shell.handle = domain.number();
    let context = Held::new(context)?;
    Ok(DOMAINS
        .add(shell, |face| Arc::new(Domain { inner: domain, context, users: Users::default(), face, of })))
}

/// Makes a protection domain.
///
/// # Safety
/// None: a pointer that is no context of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_alloc_pd(context: *mut ibv_context) -> *mut ibv_pd {
    pointer("ibv_alloc_pd", || {
        let context = CONTEXTS.find(context)?;
        let domain = context.device().protection_domain()?;
        add(context, domain, None)
    })
}

/// Ends a protection domain that nothing is left of.
///
/// # Safety
/// None: a pointer that is no domain of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_dealloc_pd(pd: *mut ibv_pd) -> c_int {
    status("ibv_dealloc_pd", || DOMAINS.remove(pd).map(drop))
}

/// Makes a thread domain.
pub(crate) unsafe extern "C" fn alloc_td(
    context: *mut ibv_context,
    _attr: *mut ibv_td_init_attr,
) -> *mut ibv_td {
    pointer("ibv_alloc_td", || {
        let context = CONTEXTS.find(context)?;
        let shell = ibv_td { context: context.face() };
        let context = Held::new(context)?;
        Ok(THREADS.add(shell, |_| Arc::new(Threads { context, users: Users::default() })))
    })
}

/// Ends it.
pub(crate) unsafe extern "C" fn dealloc_td(td: *mut ibv_td) -> c_int {
    status("ibv_dealloc_td", || THREADS.remove(td).map(drop))
}

/// A domain that is another one, with a thread domain. Allocators of a program's own are not called: rings are the driver's.
pub(crate) unsafe extern "C" fn alloc_parent(
    context: *mut ibv_context,
    attr: *mut ibv_parent_domain_init_attr,
) -> *mut ibv_pd {
    pointer("ibv_alloc_parent_domain", || {
        let context = CONTEXTS.find(context)?;
        // SAFETY: `ibv_alloc_parent_domain` promises a structure.
        let (pd, td) = unsafe { given(attr).map(|attr| ((*attr).pd, (*attr).td)) }?;
        let of = DOMAINS.find(pd)?;
        if !Arc::ptr_eq(&context, &of.context) {
            return Err(invalid("a domain of another context"));
        }
        let threads = if td.is_null() { None } else { Some(Held::new(THREADS.find(td)?)?) };
        let domain = Arc::clone(&of.inner);
        add(context, domain, Some((Held::new(of)?, threads)))
    })
}
