//! What strangers may send, a function for each kind: any bytes are taken or refused, nothing panics, and what is promised holds.
//!
//! `cargo xtask fuzz` runs them; each has a binary in `fuzz_targets` and a kept corpus in `corpus`.

mod control;
mod descriptors;
mod frame;
mod kernels;
mod neighbours;
mod vfio_user;

pub use control::control;
pub use descriptors::descriptors;
pub use frame::frame;
pub use kernels::kernels;
pub use neighbours::neighbours;
pub use vfio_user::vfio_user;
