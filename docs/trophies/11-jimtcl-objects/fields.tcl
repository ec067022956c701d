set f [open [lindex $argv 0]]
set d [dict create]
while {[gets $f line] >= 0} { if {[regexp {^([A-Za-z-]+): (.*)$} $line -> k v]} { dict lappend d $k [split $v ,] } }
puts [dict size $d]
