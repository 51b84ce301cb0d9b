//! The models: threads that use what the crate compiles, and what has to be so in every order of their steps.

mod events;
mod handles;
mod order;
mod rings;
mod turns;

/// Preemptions in a run, at most: nearly all faults of this kind take two.
const PREEMPTIONS: usize = 3;

/// Runs a model in all orders.
fn all_orders(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(run);
}
