/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What policies answered lately, on each CPU: memory of the programs, which lib/policy.h lays out. */
#ifndef AGENT_MAPS_VERDICT_MAP_H
#define AGENT_MAPS_VERDICT_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define VERDICT_CACHE_BYTES 6144 /* sizeof(struct verdict_cache) in lib/policy.h */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__uint(value_size, VERDICT_CACHE_BYTES);
	__uint(max_entries, 1);
} verdict_cache SEC(".maps");

#endif
