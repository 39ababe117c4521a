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

/* The effect of a packet on its entry, by which trace events are aggregated. */
enum conntrack_change {
	CONNTRACK_UNCHANGED = 0,
	CONNTRACK_REFRESHED = 1,
	CONNTRACK_STATE_CHANGED = 2,
	CONNTRACK_CREATED = 3,
};

static __always_inline bool generation_is(__u32 endpoint_id, __u32 generation)
{
	const __u32 *current = bpf_map_lookup_elem(&generations, &endpoint_id);

	return current && READ_ONCE(*current) == generation;
}

static __always_inline bool conntrack_is_current(const struct conntrack_entry *entry)
{
	return generation_is(entry->endpoint_id[CONNTRACK_LOW], READ_ONCE(entry->generation[CONNTRACK_LOW])) &&
	       generation_is(entry->endpoint_id[CONNTRACK_HIGH], READ_ONCE(entry->generation[CONNTRACK_HIGH]));
}

static __always_inline bool conntrack_is_expired(const struct conntrack_entry *entry, __u64 now)
{
	return READ_ONCE(entry->expires_ns) <= now;
}

static __always_inline bool conntrack_is_initiator(__u32 flags, enum conntrack_side side)
{
	return !(flags & CONNTRACK_INITIATOR_HIGH) == (side == CONNTRACK_LOW);
}

static __always_inline __u64 conntrack_lifetime_ns(__u32 flags, __u8 protocol)
{
	const __u32 both_fins = CONNTRACK_SEEN_FIN_LOW | CONNTRACK_SEEN_FIN_HIGH;

	if (flags & (CONNTRACK_DENIED | CONNTRACK_SEEN_RST) || (flags & both_fins) == both_fins)
		return node_config.tcp_closing_lifetime_ns;
	if (protocol != IPPROTO_TCP)
		return node_config.any_lifetime_ns;
	return (flags & CONNTRACK_ESTABLISHED) == CONNTRACK_ESTABLISHED ? node_config.tcp_established_lifetime_ns
									: node_config.tcp_syn_lifetime_ns;
}

/* Returns the flags that a packet from this side sets. */
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

/* Sets flags atomically, since both directions may set flags concurrently; BPF atomics are at least 32 bits wide. */
static __always_inline void conntrack_set_flags(struct conntrack_entry *entry, __u32 flags)
{
	_Static_assert(offsetof(struct conntrack_entry, flags) % 4 == 0, "flags are the first half of a word");
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	flags <<= 16;
#endif
	__sync_fetch_and_or((__u32 *)&entry->flags, flags);
}

/*
 * A SYN on a closed connection opens a new flow, and so does a SYN of the responder after its first reply: policy is
 * evaluated again. Before its first reply, a SYN of the responder is part of a simultaneous open.
 */
static __always_inline bool conntrack_is_reopened(__u32 flags, enum conntrack_side side, __u8 protocol, __u8 tcp_flags)
{
	return protocol == IPPROTO_TCP && unlikely(tcp_is_opening(tcp_flags)) &&
	       (flags & CONNTRACK_ENDED || (flags & CONNTRACK_SEEN_REPLY && !conntrack_is_initiator(flags, side)));
}

/*
 * Updates the entry for one packet; returns an enum conntrack_change. Writes the expiry only where it changed
 * significantly.
 */
__global int conntrack_advance(struct conntrack_entry *entry, __u32 side, __u8 protocol, __u8 tcp_flags, __u64 now)
{
	if (!entry)
		return CONNTRACK_UNCHANGED;

	const __u32 flags = READ_ONCE(entry->flags);
	const __u32 seen = conntrack_flags_of(conntrack_is_initiator(flags, side), side, protocol, tcp_flags) & ~flags;
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

/* Returns whether conntrack_advance() would not change the entry, which is the case for most packets. */
static __always_inline bool conntrack_rests(const struct conntrack_entry *entry, enum conntrack_side side,
					    __u8 protocol, __u8 tcp_flags, __u64 now)
{
	const __u32 flags = READ_ONCE(entry->flags);
	const __u32 known = conntrack_is_initiator(flags, side) ? CONNTRACK_SEEN_NON_SYN : CONNTRACK_SEEN_REPLY;
	__u64 lifetime_ns = node_config.any_lifetime_ns;

	if (protocol == IPPROTO_TCP) {
		if (tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST) || !(flags & known))
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

static __always_inline void conntrack_account(struct conntrack_entry *entry, enum conntrack_side side, __u32 bytes)
{
	__sync_fetch_and_add(&entry->packets[side], 1);
	__sync_fetch_and_add(&entry->bytes[side], bytes);
}

#endif
