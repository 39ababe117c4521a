// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Deletes conntrack entries in the kernel, without copying entries to user space: expired ones, and those of masqueraded
 * flows whose other entry is gone. Where the agent asks, finds the addresses to which flows of endpoints are open.
 */
#include "config/conntrack_sweep.h"
#include "lib/conntrack.h"
#include "lib/early_state.h"
#include "lib/masquerade_entry.h"
#include "maps/watched_address_map.h"

char _license[] SEC("license") = "Dual BSD/GPL";

#define ERRNO_INVALID -22

struct bpf_map; /* opaque kernel type */

/* Counts an entry for the endpoint to which its flow belongs (maps/flow_usage_map.h), if it is one's. */
static __always_inline void count_entry(const struct conntrack_entry *entry, __u32 table)
{
	const __u32 both_outside = CONNTRACK_OUTSIDE_LOW | CONNTRACK_OUTSIDE_HIGH;
	const __u32 flags = READ_ONCE(entry->flags);
	const bool high = flags & CONNTRACK_INITIATOR_HIGH;
	const bool outside = flags & (high ? CONNTRACK_OUTSIDE_HIGH : CONNTRACK_OUTSIDE_LOW);
	const __u32 endpoint_id = high != outside ? entry->party[CONNTRACK_HIGH] : entry->party[CONNTRACK_LOW];
	struct flow_usage *usage = bpf_map_lookup_elem(&flow_usage, &endpoint_id);

	if (usage && table < FLOW_USAGE_TABLES && (flags & both_outside) != both_outside)
		usage->counted[table]++;
}

/* Returns whether the address that an entry writes is that of the low side of its key. */
static __always_inline bool rewrites_low(const struct conntrack_entry *entry)
{
	return !(entry->rewrite & CONNTRACK_REWRITE_FROM_HIGH) == !(entry->rewrite & CONNTRACK_REWRITE_DESTINATION);
}

/*
 * Returns whether the entry of a masqueraded flow is left without that of the other leg. The two are opened one after
 * the other, so that a new one is not asked.
 */
static __always_inline bool masquerade_is_old(const struct conntrack_entry *entry, const struct conntrack_sweep *sweep)
{
	return entry_is_masqueraded(entry) && (__u32)(sweep->now_ns >> CONNTRACK_TIME_SHIFT) - entry->opened_at >= 2;
}

static __always_inline bool legs_agree(const struct conntrack_entry *other, const union address *address,
				       __be16 port_be)
{
	const __u64 *rewritten = (const __u64 *)other->end.address;

	return entry_is_masqueraded(other) && other->end.port_be == port_be && rewritten[0] == address->halves[0] &&
	       rewritten[1] == address->halves[1];
}

__global int is_orphan4(const struct conntrack4_key *key, const struct conntrack_entry *entry)
{
	if (!key || !entry)
		return false;

	const bool low = rewrites_low(entry);
	const union address own = { .words = { low ? key->low_address : key->high_address } };
	const __be16 port_be = low ? key->low_port_be : key->high_port_be;
	const struct conntrack_entry *other;
	struct conntrack4_key found __attribute__((aligned(8)));

	conntrack4_key_of(&found, *(const __be32 *)entry->end.address, low ? key->high_address : key->low_address,
			  entry->end.port_be, low ? key->high_port_be : key->low_port_be, key->protocol);
	other = conntrack4_lookup(&found, key->protocol);
	return !other || !legs_agree(other, &own, port_be);
}

__global int is_orphan6(const struct conntrack6_key *key, const struct conntrack_entry *entry)
{
	if (!key || !entry)
		return false;

	const bool low = rewrites_low(entry);
	const __be16 port_be = low ? key->low_port_be : key->high_port_be;
	const struct conntrack_entry *other;
	struct conntrack6_key found __attribute__((aligned(8)));
	union address own, outside, rewritten;

	__builtin_memcpy(&own, low ? key->low_address : key->high_address, sizeof(own));
	__builtin_memcpy(&outside, low ? key->high_address : key->low_address, sizeof(outside));
	__builtin_memcpy(&rewritten, entry->end.address, sizeof(rewritten));
	conntrack6_key_of(&found, &rewritten, &outside, entry->end.port_be, low ? key->high_port_be : key->low_port_be,
			  key->protocol);
	other = conntrack6_lookup(&found, key->protocol);
	return !other || !legs_agree(other, &own, port_be);
}

/* Deletes the entry or leaves it; returns whether it leaves it. */
static __always_inline bool sweep_one(struct bpf_map *map, const void *key, const struct conntrack_entry *entry,
				      struct conntrack_sweep *sweep, bool is_orphan)
{
	sweep->visited++;
	if (READ_ONCE(entry->expires_ns) > sweep->now_ns && !is_orphan) {
		count_entry(entry, sweep->table);
		return true;
	}
	if (bpf_map_delete_elem(map, key) == 0)
		sweep->deleted++;
	return false;
}

/*
 * Returns whether an endpoint has a flow open to the address of this side. Of a flow through a proxy, that is the
 * server: the proxy's address is that of another entry.
 */
static __always_inline bool is_open_to(const struct conntrack_entry *entry, enum conntrack_side side)
{
	const __u32 flags = READ_ONCE(entry->flags);

	return !conntrack_is_over(flags) && conntrack_endpoint(entry, 1 - side) &&
	       (flags & CONNTRACK_DIRECTION_UNKNOWN || !conntrack_is_initiator(flags, side));
}

static __always_inline void count_flow_to(const union address *address)
{
	__u32 *flows = bpf_map_lookup_elem(&watched_addresses, address);

	if (flows)
		(*flows)++;
}

static __always_inline void watch4(const struct conntrack_entry *entry, enum conntrack_side side, __be32 address)
{
	const union address mapped = { .words = { 0, 0, bpf_htonl(0xffff), address } };

	if (is_open_to(entry, side))
		count_flow_to(&mapped);
}

static __always_inline void watch6(const struct conntrack_entry *entry, enum conntrack_side side, const __u8 *address)
{
	union address copy;

	if (is_open_to(entry, side)) {
		__builtin_memcpy(&copy, address, sizeof(copy));
		count_flow_to(&copy);
	}
}

static long sweep_entry4(struct bpf_map *map, const struct conntrack4_key *key, const struct conntrack_entry *entry,
			 struct conntrack_sweep *sweep)
{
	const struct conntrack4_key copy
		__attribute__((aligned(8))) = *key; /* a global function takes no pointer to a key of a map */

	if (!sweep_one(map, key, entry, sweep, unlikely(masquerade_is_old(entry, sweep)) && is_orphan4(&copy, entry))) {
		if (sweep->table == CONNTRACK_TABLE_OVERFLOW4)
			overflow_flow_forget((const __u64 *)&copy, CONNTRACK4_KEY_WORDS);
	} else if (unlikely(sweep->watches)) {
		watch4(entry, CONNTRACK_LOW, copy.low_address);
		watch4(entry, CONNTRACK_HIGH, copy.high_address);
	}
	return 0;
}

static long sweep_entry6(struct bpf_map *map, const struct conntrack6_key *key, const struct conntrack_entry *entry,
			 struct conntrack_sweep *sweep)
{
	const struct conntrack6_key copy
		__attribute__((aligned(8))) = *key; /* a global function takes no pointer to a key of a map */

	if (!sweep_one(map, key, entry, sweep, unlikely(masquerade_is_old(entry, sweep)) && is_orphan6(&copy, entry))) {
		if (sweep->table == CONNTRACK_TABLE_OVERFLOW6)
			overflow_flow_forget((const __u64 *)&copy, CONNTRACK6_KEY_WORDS);
	} else if (unlikely(sweep->watches)) {
		watch6(entry, CONNTRACK_LOW, copy.low_address);
		watch6(entry, CONNTRACK_HIGH, copy.high_address);
	}
	return 0;
}

/* Frees what has waited for a first fragment that did not come. */
static long sweep_early_fragment(struct bpf_map *map __attribute__((unused)),
				 const __u32 *index __attribute__((unused)), struct early_fragment *fragment,
				 const struct conntrack_sweep *sweep)
{
	if (early_is_over(fragment, sweep->now_ns) && early_take(fragment, EARLY_WAITS)) {
		early_count(fragment);
		early_give(fragment, EARLY_FREE);
	}
	return 0;
}

SEC("syscall")
int conntrack_sweep(struct conntrack_sweep *context)
{
	struct conntrack_sweep sweep = { .now_ns = context->now_ns,
					 .table = context->table,
					 .watches = context->watches };
	long visited;

	if (!sweep.now_ns)
		sweep.now_ns = bpf_ktime_get_ns();

	switch (context->table) {
	case CONNTRACK_TABLE_TCP4:
		visited = bpf_for_each_map_elem(&conntrack4_tcp, sweep_entry4, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_ANY4:
		bpf_for_each_map_elem(&early_fragments, sweep_early_fragment, &sweep, 0);
		visited = bpf_for_each_map_elem(&conntrack4_any, sweep_entry4, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_TCP6:
		visited = bpf_for_each_map_elem(&conntrack6_tcp, sweep_entry6, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_ANY6:
		visited = bpf_for_each_map_elem(&conntrack6_any, sweep_entry6, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_OVERFLOW4:
		visited = bpf_for_each_map_elem(&conntrack4_overflow, sweep_entry4, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_OVERFLOW6:
		visited = bpf_for_each_map_elem(&conntrack6_overflow, sweep_entry6, &sweep, 0);
		keep_call_apart(visited);
		break;
	default:
		return ERRNO_INVALID;
	}
	context->now_ns = sweep.now_ns;
	context->visited = sweep.visited;
	context->deleted = sweep.deleted;
	return visited < 0 ? (int)visited : 0;
}
