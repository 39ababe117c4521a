/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Connections whose entries were put into a table of the overflow: memory of the programs (lib/overflow_flow.h). */
#ifndef AGENT_MAPS_OVERFLOW_FLOW_MAP_H
#define AGENT_MAPS_OVERFLOW_FLOW_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define OVERFLOW_FLOW_BYTES 48 /* sizeof(struct overflow_flow) in lib/overflow_flow.h */
#define OVERFLOW_FLOW_SLOT_BITS 15

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__uint(value_size, OVERFLOW_FLOW_BYTES);
	__uint(max_entries, 1 << OVERFLOW_FLOW_SLOT_BITS);
	__uint(map_flags, BPF_F_MMAPABLE);
} overflow_flows SEC(".maps");

#endif
