/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Translates ICMP errors about packets of a translated flow. The quoted packet becomes the one that the receiver of the
 * error has sent, or that it would have sent without the translation; with its checksums (RFC 5508, section 4.2).
 */
#ifndef AGENT_LIB_ERROR_TRANSLATION_H
#define AGENT_LIB_ERROR_TRANSLATION_H

#include "lib/checksum.h"
#include "lib/endpoint_record.h"
#include "lib/icmp_error.h"

/* Writes a word of a packet, and adds to *gained what the sum of the words gains by it; returns whether it failed. */
static __always_inline bool word_replace(struct __sk_buff *skb, __u32 offset, __u16 from, __u16 to, __u32 *gained)
{
	*gained += (__u16)~from + (__u32)to;
	return bpf_skb_store_bytes(skb, offset, &to, sizeof(to), 0);
}

/*
 * Writes the checksum of the quoted L4 header, where the quote has one. gained: by the words that it covers. UDP without
 * a checksum stays without (RFC 768).
 */
static __always_inline bool quoted_checksum_replace(struct __sk_buff *skb, const struct packet *quoted, __u32 gained,
						    __u32 *sum)
{
	const __u32 offset = packet_is_icmp(quoted) ? quoted->l4_offset + ICMP_CHECKSUM_OFFSET
						    : rewrite_checksum_offset(quoted->protocol, quoted->l4_offset);
	const bool udp = quoted->protocol == IPPROTO_UDP;
	__u16 old, checksum;

	if (!offset || bpf_skb_load_bytes(skb, offset, &old, sizeof(old)) || (udp && !old))
		return false;
	checksum = checksum_after(old, gained);
	return word_replace(skb, offset, old, udp && !checksum ? 0xffff : checksum, sum);
}

/*
 * Rewrites the quoted packet as the entry rewrites packets in the direction of the error; returns whether it failed.
 * What the entry writes as the destination is the source of the quoted packet, which went the other way.
 */
__global int quoted_rewrite(struct __sk_buff *skb, const struct packet *error, const struct packet *quoted,
			    const struct conntrack_end *end, __u32 source)
{
	if (!error || !quoted || !end)
		return true;

	const __u32 ip_offset = error->l4_offset + ICMP_HEADER_BYTES;
	const bool icmp = packet_is_icmp(quoted);
	const __be16 port_be = source ? quoted->source_port_be : quoted->destination_port_be;
	const __be16 old_port_be = icmp ? icmp_identifier(quoted) : port_be;
	__u32 gained = quoted->protocol == IPPROTO_ICMP ? 0 : end->checksum;
	__u32 sum = end->checksum;
	__u32 offset = source ? 0 : sizeof(__be16);

	if (icmp)
		offset = ICMP_IDENTIFIER_OFFSET;
	if (end->port_be && protocol_has_ports(quoted)) {
		gained += (__u16)~old_port_be + (__u32)end->port_be;
		if (word_replace(skb, quoted->l4_offset + offset, old_port_be, end->port_be, &sum))
			return true;
	}
	if (quoted_checksum_replace(skb, quoted, gained, &sum))
		return true;
	if (error->family == FAMILY_IPV4) {
		__u16 old;

		offset = ip_offset + offsetof(struct iphdr, check);
		if (bpf_skb_load_bytes(skb, offset, &old, sizeof(old)) ||
		    word_replace(skb, offset, old, checksum_after(old, end->checksum), &sum))
			return true;
		offset = ip_offset + (source ? offsetof(struct iphdr, saddr) : offsetof(struct iphdr, daddr));
		if (bpf_skb_store_bytes(skb, offset, end->address, sizeof(__be32), 0))
			return true;
	} else {
		offset = ip_offset + (source ? offsetof(struct ipv6hdr, saddr) : offsetof(struct ipv6hdr, daddr));
		if (bpf_skb_store_bytes(skb, offset, end->address, sizeof(end->address), 0))
			return true;
	}
	return bpf_l4_csum_replace(skb, error->l4_offset + ICMP_CHECKSUM_OFFSET, 0, words_fold(sum), 0);
}

/*
 * Translates an error whose quoted packet, of the flow of the entry, is parsed; returns whether it failed. An error of
 * the backend comes from the service, one of a router from the router.
 */
static __always_inline bool error_rewrite_fails(struct __sk_buff *skb, const struct packet *error,
						const struct packet *quoted, const struct conntrack_entry *entry,
						enum rewrite_with with)
{
	const struct conntrack_end *end = rewrite_end(entry, with);
	const __u32 what = error->protocol | REWRITE_ADDRESS_ONLY | rewrite_kind(entry, with);

	if (quoted_rewrite(skb, error, quoted, end, what & REWRITE_TO_DESTINATION))
		return true;
	return (what & REWRITE_TO_DESTINATION || address_equals(&error->source, &quoted->destination)) &&
	       rewrite_packet(skb, end, error->family, what, error->l4_offset);
}

/* Returns the key side of the sender of an error in the tuple of the quoted packet: of its receiver. */
static __always_inline enum conntrack_side error_side(const struct packet *quoted)
{
	return 1 - (packet_conntrack_side(quoted) & 1);
}

/*
 * Translates an error that relates to the packet which judge_scratch has as the quoted one, where the entry of that
 * rewrites packets in the direction of the error, and this is where they are rewritten; returns whether it failed.
 */
static __always_inline bool error_translation_fails(struct __sk_buff *skb, const struct endpoint_entry *endpoint,
						    const struct packet *error, enum metrics_direction hook,
						    __u32 peer_id)
{
	struct judge_scratch *memory = scratch();
	const struct conntrack_entry *entry;
	enum conntrack_side side;

	if (!memory)
		return true;
	side = error_side(&memory->quoted);
	entry = conntrack_find(&memory->quoted);
	if (likely(!entry || !rewrite_applies(entry, side)))
		return false;
	if (!rewrite_destination(entry) && !source_rewrite_is_due(skb, endpoint, entry, side, hook, peer_id))
		return false;
	return error_rewrite_fails(skb, error, &memory->quoted, entry, REWRITE_WITH_END);
}

/*
 * As error_translation_fails(), on a device of the network: an error from it where the entry rewrites destinations,
 * and one to it where the entry rewrites sources. The error is translated only towards who has sent the quoted packet.
 */
__global int network_error_translation_fails(struct __sk_buff *skb, const struct packet *error, __u32 destination)
{
	struct judge_scratch *memory = scratch();
	const struct conntrack_entry *entry;
	enum conntrack_side side;

	if (!error || !memory || !quoted_parse(skb, error, &memory->quoted) ||
	    !address_equals(&memory->quoted.source, &error->destination))
		return false;
	side = error_side(&memory->quoted);
	entry = conntrack_find(&memory->quoted);
	return entry && !entry_is_relayed(entry) && !conntrack_is_expired(entry, now_ns()) &&
	       rewrite_applies(entry, side) && rewrite_destination(entry) == destination &&
	       error_rewrite_fails(skb, error, &memory->quoted, entry, REWRITE_WITH_END);
}

#endif
