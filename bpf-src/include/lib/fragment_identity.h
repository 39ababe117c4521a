/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Identification numbers of fragmented datagrams that leave with an address of this node, or that of a service. Their
 * senders choose theirs each for itself, so that two could send datagrams to one host which it takes for one (RFC 6864
 * section 4.1, RFC 8200 section 4.5). A datagram keeps its number where no other one has used it for the same tuple a
 * while ago, and gets another one where one has; all fragments of a datagram have the same. The node's own datagrams are
 * no exception.
 *
 * A sender beyond its share of a second takes no place in the tables, which would evict others: its datagrams get one of
 * the numbers of the crowd, which no other datagram has, by a hash of their tuple.
 */
#ifndef AGENT_LIB_FRAGMENT_IDENTITY_H
#define AGENT_LIB_FRAGMENT_IDENTITY_H

#include "lib/clock.h"
#include "lib/datagram_number.h"
#include "lib/fragment.h"
#include "lib/ipcache.h"
#include "lib/parse_ipv4.h"
#include "lib/parse_ipv6.h"
#include "lib/service.h"

#define FRAGMENT_TRIES 8
#define FRAGMENT_CLAIM_SEC 60 /* the longest time in which a receiver waits for fragments: RFC 8200 section 4.5 */
#define FRAGMENT_CROWD 0x3f   /* the numbers of the crowd have these bits, as a word of the packet: one of 64 */
#define FRAGMENT_OF_NODE ENDPOINTS_MAX
#define FRAGMENT_NO_NUMBER (1ULL << 32)

/* Returns whether a fragment of the tuple was stored with the same ports. */
__global int fragment_is_known(const struct packet *packet)
{
	const struct fragment_entry *entry;

	if (!packet)
		return false;
	entry = fragment_find(packet);
	return entry && (packet_is_icmp(packet) || (entry->source_port_be == packet->source_port_be &&
						    entry->destination_port_be == packet->destination_port_be));
}

/* Returns who has sent a packet, as a claim says it: one may send to several addresses that become one. */
static __always_inline __u64 fragment_owner(const struct packet *packet, __u32 half)
{
	const __u64 to = packet->destination.halves[half];

	return packet->source.halves[half] ^ (to << 32 | to >> 32);
}

/*
 * Claims a number for a sender; returns false where another one has it, or the sender itself, unless it chose the number
 * again. A local function: the key stays where it is, since the call chain has no room for a copy.
 */
__local int fragment_claim(const struct fragment6_key *key, const struct packet *packet, bool chosen)
{
	const __u32 now = (__u32)(now_ns() / NS_PER_SECOND);
	const struct fragment_claim *taken = bpf_map_lookup_elem(&fragment_claims, key);
	struct fragment_claim claim = {
		.owner = { fragment_owner(packet, 0), fragment_owner(packet, 1) },
		.seconds = now,
	};

	if (taken && now - taken->seconds < FRAGMENT_CLAIM_SEC &&
	    (!chosen || taken->owner[0] != claim.owner[0] || taken->owner[1] != claim.owner[1]))
		return false;
	return !bpf_map_update_elem(&fragment_claims, key, &claim, taken ? BPF_ANY : BPF_NOEXIST);
}

static __always_inline __u32 fragment_mask(const struct packet *packet)
{
	return packet->family == FAMILY_IPV4 ? 0xffff : ~0U;
}

static __always_inline bool fragment_is_of_crowd(__u32 number)
{
	return (number & FRAGMENT_CROWD) == FRAGMENT_CROWD;
}

/* Returns the number of the crowd that a datagram has. */
static __always_inline __u32 fragment_crowd_number(const struct packet *packet, __be32 id_be)
{
	const __u64 hash = tuple_hash(packet->source.halves, packet->destination.halves, (__be16)id_be,
				      (__be16)(id_be >> 16), packet->protocol);

	return ((__u32)(hash >> 32) | FRAGMENT_CROWD) & fragment_mask(packet);
}

/*
 * Returns the id of the endpoint that sends a datagram; FRAGMENT_OF_NODE: this node does, which has no share; 0: another
 * host, whose packets this node relays.
 */
__global int fragment_sender(const struct packet *packet)
{
	const struct ipcache_entry *source;

	if (!packet)
		return 0;
	source = ipcache_find(&packet->source, packet->family);
	if (!source)
		return 0;
	return source->flags & IPCACHE_FLAG_HOST ? FRAGMENT_OF_NODE : source->endpoint_id;
}

/* Counts a datagram; returns whether it is beyond the share of its sender. */
static __always_inline bool fragment_is_of_flood(const struct packet *packet)
{
	const __u32 sender = (__u32)fragment_sender(packet);
	struct share_rate *rate = bpf_map_lookup_elem(&number_rates, &sender);

	return rate && rate_exceeds(rate, node_config.fragments_per_second);
}

/* Returns the number that the first fragment of a datagram has got; where it has left none, as fragment_number() says. */
__global int fragment_known_number(const struct packet *packet, __be32 id_be)
{
	struct fragment6_key key;
	const __u32 *known;

	if (!packet)
		return (int)id_be;
	fragment_datagram_of(packet, &packet->source, id_be, &key);
	known = bpf_map_lookup_elem(&fragment_numbers, &key);
	if (known)
		return (int)*known;
	return (int)(fragment_sender(packet) == FRAGMENT_OF_NODE ? id_be : fragment_crowd_number(packet, id_be));
}

/* Sets the number of later fragments of a datagram, or none, so that that of an earlier datagram ends. */
__global int fragment_keep_number(const struct packet *packet, __be32 id_be, __u64 number)
{
	struct fragment6_key key;
	const __u32 kept = (__u32)number;

	if (!packet)
		return 0;
	fragment_datagram_of(packet, &packet->source, id_be, &key);
	if (number == FRAGMENT_NO_NUMBER)
		return (int)bpf_map_delete_elem(&fragment_numbers, &key);
	return (int)bpf_map_update_elem(&fragment_numbers, &key, &kept, BPF_ANY);
}

/* Finds the number with which a datagram leaves; where none of some is free, that is the last of these. */
__global int fragment_choose(const struct packet *packet, const union address *outer, const union address *to,
			     __be32 id_be)
{
	struct fragment6_key key;

	if (!packet || !outer || !to)
		return (int)id_be;
	fragment_datagram_of(packet, outer, id_be, &key);
	__builtin_memcpy(key.destination_address, to, sizeof(key.destination_address));
	unrolled
	for (int i = 0; i < FRAGMENT_TRIES; i++) {
		if (!fragment_is_of_crowd(key.id_be) && fragment_claim(&key, packet, !i))
			break;
		key.id_be = bpf_get_prandom_u32() & fragment_mask(packet);
	}
	return (int)key.id_be;
}

/*
 * Returns the number with which a fragment leaves: that of the datagram, which its first fragment got. packet: as its
 * sender knows it; outer, to: its source and destination outside.
 */
__global int fragment_number(const struct packet *packet, const union address *outer, const union address *to,
			     __be32 id_be, __u32 later)
{
	__u32 number;

	if (!packet || !outer || !to)
		return (int)id_be;
	if (later)
		return fragment_known_number(packet, id_be);
	if (unlikely(fragment_is_of_flood(packet))) {
		fragment_keep_number(packet, id_be, FRAGMENT_NO_NUMBER);
		return (int)fragment_crowd_number(packet, id_be);
	}
	number = (__u32)fragment_choose(packet, outer, to, id_be);
	fragment_keep_number(packet, id_be, number);
	return (int)number;
}

static __always_inline int fragment4_renumber(struct __sk_buff *skb, const struct packet *packet,
					      const union address *outer, const union address *to)
{
	const __u32 offset = ETH_HLEN + offsetof(struct iphdr, id);
	__be16 fields[2]; /* the number, and flags with the offset */
	__be16 number;
	__u16 fragment;

	if (bpf_skb_load_bytes(skb, offset, fields, sizeof(fields)))
		return true;
	fragment = bpf_ntohs(fields[1]);
	if (fragment & (IPV4_MORE_FRAGMENTS | IPV4_FRAGMENT_OFFSET))
		number = (__be16)fragment_number(packet, outer, to, fields[0], fragment & IPV4_FRAGMENT_OFFSET);
	else if (fragment & IPV4_DONT_FRAGMENT)
		return false;
	else
		number = datagram_number(outer->v4, to->v4, packet->protocol, datagrams_of(skb), fields[0]);
	return number != fields[0] &&
	       (bpf_l3_csum_replace(skb, ETH_HLEN + offsetof(struct iphdr, check), fields[0], number, sizeof(number)) ||
		bpf_skb_store_bytes(skb, offset, &number, sizeof(number), 0));
}

/* A Fragment header behind other ones, which Linux does not send, keeps its number. */
static __always_inline int fragment6_renumber(struct __sk_buff *skb, const struct packet *packet,
					      const union address *outer, const union address *to)
{
	const __u32 offset = ETH_HLEN + IPV6_HEADER_BYTES;
	struct ipv6_extension header;
	__be32 number;
	__u16 fragment;
	__u8 next;

	if (bpf_skb_load_bytes(skb, ETH_HLEN + offsetof(struct ipv6hdr, nexthdr), &next, sizeof(next)))
		return true;
	if (next != IPPROTO_FRAGMENT)
		return false;
	if (bpf_skb_load_bytes(skb, offset, &header, sizeof(header)))
		return true;
	fragment = bpf_ntohs(header.fragment_be);
	number = (__be32)fragment_number(packet, outer, to, header.id_be, fragment & IPV6_FRAGMENT_OFFSET);
	return number != header.id_be && bpf_skb_store_bytes(skb, offset + offsetof(struct ipv6_extension, id_be),
							     &number, sizeof(number), BPF_F_RECOMPUTE_CSUM);
}

/*
 * Numbers a packet that leaves with these addresses, if it is a fragment or may be split; returns
 * whether it failed. packet: as its sender knows it.
 */
__global int fragment_renumber(struct __sk_buff *skb, const struct packet *packet, const union address *outer,
			       const union address *to)
{
	if (!packet || !outer || !to)
		return true;
	return packet->family == FAMILY_IPV4 ? fragment4_renumber(skb, packet, outer, to)
					     : fragment6_renumber(skb, packet, outer, to);
}

#endif
