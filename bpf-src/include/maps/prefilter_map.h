/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Source prefixes that XDP drops, and bitmaps that answer for most addresses without a trie walk. */
#ifndef AGENT_MAPS_PREFILTER_MAP_H
#define AGENT_MAPS_PREFILTER_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define PREFILTER_MAX_ENTRIES 1000000

struct prefilter4_key {
	__u32 prefix_length;
	__u8 address[4];
};
_Static_assert(sizeof(struct prefilter4_key) == 8, "prefilter4_key");

struct prefilter6_key {
	__u32 prefix_length;
	__u8 address[16];
};
_Static_assert(sizeof(struct prefilter6_key) == 20, "prefilter6_key");

struct prefilter_entry {
	__u8 deny;
};
_Static_assert(sizeof(struct prefilter_entry) == 1, "prefilter_entry");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__type(key, struct prefilter4_key);
	__type(value, struct prefilter_entry);
	__uint(max_entries, PREFILTER_MAX_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} prefilter4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__type(key, struct prefilter6_key);
	__type(value, struct prefilter_entry);
	__uint(max_entries, PREFILTER_MAX_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} prefilter6 SEC(".maps");

/*
 * Two bits a cell, 32 cells a word, cell = the top 24 bits of the address as a host-order number;
 * word = cell >> 5, shift = (cell & 31) * 2.
 */
enum prefilter_cell {
	PREFILTER_CELL_NONE = 0,  /* no prefix touches this /24: pass */
	PREFILTER_CELL_PART = 1,  /* longer prefixes lie in it: ask the trie */
	PREFILTER_CELL_WHOLE = 3, /* a prefix of 24 bits or fewer covers it: drop */
};

#define PREFILTER_CELL_BITS 24
#define PREFILTER_CELL_WORDS (1 << (PREFILTER_CELL_BITS - 5))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, PREFILTER_CELL_WORDS);
	__uint(map_flags, BPF_F_MMAPABLE);
} prefilter4_cells SEC(".maps");

/* IPv6 prefixes of up to 47 bits, by the top 24 bits of the address; the same two-bit cells. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, PREFILTER_CELL_WORDS);
	__uint(map_flags, BPF_F_MMAPABLE);
} prefilter6_wide_cells SEC(".maps");

/*
 * IPv6 prefixes of 48 bits or more: one bit a cell, 64 cells a word, cell = the top 24 bits of
 * (the top 48 address bits as a host-order number, multiplied by PREFILTER_HASH48 modulo 2^64).
 * A set bit means: ask the trie.
 */
#define PREFILTER_HASH48 0x9E3779B97F4A7C15ULL
#define PREFILTER_NARROW_WORDS (1 << (PREFILTER_CELL_BITS - 6))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, PREFILTER_NARROW_WORDS);
	__uint(map_flags, BPF_F_MMAPABLE);
} prefilter6_narrow_cells SEC(".maps");

#endif
