/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Stores the ports of first fragments for later fragments, which have none. */
#ifndef AGENT_LIB_FRAGMENT_H
#define AGENT_LIB_FRAGMENT_H

#include "lib/flow_usage.h"
#include "lib/icmp.h"
#include "maps/fragment_identity_map.h"
#include "maps/fragment_map.h"

static __always_inline bool protocol_has_ports(const struct packet *packet)
{
	switch (packet->protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_SCTP:
		return true;
	default:
		return packet_is_icmp(packet);
	}
}

static __always_inline void fragment4_key_of(const struct packet *packet, __be16 id_be, struct fragment4_key *key)
{
	*key = (struct fragment4_key){
		.source_address = packet->source.v4,
		.destination_address = packet->destination.v4,
		.id_be = id_be,
		.protocol = packet->protocol,
	};
}

static __always_inline void fragment6_key_of(const struct packet *packet, __be32 id_be, struct fragment6_key *key)
{
	__builtin_memcpy(key->source_address, packet->source.bytes, 16);
	__builtin_memcpy(key->destination_address, packet->destination.bytes, 16);
	key->id_be = id_be;
	key->protocol = packet->protocol;
	__builtin_memset(key->reserved, 0, sizeof(key->reserved));
}

/* The same for both families, with a source of the caller's; an IPv4 address is in the first four bytes. */
static __always_inline void fragment_datagram_of(const struct packet *packet, const union address *source, __be32 id_be,
						 struct fragment6_key *key)
{
	fragment6_key_of(packet, id_be, key);
	__builtin_memcpy(key->source_address, source, sizeof(key->source_address));
	key->reserved[0] = packet->family;
}

/* Returns what is stored of the first fragment of the packet's datagram, or NULL. */
static __always_inline const struct fragment_entry *fragment_find(const struct packet *packet)
{
	const struct fragment_entry *entry;

	if (packet->family == FAMILY_IPV4) {
		struct fragment4_key key;

		fragment4_key_of(packet, (__be16)packet->fragment_id_be, &key);
		entry = bpf_map_lookup_elem(&fragments4, &key);
		if (!entry)
			entry = bpf_map_lookup_elem(&fragments4_overflow, &key);
	} else {
		struct fragment6_key key;

		fragment6_key_of(packet, packet->fragment_id_be, &key);
		entry = bpf_map_lookup_elem(&fragments6, &key);
		if (!entry)
			entry = bpf_map_lookup_elem(&fragments6_overflow, &key);
	}
	return entry;
}

static __always_inline int fragment4_store(const struct fragment4_key *key, const struct fragment_entry *entry,
					   bool overflow)
{
	long error;

	if (likely(!overflow)) {
		error = bpf_map_update_elem(&fragments4, key, entry, BPF_ANY);
		keep_call_apart(error);
		return (int)error;
	}
	bpf_map_delete_elem(&fragments4, key); /* of an earlier datagram; it would be found first */
	return (int)bpf_map_update_elem(&fragments4_overflow, key, entry, BPF_ANY);
}

static __always_inline int fragment6_store(const struct fragment6_key *key, const struct fragment_entry *entry,
					   bool overflow)
{
	long error;

	if (likely(!overflow)) {
		error = bpf_map_update_elem(&fragments6, key, entry, BPF_ANY);
		keep_call_apart(error);
		return (int)error;
	}
	bpf_map_delete_elem(&fragments6, key);
	return (int)bpf_map_update_elem(&fragments6_overflow, key, entry, BPF_ANY);
}

/*
 * Stores the ports of a first fragment from or to an endpoint. Called only for packets that are not dropped, so that
 * denied or forged fragments create no entry.
 */
__global int fragment_remember(const struct packet *packet, __u32 endpoint_id)
{
	if (!packet)
		return 0;

	const bool overflow = fragment_is_over_share(endpoint_id);

	const __be32 id_be = packet->fragment_id_be;
	const bool icmp = packet_is_icmp(packet);
	const struct fragment_entry entry = {
		.source_port_be = icmp ? icmp_identifier(packet) : packet->source_port_be,
		.destination_port_be = icmp ? bpf_htons(packet->icmp_type) : packet->destination_port_be,
	};

	if (packet->family == FAMILY_IPV4) {
		struct fragment4_key key;

		fragment4_key_of(packet, (__be16)id_be, &key);
		return fragment4_store(&key, &entry, overflow);
	}

	struct fragment6_key key;

	fragment6_key_of(packet, id_be, &key);
	return fragment6_store(&key, &entry, overflow);
}

/* Fills in the ports of a later fragment; returns DROP_FRAGMENT_NOT_FOUND without a stored first fragment. */
__global int fragment_recall(struct packet *packet)
{
	const struct fragment_entry *entry;

	if (!packet)
		return DROP_FRAGMENT_NOT_FOUND;

	entry = fragment_find(packet);
	if (!entry)
		return DROP_FRAGMENT_NOT_FOUND;

	packet->later_fragment = true;
	packet->tcp_flags = 0;
	packet->source_port_be = entry->source_port_be;
	packet->destination_port_be = entry->destination_port_be;
	if (packet_is_icmp(packet)) {
		packet->icmp_type = (__u8)bpf_ntohs(entry->destination_port_be);
		icmp_set_ports(packet, entry->source_port_be);
		packet->kind = icmp_kind(packet->family, packet->icmp_type);
		if (packet->kind == PACKET_ICMP_ERROR)
			packet->kind = PACKET_STATELESS; /* the quoted packet is in the first fragment */
	}
	return DROP_NONE;
}

#endif
