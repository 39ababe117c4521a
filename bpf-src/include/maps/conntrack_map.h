/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* One conntrack entry per flow, which both directions and both local endpoints find. */
#ifndef AGENT_MAPS_CONNTRACK_MAP_H
#define AGENT_MAPS_CONNTRACK_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

/*
 * Defaults of --bpf-ct-global-tcp-max and --bpf-ct-global-any-max (agent-api.md, Limits); the agent sets them when it
 * creates a map.
 */
enum conntrack_size {
	CONNTRACK_TCP_MAX_ENTRIES = 1000000,
	CONNTRACK_ANY_MAX_ENTRIES = 262144,
};

/*
 * The tuple in canonical order, which is the same for both directions: "low" is the side whose (address, port) is less
 * as the words that the program loads. For ICMP echo both ports are the identifier.
 */
struct conntrack4_key {
	__be32 low_address;
	__be32 high_address;
	__be16 low_port_be;
	__be16 high_port_be;
	__u8 protocol;
	__u8 reserved[3];
};
_Static_assert(sizeof(struct conntrack4_key) == 16, "conntrack4_key");

struct conntrack6_key {
	__u8 low_address[16];
	__u8 high_address[16];
	__be16 low_port_be;
	__be16 high_port_be;
	__u8 protocol;
	__u8 reserved[3];
};
_Static_assert(sizeof(struct conntrack6_key) == 40, "conntrack6_key");

enum conntrack_side {
	CONNTRACK_LOW = 0,
	CONNTRACK_HIGH = 1,
};

enum conntrack_flag {
	CONNTRACK_INITIATOR_HIGH = 1, /* the high side opened the flow */
	CONNTRACK_SEEN_REPLY = 2,     /* the responder has sent a packet */
	CONNTRACK_SEEN_FIN_LOW = 4,
	CONNTRACK_SEEN_FIN_HIGH = 8,
	CONNTRACK_SEEN_RST = 16,
	CONNTRACK_DENIED = 32,       /* policy denies the flow in both directions */
	CONNTRACK_SEEN_NON_SYN = 64, /* TCP: the initiator has sent a packet after its SYN */
	CONNTRACK_COUNTED = 128,     /* the host program counts its packets */
	CONNTRACK_BY_STACK = 256,    /* the host program passes it to the stack: it is traced, or a side is this node */
};

/* The interface and MAC addresses for delivery to one side of the flow. ifindex 0: the stack delivers. */
struct conntrack_delivery {
	__u32 ifindex;
	__u8 destination_mac[6];
	__u8 source_mac[6];
};
_Static_assert(sizeof(struct conntrack_delivery) == 16, "conntrack_delivery");

/* Arrays of two are indexed by enum conntrack_side. */
struct conntrack_entry {
	__u64 expires_ns; /* CLOCK_MONOTONIC */
	__u32 generation[2];
	__u16 endpoint_id[2]; /* 0: not an endpoint of this node */
	__u16 flags;
	__u8 drop_reason; /* enum drop_reason of a denied flow */
	__u8 reserved;
	struct conntrack_delivery delivery[2];
	__u32 identity[2];
	__u64 packets[2]; /* sent by this side; counted only with ConntrackAccounting */
	__u64 bytes[2];
};
_Static_assert(sizeof(struct conntrack_entry) == 96, "conntrack_entry");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack4_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_TCP_MAX_ENTRIES);
} conntrack4_tcp SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack4_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_ANY_MAX_ENTRIES);
} conntrack4_any SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack6_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_TCP_MAX_ENTRIES);
} conntrack6_tcp SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack6_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_ANY_MAX_ENTRIES);
} conntrack6_any SEC(".maps");

#endif
