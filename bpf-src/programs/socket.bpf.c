// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The programs at sockets: a client that connects or sends to a service is given one of its backends before a packet
 * exists, and is shown the service's address as that of its peer. So the flow is client to backend, without
 * translation.
 */
#include <linux/errno.h>
#include <linux/in.h>

#include "lib/clock.h"
#include "lib/compiler.h"
#include "maps/service_map.h"
#include "maps/socket_map.h"

char _license[] SEC("license") = "Dual BSD/GPL";

enum {
	PASS = 1,
	REFUSE = 0,
};

/* An address and port in the words that the context has them in. */
struct end {
	__u32 address[4];
	__u32 port_be;
};

static __always_inline struct end end4(const struct bpf_sock_addr *context)
{
	const struct end end = {
		.address = { 0, 0, bpf_htonl(0xffff), context->user_ip4 },
		.port_be = context->user_port,
	};

	return end;
}

static __always_inline struct end end6(const struct bpf_sock_addr *context)
{
	const struct end end = {
		.address = { context->user_ip6[0], context->user_ip6[1], context->user_ip6[2], context->user_ip6[3] },
		.port_be = context->user_port,
	};

	return end;
}

static __always_inline void write4(struct bpf_sock_addr *context, const struct end *end)
{
	context->user_ip4 = end->address[3];
	context->user_port = end->port_be;
}

static __always_inline void write6(struct bpf_sock_addr *context, const struct end *end)
{
	context->user_ip6[0] = end->address[0];
	context->user_ip6[1] = end->address[1];
	context->user_ip6[2] = end->address[2];
	context->user_ip6[3] = end->address[3];
	context->user_port = end->port_be;
}

static __always_inline void copy_address(void *to, const void *from)
{
	__builtin_memcpy(to, from, 16);
}

static __always_inline bool is_end(const __u8 *address, __be16 port_be, const struct end *end)
{
	const __u32 *words = (const __u32 *)address;

	return port_be == (__be16)end->port_be && words[3] == end->address[3] && words[2] == end->address[2] &&
	       words[1] == end->address[1] && words[0] == end->address[0];
}

static __always_inline void count(__u32 counter)
{
	__u64 *value = bpf_map_lookup_elem(&socket_metrics, &counter);

	if (value)
		++*value;
}

static __always_inline int refuse(void)
{
	count(SOCKET_REFUSED);
	bpf_set_retval(-ECONNREFUSED);
	return REFUSE;
}

static __always_inline const struct service_entry *service_of(const struct end *end, __u8 protocol)
{
	struct service_key key = { .port_be = end->port_be, .protocol = protocol };

	copy_address(key.address, end->address);
	return bpf_map_lookup_elem(&services, &key);
}

/* Returns 0 where the service has no such backend, else enum backend_state. */
static __always_inline __u32 state_of(__u32 service_id, const __u8 *address, __be16 port_be)
{
	struct service_backend_key key = { .service_id = service_id, .port_be = port_be };
	const __u32 *state;

	copy_address(key.address, address);
	state = bpf_map_lookup_elem(&service_backends, &key);
	return state ? *state : 0;
}

static __always_inline bool draw(const struct service_entry *service, struct end *backend)
{
	/* The product of an even 32-bit number and the number of slots, shifted: even over the slots. */
	const struct service_slot_key key = {
		.service_id = service->service_id,
		.slot = (__u64)bpf_get_prandom_u32() * service->slots >> 32,
	};
	const struct service_slot *slot = bpf_map_lookup_elem(&service_slots, &key);

	if (!slot)
		return false;
	if (bpf_get_prandom_u32() > slot->threshold) {
		copy_address(backend->address, slot->other_address);
		backend->port_be = slot->other_port_be;
	} else {
		copy_address(backend->address, slot->address);
		backend->port_be = slot->port_be;
	}
	return true;
}

/* Draws a backend, or takes the one that the client had lately. */
static __always_inline bool select(struct bpf_sock_addr *context, const struct service_entry *service,
				   struct end *backend)
{
	struct service_affinity_key key = { .service_id = service->service_id };
	struct service_affinity *last, now = {};

	if (!service->affinity_s)
		return draw(service, backend);
	key.client = bpf_get_netns_cookie(context);
	now.used_ns = now_ns();
	last = bpf_map_lookup_elem(&service_affinities, &key);
	if (last && (__s64)(now.used_ns - last->used_ns) <= (__s64)(service->affinity_s * NS_PER_SECOND) &&
	    state_of(service->service_id, last->address, last->port_be) == BACKEND_ACTIVE) {
		copy_address(backend->address, last->address);
		backend->port_be = last->port_be;
		last->used_ns = now.used_ns;
		return true;
	}
	if (!draw(service, backend))
		return false;
	copy_address(now.address, backend->address);
	now.port_be = backend->port_be;
	bpf_map_update_elem(&service_affinities, &key, &now, BPF_ANY);
	return true;
}

static __always_inline void remember(struct socket_peer *peer, __u32 service_id, const struct end *frontend,
				     const struct end *backend)
{
	copy_address(peer->frontend_address, frontend->address);
	copy_address(peer->backend_address, backend->address);
	peer->frontend_port_be = frontend->port_be;
	peer->backend_port_be = backend->port_be;
	peer->service_id = service_id;
}

/* Returns REFUSE where the kernel has no memory for what the socket must know to be shown its peer. */
static __always_inline int assign(struct bpf_sock_addr *context, __u32 service_id, const struct end *frontend,
				  const struct end *backend)
{
	struct socket_peers *peers;
	__u32 next;

	peers = bpf_sk_storage_get(&socket_peers, context->sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!peers) {
		bpf_set_retval(-ENOMEM);
		return REFUSE;
	}
	next = peers->next & (SOCKET_PEERS - 1);
	remember(&peers->peers[next], service_id, frontend, backend);
	peers->next = next + 1;
	return PASS;
}

/* A new peer of the socket: what it knows of former ones ends. */
static __always_inline int connect(struct bpf_sock_addr *context, const struct end *frontend, struct end *backend)
{
	const struct service_entry *service = service_of(frontend, context->protocol);

	if (bpf_sk_storage_get(&socket_peers, context->sk, NULL, 0))
		bpf_sk_storage_delete(&socket_peers, context->sk);
	if (!service)
		return PASS;
	if (!select(context, service, backend))
		return refuse();
	if (assign(context, service->service_id, frontend, backend) == REFUSE)
		return REFUSE;
	count(SOCKET_CONNECTED);
	return PASS;
}

/* A datagram of a socket that is not connected: to the backend of the one before, while that keeps it. */
static __always_inline int send(struct bpf_sock_addr *context, const struct end *frontend, struct end *backend)
{
	const struct service_entry *service = service_of(frontend, IPPROTO_UDP);
	struct socket_peers *peers = bpf_sk_storage_get(&socket_peers, context->sk, NULL, 0);

	if (peers) {
		unrolled
		for (int i = 0; i < SOCKET_PEERS; i++) {
			struct socket_peer *peer = &peers->peers[i];
			__u32 state;

			if (!service && is_end(peer->backend_address, peer->backend_port_be, frontend))
				peer->service_id = 0; /* the backend is now a peer itself */
			if (!service || peer->service_id != service->service_id ||
			    !is_end(peer->frontend_address, peer->frontend_port_be, frontend))
				continue;
			state = state_of(peer->service_id, peer->backend_address, peer->backend_port_be);
			if (state == BACKEND_ACTIVE || state == BACKEND_TERMINATING) {
				copy_address(backend->address, peer->backend_address);
				backend->port_be = peer->backend_port_be;
				count(SOCKET_SENT);
				return PASS;
			}
			if (!select(context, service, backend))
				return refuse();
			remember(peer, service->service_id, frontend, backend);
			count(SOCKET_SENT);
			return PASS;
		}
	}
	if (!service)
		return PASS;
	if (!select(context, service, backend))
		return refuse();
	if (assign(context, service->service_id, frontend, backend) == REFUSE)
		return REFUSE;
	count(SOCKET_SENT);
	return PASS;
}

/* Returns whether the socket knows the peer as a backend, and by which address of a service it calls it. */
static __always_inline bool shown(struct bpf_sock_addr *context, const struct end *backend, struct end *frontend)
{
	struct socket_peers *peers = bpf_sk_storage_get(&socket_peers, context->sk, NULL, 0);

	if (!peers)
		return false;
	unrolled
	for (int i = 0; i < SOCKET_PEERS; i++) {
		const struct socket_peer *peer = &peers->peers[i];

		if (peer->service_id && is_end(peer->backend_address, peer->backend_port_be, backend)) {
			copy_address(frontend->address, peer->frontend_address);
			frontend->port_be = peer->frontend_port_be;
			return true;
		}
	}
	return false;
}

/* Each hook reads the address of its family, decides, and writes it where that changed it. */
#define TO_BACKEND(name, hook, family, decide)                           \
	SEC(hook)                                                        \
	int name(struct bpf_sock_addr *context)                          \
	{                                                                \
		const struct end frontend = end##family(context);        \
		struct end backend = frontend;                           \
		const int result = decide(context, &frontend, &backend); \
                                                                         \
		if (result == PASS)                                      \
			write##family(context, &backend);                \
		return result;                                           \
	}

#define TO_FRONTEND(name, hook, family)                          \
	SEC(hook)                                                \
	int name(struct bpf_sock_addr *context)                  \
	{                                                        \
		const struct end backend = end##family(context); \
		struct end frontend;                             \
                                                                 \
		if (shown(context, &backend, &frontend))         \
			write##family(context, &frontend);       \
		return PASS;                                     \
	}

TO_BACKEND(socket_connect4, "cgroup/connect4", 4, connect)
TO_BACKEND(socket_connect6, "cgroup/connect6", 6, connect)
TO_BACKEND(socket_sendmsg4, "cgroup/sendmsg4", 4, send)
TO_BACKEND(socket_sendmsg6, "cgroup/sendmsg6", 6, send)
TO_FRONTEND(socket_recvmsg4, "cgroup/recvmsg4", 4)
TO_FRONTEND(socket_recvmsg6, "cgroup/recvmsg6", 6)
TO_FRONTEND(socket_getpeername4, "cgroup/getpeername4", 4)
TO_FRONTEND(socket_getpeername6, "cgroup/getpeername6", 6)
