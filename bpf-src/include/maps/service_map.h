/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Services: the address that clients use (frontend) and the addresses that serve it (backends). IPv4 addresses are
 * written as IPv4-mapped ones (RFC 4291, 2.5.5.2), as sockets of both families know them.
 */
#ifndef AGENT_MAPS_SERVICE_MAP_H
#define AGENT_MAPS_SERVICE_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

enum service_size {
	SERVICES_MAX = 65536,
	SERVICE_BACKENDS_MAX = 524288, /* of all services */
	SERVICE_AFFINITIES_MAX = 65536,
	SERVICE_CELLS = 64,         /* of one entry of service_cells */
	SERVICE_CELLS_MAX = 524288, /* entries of service_cells */
	SERVICE_ENDS_MAX = 262144,  /* backends of all tables */
	SOCKET_COUNTERS = 3,        /* number of values of enum socket_counter */
};

/* Whose packets a frontend takes. A service that is reachable from outside has an entry for each. */
enum service_scope {
	SERVICE_INSIDE = 0,  /* of this node and its workloads */
	SERVICE_OUTSIDE = 1, /* those that a device of the network receives */
};

/* The unspecified address stands for every address of this node that has no entry of its own with this port. */
struct service_key {
	__u8 address[16];
	__be16 port_be;
	__u8 protocol;         /* TCP, UDP or SCTP; a frontend of any protocol has entries for TCP and UDP */
	__u8 scope;            /* enum service_scope */
} __attribute__((aligned(4))); /* so that addresses are copied by words */
_Static_assert(sizeof(struct service_key) == 20, "service_key");

/*
 * Where other backends take the packets from outside than those from inside, they are a service of their own, whose id
 * has SERVICE_OUTSIDE_ID in addition.
 */
#define SERVICE_OUTSIDE_ID (1U << 31)

/* How packets of clients outside reach a backend on another host. */
enum service_forwarding {
	SERVICE_FORWARDING_DEFAULT = 0, /* by direct return from the load balancer, else with SNAT */
	SERVICE_FORWARDING_SNAT = 1,    /* with an address of this node, to which the backend answers */
	SERVICE_FORWARDING_DSR = 2,     /* encapsulated; the backend answers the client itself (direct server return) */
};

struct service_entry {
	__u32 service_id;
	__u32 slots;           /* 0: no backend takes new connections */
	__u32 affinity_s : 24; /* a client keeps its backend for this long after its last connection; 0: it does not */
	__u32 forwarding : 8;  /* enum service_forwarding */
};
_Static_assert(sizeof(struct service_entry) == 12, "service_entry");

/* The agent writes slots and backends before the entry that counts them, and deletes them after it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct service_key);
	__type(value, struct service_entry);
	__uint(max_entries, SERVICES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} services SEC(".maps");

/* Neither is 0, which is what an array has before it is written. */
enum service_gate {
	SERVICE_GATE_CLOSED =
		1, /* no entry above is of SERVICE_OUTSIDE: programs of devices do not look for services */
	SERVICE_GATE_OPEN = 2,
};

/* Value: enum service_gate. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} service_gate SEC(".maps");

struct service_slot_key {
	__u32 service_id;
	__u32 slot; /* 0 to slots - 1 */
};
_Static_assert(sizeof(struct service_slot_key) == 8, "service_slot_key");

/*
 * A table for Walker's alias method (M. D. Vose, IEEE TSE 17(9), 1991): a slot is drawn evenly, and one of its two
 * backends by the threshold. So a draw takes one lookup whatever the number of backends, and weights are exact.
 */
struct service_slot {
	__u8 address[16];
	__u8 other_address[16];
	__be16 port_be;
	__be16 other_port_be;
	__u32 threshold; /* an even 32-bit number above it takes the other backend */
};
_Static_assert(sizeof(struct service_slot) == 40, "service_slot");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct service_slot_key);
	__type(value, struct service_slot);
	__uint(max_entries, SERVICE_BACKENDS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} service_slots SEC(".maps");

/*
 * A table for consistent selection by a number that is the same for all packets of a tuple (Maglev: D. E. Eisenbud et
 * al., NSDI 2016, section 3.4). A service without one has its backends drawn from service_slots. The version is a hash
 * of the backends, so that a table is written beside the former one, and takes its place by the write of this entry.
 * Key: id of the service.
 */
struct service_table {
	__u16 cells;
	__u16 version;
};
_Static_assert(sizeof(struct service_table) == 4, "service_table");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct service_table);
	__uint(max_entries, SERVICES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} service_tables SEC(".maps");

struct service_table_key {
	__u32 service_id;
	__u16 version;
	__u16 index; /* of an entry of service_cells, or of a backend */
};
_Static_assert(sizeof(struct service_table_key) == 8, "service_table_key");

/* A part of the cells of a table, each with the index of a backend in service_ends. */
struct service_cells {
	__u16 backends[SERVICE_CELLS];
};
_Static_assert(sizeof(struct service_cells) == 128, "service_cells");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct service_table_key);
	__type(value, struct service_cells);
	__uint(max_entries, SERVICE_CELLS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} service_cells SEC(".maps");

struct service_end {
	__u8 address[16];
	__be16 port_be;
	__u8 reserved[2];
};
_Static_assert(sizeof(struct service_end) == 20, "service_end");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct service_table_key);
	__type(value, struct service_end);
	__uint(max_entries, SERVICE_ENDS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} service_ends SEC(".maps");

/* The states of decisions.md, section 4. */
enum backend_state {
	BACKEND_ACTIVE = 1,
	BACKEND_TERMINATING = 2, /* keeps what it has; gets nothing new */
	BACKEND_QUARANTINED = 3, /* does not answer: gets nothing, and what it has moves on */
	BACKEND_MAINTENANCE = 4, /* is out of service on purpose: as quarantined */
};

struct service_backend_key {
	__u32 service_id;
	__u8 address[16];
	__be16 port_be;
	__u8 reserved[2];
};
_Static_assert(sizeof(struct service_backend_key) == 24, "service_backend_key");

/* All backends with their states, for clients that have one already. Value: enum backend_state. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct service_backend_key);
	__type(value, __u32);
	__uint(max_entries, SERVICE_BACKENDS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} service_backends SEC(".maps");

/* A client is what has an address of its own: a network namespace, an endpoint, or an address outside. */
struct service_affinity_key {
	__u64 client; /* cookie of the network namespace; with a SERVICE_CLIENT bit: endpoint id, or hash of the address */
	__u32 service_id;
	__u8 reserved[4];
};
_Static_assert(sizeof(struct service_affinity_key) == 16, "service_affinity_key");

struct service_affinity {
	__u64 used_ns; /* CLOCK_MONOTONIC */
	__u8 address[16];
	__be16 port_be;
	__u8 reserved[6];
};
_Static_assert(sizeof(struct service_affinity) == 32, "service_affinity");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct service_affinity_key);
	__type(value, struct service_affinity);
	__uint(max_entries, SERVICE_AFFINITIES_MAX);
} service_affinities SEC(".maps");

/* Indexes of socket_metrics. */
enum socket_counter {
	SOCKET_CONNECTED = 0, /* connections to a service */
	SOCKET_SENT = 1,      /* datagrams to a service from sockets that are not connected */
	SOCKET_REFUSED = 2,   /* connections and datagrams to a service that has no backend for them */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, SOCKET_COUNTERS);
} socket_metrics SEC(".maps");

#endif
