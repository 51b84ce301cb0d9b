//! The headers between BTH and payload, as the op-code lists them.

use super::{Aeth, AtomicAckEth, AtomicEth, Cnp, Deth, Header, HeaderSet, Ieth, ImmDt, Reth, RpcEth};

macro_rules! extended {
    ($($ty:ident $field:ident;)*) => {
        /// The extended headers of one packet; those its op-code carries are `Some`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Extended {
            $(#[doc = concat!("[`", stringify!($ty), "`].")] pub $field: Option<$ty>,)*
        }

        impl Extended {
            /// Reads the listed headers, one behind the other; `None` when the bytes end too early.
            #[must_use]
            pub fn parse(headers: &[Header], mut bytes: &[u8]) -> Option<Self> {
                let mut extended = Self::default();
                for header in headers {
                    match header {
                        $(Header::$ty => extended.$field = Some($ty::parse(bytes)?),)*
                    }
                    bytes = &bytes[header.len()..];
                }
                Some(extended)
            }

            /// Writes every header there is, in wire order.
            ///
            /// # Panics
            /// When `bytes` is shorter than they are, or a value is wider than its field.
            pub fn emit(&self, mut bytes: &mut [u8]) {
                for header in Header::ALL {
                    match header {
                        $(Header::$ty => {
                            let Some(value) = &self.$field else { continue };
                            value.emit(bytes);
                        })*
                    }
                    bytes = &mut bytes[header.len()..];
                }
            }

            /// Which headers there are.
            #[must_use]
            pub fn set(&self) -> HeaderSet {
                let mut bits = 0;
                $(bits |= u16::from(self.$field.is_some()) << Header::$ty as u8;)*
                HeaderSet(bits)
            }
        }
    };
}

extended! {
    Deth deth;
    Reth reth;
    AtomicEth atomic;
    Aeth aeth;
    AtomicAckEth atomic_ack;
    RpcEth rpc;
    ImmDt imm;
    Ieth ieth;
    Cnp cnp;
}
