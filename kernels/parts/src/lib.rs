//! Parts that kernels share: [`ask`] makes reads of a stretch of memory, [`reply`] makes an answer of a status and a few bytes.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "RustHDL's derives emit public items without documentation")]

pub mod ask;
pub mod reply;
