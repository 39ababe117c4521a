/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The state of a conntrack entry: transitions by packets, lifetime, and validity of its verdict. */
#ifndef AGENT_LIB_CONNTRACK_H
#define AGENT_LIB_CONNTRACK_H

#include "config/node_config.h"
#include "lib/clock.h"
#include "lib/conntrack_key.h"
#include "maps/endpoint_map.h"

#define CONNTRACK_ENDED (CONNTRACK_SEEN_FIN_LOW | CONNTRACK_SEEN_FIN_HIGH | CONNTRACK_SEEN_RST)
#define CONNTRACK_ESTABLISHED (CONNTRACK_SEEN_REPLY | CONNTRACK_SEEN_NON_SYN)

/* In units of 64 KiB: a reset may be this far ahead of what its receiver acknowledged, which is what may be on its way. */
#define CONNTRACK_RESET_WINDOW 64

/* The effect of a packet on its entry, by which trace events are aggregated. */
enum conntrack_change {
	CONNTRACK_UNCHANGED = 0,
	CONNTRACK_REFRESHED = 1,
	CONNTRACK_STATE_CHANGED = 2,
	CONNTRACK_CREATED = 3,
};

/* index: an endpoint id, or GENERATION_OUTSIDE plus a shard. */
static __always_inline __u64 generation_of(__u32 index)
{
	const __u64 *current = bpf_map_lookup_elem(&generations, &index);

	return current ? READ_ONCE(*current) : 0;
}

/* Returns the index in the map generations of the party on one side of the entry. */
static __always_inline __u32 conntrack_party(const struct conntrack_entry *entry, __u32 flags, enum conntrack_side side)
{
	_Static_assert(CONNTRACK_OUTSIDE_LOW << 7 == GENERATION_OUTSIDE, "the shift of the low flag");
	_Static_assert(CONNTRACK_OUTSIDE_HIGH << 6 == GENERATION_OUTSIDE, "the shift of the high flag");

	return side == CONNTRACK_LOW ? entry->party[CONNTRACK_LOW] | (flags & CONNTRACK_OUTSIDE_LOW) << 7
				     : entry->party[CONNTRACK_HIGH] | (flags & CONNTRACK_OUTSIDE_HIGH) << 6;
}

/* Returns the id of the endpoint on one side of the entry; 0: an outside address. */
static __always_inline __u32 conntrack_endpoint(const struct conntrack_entry *entry, enum conntrack_side side)
{
	const __u32 outside = side == CONNTRACK_LOW ? CONNTRACK_OUTSIDE_LOW : CONNTRACK_OUTSIDE_HIGH;

	return entry->flags & outside ? 0 : entry->party[side];
}

/* Returns the sum of the generations that both sides have now. */
static __always_inline __u64 conntrack_generation(const struct conntrack_entry *entry)
{
	const __u32 flags = READ_ONCE(entry->flags);

	return generation_of(conntrack_party(entry, flags, CONNTRACK_LOW)) +
	       generation_of(conntrack_party(entry, flags, CONNTRACK_HIGH));
}

static __always_inline bool conntrack_is_current(const struct conntrack_entry *entry)
{
	return conntrack_generation(entry) == READ_ONCE(entry->generation);
}

static __always_inline bool conntrack_is_expired(const struct conntrack_entry *entry, __u64 now)
{
	return READ_ONCE(entry->expires_ns) <= now;
}

static __always_inline bool conntrack_is_initiator(__u32 flags, enum conntrack_side side)
{
	return !(flags & CONNTRACK_INITIATOR_HIGH) == (side == CONNTRACK_LOW);
}

/* Returns whether no further packet is expected of the flow: it is denied, or both sides have closed it. */
static __always_inline bool conntrack_is_over(__u32 flags)
{
	const __u32 both_fins = CONNTRACK_SEEN_FIN_LOW | CONNTRACK_SEEN_FIN_HIGH;

	return flags & (CONNTRACK_DENIED | CONNTRACK_SEEN_RST) || (flags & both_fins) == both_fins;
}

static __always_inline __u64 conntrack_lifetime_ns(__u32 flags, __u8 protocol)
{
	if (conntrack_is_over(flags))
		return node_config.tcp_closing_lifetime_ns;
	if (protocol != IPPROTO_TCP)
		return node_config.any_lifetime_ns;
	return (flags & CONNTRACK_ESTABLISHED) == CONNTRACK_ESTABLISHED ? node_config.tcp_established_lifetime_ns
									: node_config.tcp_syn_lifetime_ns;
}

/*
 * Returns whether the reset can be one that its receiver accepts. RFC 5961 demands of a receiver that it ends the
 * connection only for the sequence number that it expects, which is the acknowledgement number that it sent last. Its
 * upper half is known; a reset behind data that is still on its way has a higher one. Any other reset is forwarded and
 * changes nothing here, so that a blind one cannot shorten the lifetime of a connection.
 */
static __always_inline bool reset_is_credible(const struct conntrack_entry *entry, __u32 flags,
					      enum conntrack_side side, __u32 sequence)
{
	const __u16 expected = side == CONNTRACK_LOW ? entry->acknowledged[CONNTRACK_HIGH]
						     : entry->acknowledged[CONNTRACK_LOW];

	if ((flags & CONNTRACK_ESTABLISHED) != CONNTRACK_ESTABLISHED)
		return true;
	return (__u16)((sequence >> 16) - expected) < CONNTRACK_RESET_WINDOW;
}

/* Returns the flags that a packet from this side sets in an entry with these flags. */
static __always_inline __u32 conntrack_flags_of(bool initiator, enum conntrack_side side, __u8 protocol, __u8 tcp_flags)
{
	__u32 flags = initiator ? 0 : CONNTRACK_SEEN_REPLY;

	if (protocol != IPPROTO_TCP)
		return flags;
	if ((tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN)
		return 0;
	if (initiator)
		flags |= CONNTRACK_SEEN_NON_SYN;
	if (unlikely(tcp_flags & TCP_RST))
		flags |= CONNTRACK_SEEN_RST;
	else if (unlikely(tcp_flags & TCP_FIN))
		flags |= side == CONNTRACK_LOW ? CONNTRACK_SEEN_FIN_LOW : CONNTRACK_SEEN_FIN_HIGH;
	return flags;
}

/* Sets flags atomically, since both directions may set flags concurrently. */
static __always_inline void conntrack_set_flags(struct conntrack_entry *entry, __u32 flags)
{
	__sync_fetch_and_or(&entry->flags, flags);
}

/*
 * A SYN on a closed connection opens a new flow, and so does a SYN of the responder after its first reply, or where the
 * initiator is denied: policy is evaluated again. Before its first reply, a SYN of the responder is part of a
 * simultaneous open.
 */
static __always_inline bool conntrack_is_reopened(__u32 flags, enum conntrack_side side, __u8 protocol, __u8 tcp_flags)
{
	return protocol == IPPROTO_TCP && unlikely(tcp_is_opening(tcp_flags)) &&
	       (flags & CONNTRACK_ENDED ||
		(flags & (CONNTRACK_SEEN_REPLY | CONNTRACK_DENIED) && !conntrack_is_initiator(flags, side)));
}

/*
 * Returns whether the packet may open a flow of its own where the flow of the entry is denied: it comes from the other
 * side than the denied one, and is not in the middle of a connection, which TCP tells.
 */
static __always_inline bool conntrack_denial_is_others(__u32 flags, enum conntrack_side side, __u8 protocol)
{
	return flags & CONNTRACK_DENIED && protocol != IPPROTO_TCP && !conntrack_is_initiator(flags, side);
}

static __always_inline __u16 segment_acknowledged(const struct segment *segment)
{
	return (__u16)(segment->acknowledgement >> 16);
}

/* Stores the acknowledgement number of a packet in an entry on the stack, without an index that is variable. */
static __always_inline void conntrack_note_acknowledged(struct conntrack_entry *entry, enum conntrack_side side,
							const struct packet *packet)
{
	if (packet->protocol != IPPROTO_TCP || (packet->tcp_flags & (TCP_ACK | TCP_RST)) != TCP_ACK)
		return;
	if (side == CONNTRACK_LOW)
		entry->acknowledged[CONNTRACK_LOW] = (__u16)(packet->acknowledgement >> 16);
	else
		entry->acknowledged[CONNTRACK_HIGH] = (__u16)(packet->acknowledgement >> 16);
}

/*
 * Updates the entry for one packet; returns an enum conntrack_change. Writes the expiry only where it changed
 * significantly.
 */
__global int conntrack_advance(struct conntrack_entry *entry, __u32 side, const struct segment *segment, __u64 now)
{
	if (!entry || !segment)
		return CONNTRACK_UNCHANGED;

	const __u8 protocol = segment->protocol;
	const __u32 flags = READ_ONCE(entry->flags);
	__u32 seen = conntrack_flags_of(conntrack_is_initiator(flags, side), side, protocol, segment->tcp_flags);

	if (seen & CONNTRACK_SEEN_RST && !reset_is_credible(entry, flags, side, segment->sequence))
		return CONNTRACK_UNCHANGED;
	seen &= ~flags;
	if (segment->tcp_flags & TCP_ACK)
		WRITE_ONCE(entry->acknowledged[side & 1], segment_acknowledged(segment));

	const __u64 lifetime_ns = conntrack_lifetime_ns(flags | seen, protocol);

	if (unlikely(seen)) {
		conntrack_set_flags(entry, seen);
		WRITE_ONCE(entry->expires_ns, now + lifetime_ns);
		return CONNTRACK_STATE_CHANGED;
	}

	const __s64 moved_ns = now + lifetime_ns - READ_ONCE(entry->expires_ns);

	if (moved_ns <= (__s64)NS_PER_SECOND && moved_ns <= (__s64)(lifetime_ns >> 3))
		return CONNTRACK_UNCHANGED;
	WRITE_ONCE(entry->expires_ns, now + lifetime_ns);
	return CONNTRACK_REFRESHED;
}

/* Copies the segment only where it is called, so that the caller's stays in registers. */
static __always_inline int conntrack_advance_by(struct conntrack_entry *entry, enum conntrack_side side,
						const struct segment *segment, __u64 now)
{
	const struct segment copy = *segment;

	return conntrack_advance(entry, side, &copy, now);
}

/* Returns whether conntrack_advance() would not change the entry, which is the case for most packets. */
static __always_inline bool conntrack_rests(const struct conntrack_entry *entry, enum conntrack_side side,
					    const struct segment *segment, __u64 now)
{
	const __u32 flags = READ_ONCE(entry->flags);
	const __u32 known = conntrack_is_initiator(flags, side) ? CONNTRACK_SEEN_NON_SYN : CONNTRACK_SEEN_REPLY;
	__u64 lifetime_ns = node_config.any_lifetime_ns;

	if (segment->protocol == IPPROTO_TCP) {
		if (segment->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST) || !(flags & known) ||
		    READ_ONCE(entry->acknowledged[side]) != segment_acknowledged(segment))
			return false;
		lifetime_ns = (flags & CONNTRACK_ESTABLISHED) == CONNTRACK_ESTABLISHED
				      ? node_config.tcp_established_lifetime_ns
				      : node_config.tcp_syn_lifetime_ns;
	} else if (known == CONNTRACK_SEEN_REPLY && !(flags & CONNTRACK_SEEN_REPLY)) {
		return false;
	}

	const __s64 moved_ns = now + lifetime_ns - READ_ONCE(entry->expires_ns);

	return !(flags & CONNTRACK_ENDED) && moved_ns <= (__s64)NS_PER_SECOND && moved_ns <= (__s64)(lifetime_ns >> 3);
}

/* Adds what is pending of one side to its counters. */
__global int conntrack_settle(struct conntrack_entry *entry, __u32 side)
{
	if (!entry)
		return 0;

	const __u32 pending = __sync_lock_test_and_set(&entry->pending[side & 1], 0);

	__sync_fetch_and_add(&entry->packets[side & 1], pending >> CONNTRACK_PENDING_SHIFT);
	__sync_fetch_and_add(&entry->bytes[side & 1], pending & ((1U << CONNTRACK_PENDING_SHIFT) - 1));
	return 0;
}

static __always_inline void conntrack_account(struct conntrack_entry *entry, enum conntrack_side side, __u32 bytes)
{
	const __u32 before = __sync_fetch_and_add(&entry->pending[side], (1U << CONNTRACK_PENDING_SHIFT) + bytes);

	if (unlikely(before >> CONNTRACK_PENDING_SHIFT >= CONNTRACK_PENDING_PACKETS - 1))
		conntrack_settle(entry, side);
}

#endif
