/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Identification numbers of fragmented datagrams that leave with an address of this node (lib/fragment_identity.h). */
#ifndef AGENT_MAPS_FRAGMENT_IDENTITY_MAP_H
#define AGENT_MAPS_FRAGMENT_IDENTITY_MAP_H

#include "maps/endpoint_map.h"
#include "maps/fragment_map.h"
#include "maps/rate_map.h"

/* Who has used a number, and when. */
struct fragment_claim {
	__u64 owner[2]; /* the address that the sender has itself */
	__u32 seconds;
	__u32 reserved;
};
_Static_assert(sizeof(struct fragment_claim) == 24, "fragment_claim");

/* By the tuple outside, whose reserved[0] is the family; an IPv4 address is in the first four bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct fragment6_key);
	__type(value, struct fragment_claim);
	__uint(max_entries, FRAGMENT_MAX_ENTRIES);
} fragment_claims SEC(".maps");

/* The number of a datagram outside, by the tuple that its sender knows. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct fragment6_key);
	__type(value, __u32);
	__uint(max_entries, FRAGMENT_MAX_ENTRIES);
} fragment_numbers SEC(".maps");

/* The datagrams of each endpoint whose first fragments left in the present second; index 0: of other hosts. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct share_rate);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
} number_rates SEC(".maps");

#define DATAGRAM_NUMBERS 2048 /* a power of two */

/*
 * The last numbers of whole IPv4 datagrams that routers may split, and that leave with an address which several senders
 * have, by a hash of their tuple.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, DATAGRAM_NUMBERS);
} datagram_numbers SEC(".maps");

#endif
