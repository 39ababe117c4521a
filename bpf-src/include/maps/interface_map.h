/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The endpoint of an interface, which the shared programs of the endpoints look up first. */
#ifndef AGENT_MAPS_INTERFACE_MAP_H
#define AGENT_MAPS_INTERFACE_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum interface_size {
	INTERFACE_CELLS = 65536, /* a power of two; the index of a cell is the low bits of the interface index */
	INTERFACE_OVERFLOW_MAX = 8192,
};

/*
 * An interface without a cell is closed: the programs drop its packets. The agent writes a cell through a mapping of
 * the map, as one word, after the endpoint's entry and its policy map; it clears the cell before those.
 */
struct interface_cell {
	__u32 ifindex; /* 0: the cell is empty */
	__u32 endpoint_id;
};
_Static_assert(sizeof(struct interface_cell) == sizeof(__u64), "interface_cell");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct interface_cell);
	__uint(max_entries, INTERFACE_CELLS);
	__uint(map_flags, BPF_F_MMAPABLE);
} interfaces SEC(".maps");

/*
 * Maps the index of an interface whose cell another interface has to its endpoint id. Only a node that has created more
 * than INTERFACE_CELLS interfaces needs it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, INTERFACE_OVERFLOW_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} interfaces_overflow SEC(".maps");

#endif
