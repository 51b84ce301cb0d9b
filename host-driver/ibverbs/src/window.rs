//! Memory windows of type 2, which requests bind; those of type 1 cards do not have.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::sync::Arc;

use libc::c_int;
use rdma_sys::{ibv_mw, ibv_mw_bind, ibv_mw_type, ibv_pd, ibv_qp};
use stroma_verbs::MemoryWindow;

use crate::{
    domain::{DOMAINS, Domain},
    failure::{pointer, refuse, status, unsupported},
    handle::{Held, Parent, Shell, Table, Users, zeroed},
};

/// A memory window.
pub(crate) struct Window {
    _inner: MemoryWindow,
    pub(crate) domain: Held<Domain>,
    users: Users,
}

impl Shell for ibv_mw {}

impl Parent for Window {
    fn users(&self) -> &Users {
        &self.users
    }
}

/// All windows.
pub(crate) static WINDOWS: Table<ibv_mw, Window> =
    Table::new("no memory window of ours, or one that was deallocated");

/// Makes a window. Its first key is one that `ibv_inc_rkey` goes on from.
pub(crate) unsafe extern "C" fn alloc(pd: *mut ibv_pd, kind: ibv_mw_type::Type) -> *mut ibv_mw {
    pointer("ibv_alloc_mw", || {
        let domain = DOMAINS.find(pd)?;
        if kind != ibv_mw_type::IBV_MW_TYPE_2 {
            return Err(unsupported("memory windows of type 1"));
        }
        let window = domain.inner.memory_window()?;
        let mut shell: ibv_mw = zeroed();
        (shell.context, shell.pd, shell.type_) = (domain.context.face(), pd, kind);
        shell.rkey = window.next_key();
        shell.handle = shell.rkey >> u8::BITS;
        let domain = Held::new(domain)?;
        Ok(WINDOWS.add(shell, |_| Arc::new(Window { _inner: window, domain, users: Users::default() })))
    })
}

/// Ends a window; bound, it is unbound first.
pub(crate) unsafe extern "C" fn dealloc(mw: *mut ibv_mw) -> c_int {
    status("ibv_dealloc_mw", || WINDOWS.remove(mw).map(drop))
}

/// Binds a window of type 1, which there are none of.
pub(crate) unsafe extern "C" fn bind(_qp: *mut ibv_qp, _mw: *mut ibv_mw, _how: *mut ibv_mw_bind) -> c_int {
    refuse("ibv_bind_mw")
}
