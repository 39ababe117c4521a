// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The XDP program: drops packets from listed source prefixes before the stack allocates an skb. */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "config/prefilter_config.h"
#include "lib/compiler.h"
#include "lib/metrics.h"
#include "lib/vlan.h"
#include "maps/prefilter_map.h"

char _license[] SEC("license") = "Dual BSD/GPL";

static __always_inline __u64 cells_word(void *map, __u32 index)
{
	const __u64 *word = bpf_map_lookup_elem(map, &index);

	return word ? READ_ONCE(*word) : 0;
}

static __always_inline __u32 cell_state(void *map, __u32 cell)
{
	return cells_word(map, cell >> PREFILTER_WORD_SHIFT) >>
		       (cell & ((1 << PREFILTER_WORD_SHIFT) - 1)) * PREFILTER_STATE_BITS &
	       ((1 << PREFILTER_STATE_BITS) - 1);
}

static __always_inline bool narrow_cell_is_set(__u32 cell)
{
	return cells_word(&prefilter6_narrow_cells, cell >> PREFILTER_NARROW_WORD_SHIFT) >>
		       (cell & ((1 << PREFILTER_NARROW_WORD_SHIFT) - 1)) &
	       1;
}

static __always_inline bool ipv4_is_denied(const struct iphdr *ip)
{
	const __u32 cell = bpf_ntohl(ip->saddr) >> (32 - PREFILTER_CELL_BITS);
	const __u32 state = cell_state(&prefilter4_cells, cell);

	if (likely(state == PREFILTER_CELL_NONE))
		return false;
	if (state == PREFILTER_CELL_WHOLE)
		return true;

	struct prefilter4_key key = { .prefix_length = 32 };

	*(__be32 *)key.address = ip->saddr;
	return bpf_map_lookup_elem(&prefilter4, &key) != NULL;
}

static __always_inline bool ipv6_is_denied(const struct ipv6hdr *ip)
{
	const __u64 *halves = (const __u64 *)&ip->saddr;
	const __u64 top = bpf_be64_to_cpu(halves[0]);
	const __u32 wide = top >> (64 - PREFILTER_CELL_BITS);
	const __u32 state = cell_state(&prefilter6_wide_cells, wide);

	if (state == PREFILTER_CELL_WHOLE)
		return true;
	if (state == PREFILTER_CELL_NONE) {
		const __u32 narrow = (top >> (64 - PREFILTER_NARROW_PREFIX)) * PREFILTER_HASH >>
				     (64 - PREFILTER_CELL_BITS);

		if (likely(!narrow_cell_is_set(narrow)))
			return false;
	}

	struct prefilter6_key key = { .prefix_length = 128 };

	__builtin_memcpy(key.address, halves, sizeof(key.address));
	return bpf_map_lookup_elem(&prefilter6, &key) != NULL;
}

static __always_inline int prefilter_verdict(const struct xdp_md *context, bool denied)
{
	if (likely(!denied))
		return XDP_PASS;
	metrics_count(METRICS_NETWORK, DROP_PREFILTER, context->data_end - context->data);
	return XDP_DROP;
}

/* With frags, drivers also take it at an MTU above a page; the headers that it reads are in the first part. */
SEC("xdp.frags")
int prefilter(struct xdp_md *context)
{
	void *data = (void *)(long)context->data;
	void *data_end = (void *)(long)context->data_end;
	void *header = data + ETH_HLEN;

	if (header > data_end)
		return XDP_PASS;

	__be16 ethertype = ((struct ethhdr *)data)->h_proto;

	unrolled
	for (int i = 0; i < VLAN_TAGS_MAX; i++) {
		const struct vlan_tag *tag = header;

		if (likely(!vlan_is_tag(ethertype)))
			break;
		header += sizeof(*tag);
		if (header > data_end)
			return XDP_PASS;
		ethertype = tag->ethertype;
	}
	if (ethertype == bpf_htons(ETH_P_IP) && prefilter_config.enable_ipv4) {
		if (header + sizeof(struct iphdr) > data_end)
			return XDP_PASS;
		return prefilter_verdict(context, ipv4_is_denied(header));
	}
	if (ethertype == bpf_htons(ETH_P_IPV6) && prefilter_config.enable_ipv6) {
		if (header + sizeof(struct ipv6hdr) > data_end)
			return XDP_PASS;
		return prefilter_verdict(context, ipv6_is_denied(header));
	}
	if (unlikely(vlan_is_tag(ethertype))) {
		metrics_count(METRICS_NETWORK, DROP_UNKNOWN_ETHERTYPE, context->data_end - context->data);
		return XDP_DROP;
	}
	return XDP_PASS;
}
