//! Kernels called with typed answers: by the card, and by the driver of its host when the card lacks them.

mod alike;
mod endings;
mod hostile;
mod lacking;
mod places;
mod stage;
