/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Direct server return from the tc program of a device: packets of a client outside go to a backend on another host in
 * an outer IP packet (IPv4 in IPv4 as RFC 2003 has it, IPv6 in IPv6 as RFC 2473), and the backend answers the client
 * itself. A flow has one entry, that of the client's tuple: it rewrites both addresses as one of a relayed flow does
 * (lib/relay.h), but in the outer header. The flow label of IPv6 is the hash of the tuple (RFC 6438).
 *
 * No packet of the backend is seen here. The entry says from the start that it has answered, so that a connection lives
 * as long as an established one, and what the client says ends it.
 */
#ifndef AGENT_LIB_DIRECT_RETURN_H
#define AGENT_LIB_DIRECT_RETURN_H

#include "lib/checksum.h"
#include "lib/datagram_number.h"
#include "lib/endpoint_service.h"
#include "lib/ip.h"
#include "lib/metrics.h"

static __always_inline bool entry_is_direct(const struct conntrack_entry *entry)
{
	return entry->rewrite & CONNTRACK_REWRITE_OUTER;
}

static __always_inline __u32 direct_outer_bytes(__u8 family)
{
	return family == FAMILY_IPV4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

/*
 * Returns whether the outer packet fits the device. The kernel splits a packet of several segments into shorter ones,
 * which have room for the outer header.
 */
static __always_inline bool direct_fits(struct __sk_buff *skb, __u8 family, __u32 device)
{
	__u32 mtu = 0;

	return !bpf_check_mtu(skb, device, &mtu, skb->gso_size ? 0 : (int)direct_outer_bytes(family),
			      skb->gso_size ? BPF_MTU_CHK_SEGS : 0);
}

/* Returns whether routers may fragment the packet. */
static __always_inline bool direct_may_be_split(const struct __sk_buff *skb, __u8 family)
{
	const struct iphdr *ip = (void *)(long)skb->data + ETH_HLEN;

	return family == FAMILY_IPV4 && (const void *)(ip + 1) <= (void *)(long)skb->data_end &&
	       !(ip->frag_off & bpf_htons(IPV4_DONT_FRAGMENT)) && !skb->gso_size;
}

/* A length field of IP; of several segments that are longer together, 0 as the kernel has it (BIG TCP). */
static __always_inline __be16 direct_length(__u32 bytes)
{
	return bytes > IP_LARGEST_BYTES ? 0 : bpf_htons((__u16)bytes);
}

static __always_inline bool direct_wrap_ipv4(struct __sk_buff *skb, const struct conntrack_entry *entry, bool by_stack)
{
	struct iphdr ip, outer = {};

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)) ||
	    bpf_skb_adjust_room(skb, sizeof(outer), BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_ENCAP_L3_IPV4))
		return true;
	*(__u8 *)&outer = IPV4_VERSION_AND_WORDS;
	outer.tos = ip.tos;
	outer.tot_len = direct_length(skb->len - ETH_HLEN);
	outer.frag_off = ip.frag_off & bpf_htons(IPV4_DONT_FRAGMENT);
	outer.ttl = OUTER_HOPS;
	outer.protocol = IPPROTO_IPIP;
	outer.saddr = by_stack ? ip.saddr : *(const __be32 *)entry->other.address;
	outer.daddr = *(const __be32 *)entry->end.address;
	outer.id = ip.id;
	if (!outer.frag_off)
		outer.id = datagram_number(outer.saddr, outer.daddr, IPPROTO_IPIP, datagrams_of(skb), ip.id);
	outer.check = checksum_finish(words_sum(&outer, sizeof(outer)));
	return bpf_skb_store_bytes(skb, ETH_HLEN, &outer, sizeof(outer), 0);
}

static __always_inline bool direct_wrap_ipv6(struct __sk_buff *skb, const struct conntrack_entry *entry)
{
	const __u32 label = entry->flow_hash & IPV6_FLOW_LABEL;
	struct ipv6hdr outer = {};
	__be32 start;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &start, sizeof(start)) ||
	    bpf_skb_adjust_room(skb, sizeof(outer), BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_ENCAP_L3_IPV6))
		return true;
	*(__be32 *)&outer = (start & bpf_htonl(~IPV6_FLOW_LABEL)) | bpf_htonl(label);
	outer.payload_len = direct_length(skb->len - ETH_HLEN - sizeof(outer));
	outer.nexthdr = IPPROTO_IPV6;
	outer.hop_limit = OUTER_HOPS;
	copy_address(&outer.saddr, entry->other.address);
	copy_address(&outer.daddr, entry->end.address);
	return bpf_skb_store_bytes(skb, ETH_HLEN, &outer, sizeof(outer), 0);
}

/*
 * Sends a packet that direct_passes() to its backend; returns an action. The stack fragments the outer packet where that
 * does not fit the device: it has the source of the client then, since the stack takes none with an address of its own.
 */
__global int direct_forward(struct __sk_buff *skb, const struct conntrack_entry *entry, __u32 device)
{
	const __u8 family = skb->protocol == bpf_htons(ETH_P_IP) ? FAMILY_IPV4 : FAMILY_IPV6;
	const __u32 bytes = skb->len;
	bool by_stack;

	if (!entry)
		return TC_ACT_SHOT;
	by_stack = !direct_fits(skb, family, device);
	deliver_prepare(skb);
	if (!deliver_hop(skb, family) ||
	    (family == FAMILY_IPV4 ? direct_wrap_ipv4(skb, entry, by_stack) : direct_wrap_ipv6(skb, entry))) {
		metrics_count(METRICS_NETWORK, DROP_NOT_FORWARDABLE, bytes);
		return TC_ACT_SHOT;
	}
	metrics_count(METRICS_NETWORK, DROP_NONE, bytes);
	if (by_stack)
		return ACTION_PASS;
	packet_set_complete(skb);
	return (int)bpf_redirect_neigh(device, NULL, 0, 0);
}

/* Returns whether direct_forward() can send the packet on. */
static __always_inline bool direct_passes(struct __sk_buff *skb, __u8 family, __u32 device)
{
	return deliver_lives(skb, family) &&
	       (likely(direct_fits(skb, family, device)) || direct_may_be_split(skb, family));
}

/*
 * Changes the entry by a packet of the client; returns an enum conntrack_change. Where the client closes a connection or
 * resets it, the backend is taken to do so, too, of which no packet tells here.
 */
__global int direct_advance(struct conntrack_entry *entry, const struct segment *segment, __u64 now)
{
	if (!entry || !segment)
		return CONNTRACK_UNCHANGED;

	const __u32 both = CONNTRACK_SEEN_FIN_LOW | CONNTRACK_SEEN_FIN_HIGH;

	if (segment->protocol == IPPROTO_TCP && segment->tcp_flags & (TCP_FIN | TCP_RST)) {
		conntrack_set_flags(entry, both);
		WRITE_ONCE(entry->expires_ns, now + node_config.tcp_closing_lifetime_ns);
		return CONNTRACK_STATE_CHANGED;
	}
	return conntrack_advance(entry, segment->source_side & 1, segment, now);
}

/* Opens a flow to a backend by a device; returns a drop reason. */
__global int direct_open(const struct packet *packet, struct judgement *judgement, __u32 device)
{
	const struct device_entry *sender = bpf_map_lookup_elem(&devices, &device);
	struct judge_scratch *memory = scratch();
	struct conntrack_entry *entry;
	union address own = {};
	enum conntrack_side side;

	if (!packet || !judgement || !memory || !sender)
		return DROP_SERVICE_UNSERVED;
	device_address(sender, packet->family, &own);
	if (!own.halves[0] && !own.halves[1])
		return DROP_SERVICE_UNSERVED;
	entry = &memory->entry;
	side = leg_begin_frontend(memory, packet, judgement, CONNTRACK_SEEN_REPLY);
	entry->rewrite |= CONNTRACK_REWRITE_BOTH | CONNTRACK_REWRITE_OUTER;
	copy_address(entry->other.address, &own);
	entry->flow_hash = tuple_hash(packet->source.halves, judgement->frontend.halves, packet->source_port_be,
				      judgement->frontend_port_be, packet->protocol);
	entry_set_device(entry, side != CONNTRACK_LOW, device, judgement->route_class);
	return leg_open(&memory->quoted, entry);
}

#endif
