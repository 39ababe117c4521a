/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The endpoints of this node by id, and the generation of each one's policy. */
#ifndef AGENT_MAPS_ENDPOINT_MAP_H
#define AGENT_MAPS_ENDPOINT_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define ENDPOINTS_MAX 65536

enum endpoint_flag {
	ENDPOINT_FLAG_POLICY_AUDIT = 1, /* PolicyAuditMode: what its policy forbids is reported and passes */
};

/* ifindex 0 means that no endpoint has this id. */
struct endpoint_entry {
	__u32 ifindex; /* host side of the veth */
	__u32 identity;
	__u8 mac[6];      /* the workload's interface */
	__u8 host_mac[6]; /* the host side, and the gateway's answer to ARP and ND */
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
 * Endpoint id -> generation of its policy; index 0 is the generation of everything that is not an
 * endpoint of this node (ipcache changes). A verdict kept in conntrack holds only while the
 * generations under which it was given are current. The agent writes it through a mapping. The low bits count changes,
 * the bits from GENERATION_OWNER_SHIFT on the endpoints and addresses that the id stood for: a flow of one before is
 * not judged as a flow of the present one.
 */
#define GENERATION_OWNER_SHIFT 24

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
} generations SEC(".maps");

#endif
