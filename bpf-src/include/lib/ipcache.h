/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Looks up what an address is. */
#ifndef AGENT_LIB_IPCACHE_H
#define AGENT_LIB_IPCACHE_H

#include "lib/packet.h"
#include "maps/ipcache_map.h"

/*
 * Keys are stored in the word size with which the kernel loads them, since a load that spans two stores cannot be
 * forwarded from the store buffer. Padding before the prefix length aligns the address.
 */
struct ipcache6_lookup {
	__u32 padding;
	__u32 prefix_length;
	__u64 address[2];
};

static __always_inline const struct ipcache_entry *ipcache_find(const union address *address, __u8 family)
{
	if (family == FAMILY_IPV4) {
		struct ipcache4_key key = { .prefix_length = 32 };

		*(__be32 *)key.address = address->v4;
		return bpf_map_lookup_elem(&ipcache4, &key);
	}

	const struct ipcache6_lookup lookup = {
		.prefix_length = 128,
		.address = { address->halves[0], address->halves[1] },
	};

	return bpf_map_lookup_elem(&ipcache6, &lookup.prefix_length);
}

#endif
