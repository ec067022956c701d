// A library that is opened after the attach.
#include <stdlib.h>

char* make(int bytes) { return malloc((size_t)bytes); }
