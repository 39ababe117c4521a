/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Later fragments that have come before their first one, and wait for it (lib/early_fragment.h). */
#ifndef AGENT_MAPS_EARLY_FRAGMENT_MAP_H
#define AGENT_MAPS_EARLY_FRAGMENT_MAP_H

#include "maps/fragment_map.h"

#define EARLY_FRAGMENTS 1024        /* a power of two */
#define EARLY_FRAGMENTS_OF_OWNER 64 /* a power of two; a datagram of 65,535 bytes has 44 later ones of 1,500 */
#define EARLY_FRAGMENT_BYTES 2048   /* of the frame; a longer one does not wait */
#define EARLY_FRAGMENT_OWNERS 1024

enum early_fragment_state {
	EARLY_FREE = 0,
	EARLY_BUSY = 1, /* one program writes it, or reads it */
	EARLY_WAITS = 2,
};

/* A program that has changed the state to EARLY_BUSY owns the other fields until it changes it again. */
struct early_fragment {
	__u32 state; /* enum early_fragment_state */
	__u32 owner; /* early_owner_of() */
	__u64 since_ns;
	struct fragment6_key datagram; /* as that of fragment_numbers */
	__u32 received_by;             /* interface by which the packet reached this node, or 0 */
	__u16 length;
	__u8 direction; /* enum metrics_direction */
	__u8 copied;    /* the packet itself has passed */
	__u8 place;     /* in the ring of its owner */
	__u8 reserved[7];
	__u8 frame[EARLY_FRAGMENT_BYTES];
};
_Static_assert(sizeof(struct early_fragment) == 72 + EARLY_FRAGMENT_BYTES, "early_fragment");

/* The last fragments that have waited at a program of an interface: a ring of their indexes + 1; 0: none yet. */
struct early_owner {
	__u64 last_ns;
	__u32 next;
	__u32 reserved;
	__u16 number[EARLY_FRAGMENTS_OF_OWNER];
};
_Static_assert(sizeof(struct early_owner) == 16 + 2 * EARLY_FRAGMENTS_OF_OWNER, "early_owner");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct early_fragment);
	__uint(max_entries, EARLY_FRAGMENTS);
} early_fragments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u32);
	__type(value, struct early_owner);
	__uint(max_entries, EARLY_FRAGMENT_OWNERS);
} early_owners SEC(".maps");

#endif
