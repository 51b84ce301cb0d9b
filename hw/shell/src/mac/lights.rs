//! The lights of the cage.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;

/// Cycles for which a frame lights up: 26 ms, long enough to be seen.
const SHINE: u64 = (1 << 23) - 1;

block! {
    /// Green with a link, yellow without, and activity behind each beat of a frame.
    ///
    /// - **Ports** on `clock`, which is the MAC's: `is_linked`; `is_busy`: a beat moves; `led_*`: the lights, from registers.
    /// - **Reset** dark but for yellow.
    pub struct Lights {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_linked: Signal<In, Bit>,
        pub is_busy: Signal<In, Bit>,
        pub led_activity: Signal<Out, Bit>,
        pub led_green: Signal<Out, Bit>,
        pub led_yellow: Signal<Out, Bit>,
        left: Reg<Bits<24>>,
        shines: Reg<Bit>,
        green: Reg<Bit>,
        yellow: Reg<Bit>,
        shine: Constant<Bits<24>> = number(SHINE),
    }
}

impl Lights {
    /// Lights for so many cycles behind a frame, below 2^24.
    #[must_use]
    pub fn new(shine: u32) -> Self {
        Self { shine: number(shine), ..Self::default() }
    }
}

impl Logic for Lights {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, left, shines, green, yellow);
        self.led_activity.next = self.shines.q.val();
        self.led_green.next = self.green.q.val();
        self.led_yellow.next = self.yellow.q.val();
        self.green.d.next = self.is_linked.val();
        self.yellow.d.next = !self.is_linked.val();
        self.shines.d.next = self.left.q.val().any();
        if self.left.q.val().any() {
            self.left.d.next = self.left.q.val() - 1;
        }
        if self.is_busy.val() {
            self.left.d.next = self.shine.val();
        }
        if self.reset.val() {
            self.left.d.next = 0.into();
            self.shines.d.next = false;
            self.green.d.next = false;
            self.yellow.d.next = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_hw::testing::{read, verilated};
    use stroma_verilate::Bench;

    use super::*;

    fn step(bench: &mut Bench, is_linked: bool, is_busy: bool) -> [bool; 3] {
        for (name, value) in [("is_linked", is_linked), ("is_busy", is_busy)] {
            let port = bench.model().port(name).expect("a port");
            bench.model_mut().set(port, value.into());
        }
        bench.step();
        ["led_activity", "led_green", "led_yellow"].map(|name| read(bench, name))
    }

    #[test]
    fn colours_follow_the_link_and_activity_lasts_behind_the_last_beat() {
        let mut bench = verilated("lights", || Lights::new(5));
        bench.reset(2);
        assert_eq!(step(&mut bench, false, false), [false, false, true]);
        assert_eq!(step(&mut bench, true, true), [false, true, false]);
        assert_eq!(step(&mut bench, true, true), [true, true, false]);
        let lit = (0..20).filter(|_| step(&mut bench, true, false)[0]).count();
        assert_eq!(lit, 5);
        assert_eq!(step(&mut bench, false, false), [false, false, true]);
        step(&mut bench, true, true);
        bench.reset(1);
        assert_eq!(
            ["led_activity", "led_green", "led_yellow"].map(|name| read::<bool>(&bench, name)),
            [false, false, true]
        );
    }
}
