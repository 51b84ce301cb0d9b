//! What libibverbs has and cards do not: each of these answers `EOPNOTSUPP`.
//!
//! Among them is the other side of libibverbs, towards its providers. Programs are linked to some of those, which come along and look for
//! it when they are loaded; nobody calls them, for no device is theirs.

#![expect(unsafe_code, reason = "symbols of C")]

use std::sync::atomic::AtomicBool;

use libc::{c_int, c_void};

use crate::failure::{refuse, refuse_pointer};

macro_rules! absent {
    ($($name:ident)*) => {
        $(#[doc = concat!("`", stringify!($name), "`, which cards do not have.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            refuse(stringify!($name))
        })*
    };
}

macro_rules! absent_pointers {
    ($($name:ident)*) => {
        $(#[doc = concat!("`", stringify!($name), "`, which cards do not have.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> *mut c_void {
            refuse_pointer(stringify!($name))
        })*
    };
}

macro_rules! nothing {
    ($($name:ident)*) => {
        $(#[doc = concat!("`", stringify!($name), "`, of which nothing is made.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            0
        })*
    };
}

// For programs.
absent! { ibv_set_ece ibv_query_ece }
absent_pointers! { ibv_import_device ibv_import_pd ibv_import_mr ibv_import_dm ibv_reg_dmabuf_mr }
nothing! { ibv_unimport_pd ibv_unimport_mr ibv_unimport_dm }

// Between programs and their children: a card is a process's own, and its memory is not copied for it.
nothing! { ibv_fork_init ibv_dontfork_range ibv_dofork_range }

/// Need children to be kept away from registered memory? No: what a card writes it writes to its process, wherever the pages are then.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_is_fork_initialized() -> c_int {
    UNNEEDED
}

/// `IBV_FORK_UNNEEDED`.
const UNNEEDED: c_int = 2;

/// Does data of one request arrive in the order of its bytes? A card writes packets as they come, each from its first byte on.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_query_qp_data_in_order() -> c_int {
    1
}

// Between the kernel's structures and those of programs: there is no kernel in it.
nothing! { ibv_copy_ah_attr_from_kern ibv_copy_path_rec_from_kern ibv_copy_path_rec_to_kern ibv_copy_qp_attr_from_kern }

// For providers.
nothing! { verbs_register_driver_34 ibv_register_driver __verbs_log verbs_set_ops verbs_uninit_context verbs_init_cq }
absent_pointers! { _verbs_init_and_alloc_context verbs_open_device }
absent! {
    __ioctl_final_num_attrs execute_ioctl ibv_read_ibdev_sysfs_file
    ibv_cmd_advise_mr ibv_cmd_alloc_dm ibv_cmd_alloc_mw ibv_cmd_alloc_pd ibv_cmd_attach_mcast ibv_cmd_close_xrcd
    ibv_cmd_create_ah ibv_cmd_create_counters ibv_cmd_create_cq ibv_cmd_create_cq_ex ibv_cmd_create_flow
    ibv_cmd_create_flow_action_esp ibv_cmd_create_qp ibv_cmd_create_qp_ex ibv_cmd_create_qp_ex2
    ibv_cmd_create_rwq_ind_table ibv_cmd_create_srq ibv_cmd_create_srq_ex ibv_cmd_create_wq ibv_cmd_dealloc_mw
    ibv_cmd_dealloc_pd ibv_cmd_dereg_mr ibv_cmd_destroy_ah ibv_cmd_destroy_counters ibv_cmd_destroy_cq
    ibv_cmd_destroy_flow ibv_cmd_destroy_flow_action ibv_cmd_destroy_qp ibv_cmd_destroy_rwq_ind_table
    ibv_cmd_destroy_srq ibv_cmd_destroy_wq ibv_cmd_detach_mcast ibv_cmd_free_dm ibv_cmd_get_context
    ibv_cmd_modify_cq ibv_cmd_modify_flow_action_esp ibv_cmd_modify_qp ibv_cmd_modify_qp_ex ibv_cmd_modify_srq
    ibv_cmd_modify_wq ibv_cmd_open_qp ibv_cmd_open_xrcd ibv_cmd_poll_cq ibv_cmd_post_recv ibv_cmd_post_send
    ibv_cmd_post_srq_recv ibv_cmd_query_context ibv_cmd_query_device_any ibv_cmd_query_mr ibv_cmd_query_port
    ibv_cmd_query_qp ibv_cmd_query_srq ibv_cmd_read_counters ibv_cmd_reg_dm_mr ibv_cmd_reg_dmabuf_mr
    ibv_cmd_reg_mr ibv_cmd_req_notify_cq ibv_cmd_rereg_mr ibv_cmd_resize_cq
}

/// A setting of providers.
#[unsafe(no_mangle)]
pub static verbs_allow_disassociate_destroy: AtomicBool = AtomicBool::new(false);
