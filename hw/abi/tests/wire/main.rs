//! Frames of our own making, sound and broken.

mod classes;
mod common;
mod document;
mod properties;
