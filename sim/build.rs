//! Emits the card in both profiles, verilates it and links it in. The model cache makes this cheap when no RTL changed.

use anyhow::Context;
use stroma_top::Profile;
use stroma_verilate::Verilog;

fn main() -> anyhow::Result<()> {
    let emit = |profile: Profile| -> anyhow::Result<Verilog> {
        let rtl = profile.emit().with_context(|| format!("emitting the {} card", profile.name()))?;
        Ok(Verilog::new(rtl.text.clone(), &rtl.manifest())?)
    };
    let (ten, hundred) = (emit(Profile::TenGig)?, emit(Profile::HundredGig)?);
    stroma_verilate::build_static(&[(Profile::TenGig.top(), &ten), (Profile::HundredGig.top(), &hundred)])?;
    Ok(())
}
