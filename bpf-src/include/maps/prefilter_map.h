/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The source prefixes that XDP drops: bitmaps over the leading address bits, which decide for most addresses, and an
 * exact table for each address family under the cells that they leave open.
 *
 * An update never lets a source pass that is on the list before and after it:
 * - A table is never changed while programs read it. The agent fills a new one and then replaces it in its slot of
 *   prefilter_tables, which is one store: a program finds all of the old table or all of the new one.
 * - A table holds every prefix that is longer than a cell, also where a shorter prefix makes the cell WHOLE. So either
 *   table answers for a prefix that is in both lists, whatever state its cell has.
 * - The tables are replaced first and the cells follow, a word of 32 cells at a time. A prefix that is in both lists is
 *   WHOLE in both states of its cell, or PART or WHOLE in both; the word is never in between.
 * A prefix that is added is dropped from the moment when its cell is written, at the latest. One that is removed may be
 * dropped until then. Where a slot is empty, which only another program can cause, the sources under PART cells are
 * dropped until the agent has repaired it.
 */
#ifndef AGENT_MAPS_PREFILTER_MAP_H
#define AGENT_MAPS_PREFILTER_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum prefilter_layout {
	PREFILTER_CELL_BITS = 24,        /* number of leading address bits that are the index of a cell */
	PREFILTER_STATE_BITS = 2,        /* enum prefilter_cell */
	PREFILTER_WORD_SHIFT = 5,        /* 32 cells of two bits per word */
	PREFILTER_NARROW_WORD_SHIFT = 6, /* 64 cells of one bit per word */
	PREFILTER_NARROW_PREFIX = 48,    /* IPv6 prefixes of at least this length have a narrow cell */
	/* The multiplier 0x9E3779B97F4A7C15 of the narrow cells' hash in two halves: clang 14 has no 64-bit enums. */
	PREFILTER_HASH_HIGH = (int)0x9E3779B9,
	PREFILTER_HASH_LOW = 0x7F4A7C15,
	PREFILTER_MAX_PREFIXES = 1000000, /* prefixes of one address family */
	PREFILTER_SLOT_SHIFT = 2,         /* four words in a slot of a table */
	PREFILTER_BLOCK_BITS = 13,        /* address bits within a block of the IPv4 table */
	PREFILTER_BUCKET_BITS = 17,       /* each class of IPv6 prefixes is spread over as many buckets */
	PREFILTER_SEARCH_STEPS = 20,      /* halvings that find one of PREFILTER_MAX_PREFIXES entries of a bucket */
};

/*
 * cell = the top PREFILTER_CELL_BITS of the address as a host-order number; word = cell >> PREFILTER_WORD_SHIFT,
 * shift = the index of the cell in its word * PREFILTER_STATE_BITS.
 */
enum prefilter_cell {
	PREFILTER_CELL_NONE = 0,  /* no prefix overlaps this cell: pass */
	PREFILTER_CELL_PART = 1,  /* the cell contains longer prefixes: look up the table */
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
 * bit is set, the program looks up the table.
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

/* Indexes of prefilter_tables. */
enum prefilter_table {
	PREFILTER_TABLE_LIST = 0, /* the prefixes as they were given, for people and for the next run of the agent */
	PREFILTER_TABLE_IPV4 = 1,
	PREFILTER_TABLE_IPV6 = 2,
};

/*
 * A slot of a table, in host byte order.
 *
 * LIST: high and low half of the address, prefix length, 4 or 6; sorted, from slot 0.
 *
 * IPV4: the slots before the leaves hold a block in each word: 32 cells, by their number. A block with one or two
 * prefixes longer than a cell holds them itself, as most blocks of a list that is spread over the addresses do: it has
 * PREFILTER_BLOCK_OF_TWO, and twice, from the lowest bit, the last PREFILTER_BLOCK_BITS bits of a prefix and of its mask.
 * Of any other block, bit n of the lower half is set where cell n contains prefixes longer than a cell; the upper half is
 * the slot of the first of its leaves, which lie in the order of the bits. A leaf has one bit for each address of its
 * cell.
 *
 * IPV6: the slots before the entries hold a bucket in each word: the slot of its first entry in the lower half,
 * the slot after its last entry in the upper half. The first half of the buckets is for prefixes shorter than
 * PREFILTER_NARROW_PREFIX, by the hash of the wide cell's number; the second half for the others, by the hash of the
 * leading PREFILTER_NARROW_PREFIX bits. An entry is the first and the last address of a prefix, each as two halves.
 * The entries of a bucket are sorted and do not overlap.
 */
struct prefilter_slot {
	__u64 words[1 << PREFILTER_SLOT_SHIFT];
};
_Static_assert(sizeof(struct prefilter_slot) == 32, "prefilter_slot");

#define PREFILTER_BLOCK_SHIFT 5
#define PREFILTER_BLOCK_OF_TWO (1ULL << 63)
#define PREFILTER6_NARROW_BUCKETS (1 << PREFILTER_BUCKET_BITS)

/* The agent creates each table with as many slots as its prefixes need. */
struct prefilter_slots {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct prefilter_slot));
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, 3);
	__array(values, struct prefilter_slots);
} prefilter_tables SEC(".maps");

#endif
