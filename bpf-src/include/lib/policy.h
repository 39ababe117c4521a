/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What an endpoint's policy map says. */
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

#define POLICY_NO_ENTRY 0x80 /* beside the flags of an entry */

static __always_inline __u32 policy_flags(void *policy, const struct policy_key *key)
{
	const struct policy_entry *entry = bpf_map_lookup_elem(policy, key);

	return entry ? entry->flags & ~POLICY_NO_ENTRY : POLICY_NO_ENTRY;
}

/* DROP_NONE, or why not. A deny wins, whichever of the two entries has it. */
static __always_inline int policy_ask(const struct policy_question *question)
{
	const __u32 endpoint_id = question->endpoint_id;
	void *policy = bpf_map_lookup_elem(&policies, &endpoint_id);

	if (!policy)
		return DROP_NO_ENDPOINT;

	struct policy_key key = {
		.prefix_length = POLICY_PREFIX_PORT,
		.identity = question->peer_identity,
		.direction = question->direction,
		.protocol = question->protocol,
		.port_be = question->port_be,
	};
	const __u32 named = policy_flags(policy, &key);

	key.identity = 0;

	const __u32 any = policy_flags(policy, &key);

	if ((named | any) & POLICY_FLAG_DENY)
		return DROP_POLICY_DENY_RULE;
	return named & any & POLICY_NO_ENTRY ? DROP_POLICY_DENIED : DROP_NONE;
}

#endif
