//! Telling other processes what is on a card, see [`stroma_control::inspect`].

use std::{sync::Arc, thread, time::Duration};

use stroma_control::inspect::{Inspection, Question};
use stroma_device::Place;

use crate::{controls::Controls, dump::Asked};

/// Between two objects. Who waits for the mailbox meanwhile gets it: a lock that is taken again at once is given to nobody else.
const PAUSE: Duration = Duration::from_micros(100);

/// Tells, for as long as what is returned lives. A card that others do not find, or a place where no socket can be, is no reason not to use the
/// card: nothing is told then.
pub(crate) fn start(controls: &Arc<Controls>) -> Option<Inspection> {
    let path = match controls.card.backend().place()? {
        Place::Socket(socket) => stroma_control::inspection(socket),
        Place::Pci(address) => stroma_control::board_inspection(address),
    };
    let controls = Arc::clone(controls);
    let answer = move |question: &Question, is_wanted: &dyn Fn() -> bool| match question {
        Question::Show { only } => {
            let is_wanted = || {
                thread::sleep(PAUSE);
                is_wanted()
            };
            let asked = Asked { only, is_wanted: &is_wanted };
            controls.report(&asked).map_err(|error| error.to_string())
        }
        _ => Err("not of this driver".to_owned()),
    };
    Inspection::serve(path, answer).ok()
}
