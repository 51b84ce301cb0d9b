//! The two models the build script linked in. The unsafe call is in the macro, with its argument.

use stroma_top::Profile;
use stroma_verilate::Linked;

static TEN_GIG: Linked = stroma_verilate::linked!("stroma_10g");
static HUNDRED_GIG: Linked = stroma_verilate::linked!("stroma_100g");

/// The Verilated card of a profile.
pub(crate) fn model(profile: Profile) -> &'static Linked {
    match profile {
        Profile::TenGig => &TEN_GIG,
        Profile::HundredGig => &HUNDRED_GIG,
    }
}
