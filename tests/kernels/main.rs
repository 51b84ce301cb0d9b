//! Every kernel of the far card, called over a wire that may lose, double and reorder: answers and memory are as the models
//! say, and each request is carried out once.

mod copy;
mod crowd;
mod faults;
mod held;
mod hostile;
mod rights;
mod sizes;
mod strangers;
mod tasks;
mod tenants;
