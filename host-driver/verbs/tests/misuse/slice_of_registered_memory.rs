use std::sync::Arc;

use stroma_device::DmaMemory;
use stroma_verbs::{Access, ProtectionDomain, Result};

fn peek(domain: &Arc<ProtectionDomain>, mut memory: DmaMemory) -> Result<u8> {
    let bytes = memory.bytes_mut().unwrap();
    let _region = domain.region(Access::LOCAL_WRITE).register(Arc::new(memory))?;
    Ok(bytes[0])
}

fn main() {}
