/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* One conntrack entry per flow, which both directions and both local endpoints find. */
#ifndef AGENT_MAPS_CONNTRACK_MAP_H
#define AGENT_MAPS_CONNTRACK_MAP_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stddef.h>
#include <bpf/bpf_helpers.h>

/*
 * Defaults of --bpf-ct-global-tcp-max and --bpf-ct-global-any-max (agent-api.md, Limits); the agent sets them when it
 * creates a map.
 */
enum conntrack_size {
	CONNTRACK_TCP_MAX_ENTRIES = 1000000,
	CONNTRACK_ANY_MAX_ENTRIES = 262144,
	CONNTRACK_OVERFLOW_MAX_ENTRIES = 65536,
};

/*
 * The tables. A flow of an endpoint that has its share of a table already is put into the overflow of its family, so
 * that what it evicts is another of its kind (maps/flow_usage_map.h).
 */
enum conntrack_table {
	CONNTRACK_TABLE_TCP4 = 0,
	CONNTRACK_TABLE_ANY4 = 1,
	CONNTRACK_TABLE_TCP6 = 2,
	CONNTRACK_TABLE_ANY6 = 3,
	CONNTRACK_TABLE_OVERFLOW4 = 4, /* of every protocol */
	CONNTRACK_TABLE_OVERFLOW6 = 5,
};

/*
 * The tuple in canonical order, which is the same for both directions: "low" is the side whose (address, port) is less
 * as the words that the program loads. An ICMP echo has the identifier as the port of the side that asks, and 0 as the
 * other's, so that two sides may ask each other with one identifier.
 */
struct conntrack4_key {
	__be32 low_address;
	__be32 high_address;
	__be16 low_port_be;
	__be16 high_port_be;
	__u8 protocol;
	__u8 scope; /* 0: the legs of a flow never have equal tuples */
	__u8 reserved[2];
};
_Static_assert(sizeof(struct conntrack4_key) == 16, "conntrack4_key");

struct conntrack6_key {
	__u8 low_address[16];
	__u8 high_address[16];
	__be16 low_port_be;
	__be16 high_port_be;
	__u8 protocol;
	__u8 scope; /* 0: the legs of a flow never have equal tuples */
	__u8 reserved[2];
};
_Static_assert(sizeof(struct conntrack6_key) == 40, "conntrack6_key");

enum conntrack_side {
	CONNTRACK_LOW = 0,
	CONNTRACK_HIGH = 1,
};

enum conntrack_flag {
	CONNTRACK_INITIATOR_HIGH = 1, /* the high side opened the flow */
	CONNTRACK_SEEN_REPLY = 2,     /* the responder has sent a packet */
	CONNTRACK_SEEN_FIN_LOW = 4,
	CONNTRACK_SEEN_FIN_HIGH = 8,
	CONNTRACK_SEEN_RST = 16,
	CONNTRACK_DENIED = 32,       /* policy denies the flow in both directions */
	CONNTRACK_SEEN_NON_SYN = 64, /* TCP: the initiator has sent a packet after its SYN */
	CONNTRACK_COUNTED = 128,     /* the host program counts its packets */
	CONNTRACK_BY_STACK = 256,    /* the host program passes it to the stack: it is traced, or a side is this node */
	CONNTRACK_OUTSIDE_LOW = 512, /* party[CONNTRACK_LOW] is the shard of an outside address */
	CONNTRACK_OUTSIDE_HIGH = 1024,      /* party[CONNTRACK_HIGH] is the shard of an outside address */
	CONNTRACK_DIRECTION_UNKNOWN = 2048, /* seen first in the middle: either side may have opened it */
	CONNTRACK_UNTRACKED_LOW = 4096,     /* the low endpoint has Conntrack disabled: its policy judges each packet */
	CONNTRACK_UNTRACKED_HIGH = 8192,
	CONNTRACK_REWRITTEN = 16384, /* rewrite_* apply to the packets of one side */
	CONNTRACK_DENIED_BY_HIGH =
		32768,             /* with DENIED: the policy of the high side denies it, else that of the low side */
	CONNTRACK_TO_NODE = 65536, /* the peer's address is one of this node */
	CONNTRACK_PEER_IS_NODE = 131072, /* sockets of this node send the peer's packets: no interface receives them */
	CONNTRACK_OVERFLOW = 262144,     /* the entry is in a table of the overflow */
	CONNTRACK_PROXIED = 524288,      /* of a flow that a proxy of this node handles (lib/redirect.h) */
	CONNTRACK_NAT46_LOW = 1048576,   /* the low side is a workload that sends to the range of NAT46 (lib/nat46.h) */
	CONNTRACK_NAT46_HIGH = 2097152,
};

/* How a packet reaches the side that it is for. */
enum conntrack_delivery {
	CONNTRACK_BY_KERNEL = 0,    /* the stack delivers */
	CONNTRACK_TO_PEER = 1,      /* into the workload's namespace; the index is an endpoint id */
	CONNTRACK_TO_NEIGHBOUR = 2, /* out by a device; the index is its interface index */
	CONNTRACK_TO_TUNNEL = 3,    /* the index is that of a node */
};

/*
 * The parts of delivery_kind[] for an outside address: the delivery, and the traffic class, without ECN, of the packets
 * that it was found for (lib/route.h).
 */
enum conntrack_delivery_part {
	CONNTRACK_DELIVERY = 0x03,
	CONNTRACK_DELIVERY_CLASS = 0xfc,
};

/* Which part of which packets an entry rewrites; bits. */
enum conntrack_rewrite {
	CONNTRACK_REWRITE_DESTINATION = 1, /* else the source */
	CONNTRACK_REWRITE_FROM_HIGH = 2,   /* the packets of the high side, else those of the low side */
	CONNTRACK_REWRITE_MASQUERADE = 4,  /* between the address of an endpoint and one of this node */
	CONNTRACK_REWRITE_BOTH = 8,        /* both addresses: of a flow that this node relays (lib/relay.h) */
	CONNTRACK_REWRITE_OUTER = 16,      /* with BOTH: in an outer header (lib/direct_return.h) */
};

/* An end of a packet in the place of another: where its entry rewrites it to. */
struct conntrack_end {
	__u8 address[16]; /* an IPv4 address is in the first four bytes */
	__be16 port_be;   /* 0: the port stays as it is */
	__u16 checksum;   /* what the checksums gain by the address, folded */
} __attribute__((aligned(4)));
_Static_assert(sizeof(struct conntrack_end) == 20, "conntrack_end");

/*
 * The first 64 bytes, one cache line where the allocation is aligned, are all that a packet of an established flow
 * reads or writes.
 *
 * One generation stands for both sides: it is the sum of theirs. Each of them only rises, so the sum is what it was if
 * and only if both are. Its upper half is the sum of the owner parts (enum generation_layout).
 *
 * A party is an endpoint id or the shard of an outside address; both are indexes of the map generations, so that the
 * fast path does not ask which of them it has.
 *
 * acknowledged[] and pending[] are what a packet may have to write. The former is written once per 64 KiB and tells a
 * TCP reset of the flow from a blind one. The latter collects packets and bytes, which are added to the counters
 * behind the first 64 bytes once per CONNTRACK_PENDING_PACKETS packets. With CONNTRACK_REWRITE_BOTH or
 * CONNTRACK_PROXIED, nothing is counted: the entry has another end in the place of the counters.
 *
 * Arrays of two are indexed by enum conntrack_side.
 */
struct conntrack_entry {
	__u64 expires_ns;         /* CLOCK_MONOTONIC */
	__u64 generation;         /* sum of both sides, under which policy decided */
	__u16 party[2];           /* endpoint id, or shard of an outside address: CONNTRACK_OUTSIDE_LOW, _HIGH */
	__u32 flags;              /* enum conntrack_flag */
	__u16 delivery_index[2];  /* as the kind says */
	__u8 delivery_kind[2];    /* enum conntrack_delivery, enum conntrack_delivery_part */
	__u8 drop_reason;         /* enum drop_reason of a denied flow */
	__u8 rewrite;             /* enum conntrack_rewrite */
	struct conntrack_end end; /* what the packets get that the entry rewrites */
	__u16 acknowledged[2];    /* TCP: upper half of the last acknowledgement number that the side sent */
	__u32 pending[2];         /* sent by this side: bits as in enum conntrack_pending */
	union {
		struct {
			__u64 packets[2]; /* sent by this side; counted only with ConntrackAccounting */
			__u64 bytes[2];   /* the same */
		};
		struct {
			struct conntrack_end other; /* with REWRITE_BOTH or PROXIED: the other end that packets get */
			__u32 reserved;
			union {
				__u64 flow_hash;    /* with REWRITE_OUTER: of the tuple, for the flow label of IPv6 */
				__u64 refreshed_at; /* with PROXIED: when the entry of the socket was refreshed, plus 1 */
			};
		};
	};
	__u32 identity[2];
	__u32 service_id; /* 0: no service */
	__u32 opened_at;  /* of a masqueraded flow: when its entries were opened */
};
_Static_assert(offsetof(struct conntrack_entry, end) == 32, "the end of conntrack_entry");
_Static_assert(offsetof(struct conntrack_entry, acknowledged) == 52, "what is behind the end of conntrack_entry");
_Static_assert(offsetof(struct conntrack_entry, packets) == 64, "the hot part of conntrack_entry");
_Static_assert(offsetof(struct conntrack_entry, other) == 64, "the other end of conntrack_entry");
_Static_assert(offsetof(struct conntrack_entry, bytes) == 80, "the counters of conntrack_entry");
_Static_assert(offsetof(struct conntrack_entry, flow_hash) == 88, "what is behind the other end");
_Static_assert(offsetof(struct conntrack_entry, refreshed_at) == 88, "what is behind the other end");
_Static_assert(offsetof(struct conntrack_entry, identity) == 96, "what is behind the counters");
_Static_assert(offsetof(struct conntrack_entry, opened_at) == 108, "the last word of conntrack_entry");
_Static_assert(sizeof(struct conntrack_entry) == 112, "conntrack_entry");

/* opened_at and refreshed_at are in units of 2^CONNTRACK_TIME_SHIFT ns of CLOCK_MONOTONIC, about a second. */
#define CONNTRACK_TIME_SHIFT 30

/* pending[]: the packets in the upper bits, the bytes below. */
enum conntrack_pending {
	CONNTRACK_PENDING_SHIFT = 24,
	CONNTRACK_PENDING_PACKETS = 16, /* of at most 512 KiB each, so that the bytes do not reach the packets */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack4_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_TCP_MAX_ENTRIES);
} conntrack4_tcp SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack4_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_ANY_MAX_ENTRIES);
} conntrack4_any SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack6_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_TCP_MAX_ENTRIES);
} conntrack6_tcp SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack6_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_ANY_MAX_ENTRIES);
} conntrack6_any SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack4_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_OVERFLOW_MAX_ENTRIES);
} conntrack4_overflow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct conntrack6_key);
	__type(value, struct conntrack_entry);
	__uint(max_entries, CONNTRACK_OVERFLOW_MAX_ENTRIES);
} conntrack6_overflow SEC(".maps");

#endif
