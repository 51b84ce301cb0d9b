//! How calls of libibverbs fail, as far as the files here do.

use libc::c_int;

/// Why a call failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The call itself.
    Call { errno: c_int, why: &'static str },
}

pub(crate) type Outcome<T> = Result<T, Failure>;

pub(crate) const fn invalid(why: &'static str) -> Failure {
    Failure::Call { errno: libc::EINVAL, why }
}

impl Failure {
    pub(crate) fn errno(&self) -> c_int {
        let Self::Call { errno, .. } = self;
        *errno
    }
}
