/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Services for clients outside: packets from a device of the network to a frontend. The backend is a workload of this
 * node, this node itself, or another host (lib/relay.h). No policy of the node judges them here: the entries of a new
 * flow to a workload have the parties and a generation that is never valid, so that the program of the workload judges
 * the first packet and what follows a change of policy; its verdict is copied to the client's leg, which is delivered
 * here from then on (host.bpf.c).
 */
#ifndef AGENT_LIB_NETWORK_SERVICE_H
#define AGENT_LIB_NETWORK_SERVICE_H

#include "lib/early_fragment.h"
#include "lib/endpoint_service.h"
#include "lib/fragment_identity.h"
#include "lib/relay.h"

/* The generation of an entry that no policy has judged. Sums of two parties keep their lowest half less than this. */
#define GENERATION_UNJUDGED ((1ULL << GENERATION_OWNER_SHIFT) - 1)

static __always_inline bool packet_may_be_served(const struct packet *packet)
{
	return packet->kind == PACKET_FLOW &&
	       (packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP || packet->protocol == IPPROTO_SCTP);
}

/* Fills in a side whose address is no endpoint's. */
static __always_inline void flow_find_outside(struct flow *flow, enum packet_side side, const union address *address,
					      __u8 family)
{
	const __u32 shard = address_shard(address);
	const struct ipcache_entry *entry = ipcache_find(address, family);

	flow->shard[side] = shard;
	flow->generation += generation_of(GENERATION_OUTSIDE + shard);
	if (entry)
		flow->identity[side] = entry->identity;
	else
		flow_set_world(flow, side, family);
}

/* Finds the parties of a packet to its backend; returns a drop reason. */
__global int network_find_parties(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement)
{
	const struct ipcache_entry *backend;
	struct flow *flow;
	int reason;

	if (!packet || !judgement)
		return DROP_SERVICE_UNSERVED;
	flow = &judgement->flow;
	backend = ipcache_find(&packet->destination, packet->family);
	if (backend && backend->endpoint_id) {
		reason = flow_find_parties(flow, packet, PACKET_DESTINATION, backend->endpoint_id, skb->ifindex);
		flow->generation |= GENERATION_UNJUDGED;
		return reason;
	}
	judgement->relayed = !backend || !(backend->flags & IPCACHE_FLAG_HOST);
	__builtin_memset(flow, 0, sizeof(*flow));
	flow_find_outside(flow, PACKET_SOURCE, &packet->source, packet->family);
	flow_find_outside(flow, PACKET_DESTINATION, &packet->destination, packet->family);
	return DROP_NONE;
}

/* Opens a flow to the backend that was selected, or takes the place of the flow to another; returns a drop reason. */
static __always_inline int network_open(struct __sk_buff *skb, const struct packet *packet, struct judgement *judgement)
{
	int reason = network_find_parties(skb, packet, judgement);

	if (!reason && judgement->relayed) {
		reason = relay_open(skb, packet, judgement);
	} else {
		if (!reason && service_rewrite(skb, packet, judgement))
			reason = DROP_MALFORMED;
		if (!reason)
			reason = service_prepare_leg(packet, judgement);
		if (!reason)
			reason = endpoint_open_flow(skb, packet, judgement);
		if (!reason)
			reason = service_open_frontend(skb, packet, judgement);
	}
	if (!reason)
		translation_tell_opened(packet, judgement, 0);
	return reason;
}

/*
 * Translates a packet of a flow; returns a drop reason. Without an endpoint, no other program advances the leg of the
 * backend.
 */
static __always_inline int network_keep(struct __sk_buff *skb, struct packet *packet, struct judgement *judgement,
					struct conntrack_entry *entry)
{
	const enum conntrack_side side = judgement->source_side & 1;
	const __u32 outside = CONNTRACK_OUTSIDE_LOW | CONNTRACK_OUTSIDE_HIGH;
	const struct segment segment = packet_segment(packet);

	if (service_follow(skb, packet, judgement, entry))
		return DROP_MALFORMED;
	if (conntrack_advance(entry, side, &segment, judgement->now) != CONNTRACK_UNCHANGED &&
	    (entry->flags & outside) == outside)
		packet_tell_other_leg(skb, packet, entry, side, &segment, judgement->now);
	return DROP_NONE;
}

/* Selects the backend of a new flow from outside; returns an enum service_step. */
__global int network_select(struct packet *packet, struct judgement *judgement)
{
	if (!packet || !judgement)
		return SERVICE_NONE;
	return service_open(packet, judgement, outside_client(packet->source.halves), SERVICE_OUTSIDE);
}

/* Translates a packet to a service; returns a drop reason. */
static __always_inline int network_serve(struct __sk_buff *skb, struct packet *packet, struct judgement *judgement)
{
	struct conntrack_entry *entry = conntrack_find(packet);
	const enum conntrack_side side = packet_conntrack_side(packet);
	bool expired;
	int step;

	__builtin_memset(judgement, 0, sizeof(*judgement));
	judgement->now = now_ns();
	judgement->put_flags = BPF_NOEXIST;
	judgement->source_side = side;
	judgement->initiator = PACKET_SOURCE;
	if (entry) {
		const __u32 flags = READ_ONCE(entry->flags);
		__u64 generation = 0;

		expired = conntrack_is_expired(entry, judgement->now);
		judgement->relayed = !expired && entry_is_relayed(entry) && entry_is_transit(entry) &&
				     rewrite_applies(entry, side);
		if (judgement->relayed)
			generation = conntrack_generation(entry); /* before the backend is asked for */
		if (!expired && !(entry_is_frontend(entry) && rewrite_applies(entry, side)))
			return DROP_NONE; /* another flow */
		if (!expired && !conntrack_is_reopened(flags, side, packet->protocol, packet->tcp_flags) &&
		    service_keeps(entry, packet->family)) {
			if (!judgement->relayed)
				return network_keep(skb, packet, judgement, entry);
			WRITE_ONCE(entry->generation, generation);
			return DROP_NONE;
		}
		judgement->relayed = false;
		judgement->put_flags = BPF_ANY;
		judgement->overflow = !!(flags & CONNTRACK_OVERFLOW);
	}
	if (packet->protocol == IPPROTO_TCP && packet->tcp_flags & TCP_RST)
		return DROP_NONE;
	step = network_select(packet, judgement);
	if (step & SERVICE_DROPS)
		return step & ~SERVICE_DROPS;
	return step == SERVICE_OPENS ? network_open(skb, packet, judgement) : DROP_NONE;
}

/* Translates a packet that a device has received, where it is for a service; returns a drop reason. */
__global int network_translate(struct __sk_buff *skb, struct packet *packet)
{
	struct judge_scratch *memory = scratch();
	const bool first_fragment = packet && packet->first_fragment;
	int reason;

	if (!packet || !memory)
		return DROP_NONE;
	memory->judgement.translated = false;
	memory->judgement.relayed = false;
	if (packet->kind == PACKET_ICMP_ERROR)
		return network_error_translation_fails(skb, packet, CONNTRACK_REWRITE_DESTINATION) ? DROP_MALFORMED
												   : DROP_NONE;
	if (!packet_may_be_served(packet))
		return DROP_NONE;
	reason = network_serve(skb, packet, &memory->judgement);
	packet_restore(packet);
	if (first_fragment && !reason && memory->judgement.translated)
		network_remember(skb, packet, 0);
	return reason;
}

/* Returns whether network_translate() has found the packet to be one of a relayed flow. */
static __always_inline bool network_is_relayed(void)
{
	const struct judge_scratch *memory = scratch();

	return memory && memory->judgement.relayed;
}

/*
 * Restores the source that the receiver knows in a packet that leaves by a device, and comes through the stack; returns
 * whether it failed.
 */
__global int network_translate_back(struct __sk_buff *skb, struct packet *packet)
{
	const __u32 outside = CONNTRACK_OUTSIDE_LOW | CONNTRACK_OUTSIDE_HIGH;
	struct conntrack_entry *entry;
	enum conntrack_side side;
	struct segment segment;
	__u64 now;

	if (!packet)
		return false;
	if (packet->kind == PACKET_ICMP_ERROR)
		return network_error_translation_fails(skb, packet, 0);
	if (!packet_may_be_served(packet))
		return false;
	entry = conntrack_find(packet);
	side = packet_conntrack_side(packet);
	if (!entry || entry_is_frontend(entry) || !rewrite_applies(entry, side))
		return false;
	now = now_ns();
	if (conntrack_is_expired(entry, now))
		return false;
	if ((entry->flags & outside) == outside || entry->flags & CONNTRACK_PROXIED) {
		segment = packet_segment(packet);
		if (conntrack_advance(entry, side, &segment, now) != CONNTRACK_UNCHANGED)
			packet_tell_other_leg(skb, packet, entry, side, &segment, now);
	}
	if (packet->first_fragment)
		fragment_remember(packet, 0);
	return packet_rewrite_fails(skb, packet, entry, side) ||
	       fragment_renumber(skb, packet, (const union address *)entry->end.address, &packet->destination);
}

#endif
