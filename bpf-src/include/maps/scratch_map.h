/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Memory of the slow path of the endpoint programs, for one packet at a time on each CPU. */
#ifndef AGENT_MAPS_SCRATCH_MAP_H
#define AGENT_MAPS_SCRATCH_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define SCRATCH_BYTES 320 /* at least sizeof(struct judge_scratch) in lib/endpoint_judge.h */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__uint(value_size, SCRATCH_BYTES);
	__uint(max_entries, 1);
} judge_scratch SEC(".maps");

#endif
