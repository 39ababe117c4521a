/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The policy maps of endpoints: verdicts by direction, peer identity, protocol and port. */
#ifndef AGENT_MAPS_POLICY_MAP_H
#define AGENT_MAPS_POLICY_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#include "maps/endpoint_map.h"

enum policy_size {
	POLICY_MAP_MAX_ENTRIES = 16384,
};

/* Seen from the endpoint: ingress is traffic to it, egress is traffic from it. */
enum policy_direction {
	POLICY_INGRESS = 0, /* to the endpoint */
	POLICY_EGRESS = 1,  /* from the endpoint */
};

enum policy_flag {
	POLICY_FLAG_DENY = 1,
	POLICY_FLAG_REDIRECT = 2,
	POLICY_FLAG_AUDIT = 4,
	POLICY_FLAG_ALLOWS_ALL = 8, /* the entry of any identity and any protocol that allows: no rule asks for more */
};

/*
 * LPM key. prefix_length counts the bits after itself (enum policy_prefix): identity and direction (any protocol), also
 * the protocol (any port), or also the port. A length between the last two is a port prefix; several prefixes make a
 * port range. Identity 0 matches any identity. For ICMP and ICMPv6 the port is the message type.
 */
struct policy_key {
	__u32 prefix_length;
	__u32 identity; /* of the peer; 0: any */
	__u8 direction; /* enum policy_direction */
	__u8 protocol;
	__be16 port_be; /* of the responder, or an ICMP message type */
};
_Static_assert(sizeof(struct policy_key) == 12, "policy_key");

/* Prefix lengths of policy keys. */
enum policy_prefix {
	POLICY_PREFIX_IDENTITY = 40, /* identity and direction */
	POLICY_PREFIX_PROTOCOL = 48, /* also the protocol */
	POLICY_PREFIX_PORT = 64,     /* also the port; down to 49: a range of ports */
};

/* The proxies that flows are sent to (maps/redirect_map.h). */
enum redirect_kind {
	REDIRECT_NONE = 0,
	REDIRECT_HTTP = 1,
	REDIRECT_DNS = 2,
};

struct policy_entry {
	__u8 flags; /* enum policy_flag */
	__u8 reserved;
	__u16 redirect; /* enum redirect_kind, with POLICY_FLAG_REDIRECT */
};
_Static_assert(sizeof(struct policy_entry) == 4, "policy_entry");

/* Declared by sizes, since clang omits types from the BTF that only an inner map uses. */
struct policy_map {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(key_size, sizeof(struct policy_key));
	__uint(value_size, sizeof(struct policy_entry));
	__uint(max_entries, POLICY_MAP_MAX_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
};

/*
 * Policy maps by the policy_id of endpoints, which may share one, so that one program can evaluate both endpoints of a
 * local flow. Slot 0 is empty.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, ENDPOINTS_MAX);
	__array(values, struct policy_map);
} policies SEC(".maps");

#endif
