/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds the service of an address and one of its backends, for sockets and for packets. */
#ifndef AGENT_LIB_SERVICE_H
#define AGENT_LIB_SERVICE_H

#include "lib/clock.h"
#include "lib/compiler.h"
#include "lib/ipcache.h"
#include "maps/service_map.h"

/* An address and port in the words in which the programs have them; an IPv4 address is an IPv4-mapped one. */
struct end {
	__u32 address[4];
	__u32 port_be;
};

/* Clients of service_affinities beside network namespaces, whose cookies are counted from 1. */
#define SERVICE_CLIENT_ENDPOINT (1ULL << 63)
#define SERVICE_CLIENT_OUTSIDE (1ULL << 62)

#define END_MAPPED bpf_htonl(0xffff) /* the third word of an IPv4-mapped address, after two zeros */

/* Returns whether a service takes packets from outside. */
static __always_inline bool service_gate_is_open(void)
{
	const __u32 gate = 0;
	const __u32 *state = bpf_map_lookup_elem(&service_gate, &gate);

	return state && READ_ONCE(*state) == SERVICE_GATE_OPEN;
}

/* Returns the client that an address outside is. halves: as union address has them. */
static __always_inline __u64 outside_client(const __u64 *halves)
{
	const __u64 hash = halves[0] * 0x9e3779b97f4a7c15 ^ halves[1];

	return SERVICE_CLIENT_OUTSIDE | (hash * 0xff51afd7ed558ccd) >> 2;
}

/* Returns an even number, which is the same for all packets of a tuple (the finalizer of MurmurHash3). */
static __always_inline __u64 tuple_hash(const __u64 *source, const __u64 *destination, __be16 source_port_be,
					__be16 destination_port_be, __u8 protocol)
{
	__u64 hash = source[0] * 0x9e3779b97f4a7c15 ^ source[1];

	hash = hash * 0x9e3779b97f4a7c15 ^ destination[0];
	hash = hash * 0x9e3779b97f4a7c15 ^ destination[1];
	hash = hash * 0x9e3779b97f4a7c15 ^ ((__u64)source_port_be << 32 | (__u32)destination_port_be << 8 | protocol);
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
	return hash ^ hash >> 33;
}

/* Copies an address by words, to which both places are aligned where they are on the stack; elsewhere any may be. */
static __always_inline void copy_address(void *to, const void *from)
{
	__builtin_memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4), 16);
}

static __always_inline bool end_is_mapped(const struct end *end)
{
	return !end->address[0] && !end->address[1] && end->address[2] == END_MAPPED;
}

/* Returns whether this node has the address. */
static __always_inline bool end_is_nodes(const struct end *end)
{
	const bool ipv4 = end_is_mapped(end);
	const struct ipcache_entry *entry;
	union address address = {};

	if (ipv4)
		address.v4 = end->address[3];
	else
		copy_address(&address, end->address);
	entry = ipcache_find(&address, ipv4 ? FAMILY_IPV4 : FAMILY_IPV6);
	return entry && entry->flags & IPCACHE_FLAG_HOST;
}

/* Returns the service of a frontend: one of this very address, or one of all addresses of this node. */
static __always_inline const struct service_entry *service_of(const struct end *end, __u8 protocol, __u8 scope)
{
	struct service_key key = { .port_be = end->port_be, .protocol = protocol, .scope = scope };
	const struct service_entry *service;

	copy_address(key.address, end->address);
	service = bpf_map_lookup_elem(&services, &key);
	if (service)
		return service;
	__builtin_memset(&key.address[12], 0, 4);
	if (!end_is_mapped(end))
		__builtin_memset(key.address, 0, 12);
	service = bpf_map_lookup_elem(&services, &key);
	return unlikely(service) && end_is_nodes(end) ? service : NULL;
}

/* Returns 0 where the service has no such backend, else enum backend_state. */
static __always_inline __u32 service_backend_state(__u32 service_id, const void *address, __be16 port_be)
{
	struct service_backend_key key = { .service_id = service_id, .port_be = port_be };
	const __u32 *state;

	copy_address(key.address, address);
	state = bpf_map_lookup_elem(&service_backends, &key);
	return state ? *state : 0;
}

/* Draws a backend from the slots by two even 32-bit numbers; returns whether there is one. */
static __always_inline bool service_draw(const struct service_entry *service, __u32 number, __u32 other_number,
					 struct end *backend)
{
	/* The product of an even number and the number of slots, shifted: even over the slots. */
	const struct service_slot_key key = {
		.service_id = service->service_id,
		.slot = (__u64)number * service->slots >> 32,
	};
	const struct service_slot *slot = bpf_map_lookup_elem(&service_slots, &key);

	if (!slot)
		return false;
	if (other_number > slot->threshold) {
		copy_address(backend->address, slot->other_address);
		backend->port_be = slot->other_port_be;
	} else {
		copy_address(backend->address, slot->address);
		backend->port_be = slot->port_be;
	}
	return true;
}

/* Looks up the backend of a number from the service's table; returns whether the service has one. */
static __always_inline bool service_find(const struct service_entry *service, __u32 number, struct end *backend)
{
	struct service_table_key key = { .service_id = service->service_id };
	const struct service_table *table = bpf_map_lookup_elem(&service_tables, &key.service_id);
	const struct service_cells *cells;
	const struct service_end *end;
	__u32 cell;

	if (!table)
		return false;
	cell = (__u64)number * table->cells >> 32;
	key.version = table->version;
	key.index = cell / SERVICE_CELLS;
	cells = bpf_map_lookup_elem(&service_cells, &key);
	if (!cells)
		return false; /* the table has just been replaced */
	key.index = cells->backends[cell % SERVICE_CELLS];
	end = bpf_map_lookup_elem(&service_ends, &key);
	if (!end)
		return false;
	copy_address(backend->address, end->address);
	backend->port_be = end->port_be;
	return true;
}

/* The numbers are the same for all packets of a tuple, or random where there is no tuple yet. */
static __always_inline bool service_choose(const struct service_entry *service, bool by_tuple, __u32 number,
					   __u32 other_number, struct end *backend)
{
	return (by_tuple && service_find(service, number, backend)) ||
	       service_draw(service, number, other_number, backend);
}

/* Chooses a backend, or takes the one that the client had lately. */
static __always_inline bool service_choose_for(const struct service_entry *service, bool by_tuple, __u64 client,
					       __u32 number, __u32 other_number, struct end *backend)
{
	struct service_affinity_key key = { .client = client, .service_id = service->service_id };
	struct service_affinity *last, now = {};

	if (!service->affinity_s)
		return service_choose(service, by_tuple, number, other_number, backend);
	now.used_ns = now_ns();
	last = bpf_map_lookup_elem(&service_affinities, &key);
	if (last && (__s64)(now.used_ns - last->used_ns) <= (__s64)(service->affinity_s * NS_PER_SECOND) &&
	    service_backend_state(service->service_id, last->address, last->port_be) == BACKEND_ACTIVE) {
		copy_address(backend->address, last->address);
		backend->port_be = last->port_be;
		last->used_ns = now.used_ns;
		return true;
	}
	if (!service_choose(service, by_tuple, number, other_number, backend))
		return false;
	copy_address(now.address, backend->address);
	now.port_be = backend->port_be;
	bpf_map_update_elem(&service_affinities, &key, &now, BPF_ANY);
	return true;
}

/* Selects a backend for a client by two numbers that are the same for all packets of a tuple. */
static __always_inline bool service_select(const struct service_entry *service, __u64 client, __u32 number,
					   __u32 other_number, struct end *backend)
{
	return service_choose_for(service, true, client, number, other_number, backend);
}

/* Selects a backend for a client by chance: weights alone count. */
static __always_inline bool service_select_any(const struct service_entry *service, __u64 client, struct end *backend)
{
	return service_choose_for(service, false, client, bpf_get_prandom_u32(), bpf_get_prandom_u32(), backend);
}

#endif
