/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the slow path asks about flows to the range of NAT46 (lib/nat46.h). */
#ifndef AGENT_LIB_NAT46_JUDGE_H
#define AGENT_LIB_NAT46_JUDGE_H

#include "lib/endpoint_record.h"

/* Returns whether a packet of the workload on a side, translated or not, meets a flow that is not as it is. */
static __always_inline bool entry_meets_other_family(const struct conntrack_entry *entry, const struct packet *packet,
						     enum conntrack_side side, bool translated, __u64 now)
{
	return entry_translates(entry, side) != translated && !conntrack_is_expired(entry, now) &&
	       !conntrack_is_reopened(READ_ONCE(entry->flags), side, packet->protocol, packet->tcp_flags);
}

/*
 * Returns whether the entry is of a flow of the same workload with the same tuple in the other family: the workload has
 * opened one of them to the range of NAT46, and one to the address itself.
 */
__global int entry_is_of_other_family(const struct conntrack_entry *entry, const struct packet *packet,
				      const struct judgement *judgement, __u32 side)
{
	return entry && packet && judgement &&
	       entry_meets_other_family(entry, packet, side & 1, judgement->nat46 == NAT46_SOURCE, judgement->now);
}

/* Remembers whether a packet of the flow of an entry is to be translated. */
static __always_inline void judgement_follow(struct judgement *judgement, const struct conntrack_entry *entry,
					     enum conntrack_side side)
{
	if (entry_translates(entry, 1 - side))
		judgement->nat46 = NAT46_DESTINATION;
}

/* Returns 1 where a side of the packet is translated, else 0; without a branch. */
static __always_inline __u32 judgement_translates(const struct judgement *judgement)
{
	return node_config.enable_nat46 ? (judgement->nat46 | judgement->nat46 >> 1) & 1 : 0;
}

/* Returns the id of the endpoint to which a packet is delivered without an entry; 0: the stack delivers. */
static __always_inline __u32 judgement_peer(const struct judgement *judgement, const struct endpoint_entry *endpoint)
{
	const __u32 peer_id = judgement->flow.endpoint_id[PACKET_DESTINATION] & (judgement_translates(judgement) - 1);

	return ENDPOINT_OPTION(HOST_ROUTING) ? peer_id : 0;
}

#endif
