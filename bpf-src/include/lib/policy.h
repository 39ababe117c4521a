/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Looks up the verdict of an endpoint's policy map. */
#ifndef AGENT_LIB_POLICY_H
#define AGENT_LIB_POLICY_H

#include "lib/compiler.h"
#include "lib/drop_reason.h"
#include "maps/policy_map.h"

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

#define POLICY_NO_ENTRY 0x80 /* in addition to the flags of an entry */

static __always_inline __u32 policy_flags(void *policy, __u64 rest)
{
	const struct policy_lookup lookup = { .prefix_length = POLICY_PREFIX_PORT, .rest = rest };
	const struct policy_entry *entry = bpf_map_lookup_elem(policy, &lookup.prefix_length);

	return entry ? entry->flags & ~POLICY_NO_ENTRY : POLICY_NO_ENTRY;
}

/*
 * Returns DROP_NONE or a drop reason. A deny in either the entry of the identity or the entry of any identity takes
 * precedence. Sets by_default where only the entry that allows everything in this direction allows the packet.
 */
static __always_inline int policy_ask(const struct policy_question *question, bool *by_default)
{
	const __u32 endpoint_id = question->endpoint_id;
	const struct endpoint_entry *endpoint = bpf_map_lookup_elem(&endpoints, &endpoint_id);
	const __u32 policy_id = endpoint ? endpoint->policy_id : 0;
	void *policy = bpf_map_lookup_elem(&policies, &policy_id);
	__u32 named;
	__u32 any;

	if (!policy)
		return DROP_NO_ENDPOINT;
	named = policy_flags(policy, policy_word(question->peer_identity, question->direction, question->protocol,
						 question->port_be));
	any = policy_flags(policy, policy_word(0, question->direction, question->protocol, question->port_be));
	if ((named | any) & POLICY_FLAG_DENY)
		return DROP_POLICY_DENY_RULE;
	*by_default = named & POLICY_NO_ENTRY && any & POLICY_FLAG_ALLOWS_ALL;
	return named & any & POLICY_NO_ENTRY ? DROP_POLICY_DENIED : DROP_NONE;
}

#endif
