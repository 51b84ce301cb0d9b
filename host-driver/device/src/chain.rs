//! The chain of register blocks in BAR0.

use stroma_abi::regs::{BAR0, Block, Reg};

use crate::{Backend, BarId, Error, Result, Version};

/// Registers every block begins with, by their place in the block's table.
const TYPE: usize = 0;
const VERSION: usize = 1;
const NEXT: usize = 2;
/// Blocks begin on multiples of this.
const ALIGNMENT: usize = 8;

/// A block of the card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Where it is.
    pub(crate) offset: usize,
    /// What it is, when the driver knows its type and major version.
    pub(crate) known: Option<&'static Block>,
}

/// Follows the chain from offset 0 to its end.
pub(crate) fn walk(backend: &dyn Backend) -> Result<Vec<Found>> {
    let len = backend.bar_len(BarId::Bar0);
    let head = &BAR0.blocks[0].regs[..=NEXT];
    let mut chain: Vec<Found> = Vec::new();
    let mut offset = 0;
    loop {
        fits(offset, head[NEXT].end(), len)?;
        let read = |reg: &Reg| backend.read32(BarId::Bar0, offset + reg.offset);
        let known = known(read(&head[TYPE])?, Version::from_register(read(&head[VERSION])?));
        if let Some(block) = known {
            fits(offset, block.len, len)?;
        }
        chain.push(Found { offset, known });
        let next = read(&head[NEXT])? as usize;
        if next == 0 {
            return Ok(chain);
        }
        // Each step finds a new block or ends the walk, so the walk ends.
        if chain.iter().any(|seen| seen.offset == next) {
            return Err(Error::EndlessChain { from: offset, to: next });
        }
        offset = next;
    }
}

fn fits(offset: usize, needed: usize, len: usize) -> Result<()> {
    if !offset.is_multiple_of(ALIGNMENT) {
        return Err(Error::BlockUnaligned { offset });
    }
    if offset.checked_add(needed).is_none_or(|end| end > len) {
        return Err(Error::BlockOutside { offset, needed, len });
    }
    Ok(())
}

/// The block of the register map that has this type and serves for this version.
fn known(kind: u32, version: Version) -> Option<&'static Block> {
    BAR0.blocks
        .iter()
        .find(|block| block.regs[TYPE].reset == Some(kind.into()) && version.serves(version_of(block)))
}

/// Version of a block as the driver knows it.
pub(crate) fn version_of(block: &Block) -> Version {
    let register = block.regs[VERSION].reset.and_then(|value| u32::try_from(value).ok());
    Version::from_register(register.expect("the version of a block is a constant of 32 bits"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::mock::Mock;

    const NEXT_AT: usize = 8;

    fn end_of_chain() -> usize {
        BAR0.blocks.last().unwrap().offset
    }

    #[test]
    fn every_block_of_the_map_is_found_where_it_is() {
        let found = walk(&Mock::card()).unwrap();
        let places = found.iter().map(|found| (found.known.unwrap().name, found.offset));
        assert!(places.eq(BAR0.blocks.iter().map(|block| (block.name, block.offset))));
    }

    #[test]
    fn blocks_of_unknown_type_or_version_are_skipped() {
        for (kind, version) in [(0x77, 0x0001_0000), (0x02, 0x0002_0000)] {
            let mock = Mock::card();
            mock.poke32(BarId::Bar0, end_of_chain() + NEXT_AT, 0x2000);
            mock.poke32(BarId::Bar0, 0x2000, kind);
            mock.poke32(BarId::Bar0, 0x2004, version);
            let found = walk(&mock).unwrap();
            assert_eq!(found.len(), BAR0.blocks.len() + 1);
            assert!(found.last().unwrap().known.is_none(), "{kind:#x} {version:#x}");
        }
    }

    #[test]
    fn a_later_minor_version_is_known() {
        let mock = Mock::card();
        mock.poke32(BarId::Bar0, 0x100 + 4, 0x0001_0005);
        assert_eq!(walk(&mock).unwrap()[1].known.unwrap().name, "capabilities");
    }

    #[test]
    fn a_chain_that_bites_its_tail_ends_in_an_error() {
        for (from, to) in [(0x100, 0x100), (0x600, 0x200), (end_of_chain(), 0x100)] {
            let mock = Mock::card();
            mock.poke32(BarId::Bar0, from + NEXT_AT, u32::try_from(to).unwrap());
            let error = walk(&mock).unwrap_err();
            let Error::EndlessChain { from: found_from, to: found_to } = error else { panic!("{error}") };
            assert_eq!((found_from, found_to), (from, to));
        }
    }

    #[test]
    fn a_chain_as_long_as_the_bar_still_ends() {
        let mock = Mock::card();
        let len = mock.bar_len(BarId::Bar0);
        for offset in (0..len - 16).step_by(16) {
            mock.poke32(BarId::Bar0, offset, 0x77);
            mock.poke32(BarId::Bar0, offset + NEXT_AT, u32::try_from(offset + 16).unwrap());
        }
        mock.poke32(BarId::Bar0, len - 16 + NEXT_AT, 0);
        let found = walk(&mock).unwrap();
        assert_eq!(found.iter().map(|found| found.offset).collect::<HashSet<_>>().len(), len / 16);
    }

    #[test]
    fn blocks_beyond_the_bar_are_refused() {
        let len = BAR0.len;
        for (next, needed) in [(len, 12), (len - 8, 12), (0xffff_fff8, 12)] {
            let mock = Mock::card();
            mock.poke32(BarId::Bar0, NEXT_AT, u32::try_from(next).unwrap());
            let error = walk(&mock).unwrap_err();
            let Error::BlockOutside { offset, needed: found, .. } = error else { panic!("{error}") };
            assert_eq!((offset, found), (next, needed));
        }
    }

    #[test]
    fn a_known_block_that_does_not_fit_whole_is_refused() {
        let mock = Mock::card();
        let place = BAR0.len - 0x40;
        mock.poke32(BarId::Bar0, end_of_chain() + NEXT_AT, u32::try_from(place).unwrap());
        mock.poke32(BarId::Bar0, place, 0x02);
        mock.poke32(BarId::Bar0, place + 4, 0x0001_0000);
        let error = walk(&mock).unwrap_err();
        assert!(matches!(error, Error::BlockOutside { needed: 0x80, .. }), "{error}");
    }

    #[test]
    fn blocks_at_odd_places_are_refused() {
        let mock = Mock::card();
        mock.poke32(BarId::Bar0, NEXT_AT, 0x104);
        assert!(matches!(walk(&mock), Err(Error::BlockUnaligned { offset: 0x104 })));
    }
}
