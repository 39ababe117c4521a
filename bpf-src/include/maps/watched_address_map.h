/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Addresses to which a sweep looks for flows of endpoints, for the agent. */
#ifndef AGENT_MAPS_WATCHED_ADDRESS_MAP_H
#define AGENT_MAPS_WATCHED_ADDRESS_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum watched_address_size {
	WATCHED_ADDRESSES_MAX = 16384,
};

/*
 * How many flows to an address a round of sweeps has found. The agent puts the addresses in before the round and takes
 * them out after it; other rounds do not look here (config/conntrack_sweep.h). The key is an IPv6 address; an IPv4 one
 * is mapped (::ffff:0:0/96, RFC 4291, 2.5.5.2).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u8[16]);
	__type(value, __u32);
	__uint(max_entries, WATCHED_ADDRESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} watched_addresses SEC(".maps");

#endif
