use stroma_verbs::{MemoryRegion, Result, Sge};

fn late(region: MemoryRegion) -> Result<Sge> {
    let _memory = region.deregister()?;
    region.piece(0, 8)
}

fn main() {}
