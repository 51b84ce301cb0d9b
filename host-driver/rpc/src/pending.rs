//! Calls under way.

use std::sync::{Arc, Mutex};

use stroma_kernel_client::Call;

use crate::book::{Book, Ticket};
use crate::lock;

/// A call under way, or one whose answer waits to be taken. Dropped, the call goes on, and nobody has its answer.
#[derive(Debug)]
#[must_use = "the answer is had by `wait` or `try_take`"]
pub struct Pending<C: Call> {
    call: C,
    ticket: Ticket,
    book: Arc<Mutex<Book>>,
}

impl<C: Call> Pending<C> {
    pub(crate) fn new(call: C, ticket: Ticket, book: &Arc<Mutex<Book>>) -> Self {
        Self { call, ticket, book: Arc::clone(book) }
    }

    /// What was asked.
    pub fn call(&self) -> &C {
        &self.call
    }

    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    pub(crate) fn is_of(&self, book: &Arc<Mutex<Book>>) -> bool {
        Arc::ptr_eq(&self.book, book)
    }
}

impl<C: Call> Drop for Pending<C> {
    fn drop(&mut self) {
        lock(&self.book).let_go(self.ticket);
    }
}
