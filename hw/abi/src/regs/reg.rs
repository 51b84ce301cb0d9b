//! How registers are described, and the checks every description passes before anything is built.

use crate::field::{Entry, disjoint};

/// What software may do to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read; stores change nothing.
    ReadOnly,
    /// Read back what was stored.
    ReadWrite,
    /// Store only; reads give zero.
    WriteOnly,
    /// Read; storing a one clears the bit.
    WriteOneToClear,
}

impl Access {
    /// As documents write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "RO",
            Self::ReadWrite => "RW",
            Self::WriteOnly => "WO",
            Self::WriteOneToClear => "W1C",
        }
    }
}

/// A register, or an array of equal ones.
#[derive(Clone, Copy, Debug)]
pub struct Reg {
    /// Name, unique in its block.
    pub name: &'static str,
    /// First byte, from the start of its block.
    pub offset: usize,
    /// Width in bits, 32 or 64.
    pub width: usize,
    /// What software may do.
    pub access: Access,
    /// Value after reset; `None` when build, parameters or surroundings decide.
    pub reset: Option<u64>,
    /// Elements; 1 for a single register.
    pub count: usize,
    /// Bytes from one element to the next.
    pub stride: usize,
    /// Named parts; without any the register is one number.
    pub fields: &'static [Entry],
    /// What it does.
    pub prose: &'static str,
}

impl Reg {
    /// A single 32-bit register without named parts, zero after reset.
    #[must_use]
    pub const fn word(name: &'static str, offset: usize, access: Access, prose: &'static str) -> Self {
        Self { name, offset, width: 32, access, reset: Some(0), count: 1, stride: 4, fields: &[], prose }
    }

    /// A single 64-bit register without named parts, zero after reset.
    #[must_use]
    pub const fn long(name: &'static str, offset: usize, access: Access, prose: &'static str) -> Self {
        Self { width: 64, stride: 8, ..Self::word(name, offset, access, prose) }
    }

    /// The same register with another value after reset.
    #[must_use]
    pub const fn resets_to(self, reset: u64) -> Self {
        Self { reset: Some(reset), ..self }
    }

    /// The same register with a value that build, parameters or surroundings decide.
    #[must_use]
    pub const fn varies(self) -> Self {
        Self { reset: None, ..self }
    }

    /// The same register with named parts.
    #[must_use]
    pub const fn with(self, fields: &'static [Entry]) -> Self {
        Self { fields, ..self }
    }

    /// `count` of the same register, `stride` bytes apart.
    #[must_use]
    pub const fn times(self, count: usize, stride: usize) -> Self {
        Self { count, stride, ..self }
    }

    /// Place of element `index`, from the start of its block.
    ///
    /// # Panics
    /// When there is no such element.
    #[must_use]
    pub const fn element(&self, index: usize) -> usize {
        assert!(index < self.count, "no such element of a register array");
        self.offset + index * self.stride
    }

    /// First byte behind the last element.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.offset + (self.count - 1) * self.stride + self.width / 8
    }

    const fn is_sound(&self) -> bool {
        let bytes = self.width / 8;
        (self.width == 32 || self.width == 64)
            && self.count > 0
            && self.stride >= bytes
            && self.offset.is_multiple_of(bytes)
            && self.stride.is_multiple_of(bytes)
            && match self.reset {
                Some(reset) => self.width == 64 || reset >> self.width == 0,
                None => true,
            }
            && disjoint(self.fields, bytes)
    }

    /// Do any bytes of the two coincide? Arrays may interleave, so elements are compared one by one.
    const fn collides(&self, other: &Self) -> bool {
        let mut mine = 0;
        while mine < self.count {
            let start = self.element(mine);
            let mut theirs = 0;
            while theirs < other.count {
                let place = other.element(theirs);
                if start < place + other.width / 8 && place < start + self.width / 8 {
                    return true;
                }
                theirs += 1;
            }
            mine += 1;
        }
        false
    }
}

/// Registers with one purpose.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Name, unique in its BAR.
    pub name: &'static str,
    /// First byte in the BAR.
    pub offset: usize,
    /// Bytes it occupies.
    pub len: usize,
    /// Its registers, by rising offset.
    pub regs: &'static [Reg],
    /// What it is for.
    pub prose: &'static str,
}

impl Block {
    /// Place of a register in the BAR.
    #[must_use]
    pub const fn address(&self, reg: &Reg) -> usize {
        self.offset + reg.offset
    }

    const fn is_sound(&self) -> bool {
        let mut row = 0;
        while row < self.regs.len() {
            let reg = &self.regs[row];
            if !reg.is_sound() || reg.end() > self.len {
                return false;
            }
            let mut other = row + 1;
            while other < self.regs.len() {
                if reg.collides(&self.regs[other]) || self.regs[other].offset < reg.offset {
                    return false;
                }
                other += 1;
            }
            row += 1;
        }
        self.offset.is_multiple_of(8) && self.len.is_multiple_of(8)
    }
}

/// One PCI window.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Name.
    pub name: &'static str,
    /// Bytes; for BAR2 those of one page.
    pub len: usize,
    /// Its blocks, by rising offset.
    pub blocks: &'static [Block],
    /// What it is for.
    pub prose: &'static str,
}

impl Bar {
    /// Is every register aligned, inside its block and apart from all others, and every block inside the BAR?
    /// For `const` assertions.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        let mut end = 0;
        let mut row = 0;
        while row < self.blocks.len() {
            let block = &self.blocks[row];
            if !block.is_sound() || block.offset < end {
                return false;
            }
            end = block.offset + block.len;
            row += 1;
        }
        end <= self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    fn bar(blocks: &[Block]) -> Bar {
        Bar { name: "test", len: 0x100, blocks: blocks.to_vec().leak(), prose: "" }
    }

    fn block(offset: usize, regs: &[Reg]) -> Block {
        Block { name: "test", offset, len: 0x20, regs: regs.to_vec().leak(), prose: "" }
    }

    const A: Reg = Reg::word("a", 0, Access::ReadOnly, "");

    #[test]
    fn neighbours_are_sound() {
        let regs = [A, Reg::long("b", 8, Access::ReadWrite, "").times(3, 8)];
        assert!(bar(&[block(0, &regs), block(0x20, &regs)]).is_sound());
    }

    #[test]
    fn overlapping_registers_are_noticed() {
        assert!(!bar(&[block(0, &[A, Reg::long("b", 0, Access::ReadOnly, "")])]).is_sound());
        let array = Reg::word("a", 0, Access::ReadOnly, "").times(4, 8);
        assert!(!bar(&[block(0, &[array, Reg::word("b", 16, Access::ReadOnly, "")])]).is_sound());
        assert!(bar(&[block(0, &[array, Reg::word("b", 4, Access::ReadOnly, "").times(4, 8)])]).is_sound());
    }

    #[test]
    fn registers_out_of_order_are_noticed() {
        assert!(!bar(&[block(0, &[Reg::word("b", 4, Access::ReadOnly, ""), A])]).is_sound());
    }

    #[test]
    fn misaligned_registers_are_noticed() {
        assert!(!bar(&[block(0, &[Reg::word("a", 2, Access::ReadOnly, "")])]).is_sound());
        assert!(!bar(&[block(0, &[Reg::long("a", 4, Access::ReadOnly, "")])]).is_sound());
        assert!(!bar(&[block(4, &[A])]).is_sound());
    }

    #[test]
    fn registers_and_blocks_that_leave_their_room_are_noticed() {
        assert!(!bar(&[block(0, &[Reg::word("a", 0x20, Access::ReadOnly, "")])]).is_sound());
        assert!(!bar(&[block(0, &[A]), block(0x18, &[A])]).is_sound());
        assert!(!bar(&[block(0xf0, &[A])]).is_sound());
    }

    #[test]
    fn resets_and_fields_that_do_not_fit_are_noticed() {
        const WIDE: &[Entry] = &[Entry { name: "x", field: Field::little(3, 0, 9), prose: "" }];
        assert!(!bar(&[block(0, &[A.resets_to(1 << 32)])]).is_sound());
        assert!(!bar(&[block(0, &[A.with(WIDE)])]).is_sound());
    }
}
