/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Builds the canonical conntrack key of a packet, and selects the table of its protocol. */
#ifndef AGENT_LIB_CONNTRACK_KEY_H
#define AGENT_LIB_CONNTRACK_KEY_H

#include "lib/clock.h"
#include "lib/overflow_flow.h"
#include "lib/packet.h"
#include "maps/conntrack_map.h"
#include "maps/flow_usage_map.h"

/*
 * Combines two adjacent fields into one word, so that a key is stored in the word size with which the kernel compares
 * it.
 */
static __always_inline __u64 word_of(__u32 first, __u32 second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return first | (__u64)second << 32;
#else
	return (__u64)first << 32 | second;
#endif
}

static __always_inline __u32 half_word_of(__u16 first, __u16 second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return first | (__u32)second << 16;
#else
	return (__u32)first << 16 | second;
#endif
}

/*
 * Returns the last word of the IPv4 and IPv6 keys: ports, protocol, and zeros for scope and reserved bytes.
 */
static __always_inline __u64 key_end_of(__be16 low_port_be, __be16 high_port_be, __u8 protocol)
{
	return word_of(half_word_of(low_port_be, high_port_be), half_word_of(bpf_htons((__u16)(protocol << 8)), 0));
}

/* Fills in the key; returns the key side of the packet's source. */
static __always_inline enum conntrack_side conntrack4_key_of(struct conntrack4_key *key, __be32 source,
							     __be32 destination, __be16 source_port_be,
							     __be16 destination_port_be, __u8 protocol)
{
	__u64 *words = (__u64 *)key;

	if (((__u64)source << 16 | source_port_be) > ((__u64)destination << 16 | destination_port_be)) {
		words[0] = word_of(destination, source);
		words[1] = key_end_of(destination_port_be, source_port_be, protocol);
		return CONNTRACK_HIGH;
	}
	words[0] = word_of(source, destination);
	words[1] = key_end_of(source_port_be, destination_port_be, protocol);
	return CONNTRACK_LOW;
}

static __always_inline bool tuple6_is_high(const union address *source, const union address *destination,
					   __be16 source_port_be, __be16 destination_port_be)
{
	if (source->halves[1] != destination->halves[1])
		return source->halves[1] > destination->halves[1];
	if (source->halves[0] != destination->halves[0])
		return source->halves[0] > destination->halves[0];
	return source_port_be > destination_port_be;
}

static __always_inline enum conntrack_side conntrack6_key_of(struct conntrack6_key *key, const union address *source,
							     const union address *destination, __be16 source_port_be,
							     __be16 destination_port_be, __u8 protocol)
{
	const bool high = tuple6_is_high(source, destination, source_port_be, destination_port_be);
	const union address *low_address = high ? destination : source;
	const union address *high_address = high ? source : destination;
	__u64 *words = (__u64 *)key;

	words[0] = low_address->halves[0];
	words[1] = low_address->halves[1];
	words[2] = high_address->halves[0];
	words[3] = high_address->halves[1];
	words[4] = high ? key_end_of(destination_port_be, source_port_be, protocol)
			: key_end_of(source_port_be, destination_port_be, protocol);
	return high ? CONNTRACK_HIGH : CONNTRACK_LOW;
}

/* Returns whether there may be an entry in a table of the overflow. */
static __always_inline bool conntrack_overflow_is_used(void)
{
	const __u32 node = 0;
	const struct flow_usage *usage = bpf_map_lookup_elem(&flow_usage, &node);

	return usage && READ_ONCE(usage->overflowed) != READ_ONCE(usage->emptied);
}

static __always_inline struct conntrack_entry *conntrack4_lookup(const struct conntrack4_key *key, __u8 protocol)
{
	struct conntrack_entry *entry;

	if (likely(protocol == IPPROTO_TCP)) {
		entry = bpf_map_lookup_elem(&conntrack4_tcp, key);
		keep_call_apart(entry);
	} else {
		entry = bpf_map_lookup_elem(&conntrack4_any, key);
		keep_call_apart(entry);
	}
	if (unlikely(!entry) && unlikely(conntrack_overflow_is_used()))
		entry = bpf_map_lookup_elem(&conntrack4_overflow, key);
	return entry;
}

static __always_inline struct conntrack_entry *conntrack6_lookup(const struct conntrack6_key *key, __u8 protocol)
{
	struct conntrack_entry *entry;

	if (likely(protocol == IPPROTO_TCP)) {
		entry = bpf_map_lookup_elem(&conntrack6_tcp, key);
		keep_call_apart(entry);
	} else {
		entry = bpf_map_lookup_elem(&conntrack6_any, key);
		keep_call_apart(entry);
	}
	if (unlikely(!entry) && unlikely(conntrack_overflow_is_used()))
		entry = bpf_map_lookup_elem(&conntrack6_overflow, key);
	return entry;
}

static __always_inline int conntrack4_update(const struct conntrack4_key *key, const struct conntrack_entry *entry,
					     __u8 protocol, __u64 flags)
{
	long error;

	if (unlikely(entry->flags & CONNTRACK_OVERFLOW)) {
		error = bpf_map_update_elem(&conntrack4_overflow, key, entry, flags);
		keep_call_apart(error);
		if (!error && overflow_flow_begins(entry, protocol))
			overflow_flow_note((const __u64 *)key, CONNTRACK4_KEY_WORDS, now_ns());
		return (int)error;
	}
	if (likely(protocol == IPPROTO_TCP)) {
		error = bpf_map_update_elem(&conntrack4_tcp, key, entry, flags);
		keep_call_apart(error);
		return (int)error;
	}
	return (int)bpf_map_update_elem(&conntrack4_any, key, entry, flags);
}

static __always_inline int conntrack6_update(const struct conntrack6_key *key, const struct conntrack_entry *entry,
					     __u8 protocol, __u64 flags)
{
	long error;

	if (unlikely(entry->flags & CONNTRACK_OVERFLOW)) {
		error = bpf_map_update_elem(&conntrack6_overflow, key, entry, flags);
		keep_call_apart(error);
		if (!error && overflow_flow_begins(entry, protocol))
			overflow_flow_note((const __u64 *)key, CONNTRACK6_KEY_WORDS, now_ns());
		return (int)error;
	}
	if (likely(protocol == IPPROTO_TCP)) {
		error = bpf_map_update_elem(&conntrack6_tcp, key, entry, flags);
		keep_call_apart(error);
		return (int)error;
	}
	return (int)bpf_map_update_elem(&conntrack6_any, key, entry, flags);
}

static __always_inline enum conntrack_side packet4_key(const struct packet *packet, struct conntrack4_key *key)
{
	return conntrack4_key_of(key, packet->source.v4, packet->destination.v4, packet->source_port_be,
				 packet->destination_port_be, packet->protocol);
}

static __always_inline enum conntrack_side packet6_key(const struct packet *packet, struct conntrack6_key *key)
{
	return conntrack6_key_of(key, &packet->source, &packet->destination, packet->source_port_be,
				 packet->destination_port_be, packet->protocol);
}

/* Returns whether the packet's source is on the high side of its key; inlined where each packet is judged. */
static __always_inline bool packet_source_is_high(const struct packet *packet)
{
	if (packet->family == FAMILY_IPV4)
		return ((__u64)packet->source.v4 << 16 | packet->source_port_be) >
		       ((__u64)packet->destination.v4 << 16 | packet->destination_port_be);
	return tuple6_is_high(&packet->source, &packet->destination, packet->source_port_be,
			      packet->destination_port_be);
}

__global int packet_find_side(const struct packet *packet)
{
	return packet && packet_source_is_high(packet);
}

/* Returns the key side of the packet's source. */
static __always_inline enum conntrack_side packet_conntrack_side(const struct packet *packet)
{
	int side = packet_find_side(packet);

	forget_range(side);
	return side & 1;
}

/* Finds the entry of a tuple, and the key side of its source. */
static __always_inline struct conntrack_entry *tuple_find(const struct tuple *tuple, __u8 family, __u8 protocol,
							  __u32 *source_side)
{
	if (family == FAMILY_IPV4) {
		struct conntrack4_key key __attribute__((aligned(8)));

		*source_side = conntrack4_key_of(&key, tuple->source.v4, tuple->destination.v4, tuple->source_port_be,
						 tuple->destination_port_be, protocol);
		return conntrack4_lookup(&key, protocol);
	}

	struct conntrack6_key key __attribute__((aligned(8)));

	*source_side = conntrack6_key_of(&key, &tuple->source, &tuple->destination, tuple->source_port_be,
					 tuple->destination_port_be, protocol);
	return conntrack6_lookup(&key, protocol);
}

__local struct conntrack_entry *conntrack_find(const struct packet *packet)
{
	__u32 source_side;

	return tuple_find((const struct tuple *)packet, packet->family, packet->protocol, &source_side);
}

/* Returns whether an entry of the packet's connection may have been evicted (lib/overflow_flow.h). */
static __always_inline bool packet_is_noted(const struct packet *packet, __u64 now)
{
	if (packet->family == FAMILY_IPV4) {
		struct conntrack4_key key __attribute__((aligned(8)));

		packet4_key(packet, &key);
		return overflow_flow_is_noted((const __u64 *)&key, CONNTRACK4_KEY_WORDS, now);
	}

	struct conntrack6_key key __attribute__((aligned(8)));

	packet6_key(packet, &key);
	return overflow_flow_is_noted((const __u64 *)&key, CONNTRACK6_KEY_WORDS, now);
}

/*
 * Returns 0 or a negative errno, as bpf_map_update_elem. Not global: kernels before 6.2 do not accept an argument of a
 * global function as a map key or value; in a local function the verifier sees that the entry is on the stack.
 */
__local int conntrack_put(const struct packet *packet, const struct conntrack_entry *entry, __u64 flags)
{
	if (packet->family == FAMILY_IPV4) {
		struct conntrack4_key key __attribute__((aligned(8)));

		packet4_key(packet, &key);
		return conntrack4_update(&key, entry, packet->protocol, flags);
	}

	struct conntrack6_key key __attribute__((aligned(8)));

	packet6_key(packet, &key);
	return conntrack6_update(&key, entry, packet->protocol, flags);
}

#endif
