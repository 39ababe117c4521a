// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Deletes expired conntrack entries in the kernel, without copying entries to user space. */
#include "config/conntrack_sweep.h"
#include "lib/compiler.h"
#include "maps/conntrack_map.h"
#include "maps/flow_usage_map.h"

char _license[] SEC("license") = "Dual BSD/GPL";

#define ERRNO_INVALID -22

struct bpf_map; /* opaque kernel type */

/* Counts an entry for the endpoint to which its flow belongs (maps/flow_usage_map.h). */
static __always_inline void count_entry(const struct conntrack_entry *entry, __u32 table)
{
	const __u32 flags = READ_ONCE(entry->flags);
	const bool high = flags & CONNTRACK_INITIATOR_HIGH;
	const bool outside = flags & (high ? CONNTRACK_OUTSIDE_HIGH : CONNTRACK_OUTSIDE_LOW);
	const __u32 endpoint_id = high != outside ? entry->party[CONNTRACK_HIGH] : entry->party[CONNTRACK_LOW];
	struct flow_usage *usage = bpf_map_lookup_elem(&flow_usage, &endpoint_id);

	if (usage && table < FLOW_USAGE_TABLES)
		usage->counted[table]++;
}

static long sweep_entry(struct bpf_map *map, const void *key, const struct conntrack_entry *entry,
			struct conntrack_sweep *sweep)
{
	sweep->visited++;
	if (READ_ONCE(entry->expires_ns) > sweep->now_ns)
		count_entry(entry, sweep->table);
	else if (bpf_map_delete_elem(map, key) == 0)
		sweep->deleted++;
	return 0;
}

SEC("syscall")
int conntrack_sweep(struct conntrack_sweep *context)
{
	struct conntrack_sweep sweep = { .now_ns = context->now_ns, .table = context->table };
	long visited;

	if (!sweep.now_ns)
		sweep.now_ns = bpf_ktime_get_ns();

	switch (context->table) {
	case CONNTRACK_TABLE_TCP4:
		visited = bpf_for_each_map_elem(&conntrack4_tcp, sweep_entry, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_ANY4:
		visited = bpf_for_each_map_elem(&conntrack4_any, sweep_entry, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_TCP6:
		visited = bpf_for_each_map_elem(&conntrack6_tcp, sweep_entry, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_ANY6:
		visited = bpf_for_each_map_elem(&conntrack6_any, sweep_entry, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_OVERFLOW4:
		visited = bpf_for_each_map_elem(&conntrack4_overflow, sweep_entry, &sweep, 0);
		keep_call_apart(visited);
		break;
	case CONNTRACK_TABLE_OVERFLOW6:
		visited = bpf_for_each_map_elem(&conntrack6_overflow, sweep_entry, &sweep, 0);
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
