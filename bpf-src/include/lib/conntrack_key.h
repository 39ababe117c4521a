/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The tuple in canonical order, and the table that its flow is in. */
#ifndef AGENT_LIB_CONNTRACK_KEY_H
#define AGENT_LIB_CONNTRACK_KEY_H

#include "lib/packet.h"
#include "maps/conntrack_map.h"

/* Fills in the key; returns the side of the key that sent the packet. */
static __always_inline enum conntrack_side conntrack4_key_of(struct conntrack4_key *key, __be32 source,
							     __be32 destination, __be16 source_port_be,
							     __be16 destination_port_be, __u8 protocol)
{
	const bool high = ((__u64)source << 16 | source_port_be) > ((__u64)destination << 16 | destination_port_be);

	key->low_address = high ? destination : source;
	key->high_address = high ? source : destination;
	key->low_port_be = high ? destination_port_be : source_port_be;
	key->high_port_be = high ? source_port_be : destination_port_be;
	*(__u32 *)&key->protocol = 0;
	key->protocol = protocol;
	return high ? CONNTRACK_HIGH : CONNTRACK_LOW;
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
	union address *low = (union address *)key->low_address;
	union address *high = (union address *)key->high_address;

	if (tuple6_is_high(source, destination, source_port_be, destination_port_be)) {
		*low = *destination;
		*high = *source;
		key->low_port_be = destination_port_be;
		key->high_port_be = source_port_be;
		*(__u32 *)&key->protocol = 0;
		key->protocol = protocol;
		return CONNTRACK_HIGH;
	}
	*low = *source;
	*high = *destination;
	key->low_port_be = source_port_be;
	key->high_port_be = destination_port_be;
	*(__u32 *)&key->protocol = 0;
	key->protocol = protocol;
	return CONNTRACK_LOW;
}

static __always_inline struct conntrack_entry *conntrack4_lookup(const struct conntrack4_key *key)
{
	return key->protocol == IPPROTO_TCP ? bpf_map_lookup_elem(&conntrack4_tcp, key)
					    : bpf_map_lookup_elem(&conntrack4_any, key);
}

static __always_inline struct conntrack_entry *conntrack6_lookup(const struct conntrack6_key *key)
{
	return key->protocol == IPPROTO_TCP ? bpf_map_lookup_elem(&conntrack6_tcp, key)
					    : bpf_map_lookup_elem(&conntrack6_any, key);
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

/* The side of its flow's key that sent the packet. */
static __always_inline enum conntrack_side packet_conntrack_side(const struct packet *packet)
{
	if (packet->family == FAMILY_IPV4)
		return ((__u64)packet->source.v4 << 16 | packet->source_port_be) >
		       ((__u64)packet->destination.v4 << 16 | packet->destination_port_be);
	return tuple6_is_high(&packet->source, &packet->destination, packet->source_port_be,
			      packet->destination_port_be);
}

__local struct conntrack_entry *conntrack_find(const struct packet *packet)
{
	if (packet->family == FAMILY_IPV4) {
		struct conntrack4_key key;

		packet4_key(packet, &key);
		return conntrack4_lookup(&key);
	}

	struct conntrack6_key key;

	packet6_key(packet, &key);
	return conntrack6_lookup(&key);
}

/* 0 or a negative errno, as bpf_map_update_elem. */
__global int conntrack_put(const struct packet *packet, const struct conntrack_entry *entry, __u64 flags)
{
	if (!packet || !entry)
		return -1;
	if (packet->family == FAMILY_IPV4) {
		struct conntrack4_key key;

		packet4_key(packet, &key);
		return packet->protocol == IPPROTO_TCP ? bpf_map_update_elem(&conntrack4_tcp, &key, entry, flags)
						       : bpf_map_update_elem(&conntrack4_any, &key, entry, flags);
	}

	struct conntrack6_key key;

	packet6_key(packet, &key);
	return packet->protocol == IPPROTO_TCP ? bpf_map_update_elem(&conntrack6_tcp, &key, entry, flags)
					       : bpf_map_update_elem(&conntrack6_any, &key, entry, flags);
}

#endif
