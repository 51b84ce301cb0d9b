//! Somebody beside a card, who answers.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{TryRecvError, channel};
use std::time::Duration;

use stroma_device::VfioUser;
use stroma_verbs::{Device, Neighbours};

use crate::stage::Stage;

/// A card of the fabric, as a neighbour of the other.
pub(crate) fn neighbour(stage: &Stage, number: u8) -> (Arc<Device>, Neighbours) {
    let backend = VfioUser::open(&stage.fabric().join(format!("card{number}"))).unwrap();
    let device = Device::open(Arc::new(backend)).unwrap();
    device.port().set_mac([2, 0, 0, 0, 0, number]).unwrap();
    device.port().set_address(0, address(number)).unwrap();
    let neighbours = Neighbours::open(&device).unwrap();
    (device, neighbours)
}

/// Its address.
pub(crate) fn address(number: u8) -> IpAddr {
    format!("10.0.0.{}", number + 1).parse().unwrap()
}

/// While something happens, one answers.
pub(crate) fn answering<T>(who: &Neighbours, meanwhile: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (tell, told) = channel::<()>();
        scope.spawn(move || {
            while told.try_recv() == Err(TryRecvError::Empty) {
                if who.serve().unwrap() == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let found = meanwhile();
        drop(tell);
        found
    })
}
