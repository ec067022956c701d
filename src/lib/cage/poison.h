// Moved to tare/poison.h.
#pragma once
#include "tare/poison.h"
