//! The models the build script linked in. The unsafe call is in the macro, with its argument.

use stroma_top::Profile;
use stroma_verilate::Linked;

static TEN_GIG: Linked = stroma_verilate::linked!("stroma_10g");
static HUNDRED_GIG: Linked = stroma_verilate::linked!("stroma_100g");
static TEN_GIG_FRONTS: Linked = stroma_verilate::linked!("stroma_fronts_10g");
static HUNDRED_GIG_FRONTS: Linked = stroma_verilate::linked!("stroma_fronts_100g");

/// The Verilated card of a profile.
#[must_use]
pub fn card(profile: Profile) -> &'static Linked {
    match profile {
        Profile::TenGig => &TEN_GIG,
        Profile::HundredGig => &HUNDRED_GIG,
    }
}

/// Its front ends alone.
pub(crate) fn fronts(profile: Profile) -> &'static Linked {
    match profile {
        Profile::TenGig => &TEN_GIG_FRONTS,
        Profile::HundredGig => &HUNDRED_GIG_FRONTS,
    }
}
