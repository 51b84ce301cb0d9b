use std::{rc::Rc, sync::Arc};

use stroma_device::Backend;
use stroma_verbs::{Device, Result};

fn share(backend: Rc<dyn Backend>) -> Result<Arc<Device>> {
    Device::open(backend)
}

fn main() {}
