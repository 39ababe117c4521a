/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Remembers the connections whose entries are in a table of the overflow, where the kernel evicts entries without a
 * word: a segment without an entry may belong to one of these, and to no other. Each has one slot, by its key, which a
 * later one takes over; so it has one from its first answer on, and what only opens connections takes none. A sweep
 * that deletes an entry forgets its connection.
 */
#ifndef AGENT_LIB_OVERFLOW_FLOW_H
#define AGENT_LIB_OVERFLOW_FLOW_H

#include <linux/in.h>

#include "config/node_config.h"
#include "lib/compiler.h"
#include "lib/masquerade_entry.h"
#include "maps/conntrack_map.h"
#include "maps/overflow_flow_map.h"

#define CONNTRACK4_KEY_WORDS (sizeof(struct conntrack4_key) / sizeof(__u64))
#define CONNTRACK6_KEY_WORDS (sizeof(struct conntrack6_key) / sizeof(__u64))

struct overflow_flow {
	__u64 key[CONNTRACK6_KEY_WORDS]; /* that of IPv4 is in the first words, and the others are zero */
	__u64 put_ns;                    /* 0: none */
};
_Static_assert(sizeof(struct overflow_flow) == OVERFLOW_FLOW_BYTES, "overflow_flow");

/* Returns whether an entry with these flags is one of the overflow that more than the opening segment has passed. */
static __always_inline bool overflow_flow_is_answered(__u32 flags, __u8 protocol)
{
	return flags & CONNTRACK_OVERFLOW && flags & (CONNTRACK_SEEN_REPLY | CONNTRACK_SEEN_NON_SYN) &&
	       protocol == IPPROTO_TCP;
}

/*
 * Returns whether a new entry's connection has a slot at once: that of an answer, and the tuple that the outside sees of
 * a masqueraded flow, whose answers come where no endpoint knows them.
 */
static __always_inline bool overflow_flow_begins(const struct conntrack_entry *entry, __u8 protocol)
{
	return overflow_flow_is_answered(entry->flags, protocol) ||
	       (entry_is_masquerade(entry) && protocol == IPPROTO_TCP);
}

static __always_inline struct overflow_flow *overflow_flow_slot(const __u64 *key, const __u32 words)
{
	__u64 hash = 0;
	__u32 index;

	unrolled
	for (__u32 i = 0; i < words; i++) {
		hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	index = hash & ((1U << OVERFLOW_FLOW_SLOT_BITS) - 1);
	return bpf_map_lookup_elem(&overflow_flows, &index);
}

static __always_inline bool overflow_flow_is(const struct overflow_flow *flow, const __u64 *key, const __u32 words)
{
	__u64 difference = 0;

	unrolled
	for (__u32 i = 0; i < CONNTRACK6_KEY_WORDS; i++)
		difference |= flow->key[i] ^ (i < words ? key[i] : 0);
	return !difference;
}

static __always_inline void overflow_flow_note(const __u64 *key, const __u32 words, __u64 now)
{
	struct overflow_flow *flow = overflow_flow_slot(key, words);

	if (!flow)
		return;
	unrolled
	for (__u32 i = 0; i < CONNTRACK6_KEY_WORDS; i++)
		flow->key[i] = i < words ? key[i] : 0;
	flow->put_ns = now;
}

/* Returns whether an entry of the connection may have been evicted that has not expired since it was put there. */
static __always_inline bool overflow_flow_is_noted(const __u64 *key, const __u32 words, __u64 now)
{
	const struct overflow_flow *flow = overflow_flow_slot(key, words);

	return flow && flow->put_ns && now - flow->put_ns < node_config.tcp_established_lifetime_ns &&
	       overflow_flow_is(flow, key, words);
}

static __always_inline void overflow_flow_forget(const __u64 *key, const __u32 words)
{
	struct overflow_flow *flow = overflow_flow_slot(key, words);

	if (flow && overflow_flow_is(flow, key, words))
		flow->put_ns = 0;
}

#endif
