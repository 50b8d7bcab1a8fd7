// Which of the eight processors runs this.
#pragma once
#include <stdint.h>

#include "neuron_edu/here.h"

inline uint32_t get_cpu_id() { return (uint32_t)neuron_edu::here.processor; }
inline uint32_t get_cpu_count() { return (uint32_t)neuron_edu::here.processors; }
