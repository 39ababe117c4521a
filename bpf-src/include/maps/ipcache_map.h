/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Maps an address prefix to its security identity and its local endpoint. */
#ifndef AGENT_MAPS_IPCACHE_MAP_H
#define AGENT_MAPS_IPCACHE_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define IPCACHE_MAX_ENTRIES 512000

enum ipcache_flag {
	IPCACHE_FLAG_HOST = 1, /* an address of this node: packets pass to the stack */
};

/* prefix_length counts address bits; the address is in network byte order. */
struct ipcache4_key {
	__u32 prefix_length;
	__u8 address[4];
};
_Static_assert(sizeof(struct ipcache4_key) == 8, "ipcache4_key");

struct ipcache6_key {
	__u32 prefix_length;
	__u8 address[16];
};
_Static_assert(sizeof(struct ipcache6_key) == 20, "ipcache6_key");

struct ipcache_entry {
	__u32 identity;
	__u16 endpoint_id; /* 0: not an endpoint of this node */
	__u16 flags;       /* enum ipcache_flag */
};
_Static_assert(sizeof(struct ipcache_entry) == 8, "ipcache_entry");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__type(key, struct ipcache4_key);
	__type(value, struct ipcache_entry);
	__uint(max_entries, IPCACHE_MAX_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} ipcache4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__type(key, struct ipcache6_key);
	__type(value, struct ipcache_entry);
	__uint(max_entries, IPCACHE_MAX_ENTRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} ipcache6 SEC(".maps");

#endif
