//! Figures of the bench, as people and as programs read them.
//!
//! A crate of its own, because it must not wait for the simulated card: `cargo xtask docs` writes tables and a plot from
//! figures that were measured long ago, and the bench, which links the card, measures them.
#![forbid(unsafe_code)]

mod anchors;
mod bars;
pub mod compare;
pub mod document;
pub mod html;
pub mod json;
mod limit;
pub mod plot;
mod svg;
pub mod tables;
