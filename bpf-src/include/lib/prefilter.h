/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Whether the source of a packet is on the deny list, before the stack allocates an skb. */
#ifndef AGENT_LIB_PREFILTER_H
#define AGENT_LIB_PREFILTER_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "config/prefilter_config.h"
#include "lib/compiler.h"
#include "lib/metrics.h"
#include "lib/vlan.h"
#include "maps/prefilter_map.h"

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

static __always_inline void *table_of(__u32 table)
{
	return bpf_map_lookup_elem(&prefilter_tables, &table);
}

static __always_inline const struct prefilter_slot *slot_of(void *table, __u32 index)
{
	return bpf_map_lookup_elem(table, &index);
}

/* The number of bits that are set; BPF has no instruction for it. */
static __always_inline __u32 bits_set(__u32 word)
{
	word -= word >> 1 & 0x55555555;
	word = (word & 0x33333333) + (word >> 2 & 0x33333333);
	word = (word + (word >> 4)) & 0x0f0f0f0f;
	return word * 0x01010101 >> 24;
}

/* prefix: a prefix of a block and, above it, its mask; the bits behind them are of no account. */
static __always_inline bool block_prefix_has(__u32 prefix, __u32 address)
{
	return !((address ^ prefix) & prefix >> PREFILTER_BLOCK_BITS & ((1 << PREFILTER_BLOCK_BITS) - 1));
}

static __always_inline bool ipv4_table_has(__u32 address)
{
	const __u32 cell = address >> (32 - PREFILTER_CELL_BITS);
	const __u32 block = cell >> PREFILTER_BLOCK_SHIFT;
	const __u32 bit = 1U << (cell & ((1 << PREFILTER_BLOCK_SHIFT) - 1));
	void *table = table_of(PREFILTER_TABLE_IPV4);
	const struct prefilter_slot *slot;
	__u64 leaves;

	if (!table)
		return true;
	slot = slot_of(table, block >> PREFILTER_SLOT_SHIFT);
	if (!slot)
		return true;
	leaves = slot->words[block & ((1 << PREFILTER_SLOT_SHIFT) - 1)];
	if (leaves & PREFILTER_BLOCK_OF_TWO)
		return block_prefix_has(leaves, address) ||
		       block_prefix_has(leaves >> 2 * PREFILTER_BLOCK_BITS, address);
	if (!((__u32)leaves & bit))
		return false;
	slot = slot_of(table, (leaves >> 32) + bits_set((__u32)leaves & (bit - 1)));
	if (!slot)
		return true;
	return slot->words[address >> 6 & 3] >> (address & 63) & 1;
}

static __always_inline bool ipv4_is_denied(const struct iphdr *ip)
{
	const __u32 address = bpf_ntohl(ip->saddr);
	const __u32 state = cell_state(&prefilter4_cells, address >> (32 - PREFILTER_CELL_BITS));

	if (likely(state == PREFILTER_CELL_NONE))
		return false;
	return state == PREFILTER_CELL_WHOLE || ipv4_table_has(address);
}

static __always_inline bool is_before(__u64 high, __u64 low, __u64 other_high, __u64 other_low)
{
	return high < other_high || (high == other_high && low < other_low);
}

/* Returns whether the table has the bucket; entries is its word. */
static __always_inline bool bucket_find(void *table, __u32 bucket, __u64 *entries)
{
	const struct prefilter_slot *slot = table ? slot_of(table, bucket >> PREFILTER_SLOT_SHIFT) : NULL;

	if (!slot)
		return false;
	*entries = slot->words[bucket & ((1 << PREFILTER_SLOT_SHIFT) - 1)];
	return true;
}

/* Searches all entries of a bucket. 1 or 0 */
__global int bucket_has(__u32 bucket, __u64 high, __u64 low)
{
	void *table = table_of(PREFILTER_TABLE_IPV6);
	__u64 entries;
	__u32 from, to;

	if (!bucket_find(table, bucket, &entries))
		return 1;
	from = entries;
	to = entries >> 32;
	unrolled
	for (int i = 0; i < PREFILTER_SEARCH_STEPS; i++) {
		const __u32 middle = from + ((to - from) >> 1);
		const struct prefilter_slot *slot;

		if (from >= to)
			return 0;
		slot = slot_of(table, middle);
		if (!slot)
			return 1;
		if (is_before(high, low, slot->words[0], slot->words[1]))
			to = middle;
		else if (is_before(slot->words[2], slot->words[3], high, low))
			from = middle + 1;
		else
			return 1;
	}
	return 0;
}

/* Most buckets have one entry, which needs no search. */
static __always_inline bool ipv6_table_has(__u32 bucket, __u64 high, __u64 low)
{
	void *table = table_of(PREFILTER_TABLE_IPV6);
	const struct prefilter_slot *first;
	__u64 entries;

	if (!bucket_find(table, bucket, &entries))
		return true;
	if (!entries)
		return false;
	first = slot_of(table, entries);
	if (!first)
		return true;
	if (is_before(high, low, first->words[0], first->words[1]))
		return false;
	if (!is_before(first->words[2], first->words[3], high, low))
		return true;
	return (__u32)(entries >> 32) - (__u32)entries > 1 && bucket_has(bucket, high, low);
}

static __always_inline bool ipv6_is_denied(const struct ipv6hdr *ip)
{
	const __u64 *halves = (const __u64 *)&ip->saddr;
	const __u64 high = bpf_be64_to_cpu(halves[0]);
	const __u64 low = bpf_be64_to_cpu(halves[1]);
	const __u32 wide = high >> (64 - PREFILTER_CELL_BITS);
	const __u32 state = cell_state(&prefilter6_wide_cells, wide);
	const __u64 hash = (high >> (64 - PREFILTER_NARROW_PREFIX)) * PREFILTER_HASH;

	if (state == PREFILTER_CELL_WHOLE)
		return true;
	if (state != PREFILTER_CELL_NONE &&
	    ipv6_table_has(wide * PREFILTER_HASH >> (64 - PREFILTER_BUCKET_BITS), high, low))
		return true;
	if (likely(!narrow_cell_is_set(hash >> (64 - PREFILTER_CELL_BITS))))
		return false;
	return ipv6_table_has(PREFILTER6_NARROW_BUCKETS | hash >> (64 - PREFILTER_BUCKET_BITS), high, low);
}

static __always_inline int prefilter_verdict(const struct xdp_md *context, bool denied)
{
	if (likely(!denied))
		return XDP_PASS;
	metrics_count(METRICS_NETWORK, DROP_PREFILTER, context->data_end - context->data);
	return XDP_DROP;
}

/* Returns the XDP action for the source of a packet. */
static __always_inline int prefilter_judge(struct xdp_md *context)
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

		if (likely(ethertype == bpf_htons(ETH_P_IP) || ethertype == bpf_htons(ETH_P_IPV6)) ||
		    likely(!vlan_is_tag(ethertype)))
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

#endif
