// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Baseline programs of the benchmarks, and programs that vary the packet of a benchmark. BPF_PROG_TEST_RUN does not
 * restore the packet between repeats; so each "vary" program writes the varying fields, each "restore" program the
 * fields that the measured program changed, and both tail-call the measured program. The XDP programs take frames in
 * parts, as the prefilter does: the kernel lets only such programs into one array with it.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#include "lib/completion.h"

#define VARIATIONS 65536

struct variation {
	__u8 address[16];
	__be16 port_be;
	__u8 macs[12];
	__u8 hop_limit;
	__u8 reserved;
};
_Static_assert(sizeof(struct variation) == 32, "variation");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct variation);
	__uint(max_entries, VARIATIONS);
	__uint(map_flags, BPF_F_MMAPABLE);
} variations SEC(".maps");

/* Of the packet that is measured. */
struct headers {
	__u8 bytes[80];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct headers);
	__uint(max_entries, 1);
} original SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} next_tc SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} next_xdp SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* As large as struct flow_event. */
struct ring_event {
	__u64 words[9];
};

struct ring_request {
	__u32 events;
	__u32 written;
};

static __u32 position;

static __always_inline struct variation *next_variation(void)
{
	__u32 key = position++ & (VARIATIONS - 1);

	return bpf_map_lookup_elem(&variations, &key);
}

#define BYTES_AT(context, offset, length)                               \
	({                                                              \
		void *start = (void *)(long)(context)->data + (offset); \
		void *end = (void *)(long)(context)->data_end;          \
		start + (length) > end ? (void *)0 : start;             \
	})

/* What a workload with privileges in its namespace could do to its packets. */
SEC("tc")
int pretend_complete(struct __sk_buff *skb)
{
	packet_set_complete(skb);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int trivial_tc(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_UNSPEC;
}

SEC("xdp.frags")
int trivial_xdp(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

SEC("xdp.frags")
int vary_source4(struct xdp_md *context)
{
	void *source = BYTES_AT(context, 26, 4);
	struct variation *variation = next_variation();

	if (source && variation)
		__builtin_memcpy(source, variation->address, 4);
	bpf_tail_call(context, &next_xdp, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int vary_source6(struct xdp_md *context)
{
	void *source = BYTES_AT(context, 22, 16);
	struct variation *variation = next_variation();

	if (source && variation)
		__builtin_memcpy(source, variation->address, 16);
	bpf_tail_call(context, &next_xdp, 0);
	return XDP_ABORTED;
}

SEC("tc")
int vary_flow4(struct __sk_buff *skb)
{
	void *destination = BYTES_AT(skb, 30, 6);
	struct variation *variation = next_variation();

	if (destination && variation) {
		__builtin_memcpy(destination, variation->address, 4);
		__builtin_memcpy(destination + 4, &variation->port_be, 2);
	}
	bpf_tail_call(skb, &next_tc, 0);
	return TC_ACT_SHOT;
}

/* Sets in each packet another source port and last octet of the destination: 2^24 flows before one comes again. */
SEC("tc")
int vary_new_flow4(struct __sk_buff *skb)
{
	__u8 *octets = BYTES_AT(skb, 33, 3);
	const __u32 flow = position++;

	if (octets) {
		octets[0] = flow >> 16;
		octets[1] = flow >> 8;
		octets[2] = flow;
	}
	bpf_tail_call(skb, &next_tc, 0);
	return TC_ACT_SHOT;
}

SEC("tc")
int restore4(struct __sk_buff *skb)
{
	__u8 *header = BYTES_AT(skb, 0, 34);
	struct variation *variation = next_variation();

	if (header && variation) {
		__builtin_memcpy(header, variation->macs, 12);
		header[22] = variation->hop_limit;
	}
	bpf_tail_call(skb, &next_tc, 0);
	return TC_ACT_SHOT;
}

SEC("tc")
int restore6(struct __sk_buff *skb)
{
	__u8 *header = BYTES_AT(skb, 0, 54);
	struct variation *variation = next_variation();

	if (header && variation) {
		__builtin_memcpy(header, variation->macs, 12);
		header[21] = variation->hop_limit;
	}
	bpf_tail_call(skb, &next_tc, 0);
	return TC_ACT_SHOT;
}

/* Also the destination, which a flow to a service rewrites. */
SEC("tc")
int restore_service4(struct __sk_buff *skb)
{
	__u8 *header = BYTES_AT(skb, 0, 38);
	struct variation *variation = next_variation();

	if (header && variation) {
		__builtin_memcpy(header, variation->macs, 12);
		header[22] = variation->hop_limit;
		__builtin_memcpy(header + 30, variation->address, 4);
		__builtin_memcpy(header + 36, &variation->port_be, 2);
	}
	bpf_tail_call(skb, &next_tc, 0);
	return TC_ACT_SHOT;
}

SEC("tc")
int restore_service6(struct __sk_buff *skb)
{
	__u8 *header = BYTES_AT(skb, 0, 58);
	struct variation *variation = next_variation();

	if (header && variation) {
		__builtin_memcpy(header, variation->macs, 12);
		header[21] = variation->hop_limit;
		__builtin_memcpy(header + 38, variation->address, 16);
		__builtin_memcpy(header + 56, &variation->port_be, 2);
	}
	bpf_tail_call(skb, &next_tc, 0);
	return TC_ACT_SHOT;
}

/* Restores so many bytes of headers at the start of a packet, which may be too short for them. */
static __always_inline void copy_headers(void *start, __u32 bytes)
{
	const __u32 first = 0;
	const struct headers *headers = bpf_map_lookup_elem(&original, &first);

	if (start && headers)
		__builtin_memcpy(start, headers->bytes, bytes);
}

/* All headers, which a masqueraded packet needs. */
SEC("tc")
int restore_headers4(struct __sk_buff *skb)
{
	copy_headers(BYTES_AT(skb, 0, 54), 54);
	bpf_tail_call(skb, &next_tc, 0);
	return TC_ACT_SHOT;
}

SEC("tc")
int restore_headers6(struct __sk_buff *skb)
{
	copy_headers(BYTES_AT(skb, 0, 74), 74);
	bpf_tail_call(skb, &next_tc, 0);
	return TC_ACT_SHOT;
}

/* Removes the header of bytes after the Ethernet header; returns whether that failed. */
static __always_inline int strip_header(struct xdp_md *context, int bytes)
{
	void *frame = BYTES_AT(context, 0, 14);
	__u8 ethernet[14];

	if (!frame)
		return 1;
	__builtin_memcpy(ethernet, frame, sizeof(ethernet));
	if (bpf_xdp_adjust_head(context, bytes))
		return 1;
	frame = BYTES_AT(context, 0, 14);
	if (!frame)
		return 1;
	__builtin_memcpy(frame, ethernet, sizeof(ethernet));
	return 0;
}

/* Removes the outer IP header of a packet, if it has one. */
static __always_inline void strip_outer(struct xdp_md *context)
{
	const __u8 *header = BYTES_AT(context, 12, 20);

	if (!header)
		return;
	/* The whole type: an ARP request has a byte of its sender's MAC address at the place of the protocol. */
	if (header[0] == 0x08 && header[1] == 0x00 && header[11] == 4)
		strip_header(context, 20);
	else if (header[0] == 0x86 && header[1] == 0xdd && header[8] == 41)
		strip_header(context, 40);
}

/* What a backend does with the packets of the load balancer. */
SEC("xdp.frags")
int decapsulate(struct xdp_md *context)
{
	strip_outer(context);
	return XDP_PASS;
}

/* Makes the checksum of a header of IPv4 what it was before a hop (RFC 1624). */
static __always_inline void undo_hop(__u16 *checksum)
{
	const __u32 sum = *checksum + (__u32)(__u16)~bpf_htons(0x0100);

	*checksum = (__u16)((sum & 0xffff) + (sum >> 16));
}

/* Makes what the load balancer has sent again what it received, with a source port of its own. */
SEC("xdp.frags")
int restore_outer4(struct xdp_md *context)
{
	struct variation *variation = next_variation();
	__u8 *header;

	strip_outer(context);
	header = BYTES_AT(context, 0, 36);
	if (header && variation) {
		__builtin_memcpy(header, variation->macs, 12);
		if (header[22] != variation->hop_limit)
			undo_hop((__u16 *)(header + 24));
		header[22] = variation->hop_limit;
		__builtin_memcpy(header + 34, &variation->port_be, 2);
	}
	bpf_tail_call(context, &next_xdp, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int restore_outer6(struct xdp_md *context)
{
	struct variation *variation = next_variation();
	__u8 *header;

	strip_outer(context);
	header = BYTES_AT(context, 0, 56);
	if (header && variation) {
		__builtin_memcpy(header, variation->macs, 12);
		header[21] = variation->hop_limit;
		__builtin_memcpy(header + 54, &variation->port_be, 2);
	}
	bpf_tail_call(context, &next_xdp, 0);
	return XDP_ABORTED;
}

/* Restores the headers of a packet of TCP that was translated. */
static __always_inline void restore_headers(struct xdp_md *context, __u32 bytes, __u32 port_offset)
{
	struct variation *variation = next_variation();
	__u8 *header = BYTES_AT(context, 0, bytes);

	copy_headers(header, bytes);
	if (header && variation)
		__builtin_memcpy(header + port_offset, &variation->port_be, 2);
}

SEC("xdp.frags")
int restore_translated4(struct xdp_md *context)
{
	restore_headers(context, 54, 34);
	bpf_tail_call(context, &next_xdp, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int restore_translated6(struct xdp_md *context)
{
	restore_headers(context, 74, 54);
	bpf_tail_call(context, &next_xdp, 0);
	return XDP_ABORTED;
}

static long write_event(__u32 index, void *request)
{
	struct ring_event event = { .words = { index } };

	if (bpf_ringbuf_output(&ring, &event, sizeof(event), BPF_RB_NO_WAKEUP))
		return 1;
	((struct ring_request *)request)->written++;
	return 0;
}

SEC("syscall")
int fill_ring(struct ring_request *request)
{
	struct ring_request asked = { .events = request->events };

	bpf_loop(asked.events, write_event, &asked, 0);
	request->written = asked.written;
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
