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

/* DROP_NONE, or why not. A deny wins, whichever of the two entries has it. */
static __subprogram int policy_ask(const struct policy_question *question)
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
	const struct policy_entry *entry = bpf_map_lookup_elem(policy, &key);
	const bool named = entry != NULL;

	if (entry && entry->flags & POLICY_FLAG_DENY)
		return DROP_POLICY_DENY_RULE;

	key.identity = 0;
	entry = bpf_map_lookup_elem(policy, &key);
	if (entry && entry->flags & POLICY_FLAG_DENY)
		return DROP_POLICY_DENY_RULE;
	return named || entry ? DROP_NONE : DROP_POLICY_DENIED;
}

#endif
