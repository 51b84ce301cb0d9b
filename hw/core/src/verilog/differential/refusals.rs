//! What the emitter must refuse, because Verilog would mean something else.

use rust_hdl::prelude::*;

use crate::verilog::{EmitError, emit};

/// A block with one kernel line, and the words its refusal must contain.
macro_rules! refused {
    ($test:ident, $words:literal, { $($field:ident: $kind:ty = $value:expr),* $(,)? }, $($update:tt)+) => {
        #[test]
        fn $test() {
            #[derive(LogicBlock)]
            struct Bad {
                pub a: Signal<In, Bits<8>>,
                pub b: Signal<In, Bits<4>>,
                pub f: Signal<In, Bit>,
                pub out: Signal<Out, Bits<8>>,
                $($field: $kind,)*
            }
            impl Logic for Bad {
                $($update)+
            }
            let build = || Bad {
                a: Signal::default(),
                b: Signal::default(),
                f: Signal::default(),
                out: Signal::default(),
                $($field: $value,)*
            };
            match emit("bad", build) {
                Err(EmitError::Kernel { module, problem }) => {
                    assert_eq!(module, "bad");
                    assert!(problem.contains($words), "{problem}");
                }
                other => panic!("not refused as it should be: {other:?}"),
            }
        }
    };
}

refused!(
    a_latch_is_refused,
    "not assigned on every path",
    {},
    #[hdl_gen]
    fn update(&mut self) {
        if self.f.val() {
            self.out.next = self.a.val();
        }
    }
);

refused!(a_value_read_before_it_is_made_is_refused, "read before it is assigned",
    { early: Signal<Local, Bits<8>> = Signal::default() }, #[hdl_gen] fn update(&mut self) {
    if self.f.val() {
        self.early.next = self.a.val();
    }
    self.out.next = self.early.val();
    self.early.next = self.a.val();
});

refused!(
    a_literal_that_does_not_fit_is_refused,
    "does not fit",
    {},
    #[hdl_gen]
    fn update(&mut self) {
        self.out.next = self.a.val() + 300;
    }
);

refused!(
    a_shifted_literal_is_refused,
    "a shift of",
    {},
    #[hdl_gen]
    fn update(&mut self) {
        self.out.next = bit_cast::<8, 64>(1 << self.b.val());
    }
);

refused!(the_input_of_an_inner_block_is_not_read_back, "input of an inner block",
    { inner: crate::prim::reg::Reg<Bits<8>> = crate::prim::reg::Reg::default(), clock: Signal<In, Clock> = Signal::default() },
    #[hdl_gen] fn update(&mut self) {
    self.inner.clock.next = self.clock.val();
    self.inner.d.next = self.a.val();
    self.out.next = self.inner.d.val();
});

/// A module constant: the macro prints its name and Verilog has never heard of it.
const SECRET: u64 = 3;

refused!(
    a_rust_constant_as_a_value_is_refused,
    "no signal here",
    {},
    #[hdl_gen]
    fn update(&mut self) {
        self.out.next = self.a.val() + SECRET;
    }
);
