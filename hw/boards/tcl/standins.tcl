# Stand-ins of Vivado's commands, for a run of a board's scripts without Vivado.
#
#     tclsh standins.tcl FACTS OBJECTS SCRIPT RECORD [SLACK]
#
# FACTS has the commands with their options, the IP with their properties, and what else is known of Vivado; OBJECTS the ports, cells,
# nets and pins of the design. Whatever the script asks for that is in neither ends the run with the file and the line that asked.
# Every command that was given is written to RECORD. SLACK is what the slowest path has.

lassign $argv facts_file objects_file script record_file slack
if {$slack eq ""} { set slack 0.1 }
set folder [file dirname [file normalize $script]]
set record [open $record_file w]

# What has been done so far.
set stage none
set is_early 0
set constraints {}
array set made {}
array set pins {}
array set placed {}
array set clocks {}

rename exit real_exit
rename source real_source

# --- complaints ---------------------------------------------------------------------------------------------------

# A file of the folder, as the folder has it.
proc shown {file} {
    global folder
    set file [file normalize $file]
    if {[string first $folder/ $file] == 0} { return [string range $file [string length $folder/] end] }
    return [file tail $file]
}

# Where the script is.
proc place {} {
    for {set level [info frame]} {$level > 0} {incr level -1} {
        set frame [info frame $level]
        if {[dict exists $frame file] && [file tail [dict get $frame file]] ne "standins.tcl"} {
            return "[shown [dict get $frame file]]:[dict get $frame line]"
        }
    }
    return "?"
}

proc fault {message} {
    puts stderr "[place]: $message"
    close $::record
    real_exit 1
}

proc exit {{code 0}} {
    puts $::record "exit $code"
    close $::record
    real_exit $code
}

proc source {file} {
    if {![file isfile $file]} { fault "source: there is no file [shown $file]" }
    uplevel 1 [list real_source $file]
}

proc unknown {args} { fault "no command is called [lindex $args 0]" }

# --- arguments ----------------------------------------------------------------------------------------------------

# Sorts the words of a command: a dictionary of its options, with all other words under `rest`.
proc sorted {name words} {
    global commands
    puts $::record [list $name {*}$words]
    if {![info exists commands($name)]} { fault "$name is not among the commands that are known: hw/boards/vivado.toml" }
    lassign $commands($name) flags values
    set found [dict create rest {}]
    for {set at 0} {$at < [llength $words]} {incr at} {
        set word [lindex $words $at]
        if {![regexp {^-[a-z]} $word]} {
            dict lappend found rest $word
        } elseif {$word in $flags} {
            dict set found $word 1
        } elseif {$word in $values} {
            incr at
            if {$at >= [llength $words]} { fault "$name: $word lacks its value" }
            dict set found $word [lindex $words $at]
        } else {
            fault "$name has no option $word"
        }
    }
    return $found
}

proc option {words name {otherwise ""}} {
    if {[dict exists $words $name]} { return [dict get $words $name] }
    return $otherwise
}

# The words that are no options: so many of them, or an end.
proc rest {command words count} {
    set rest [dict get $words rest]
    if {[llength $rest] != $count} { fault "$command takes $count words beside its options, and has [llength $rest]" }
    return $rest
}

proc needs {command what} {
    global stage
    set order {none project synthesised optimised placed routed}
    if {[lsearch $order $stage] < [lsearch $order $what]} { fault "$command comes too early: the design is not $what yet" }
}

# A value against those that are known: words, patterns, ranges.
proc is_value {value known} {
    foreach each $known {
        if {[regexp {^(-?[0-9.]+)\.\.([0-9.]+)$} $each - low high]} {
            if {[string is double -strict $value] && $value >= $low && $value <= $high} { return 1 }
        } elseif {[string match $each $value]} {
            return 1
        }
    }
    return 0
}

proc out_file {command file} {
    if {$file eq ""} { fault "$command: to which file?" }
    if {![file isdirectory [file dirname $file]]} { fault "$command: there is no folder [shown [file dirname $file]]" }
}

# --- objects: lists of KIND|NAME --------------------------------------------------------------------------------------

proc kind {object} { return [lindex [split $object |] 0] }
proc name {object} { return [join [lrange [split $object |] 1 end] |] }

# A pattern of names: brackets are brackets.
proc pattern {text} { return [string map {[ \\[ ] \\]} $text] }

# Names of one level that match; entries are names with widths, 0 for what is no vector.
proc matching {entries pattern} {
    set pattern [pattern $pattern]
    set found {}
    foreach {name width} $entries {
        if {$width == 0} {
            if {[string match $pattern $name]} { lappend found $name }
            continue
        }
        for {set bit 0} {$bit < $width} {incr bit} {
            if {[string match $pattern $name\[$bit\]]} { lappend found $name\[$bit\] }
        }
    }
    return $found
}

# Paths of instances whose names match, level by level: `*` does not cross a `/`.
proc instances {parts} {
    global children
    set paths {{}}
    foreach part $parts {
        set deeper {}
        foreach path $paths {
            set own {}
            if {[info exists children($path)]} { set own $children($path) }
            foreach name [matching $own $part] {
                lappend deeper [expr {$path eq "" ? $name : "$path/$name"}]
            }
        }
        set paths $deeper
    }
    return $paths
}

proc below {table path} {
    upvar #0 $table entries
    if {[info exists entries($path)]} { return $entries($path) }
    return {}
}

proc found {kind tables text} {
    set parts [split $text /]
    set all {}
    foreach path [instances [lrange $parts 0 end-1]] {
        foreach table $tables {
            foreach name [matching [below $table $path] [lindex $parts end]] {
                lappend all "$kind|[expr {$path eq "" ? $name : "$path/$name"}]"
            }
        }
    }
    return $all
}

proc get {command kind tables words} {
    set words [sorted $command $words]
    foreach unsupported {-regexp -filter -hierarchical} {
        if {[dict exists $words $unsupported]} { fault "$command: the stand-in does not know $unsupported" }
    }
    if {$::is_early && $kind ne "port"} { fault "$command: before the design is synthesised there are ports alone" }
    if {!$::is_early} { needs $command synthesised }
    set all {}
    foreach text [join [dict get $words rest]] {
        set matches [found $kind $tables $text]
        if {[llength $matches] == 0 && ![dict exists $words -quiet]} { fault "$command: no $kind is called $text" }
        lappend all {*}$matches
    }
    return $all
}

proc get_ports {args} { return [get get_ports port {ports} $args] }
proc get_cells {args} { return [get get_cells cell {children registers} $args] }
proc get_nets {args} { return [get get_nets net {nets} $args] }

proc get_pins {args} {
    set words [sorted get_pins $args]
    needs get_pins synthesised
    set all {}
    foreach text [join [dict get $words rest]] {
        set parts [split $text /]
        set matches {}
        foreach path [instances [lrange $parts 0 end-1]] {
            foreach name [matching [below cell_pins $path] [lindex $parts end]] { lappend matches "pin|$path/$name" }
        }
        if {[llength $matches] == 0} { fault "get_pins: no pin is called $text" }
        lappend all {*}$matches
    }
    return $all
}

proc get_clocks {args} {
    global clocks clock_nets
    set words [sorted get_clocks $args]
    needs get_clocks synthesised
    set all {}
    foreach object [option $words -of_objects] {
        if {[kind $object] ne "net" || [name $object] ni $clock_nets} { fault "get_clocks: [name $object] is on no clock" }
        lappend all "clock|[name $object]"
    }
    foreach text [join [dict get $words rest]] {
        set matches [lsearch -all -inline [array names clocks] [pattern $text]]
        if {[llength $matches] == 0} { fault "get_clocks: no clock is called $text" }
        foreach name $matches { lappend all "clock|$name" }
    }
    return $all
}

proc get_made {command kind words} {
    global made
    set words [sorted $command $words]
    set all {}
    foreach text [join [dict get $words rest]] {
        set matches [lsearch -all -inline [array names made] $kind|[pattern $text]]
        if {[llength $matches] == 0} { fault "$command: no $kind is called $text" }
        lappend all {*}$matches
    }
    return $all
}

proc get_ips {args} { return [get_made get_ips ip $args] }
proc get_files {args} { return [get_made get_files file $args] }
proc get_pblocks {args} { return [get_made get_pblocks pblock $args] }
proc get_debug_cores {args} { return [get_made get_debug_cores debug_core $args] }
proc get_debug_ports {args} { return [get_made get_debug_ports debug_port $args] }

proc current_design {args} {
    rest current_design [sorted current_design $args] 0
    if {!$::is_early} { needs current_design synthesised }
    return "design|$::top"
}

proc objects {command kinds all} {
    if {[llength $all] == 0} { fault "$command: nothing to do it to" }
    foreach object $all {
        if {[kind $object] ni $kinds} { fault "$command: $object is no [join $kinds { or }]" }
    }
    return $all
}

# --- properties -----------------------------------------------------------------------------------------------------

proc set_property {args} {
    set words [sorted set_property $args]
    if {[dict exists $words -dict]} {
        set values [dict get $words -dict]
        lassign [rest set_property $words 1] targets
    } else {
        lassign [rest set_property $words 3] name value targets
        set values [list $name $value]
    }
    if {[llength $targets] == 0} { fault "set_property: nothing to set it on" }
    if {[llength $values] % 2} { fault "set_property: a property lacks its value" }
    foreach object $targets {
        foreach {name value} $values { set_one $object $name $value }
    }
}

proc set_one {object name value} {
    global made ip_properties object_properties pins placed
    set kind [kind $object]
    if {$kind eq "ip"} {
        set ip $made($object)
        if {![regexp {^CONFIG\.(.+)$} $name - name]} { fault "set_property: a property of an IP is CONFIG.NAME, not $name" }
        if {![info exists ip_properties($ip,$name)]} { fault "set_property: $ip has no property $name" }
        if {![is_value $value $ip_properties($ip,$name)]} {
            fault "set_property: $name of $ip is not known to take $value, but $ip_properties($ip,$name)"
        }
        return
    }
    if {![info exists object_properties($kind,$name)]} { fault "set_property: a $kind has no property $name" }
    if {![is_value $value $object_properties($kind,$name)]} {
        fault "set_property: $name is not known to take $value, but $object_properties($kind,$name)"
    }
    if {$name eq "PACKAGE_PIN"} {
        if {[info exists pins($value)]} { fault "set_property: pin $value is [name $object] and $pins($value)" }
        if {[info exists placed($object)]} { fault "set_property: [name $object] is on pins $placed($object) and $value" }
        set pins($value) [name $object]
        set placed($object) $value
    }
    set made($object,$name) $value
}

proc get_property {args} {
    lassign [rest get_property [sorted get_property $args] 2] name object
    if {[kind $object] ne "path" || $name ne "SLACK"} { fault "get_property: the stand-in knows the SLACK of a path alone" }
    return $::slack
}

# --- steps ------------------------------------------------------------------------------------------------------------

proc version {args} {
    sorted version $args
    return $::vivado_version
}

proc create_project {args} {
    set words [sorted create_project $args]
    if {[option $words -part] ne $::part} { fault "create_project: the board's part is $::part" }
    set ::stage project
}

proc create_ip {args} {
    global made ips
    set words [sorted create_ip $args]
    needs create_ip project
    set ip [option $words -name]
    if {$ip ni $ips} { fault "create_ip: no IP is called $ip" }
    set module [option $words -module_name]
    if {$module eq ""} { fault "create_ip: -module_name is missing" }
    if {[info exists made(ip|$module)]} { fault "create_ip: $module is there already" }
    if {![file isdirectory [option $words -dir]]} { fault "create_ip: there is no folder [option $words -dir]" }
    set made(ip|$module) $ip
    set made(file|$module.xci) $module
}

proc generate_target {args} {
    lassign [rest generate_target [sorted generate_target $args] 2] target all
    objects generate_target {ip} $all
}

proc synth_ip {args} {
    lassign [rest synth_ip [sorted synth_ip $args] 1] all
    foreach object [objects synth_ip {ip} $all] {
        if {![info exists ::made(file|[name $object].xci,GENERATE_SYNTH_CHECKPOINT)]} {
            fault "synth_ip: GENERATE_SYNTH_CHECKPOINT of [name $object].xci is not set"
        }
        set ::made(netlist|[name $object]) 1
    }
}

proc files {command words} {
    needs $command project
    set all [join [dict get $words rest]]
    if {[llength $all] == 0} { fault "$command: which file?" }
    foreach file $all {
        if {![file isfile $file]} { fault "$command: there is no file [shown $file]" }
        if {[file size $file] == 0} { fault "$command: [shown $file] is empty" }
    }
    return $all
}

proc read_verilog {args} {
    foreach file [files read_verilog [sorted read_verilog $args]] { set ::made(verilog|[shown $file]) 1 }
}

proc read_xdc {args} {
    foreach file [files read_xdc [sorted read_xdc $args]] {
        if {$::stage eq "project"} { lappend ::constraints $file } else { real_source $file }
    }
}

proc synth_design {args} {
    set words [sorted synth_design $args]
    needs synth_design project
    if {[option $words -top] ne $::top} { fault "synth_design: the top module is $::top" }
    if {[option $words -part] ne $::part} { fault "synth_design: the board's part is $::part" }
    foreach file $::verilog {
        if {![info exists ::made(verilog|$file)]} { fault "synth_design: $file was not read" }
    }
    foreach module $::ip_modules {
        if {![info exists ::made(netlist|$module)]} { fault "synth_design: $module was not synthesised" }
    }
    set ::is_early 1
    foreach file $::constraints { real_source $file }
    set ::is_early 0
    set ::stage synthesised
}

proc step {command words before after} {
    rest $command [sorted $command $words] 0
    needs $command $before
    if {$after ne ""} { set ::stage $after }
}

proc opt_design {args} { step opt_design $args synthesised optimised }
proc place_design {args} { step place_design $args optimised placed }
proc phys_opt_design {args} { step phys_opt_design $args placed "" }
proc route_design {args} { step route_design $args placed routed }

foreach command {report_timing_summary report_utilization report_drc report_methodology report_cdc report_clock_interaction report_power report_route_status} {
    proc $command {args} [string map [list COMMAND $command] {
        set words [sorted COMMAND $args]
        needs COMMAND synthesised
        rest COMMAND $words 0
        out_file COMMAND [option $words -file]
    }]
}

proc written {command words what} {
    set words [sorted $command $words]
    needs $command $what
    lassign [rest $command $words 1] file
    out_file $command $file
    set ::made(written|[file normalize $file]) 1
    return $words
}

proc write_checkpoint {args} { written write_checkpoint $args synthesised }
proc write_debug_probes {args} { written write_debug_probes $args routed }

proc write_bitstream {args} {
    written write_bitstream $args routed
    foreach {port width} [below ports {}] {
        foreach name [matching [list $port $width] *] {
            if {![info exists ::placed(port|$name)]} { fault "write_bitstream: port $name is on no pin" }
        }
    }
}

proc write_cfgmem {args} {
    set words [written write_cfgmem $args routed]
    if {[option $words -format] ni {mcs bin hex}} { fault "write_cfgmem: no format is called [option $words -format]" }
    if {[option $words -interface] ne "SPIx4"} { fault "write_cfgmem: the flash is on SPIx4" }
    set size [option $words -size]
    if {![string is integer -strict $size] || $size <= 0 || ($size & ($size - 1))} { fault "write_cfgmem: $size is no power of two" }
    if {![regexp {^up (0x[0-9a-f]+) (.+)$} [option $words -loadbit] - at file]} { fault "write_cfgmem: -loadbit is `up ADDRESS FILE`" }
    if {$at >= $size << 20} { fault "write_cfgmem: $at is behind the end of $size MB" }
    if {![info exists ::made(written|[file normalize $file])]} { fault "write_cfgmem: there is no file [shown $file]" }
}

proc get_timing_paths {args} {
    rest get_timing_paths [sorted get_timing_paths $args] 0
    needs get_timing_paths routed
    return [list path|slowest]
}

# --- constraints --------------------------------------------------------------------------------------------------------

proc number {command value} {
    if {![string is double -strict $value] || $value <= 0} { fault "$command: $value is no length of time" }
}

proc create_clock {args} {
    set words [sorted create_clock $args]
    number create_clock [option $words -period]
    lassign [rest create_clock $words 1] targets
    objects create_clock {port pin net} $targets
    set name [option $words -name]
    if {$name eq "" || [info exists ::clocks($name)]} { fault "create_clock: a clock has a name of its own, not \"$name\"" }
    set ::clocks($name) $targets
}

proc ends {command words kinds} {
    set count 0
    foreach end {-from -to -through} {
        if {[dict exists $words $end]} {
            objects "$command $end" $kinds [dict get $words $end]
            incr count
        }
    }
    if {$count == 0} { fault "$command: from where, or where to?" }
}

proc set_max_delay {args} {
    set words [sorted set_max_delay $args]
    number set_max_delay [lindex [rest set_max_delay $words 1] 0]
    ends set_max_delay $words {clock cell pin port}
    if {[dict exists $words -datapath_only] && ![dict exists $words -from]} { fault "set_max_delay: -datapath_only needs -from" }
}

proc set_false_path {args} {
    set words [sorted set_false_path $args]
    rest set_false_path $words 0
    ends set_false_path $words {clock cell pin port}
}

proc set_operating_conditions {args} {
    number set_operating_conditions [option [sorted set_operating_conditions $args] -design_power_budget]
}

proc create_pblock {args} {
    lassign [rest create_pblock [sorted create_pblock $args] 1] name
    set ::made(pblock|$name) 1
}

proc add_cells_to_pblock {args} {
    lassign [rest add_cells_to_pblock [sorted add_cells_to_pblock $args] 2] pblock cells
    objects add_cells_to_pblock {pblock} $pblock
    objects add_cells_to_pblock {cell} $cells
}

proc resize_pblock {args} {
    set words [sorted resize_pblock $args]
    objects resize_pblock {pblock} [lindex [rest resize_pblock $words 1] 0]
    if {![regexp {^SLR([0-9])$} [option $words -add] - die] || $die >= $::dies} {
        fault "resize_pblock: the part has no [option $words -add]"
    }
}

# --- the logic analyser ---------------------------------------------------------------------------------------------------

proc create_debug_core {args} {
    lassign [rest create_debug_core [sorted create_debug_core $args] 2] name type
    needs create_debug_core synthesised
    if {$type ne "ila"} { fault "create_debug_core: no core is called $type" }
    set ::made(debug_core|$name) 1
    set ::made(debug_port|$name/clk) 1
    set ::made(debug_port|$name/probe0) 1
}

proc create_debug_port {args} {
    lassign [rest create_debug_port [sorted create_debug_port $args] 2] name type
    if {![info exists ::made(debug_core|$name)] || $type ne "probe"} { fault "create_debug_port: $name has no port of the kind $type" }
    set count [llength [array names ::made -regexp "^debug_port\\|$name/probe\[0-9\]+\$"]]
    set ::made(debug_port|$name/probe$count) 1
}

proc connect_debug_port {args} {
    lassign [rest connect_debug_port [sorted connect_debug_port $args] 2] port wires
    if {![info exists ::made(debug_port|$port)]} { fault "connect_debug_port: there is no port $port" }
    objects connect_debug_port {net} $wires
    if {![info exists ::made(debug_port|$port,port_width)] || $::made(debug_port|$port,port_width) != [llength $wires]} {
        fault "connect_debug_port: the width of $port is not [llength $wires]"
    }
}

# --- the run ----------------------------------------------------------------------------------------------------------------

real_source $facts_file
real_source $objects_file
if {[catch {source $script} message details]} {
    set at "?"
    # The innermost file is told first.
    if {[regexp {\(file "([^"]+)" line (\d+)\)} [dict get $details -errorinfo] - file line]} { set at "[shown $file]:$line" }
    puts stderr "$at: $message"
    close $record
    real_exit 1
}
exit 0
