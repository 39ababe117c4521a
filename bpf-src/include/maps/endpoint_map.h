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

/* The options of PATCH /endpoint/{id}/config (decisions.md, section 6); the last three are of the node. */
enum endpoint_option {
	OPTION_CONNTRACK = 1,
	OPTION_CONNTRACK_ACCOUNTING = 2,
	OPTION_DROP_NOTIFICATION = 4,
	OPTION_TRACE_NOTIFICATION = 8,
	OPTION_POLICY_VERDICT_NOTIFICATION = 16,
	OPTION_POLICY_AUDIT_MODE = 32, /* packets that policy denies are reported and forwarded */
	OPTION_SOURCE_IP_VERIFICATION = 64,
	OPTION_ARP_PASSTHROUGH = 256,
	OPTION_HOST_ROUTING = 512, /* flows bypass the stack of the node (--host-routing) */
	OPTION_SERVICES = 1024,    /* the node has services */
	OPTION_CAPTURE = 2048,     /* a subscriber of events wants the first bytes of packets */
};

/* MonitorAggregationLevel: which forwarded packets are traced. */
enum aggregation_level {
	AGGREGATION_NONE = 0,    /* every packet */
	AGGREGATION_LOW = 1,     /* new flows, TCP state changes, and about one packet per second and flow */
	AGGREGATION_MEDIUM = 2,  /* new flows and TCP state changes */
	AGGREGATION_MAXIMUM = 3, /* new flows */
};

/*
 * All values of an endpoint that its programs read: the programs are verified once and shared. One entry is one cache
 * line, since a map with BPF_F_MMAPABLE begins on a page. ifindex 0 means that no endpoint has this id.
 */
struct endpoint_entry {
	__u32 ifindex; /* of the host-side veth interface */
	__u32 endpoint_id;
	__u32 options; /* enum endpoint_option */
	__u8 has_ipv4;
	__u8 has_ipv6;
	__u8 aggregation; /* enum aggregation_level */
	__u8 reserved;
	__u8 mac[6];      /* of the workload's interface */
	__u8 host_mac[6]; /* of the host-side interface, with which ARP and ND for the gateway are answered */
	__u8 ipv4[4];
	__u8 ipv6[16];
	__u32 identity;
	__u32 policy_id; /* index of its policy map in policies */
	__u8 spare[8];
};
_Static_assert(sizeof(struct endpoint_entry) == 64, "endpoint_entry");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct endpoint_entry);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
} endpoints SEC(".maps");

/*
 * The generations under which verdicts are given. Index: an endpoint id, or GENERATION_OUTSIDE plus the shard of an
 * address that belongs to no endpoint of this node. A conntrack entry holds the sum of its two sides' generations; its
 * verdict is valid while the sum is the same. The agent writes the array through a memory mapping.
 *
 * The bits below GENERATION_OWNER_SHIFT count changes; the agent keeps their highest bit clear, so that a sum of two
 * does not carry. The bits from there on count the endpoints and addresses that have used the id: an entry whose sum
 * differs there is not renewed but replaced. That they return to a value takes 2^32 owners.
 *
 * The shard of an outside address is the exclusive or of its 16-bit words: a change of one address leaves the flows
 * to others alone, and a prefix of n bits raises the 2^(32-n) or 2^(128-n) shards under it, at most all.
 */
enum generation_layout {
	GENERATION_OWNER_SHIFT = 32, /* lowest bit that counts owners */
	GENERATION_OUTSIDE = 65536,  /* index of the first shard of outside addresses; endpoint ids are below it */
	GENERATION_MAX = 131072,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, GENERATION_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
} generations SEC(".maps");

#endif
