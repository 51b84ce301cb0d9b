//! What the host has set up for the function.
