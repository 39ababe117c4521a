/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Ports of fragmented datagrams, stored from the first fragment for later fragments. What an endpoint sends or receives
 * beyond its share in a second is stored in the tables of the overflow, where it evicts only others of its kind.
 */
#ifndef AGENT_MAPS_FRAGMENT_MAP_H
#define AGENT_MAPS_FRAGMENT_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define FRAGMENT_MAX_ENTRIES 8192

struct fragment4_key {
	__be32 source_address;
	__be32 destination_address;
	__be16 id_be; /* identification */
	__u8 protocol;
	__u8 reserved;
};
_Static_assert(sizeof(struct fragment4_key) == 12, "fragment4_key");

struct fragment6_key {
	__u8 source_address[16];
	__u8 destination_address[16];
	__be32 id_be; /* identification */
	__u8 protocol;
	__u8 reserved[3];
};
_Static_assert(sizeof(struct fragment6_key) == 40, "fragment6_key");

/* For ICMP and ICMPv6 the source port is the echo identifier, the destination port the message type. */
struct fragment_entry {
	__be16 source_port_be;
	__be16 destination_port_be;
};
_Static_assert(sizeof(struct fragment_entry) == 4, "fragment_entry");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct fragment4_key);
	__type(value, struct fragment_entry);
	__uint(max_entries, FRAGMENT_MAX_ENTRIES);
} fragments4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct fragment6_key);
	__type(value, struct fragment_entry);
	__uint(max_entries, FRAGMENT_MAX_ENTRIES);
} fragments6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct fragment4_key);
	__type(value, struct fragment_entry);
	__uint(max_entries, FRAGMENT_MAX_ENTRIES);
} fragments4_overflow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct fragment6_key);
	__type(value, struct fragment_entry);
	__uint(max_entries, FRAGMENT_MAX_ENTRIES);
} fragments6_overflow SEC(".maps");

#endif
