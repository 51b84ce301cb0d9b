//! Brings the link up.
