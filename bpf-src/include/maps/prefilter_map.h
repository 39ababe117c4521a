/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The source prefixes that XDP drops, and bitmaps that avoid the trie lookup for most addresses. */
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

enum prefilter_geometry {
	PREFILTER_CELL_BITS = 24,        /* number of leading address bits that are the index of a cell */
	PREFILTER_STATE_BITS = 2,        /* enum prefilter_cell */
	PREFILTER_WORD_SHIFT = 5,        /* 32 cells of two bits per word */
	PREFILTER_NARROW_WORD_SHIFT = 6, /* 64 cells of one bit per word */
	PREFILTER_NARROW_PREFIX = 48,    /* IPv6 prefixes of at least this length have a narrow cell */
	/* The multiplier 0x9E3779B97F4A7C15 of the narrow cells' hash in two halves: clang 14 has no 64-bit enums. */
	PREFILTER_HASH_HIGH = (int)0x9E3779B9,
	PREFILTER_HASH_LOW = 0x7F4A7C15,
};

/*
 * cell = the top PREFILTER_CELL_BITS of the address as a host-order number; word = cell >> PREFILTER_WORD_SHIFT,
 * shift = the index of the cell in its word * PREFILTER_STATE_BITS.
 */
enum prefilter_cell {
	PREFILTER_CELL_NONE = 0,  /* no prefix overlaps this cell: pass */
	PREFILTER_CELL_PART = 1,  /* the cell contains longer prefixes: look up the trie */
	PREFILTER_CELL_WHOLE = 3, /* a prefix of 24 bits or fewer covers it: drop */
};

#define PREFILTER_CELL_WORDS (1 << (PREFILTER_CELL_BITS - PREFILTER_WORD_SHIFT))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, PREFILTER_CELL_WORDS);
	__uint(map_flags, BPF_F_MMAPABLE);
} prefilter4_cells SEC(".maps");

/* Two-bit cells of IPv6 prefixes shorter than PREFILTER_NARROW_PREFIX, indexed by the leading bits of the address. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, PREFILTER_CELL_WORDS);
	__uint(map_flags, BPF_F_MMAPABLE);
} prefilter6_wide_cells SEC(".maps");

/*
 * One-bit cells of IPv6 prefixes of at least PREFILTER_NARROW_PREFIX bits. cell = the top PREFILTER_CELL_BITS of (the
 * top PREFILTER_NARROW_PREFIX address bits as a host-order number, multiplied by PREFILTER_HASH modulo 2^64). Where the
 * bit is set, the program looks up the trie.
 */
#define PREFILTER_HASH ((__u64)PREFILTER_HASH_HIGH << 32 | PREFILTER_HASH_LOW)
#define PREFILTER_NARROW_WORDS (1 << (PREFILTER_CELL_BITS - PREFILTER_NARROW_WORD_SHIFT))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, PREFILTER_NARROW_WORDS);
	__uint(map_flags, BPF_F_MMAPABLE);
} prefilter6_narrow_cells SEC(".maps");

#endif
