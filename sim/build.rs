//! Emits the card and its front ends alone in both profiles, verilates them and links them in. The model cache makes this
//! cheap when no RTL changed.

use anyhow::Context;
use stroma_top::Profile;
use stroma_verilate::Verilog;

fn main() -> anyhow::Result<()> {
    let mut models = Vec::new();
    for profile in Profile::ALL {
        let name = profile.name();
        let card = profile.emit().with_context(|| format!("emitting the {name} card"))?;
        let fronts = profile.emit_fronts().with_context(|| format!("emitting the {name} front ends"))?;
        for (top, rtl) in [(profile.top(), card), (profile.fronts_top(), fronts)] {
            models.push((top, Verilog::new(rtl.text.clone(), &rtl.manifest())?));
        }
    }
    let models: Vec<(&str, &Verilog)> = models.iter().map(|(top, verilog)| (*top, verilog)).collect();
    stroma_verilate::build_static(&models)?;
    Ok(())
}
