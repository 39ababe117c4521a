// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Twins of the benchmarks: the least that a program can do for the packet of a scenario. The flow twins parse Ethernet,
 * IP and TCP, order the tuple, look it up in an LRU table, compare two generations, refresh the expiry from the coarse
 * clock and count. The twin of new flows only writes an entry of the agent's key and value size. The prefilter's twins test one bit of a mapped array, or look the source
 * up in an LPM trie of the same list.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define GENERATIONS 65536
#define LIFETIME_NS 21600000000000ULL
#define REFRESH_NS 1000000000ULL
#define BIT_WORDS (1 << 18)
#define PREFIXES 1000000

struct floor4_key {
	__be32 addresses[2];
	__be16 ports[2];
	__u8 protocol;
	__u8 reserved[7];
};
_Static_assert(sizeof(struct floor4_key) == 20, "floor4_key");

struct floor6_key {
	__u64 addresses[4];
	__be16 ports[2];
	__u8 protocol;
	__u8 reserved[3];
};
_Static_assert(sizeof(struct floor6_key) == 40, "floor6_key");

struct floor_entry {
	__u64 expires_ns;
	__u32 generations[2];
	__u64 reserved[6];
};
_Static_assert(sizeof(struct floor_entry) == 64, "floor_entry");

/* As large as the key and the value of conntrack4_tcp, which the benchmark compares. */
struct floor_insert_key {
	__u64 words[2];
};

struct floor_insert_entry {
	__u64 words[14];
};
_Static_assert(sizeof(struct floor_insert_key) == 16, "floor_insert_key");
_Static_assert(sizeof(struct floor_insert_entry) == 112, "floor_insert_entry");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct floor_insert_key);
	__type(value, struct floor_insert_entry);
	__uint(max_entries, 65536);
} floor_inserts4 SEC(".maps");

struct floor_count {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct floor4_key);
	__type(value, struct floor_entry);
	__uint(max_entries, 65536);
} floor_flows4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct floor6_key);
	__type(value, struct floor_entry);
	__uint(max_entries, 65536);
} floor_flows6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, GENERATIONS);
} floor_generations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct floor_count);
	__uint(max_entries, 1);
} floor_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, BIT_WORDS);
	__uint(map_flags, BPF_F_MMAPABLE);
} floor_bits SEC(".maps");

struct floor_prefix4 {
	__u32 length;
	__u8 address[4];
};

struct floor_prefix6 {
	__u32 length;
	__u8 address[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__type(key, struct floor_prefix4);
	__type(value, __u8);
	__uint(max_entries, PREFIXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} floor_trie4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__type(key, struct floor_prefix6);
	__type(value, __u8);
	__uint(max_entries, PREFIXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} floor_trie6 SEC(".maps");

static __always_inline __u32 generation(__u32 index)
{
	const __u32 *found = bpf_map_lookup_elem(&floor_generations, &index);

	return found ? *(const volatile __u32 *)found : 0;
}

static __always_inline void flow(void *table, const void *key, __u32 bytes)
{
	const __u64 expires = bpf_ktime_get_coarse_ns() + LIFETIME_NS;
	struct floor_entry *entry = bpf_map_lookup_elem(table, key);
	const __u32 zero = 0;
	struct floor_count *count;

	if (!entry || entry->generations[0] != generation(1) || entry->generations[1] != generation(2)) {
		const struct floor_entry fresh = { .expires_ns = expires };

		bpf_map_update_elem(table, key, &fresh, BPF_ANY);
	} else if (expires - entry->expires_ns > REFRESH_NS) {
		entry->expires_ns = expires;
	}
	count = bpf_map_lookup_elem(&floor_counts, &zero);
	if (count) {
		count->packets++;
		count->bytes += bytes;
	}
}

static __always_inline bool flow4(struct __sk_buff *skb)
{
	struct ethhdr *eth = (void *)(long)skb->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);
	struct floor4_key key = {};
	bool swaps;

	if ((void *)(tcp + 1) > (void *)(long)skb->data_end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->ihl != 5)
		return false;
	swaps = ip->daddr < ip->saddr;
	key.addresses[0] = swaps ? ip->daddr : ip->saddr;
	key.addresses[1] = swaps ? ip->saddr : ip->daddr;
	key.ports[0] = swaps ? tcp->dest : tcp->source;
	key.ports[1] = swaps ? tcp->source : tcp->dest;
	key.protocol = ip->protocol;
	flow(&floor_flows4, &key, skb->len);
	return true;
}

static __always_inline bool flow6(struct __sk_buff *skb)
{
	struct ethhdr *eth = (void *)(long)skb->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);
	const __u64 *source = (const __u64 *)&ip->saddr;
	const __u64 *destination = (const __u64 *)&ip->daddr;
	struct floor6_key key = {};
	bool swaps;

	if ((void *)(tcp + 1) > (void *)(long)skb->data_end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return false;
	swaps = destination[0] < source[0] || (destination[0] == source[0] && destination[1] < source[1]);
	key.addresses[0] = swaps ? destination[0] : source[0];
	key.addresses[1] = swaps ? destination[1] : source[1];
	key.addresses[2] = swaps ? source[0] : destination[0];
	key.addresses[3] = swaps ? source[1] : destination[1];
	key.ports[0] = swaps ? tcp->dest : tcp->source;
	key.ports[1] = swaps ? tcp->source : tcp->dest;
	key.protocol = ip->nexthdr;
	flow(&floor_flows6, &key, skb->len);
	return true;
}

static __always_inline int deliver(struct __sk_buff *skb)
{
	__u8 *data = (void *)(long)skb->data;

	if (data + 12 > (__u8 *)(long)skb->data_end)
		return TC_ACT_SHOT;
	__builtin_memset(data, 2, 12);
	return bpf_redirect_peer(1, 0);
}

SEC("tc")
int floor_pass4(struct __sk_buff *skb)
{
	return flow4(skb) ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

SEC("tc")
int floor_pass6(struct __sk_buff *skb)
{
	return flow6(skb) ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

SEC("tc")
int floor_deliver4(struct __sk_buff *skb)
{
	return flow4(skb) ? deliver(skb) : TC_ACT_SHOT;
}

SEC("tc")
int floor_deliver6(struct __sk_buff *skb)
{
	return flow6(skb) ? deliver(skb) : TC_ACT_SHOT;
}

/* One update of a table that is full: the price that the kernel asks for any new flow. */
SEC("tc")
int floor_insert4(struct __sk_buff *skb)
{
	struct ethhdr *eth = (void *)(long)skb->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);
	const struct floor_insert_entry entry = {};
	struct floor_insert_key key;

	if ((void *)(tcp + 1) > (void *)(long)skb->data_end || eth->h_proto != bpf_htons(ETH_P_IP))
		return TC_ACT_SHOT;
	key.words[0] = (__u64)ip->saddr << 32 | ip->daddr;
	key.words[1] = (__u64)tcp->source << 32 | tcp->dest;
	return bpf_map_update_elem(&floor_inserts4, &key, &entry, BPF_ANY) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

static __always_inline int bit_verdict(__u32 cell)
{
	const __u32 index = cell >> 6;
	const __u64 *word = bpf_map_lookup_elem(&floor_bits, &index);

	return word && *word >> (cell & 63) & 1 ? XDP_DROP : XDP_PASS;
}

SEC("xdp.frags")
int floor_bit4(struct xdp_md *context)
{
	struct ethhdr *eth = (void *)(long)context->data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > (void *)(long)context->data_end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_ABORTED;
	return bit_verdict(bpf_ntohl(ip->saddr) >> 8);
}

SEC("xdp.frags")
int floor_bit6(struct xdp_md *context)
{
	struct ethhdr *eth = (void *)(long)context->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	const __u64 *source = (const __u64 *)&ip->saddr;

	if ((void *)(ip + 1) > (void *)(long)context->data_end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return XDP_ABORTED;
	return bit_verdict((bpf_be64_to_cpu(source[0]) >> 16) * 0x9E3779B97F4A7C15ULL >> 40);
}

SEC("xdp.frags")
int floor_trie_verdict4(struct xdp_md *context)
{
	struct ethhdr *eth = (void *)(long)context->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct floor_prefix4 key = { .length = 32 };

	if ((void *)(ip + 1) > (void *)(long)context->data_end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_ABORTED;
	__builtin_memcpy(key.address, &ip->saddr, sizeof(key.address));
	return bpf_map_lookup_elem(&floor_trie4, &key) ? XDP_DROP : XDP_PASS;
}

SEC("xdp.frags")
int floor_trie_verdict6(struct xdp_md *context)
{
	struct ethhdr *eth = (void *)(long)context->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct floor_prefix6 key = { .length = 128 };

	if ((void *)(ip + 1) > (void *)(long)context->data_end || eth->h_proto != bpf_htons(ETH_P_IPV6))
		return XDP_ABORTED;
	__builtin_memcpy(key.address, &ip->saddr, sizeof(key.address));
	return bpf_map_lookup_elem(&floor_trie6, &key) ? XDP_DROP : XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
