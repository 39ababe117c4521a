/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The endpoints of this node by id, and their generations. */
#ifndef AGENT_MAPS_ENDPOINT_MAP_H
#define AGENT_MAPS_ENDPOINT_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum endpoint_size {
	ENDPOINTS_MAX = 65536, /* endpoint ids are less than this */
};

enum endpoint_flag {
	ENDPOINT_FLAG_POLICY_AUDIT = 1, /* PolicyAuditMode: packets that policy denies are reported and forwarded */
};

/* ifindex 0 means that no endpoint has this id. */
struct endpoint_entry {
	__u32 ifindex; /* of the host-side veth interface */
	__u32 identity;
	__u8 mac[6];      /* of the workload's interface */
	__u8 host_mac[6]; /* of the host-side interface, with which ARP and ND for the gateway are answered */
	__u32 flags;      /* enum endpoint_flag */
};
_Static_assert(sizeof(struct endpoint_entry) == 24, "endpoint_entry");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct endpoint_entry);
	__uint(max_entries, ENDPOINTS_MAX);
} endpoints SEC(".maps");

/*
 * Maps an endpoint id to its generation; index 0 is the generation of all addresses that do not belong to an endpoint
 * of this node (ipcache changes). A verdict in a conntrack entry is valid while the generations of both sides equal
 * those in the entry. The agent writes the array through a memory mapping. The low bits count changes. The bits from
 * GENERATION_OWNER_SHIFT on count the endpoints and addresses that have used the id: an entry with a different owner
 * part is not renewed but replaced.
 */
enum generation_layout {
	GENERATION_OWNER_SHIFT = 24,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
} generations SEC(".maps");

#endif
