/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The entries of a flow with two legs, whatever it has them for: a service (lib/endpoint_service.h), another source
 * outside (lib/masquerade.h), a node between two hosts outside (lib/relay.h), a workload that is its own backend or sends
 * to one outside (lib/hairpin.h), a backend that answers by itself (lib/direct_return.h), or a proxy (lib/redirect.h).
 *
 * An entry says with which end, and with which other one, its packets go on in the other leg, and so where the entry of
 * that is. The legs of a flow differ in what they rewrite, and have the same parties and the same verdict:
 *
 *                     first leg: the client's tuple      second leg: the server's tuple
 *   service           destination: backend               source: frontend
 *   masquerade        source: this node                  destination: workload
 *   relay, hairpin    destination: backend               source: frontend
 *                     other end, source: this node       other end, destination: client
 *   direct return     as a relay, in an outer header     none: the node sees no answer
 *   proxy             destination: proxy                 source: server
 *                     other end, destination: socket     the socket's own: source: client
 *
 * The load balancer follows the entries of a relay at XDP by functions of its own (lib/balanced_relay.h): it opens none,
 * and its call chain has no stack for the search by a tuple from here.
 */
#ifndef AGENT_LIB_LEG_H
#define AGENT_LIB_LEG_H

#include "lib/endpoint_record.h"

/* Returns the flag of entries that belong into the overflow, as endpoint_flow_overflows() has said. */
static __always_inline __u32 leg_overflow(const struct judgement *judgement)
{
	return judgement->overflow ? CONNTRACK_OVERFLOW : 0;
}

/* What entry_set_rewrite() does, for the other address of the packets that the entry rewrites. */
static __always_inline void entry_set_other(struct conntrack_entry *entry, const union address *from,
					    const union address *to, __be16 port_be)
{
	entry->rewrite |= CONNTRACK_REWRITE_BOTH;
	conntrack_set_end(&entry->other, from, to, port_be);
}

/*
 * Begins the first leg of a flow to a service in judge_scratch, which shows its tuple then; returns the side of the
 * client in it.
 */
static __always_inline enum conntrack_side leg_begin_frontend(struct judge_scratch *memory, const struct packet *packet,
							      const struct judgement *judgement, __u32 flags)
{
	enum conntrack_side side;

	frontend_show(&memory->quoted, packet, judgement);
	side = packet_conntrack_side(&memory->quoted) & 1;
	entry_begin(packet, judgement, side, flags | leg_overflow(judgement));
	entry_set_rewrite(&memory->entry, side, CONNTRACK_REWRITE_DESTINATION, &judgement->frontend,
			  &packet->destination, packet->destination_port_be);
	return side;
}

/* Writes an entry to the tuple of a packet; returns a drop reason. */
static __always_inline int leg_open(const struct packet *shown, const struct conntrack_entry *entry)
{
	return conntrack_put(shown, entry, BPF_ANY) ? DROP_CONNTRACK_FULL : DROP_NONE;
}

/* Shows a packet of a side, which may be rewritten already, as the other leg of its flow has it. */
static __always_inline void leg_show(struct packet *shown, const struct packet *packet,
				     const struct conntrack_entry *entry, enum conntrack_side side)
{
	const bool rewritten = !(entry->rewrite & CONNTRACK_REWRITE_FROM_HIGH) == (side == CONNTRACK_LOW);
	const bool destination = !!rewrite_destination(entry) == rewritten;

	__builtin_memcpy(shown, packet, sizeof(*shown));
	tuple_set_end(packet_tuple(shown), &entry->end, destination);
	if (entry->rewrite & CONNTRACK_REWRITE_BOTH)
		tuple_set_end(packet_tuple(shown), &entry->other, !destination);
}

/* Returns whether two entries may be those of the legs of one flow: what one does to a packet, the other takes back. */
static __always_inline bool legs_match(const struct conntrack_entry *entry, const struct conntrack_entry *other)
{
	const __u8 rewrite = (entry->rewrite ^ other->rewrite) & ~CONNTRACK_REWRITE_FROM_HIGH;

	return other->flags & (CONNTRACK_REWRITTEN | CONNTRACK_PROXIED) &&
	       !((entry->flags ^ other->flags) & CONNTRACK_PROXIED) && rewrite == CONNTRACK_REWRITE_DESTINATION;
}

/*
 * Copies to the entry of the other leg the verdict that a packet of this side has renewed. That of a masqueraded flow
 * follows the way of the first leg, too; the others have ways of their own.
 */
__global int leg_renew(const struct packet *packet, const struct conntrack_entry *entry, __u32 side)
{
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *other;
	enum conntrack_side there;

	if (!packet || !entry || !memory)
		return 0;
	side &= 1;
	leg_show(&memory->quoted, packet, entry, side);
	other = conntrack_find(&memory->quoted);
	if (!other || !legs_match(entry, other))
		return 0;
	there = packet_conntrack_side(&memory->quoted) & 1;
	other->identity[there] = entry->identity[side];
	other->identity[1 - there] = entry->identity[1 - side];
	if (entry_is_masqueraded(entry)) {
		other->delivery_kind[there] = entry->delivery_kind[side];
		other->delivery_index[there] = entry->delivery_index[side];
		other->delivery_kind[1 - there] = entry->delivery_kind[1 - side];
		other->delivery_index[1 - there] = entry->delivery_index[1 - side];
		if (entry->flags & CONNTRACK_BY_STACK)
			conntrack_set_flags(other, CONNTRACK_BY_STACK);
		else
			__sync_fetch_and_and(&other->flags, ~CONNTRACK_BY_STACK);
	}
	WRITE_ONCE(other->generation, entry->generation);
	return 0;
}

#endif
