/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Looks up the verdict of an endpoint's policy map, or takes it from the cache of this CPU. */
#ifndef AGENT_LIB_POLICY_H
#define AGENT_LIB_POLICY_H

#include "lib/conntrack.h"
#include "lib/drop_reason.h"
#include "maps/policy_map.h"
#include "maps/verdict_map.h"

struct policy_question {
	__u32 endpoint_id;
	__u32 peer_identity;
	__u8 direction; /* enum policy_direction, seen from the endpoint */
	__u8 protocol;
	__be16 port_be;
};

/* struct policy_key with padding that aligns the fields after the prefix length, which the kernel loads as one word. */
struct policy_lookup {
	__u32 padding;
	__u32 prefix_length;
	__u64 rest;
};
_Static_assert(sizeof(struct policy_lookup) - offsetof(struct policy_lookup, prefix_length) ==
		       sizeof(struct policy_key),
	       "policy_lookup");

/* Returns the key fields after the prefix length in their memory layout. */
static __always_inline __u64 policy_word(__u32 identity, __u8 direction, __u8 protocol, __be16 port_be)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return identity | (__u64)direction << 32 | (__u64)protocol << 40 | (__u64)port_be << 48;
#else
	return (__u64)identity << 32 | (__u64)direction << 24 | (__u64)protocol << 16 | port_be;
#endif
}

/* The same question about any identity. */
static __always_inline __u64 policy_word_of_any(__u64 word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return word >> 32 << 32;
#else
	return word & 0xffffffff;
#endif
}

#define POLICY_NO_ENTRY 0x80 /* in addition to the flags of an entry */

#define POLICY_REDIRECT_SHIFT 16 /* above it: enum redirect_kind */

static __always_inline __u32 policy_flags(void *policy, __u64 rest)
{
	const struct policy_lookup lookup = { .prefix_length = POLICY_PREFIX_PORT, .rest = rest };
	const struct policy_entry *entry = bpf_map_lookup_elem(policy, &lookup.prefix_length);

	return entry ? (entry->flags & ~POLICY_NO_ENTRY) | (__u32)entry->redirect << POLICY_REDIRECT_SHIFT
		     : POLICY_NO_ENTRY;
}

/* In addition to DROP_NONE: only the entry that allows everything in this direction allows the packet. */
#define POLICY_BY_DEFAULT 0x100

/* Returns the proxy that entries ask for: none where one of them allows without, and that of the lower number. */
static __always_inline __u32 policy_redirect(__u32 named, __u32 any)
{
	const __u32 asking = POLICY_FLAG_REDIRECT | POLICY_NO_ENTRY;

	if (!(named & asking) || !(any & asking))
		return REDIRECT_NONE;
	named >>= POLICY_REDIRECT_SHIFT;
	any >>= POLICY_REDIRECT_SHIFT;
	return !any || (named && named < any) ? named : any;
}

/*
 * Returns what a policy map answers: a drop reason, or DROP_NONE with POLICY_BY_DEFAULT or with the proxy that the flow
 * is sent to. A deny in either the entry of the identity or the entry of any identity takes precedence, and an entry
 * that asks for no proxy over one that does. word: policy_word()
 */
__global int policy_evaluate(__u32 policy_id, __u64 word)
{
	void *policy = bpf_map_lookup_elem(&policies, &policy_id);
	__u32 named, any, redirect;

	if (!policy)
		return DROP_NO_ENDPOINT;
	named = policy_flags(policy, word);
	any = policy_flags(policy, policy_word_of_any(word));
	if ((named | any) & POLICY_FLAG_DENY)
		return DROP_POLICY_DENY_RULE;
	if (named & any & POLICY_NO_ENTRY)
		return DROP_POLICY_DENIED;
	redirect = policy_redirect(named, any);
	if (unlikely(redirect))
		return (int)(redirect << POLICY_REDIRECT_SHIFT);
	return named & POLICY_NO_ENTRY && any & POLICY_FLAG_ALLOWS_ALL ? POLICY_BY_DEFAULT : DROP_NONE;
}

#define VERDICT_SLOT_BITS 8
#define VERDICT_HASH 0x9E3779B97F4A7C15ULL

/* An answer of an endpoint's policy, valid while the generation of the endpoint is the same. */
struct verdict_slot {
	__u64 question; /* policy_word() */
	__u64 generation;
	__u32 endpoint_id; /* 0: empty */
	__s32 answer;      /* of policy_evaluate() */
};

/* In one element of the map, which costs one address for all slots. */
struct verdict_cache {
	struct verdict_slot slots[1 << VERDICT_SLOT_BITS];
};
_Static_assert(sizeof(struct verdict_cache) == VERDICT_CACHE_BYTES, "verdict_cache");

static __always_inline struct verdict_slot *verdict_slot_of(__u32 endpoint_id, __u64 question)
{
	const __u64 hash = (question ^ endpoint_id * VERDICT_HASH) * VERDICT_HASH;
	const __u32 index = 0;
	struct verdict_cache *cache = bpf_map_lookup_elem(&verdict_cache, &index);

	return cache ? &cache->slots[hash >> (64 - VERDICT_SLOT_BITS)] : NULL;
}

/*
 * Answers as policy_evaluate(). An answer is kept under the generation that the endpoint had before its policy was
 * read: whatever changes the policy raises the generation afterwards, as for the verdicts in conntrack entries. No
 * program interrupts another one on its CPU, so that a slot is never in between.
 */
static __always_inline int policy_ask(const struct policy_question *question)
{
	const __u32 endpoint_id = question->endpoint_id;
	const __u64 generation = generation_of(endpoint_id);
	const struct endpoint_entry *endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
	const __u32 policy_id = endpoint ? endpoint->policy_id : 0;
	const __u64 word = policy_word(question->peer_identity, question->direction, question->protocol,
				       question->port_be);
	struct verdict_slot *slot = verdict_slot_of(endpoint_id, word);
	int answer;

	if (unlikely(!slot || !policy_id))
		return DROP_NO_ENDPOINT;
	if (likely(slot->question == word && slot->generation == generation && slot->endpoint_id == endpoint_id))
		return slot->answer;
	answer = policy_evaluate(policy_id, word);
	if (answer == DROP_NO_ENDPOINT)
		return answer;
	*slot = (struct verdict_slot){
		.question = word,
		.generation = generation,
		.endpoint_id = endpoint_id,
		.answer = answer,
	};
	return answer;
}

#endif
