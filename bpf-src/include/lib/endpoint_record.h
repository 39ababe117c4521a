/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Writes the verdict on a flow to conntrack: a new entry, or a new verdict in the place of the old one. */
#ifndef AGENT_LIB_ENDPOINT_RECORD_H
#define AGENT_LIB_ENDPOINT_RECORD_H

#include "lib/endpoint_path.h"
#include "lib/flow_usage.h"
#include "maps/scratch_map.h"

#define ERRNO_EXISTS -17

#define POLICY_NOT_ASKED -1

/* The state of a policy evaluation. */
struct judgement {
	struct flow flow;
	__u64 now;
	__u32 options;    /* of the endpoint, enum endpoint_option */
	__u8 put_flags;   /* of bpf_map_update_elem for a new entry; BPF_ANY: it takes the place of another */
	__u8 overflow;    /* that entry is in a table of the overflow */
	__u8 source_side; /* enum conntrack_side */
	__u8 initiator;   /* enum packet_side */
	__s32 asked;      /* what both policies said of a packet without an entry, or POLICY_NOT_ASKED */
	__u16 device;     /* by which packets to the outside address bypass the stack, or 0 */
	__u8 translated;  /* the packet was sent to a service, and is now one to its backend */
	__u8 frontend_put_flags;
	__u8 frontend_overflow;
	__u8 masquerades;        /* the flow gets the address below as its source */
	__u8 relayed;            /* the packet is of a flow that this node relays (lib/relay.h) */
	__be16 frontend_port_be; /* where a translated packet was sent to, or the port of a masqueraded one */
	__u8 forwarding;         /* of the service, enum service_forwarding */
	__u8 nat46;              /* enum nat46_side */
	__u8 route_class;        /* of the packets that leave by the device (lib/route.h) */
	__u8 reserved;
	__u32 service_id;
	union address frontend;
};

/*
 * What the slow path has no room for on the stack, of which a call chain has 512 bytes. A program runs to its end on
 * one CPU with bottom halves disabled, and no program of these runs within another.
 */
struct judge_scratch {
	struct judgement judgement;
	struct conntrack_entry entry;
	struct packet quoted;
	struct flow quoted_flow;
	__u64 oldest_ns; /* of the flows of an endpoint that may leave their port to another of it (lib/masquerade.h) */
	__u32 oldest_port; /* 0: there is none */
};

_Static_assert(sizeof(struct judge_scratch) <= SCRATCH_BYTES, "judge_scratch");

static __always_inline struct judge_scratch *scratch(void)
{
	const __u32 index = 0;

	return bpf_map_lookup_elem(&judge_scratch, &index);
}

/* Rewrites an end of a packet by its entry; returns whether that failed. */
static __always_inline bool packet_rewrite_with(struct __sk_buff *skb, const struct packet *packet,
						const struct conntrack_entry *entry, enum rewrite_with with)
{
	const __u32 protocol = packet->later_fragment ? IPPROTO_NONE : packet->protocol;

	return rewrite_packet(skb, rewrite_end(entry, with), packet->family, protocol | rewrite_kind(entry, with),
			      packet->l4_offset);
}

static __always_inline bool packet_rewrite(struct __sk_buff *skb, const struct packet *packet,
					   const struct conntrack_entry *entry)
{
	return packet_rewrite_with(skb, packet, entry, REWRITE_WITH_END);
}

/* Rewrites a packet where its entry says so; returns whether that failed. */
static __always_inline bool packet_rewrite_fails(struct __sk_buff *skb, const struct packet *packet,
						 const struct conntrack_entry *entry, enum conntrack_side source_side)
{
	return unlikely(rewrite_applies(entry, source_side)) && packet_rewrite(skb, packet, entry);
}

/* Shows a translated packet as it was sent. */
static __always_inline void frontend_show(struct packet *shown, const struct packet *packet,
					  const struct judgement *judgement)
{
	__builtin_memcpy(shown, packet, sizeof(*shown));
	shown->destination = judgement->frontend;
	shown->destination_port_be = judgement->frontend_port_be;
}

static __always_inline __u64 conntrack_expiry(const struct judgement *judgement, __u32 flags, __u8 protocol)
{
	return judgement->now + conntrack_lifetime_ns(flags, protocol);
}

static __always_inline void entry_set_way(struct conntrack_entry *entry, enum conntrack_side side, __u32 outside,
					  const struct judgement *judgement)
{
	if (!(entry->flags & outside)) {
		entry->delivery_kind[side] = CONNTRACK_TO_PEER;
		entry->delivery_index[side] = entry->party[side];
	} else if (judgement->device) {
		entry->delivery_kind[side] = CONNTRACK_TO_NEIGHBOUR | judgement->route_class;
		entry->delivery_index[side] = judgement->device;
	}
}

/* Makes the flow of a new entry bypass the stack where it may. A function of its own, which is verified once. */
__global int entry_set_ways(struct conntrack_entry *entry, const struct judgement *judgement)
{
	if (!entry || !judgement || !(judgement->options & OPTION_HOST_ROUTING) ||
	    (node_config.enable_nat46 && entry->flags & CONNTRACK_NAT46))
		return 0;
	entry_set_way(entry, CONNTRACK_LOW, CONNTRACK_OUTSIDE_LOW, judgement);
	entry_set_way(entry, CONNTRACK_HIGH, CONNTRACK_OUTSIDE_HIGH, judgement);
	return 0;
}

/* Counts a packet in an entry that no other program sees; without a branch. */
static __always_inline void endpoint_count_packet(struct conntrack_entry *entry, enum conntrack_side side, __u32 bytes)
{
	entry->packets[CONNTRACK_LOW] += 1 - side;
	entry->packets[CONNTRACK_HIGH] += side;
	entry->bytes[CONNTRACK_LOW] += (__u64)bytes * (1 - side);
	entry->bytes[CONNTRACK_HIGH] += (__u64)bytes * side;
}

/*
 * Returns whether the new entry belongs into the overflow. One that takes the place of another goes where that is, so
 * that no flow has two.
 */
static __always_inline bool endpoint_flow_overflows(const struct packet *packet, const struct judgement *judgement)
{
	const __u32 source = judgement->flow.endpoint_id[PACKET_SOURCE];
	const __u32 destination = judgement->flow.endpoint_id[PACKET_DESTINATION];
	const bool by_source = judgement->initiator == PACKET_SOURCE ? source != 0 : !destination;

	if (judgement->put_flags != BPF_NOEXIST)
		return judgement->overflow;
	return flow_usage_open(by_source ? source : destination, flow_table(packet));
}

/*
 * Begins an entry in judge_scratch for a flow that a packet opens. side: that of the packet's source in the tuple of the
 * entry; flags: enum conntrack_flag, of this entry alone.
 */
__global int entry_begin(const struct packet *packet, const struct judgement *judgement, __u32 side, __u32 flags)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	bool initiator;

	if (!packet || !judgement || !memory)
		return 0;
	side &= 1;
	entry = &memory->entry;
	initiator = judgement->initiator == PACKET_SOURCE;
	flow_fill_entry(entry, &judgement->flow, side);
	entry->flags |= (initiator == (side == CONNTRACK_HIGH) ? CONNTRACK_INITIATOR_HIGH : 0) |
			conntrack_flags_of(initiator, side, packet->protocol, packet->tcp_flags);
	if (node_config.enable_nat46)
		entry->flags |= (judgement->nat46 & NAT46_SOURCE) * nat46_flag(side);
	entry->expires_ns = conntrack_expiry(judgement, entry->flags, packet->protocol);
	entry->flags |= flags;
	conntrack_note_acknowledged(entry, side, packet);
	if (judgement->translated)
		entry->service_id = judgement->service_id;
	return 0;
}

/* Returns a time as an entry has it. */
static __always_inline __u32 conntrack_time(__u64 now)
{
	return (__u32)(now >> CONNTRACK_TIME_SHIFT);
}

/* Creates the conntrack entry; returns a drop reason. */
__global int endpoint_open_flow(struct __sk_buff *skb, const struct packet *packet, const struct judgement *judgement)
{
	if (!packet || !judgement)
		return DROP_CONNTRACK_FULL;

	const enum conntrack_side side = judgement->source_side & 1;
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	int error;

	if (!memory)
		return DROP_CONNTRACK_FULL;
	entry = &memory->entry;
	entry_begin(packet, judgement, side, endpoint_flow_overflows(packet, judgement) ? CONNTRACK_OVERFLOW : 0);
	if (judgement->translated)
		entry_set_rewrite(entry, 1 - side, 0, &packet->destination, &judgement->frontend,
				  judgement->frontend_port_be);
	else if (judgement->options & OPTION_CONNTRACK_ACCOUNTING)
		endpoint_count_packet(entry, side, skb->len);
	entry_set_ways(entry, judgement);
	if (judgement->masquerades) {
		entry->opened_at = conntrack_time(judgement->now);
		entry_set_rewrite(entry, side, CONNTRACK_REWRITE_MASQUERADE, &packet->source, &judgement->frontend,
				  judgement->frontend_port_be);
	}
	error = conntrack_put(packet, entry, judgement->put_flags);
	if (likely(!error))
		return DROP_NONE;
	if (error != ERRNO_EXISTS)
		return DROP_CONNTRACK_FULL;

	/* Another CPU created the entry for a packet of the same flow. */
	struct conntrack_entry *winner = conntrack_find(packet);
	const struct segment segment = packet_segment(packet);

	if (winner)
		conntrack_advance(winner, side, &segment, judgement->now);
	return DROP_NONE;
}

/* What a new verdict leaves as it is. */
#define CONNTRACK_LASTING                                                                             \
	(CONNTRACK_INITIATOR_HIGH | CONNTRACK_SEEN_REPLY | CONNTRACK_SEEN_NON_SYN | CONNTRACK_ENDED | \
	 CONNTRACK_DIRECTION_UNKNOWN | CONNTRACK_REWRITTEN | CONNTRACK_OVERFLOW | CONNTRACK_PROXIED | CONNTRACK_NAT46)

static __always_inline void conntrack_carry_over(struct conntrack_entry *entry, const struct conntrack_entry *old)
{
	entry->rewrite = old->rewrite;
	entry->end = old->end;
	entry->service_id = old->service_id;
	entry->opened_at = old->opened_at;
	__builtin_memcpy(entry->acknowledged, old->acknowledged, sizeof(entry->acknowledged));
	__builtin_memcpy(entry->pending, old->pending, sizeof(entry->pending));
	__builtin_memcpy(entry->packets, old->packets, sizeof(entry->packets));
	__builtin_memcpy(entry->bytes, old->bytes, sizeof(entry->bytes));
}

/*
 * Writes a new verdict to the entry of a flow; returns the drop reason. The entry is replaced atomically: readers see the old or the new one. A flow that is denied now keeps its entry, so that
 * a packet in the middle of it cannot open a new flow.
 */
__global int endpoint_renew_flow(struct __sk_buff *skb, const struct packet *packet, const struct judgement *judgement,
				 const struct conntrack_entry *old, __u32 reason)
{
	if (!packet || !judgement || !old)
		return reason;

	const enum conntrack_side side = judgement->source_side & 1;
	const __u32 kept = old->flags & CONNTRACK_LASTING;
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	__u32 seen = conntrack_flags_of(conntrack_is_initiator(kept, side), side, packet->protocol, packet->tcp_flags);

	if (!memory)
		return reason;
	entry = &memory->entry;
	if (seen & CONNTRACK_SEEN_RST && !reset_is_credible(old, kept, side, packet->sequence))
		seen = 0;
	flow_fill_entry(entry, &judgement->flow, side);
	conntrack_carry_over(entry, old);
	conntrack_note_acknowledged(entry, side, packet);
	entry->flags |= kept | seen;
	if (reason) {
		const bool by_high = judgement->flow.denied_side == PACKET_SOURCE ? side == CONNTRACK_HIGH
										  : side == CONNTRACK_LOW;

		entry->flags |= CONNTRACK_DENIED | (by_high ? CONNTRACK_DENIED_BY_HIGH : 0);
	}
	if (!(kept & CONNTRACK_PROXIED))
		entry_set_ways(entry, judgement);
	entry->drop_reason = reason;
	entry->expires_ns = conntrack_expiry(judgement, entry->flags, packet->protocol);
	if (judgement->options & OPTION_CONNTRACK_ACCOUNTING && !(kept & CONNTRACK_PROXIED) && !reason)
		endpoint_count_packet(entry, side, skb->len);
	if (judgement->translated) {
		frontend_show(&memory->quoted, packet, judgement);
		packet = &memory->quoted;
	}
	conntrack_put(packet, entry, BPF_ANY);
	return reason;
}

#endif
