// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Deletes expired conntrack entries in the kernel, without copying entries to user space. */
#include "config/conntrack_sweep.h"
#include "lib/compiler.h"
#include "maps/conntrack_map.h"

char _license[] SEC("license") = "Dual BSD/GPL";

#define ERRNO_INVALID -22

struct bpf_map; /* opaque kernel type */

static long sweep_entry(struct bpf_map *map, const void *key, const struct conntrack_entry *entry,
			struct conntrack_sweep *sweep)
{
	sweep->visited++;
	if (READ_ONCE(entry->expires_ns) <= sweep->now_ns && bpf_map_delete_elem(map, key) == 0)
		sweep->deleted++;
	return 0;
}

SEC("syscall")
int conntrack_sweep(struct conntrack_sweep *context)
{
	struct conntrack_sweep sweep = { .now_ns = context->now_ns };
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
	default:
		return ERRNO_INVALID;
	}
	context->now_ns = sweep.now_ns;
	context->visited = sweep.visited;
	context->deleted = sweep.deleted;
	return visited < 0 ? (int)visited : 0;
}
