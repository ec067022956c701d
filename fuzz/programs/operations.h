// The operations of a script. Each is given the number that follows its letter.
#pragma once

#include "run.h"

namespace dangerous {

void allocate(Run& run, unsigned value);
void resize(Run& run, unsigned value);
void fail_to_allocate(Run& run, unsigned value);
void use_mapping(Run& run, unsigned value);
void protect_inside_a_block(Run& run, unsigned value);
void give_back(Run& run, unsigned value);

void perform_threads(Run& run, unsigned value);
void cancel_a_thread(Run& run, unsigned value);

void perform_fork(Run& run, unsigned value);
void perform_raw_fork(Run& run, unsigned value);
void start_program(Run& run, unsigned value);
void exec_itself(Run& run, unsigned value);
void exec_from_vfork(Run& run, unsigned value);

void perform_handler(Run& run, unsigned value);
void perform_disarmed_handler(Run& run, unsigned value);
void survive_a_fault(Run& run, unsigned value);
void start_ticking(Run& run, unsigned value);

void perform_coroutine(Run& run, unsigned value);
void perform_on_a_shrinking_stack(Run& run, unsigned value);
void throw_and_catch(Run& run, unsigned value);
void recurse(Run& run, unsigned value);

void load_library(Run& run, unsigned value);
void filter_calls(Run& run, unsigned value);
void change_the_process(Run& run, unsigned value);
void change_a_limit(Run& run, unsigned value);
void change_by_prctl(Run& run, unsigned value);

void serve_faults(Run& run, unsigned value);
void use_a_ring(Run& run, unsigned value);

void lock_faults();
void unlock_faults();

}  // namespace dangerous
