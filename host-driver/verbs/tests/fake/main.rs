//! The driver alone, against a card in plain Rust that is just good enough for it.

mod card;
mod commands;
mod datagrams;
mod driver;
mod engine;
mod groups;
mod inspection;
mod network;

use card::Fake;

/// The stories, on a card that carries requests out at the doorbell.
mod eager {
    stroma_verbs::scenarios!(crate::Fake::eager());
}

/// The stories, on a card that does nothing before the driver waits for it.
mod lazy {
    stroma_verbs::scenarios!(crate::Fake::lazy());
}
