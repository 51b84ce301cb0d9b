//! The blocks of the settings mean the same in Rust and in Verilog.

use stroma_hw::differential;
use stroma_hw::verilog::differential::assert_agree;

use super::{Restart, Settings};

#[test]
fn rust_and_verilog_agree() {
    let settings = differential!(
        "settings",
        Settings::default,
        clock,
        [
            cfg_max_payload,
            cfg_max_read_req,
            cfg_function_status,
            cfg_mgmt_read_data,
            cfg_mgmt_read_write_done
        ]
    );
    let restart = differential!("restart", Restart::default, clock, [cfg_flr_in_process, is_drained]);
    for case in [settings, restart] {
        assert_agree([case], 3000);
    }
}
