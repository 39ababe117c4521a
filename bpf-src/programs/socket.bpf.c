// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The programs at sockets: a client that connects or sends to a service is given one of its backends before a packet
 * exists, and is shown the service's address as that of its peer. So the flow is client to backend, without
 * translation. A process of the node is refused a port that a service has there for clients outside.
 *
 * What the process of the proxies connects to is what a workload may reach: an address that was judged, and means no
 * service, or the flow would have been to a backend. So it gets what it names, however services change meanwhile.
 */
#include <linux/errno.h>
#include <linux/in.h>

#include "lib/socket_bind.h"
#include "lib/socket_peer.h"
#include "lib/translation_event.h"

char _license[] SEC("license") = "Dual BSD/GPL";

#define PROXY_USER 1900000001 /* the user of the process of the proxies, which no account has: RedirectProxy.USER */

enum {
	PASS = 1,
	REFUSE = 0,
};

/* Returns whether the process of the proxies calls. */
static __always_inline bool is_proxy(void)
{
	return (__u32)bpf_get_current_uid_gid() == PROXY_USER;
}

static __always_inline struct end end4(const struct bpf_sock_addr *context)
{
	const struct end end = {
		.address = { 0, 0, END_MAPPED, context->user_ip4 },
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

static __always_inline void count(__u32 counter)
{
	__u64 *value = bpf_map_lookup_elem(&socket_metrics, &counter);

	if (value)
		++*value;
}

static __always_inline int refuse_port(void)
{
	bpf_set_retval(-EADDRINUSE);
	return REFUSE;
}

static __always_inline int refuse(void)
{
	count(SOCKET_REFUSED);
	bpf_set_retval(-ECONNREFUSED);
	return REFUSE;
}

/* By chance, since there is no packet yet, and no source port: no tuple for which a selection could be consistent. */
static __always_inline bool select(struct bpf_sock_addr *context, const struct service_entry *service,
				   struct end *backend)
{
	const __u64 client = service->affinity_s ? bpf_get_netns_cookie(context) : 0;

	return service_select_any(service, client, backend);
}

/* Copies an address and tells its family: an IPv4-mapped one is an IPv4 address in the first four bytes. */
static __always_inline __u8 show(__u8 *address, const struct end *end)
{
	if (!end_is_mapped(end)) {
		copy_address(address, end->address);
		return FAMILY_IPV6;
	}
	__builtin_memcpy(address, &end->address[3], sizeof(end->address[3]));
	return FAMILY_IPV4;
}

/* Reports to a subscriber that the socket was assigned a backend. */
__global int tell(struct bpf_sock_addr *context, __u32 service_id, const struct end *frontend,
		  const struct end *backend)
{
	struct translation_event *event;
	__u64 cookie;
	__u32 index;

	if (!frontend || !backend || !translations_are_wanted())
		return 0;
	cookie = bpf_get_netns_cookie(context);
	index = cookie & (NAMESPACE_RATES - 1);
	event = translation_event_begin(bpf_map_lookup_elem(&namespace_rates, &index), TRANSLATION_SOCKET, service_id,
					context->protocol);
	if (!event)
		return 0;
	event->family = show(event->frontend_address, frontend);
	show(event->backend_address, backend);
	event->frontend_port_be = frontend->port_be;
	event->backend_port_be = backend->port_be;
	event->namespace_cookie = cookie;
	bpf_ringbuf_submit(event, 0);
	return 0;
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
				  const struct end *backend, bool connects)
{
	struct socket_peers *peers;
	__u32 next;

	peers = bpf_sk_storage_get(&socket_peers, context->sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!peers) {
		bpf_set_retval(-ENOMEM);
		return REFUSE;
	}
	next = peers->next & (SOCKET_PEERS - 1);
	if (connects)
		peers->is_connected = true; /* the first, since what the socket knew has been deleted */
	else if (!next && peers->is_connected)
		next = 1;
	remember(&peers->peers[next], service_id, frontend, backend);
	peers->next = next + 1;
	return PASS;
}

/* A new peer of the socket: what it knows of former ones ends. Where it is refused, the socket keeps its peer. */
static __always_inline int connect(struct bpf_sock_addr *context, const struct end *frontend, struct end *backend)
{
	const struct service_entry *service = service_of(frontend, context->protocol, SERVICE_INSIDE);

	if (service && !select(context, service, backend))
		return refuse();
	if (bpf_sk_storage_get(&socket_peers, context->sk, NULL, 0))
		bpf_sk_storage_delete(&socket_peers, context->sk);
	if (!service)
		return PASS;
	if (assign(context, service->service_id, frontend, backend, true) == REFUSE)
		return REFUSE;
	count(SOCKET_CONNECTED);
	tell(context, service->service_id, frontend, backend);
	return PASS;
}

/* Returns whether the socket is connected to this one of its peers; it can have dissolved its connection since. */
static __always_inline bool is_connection(const struct bpf_sock_addr *context, const struct socket_peers *peers, int i)
{
	const struct bpf_sock *socket = context->sk;

	return i == 0 && peers->is_connected && socket && socket->dst_port;
}

/*
 * A datagram with a destination: to the backend of the one before, while that keeps it. What the socket is connected to
 * stays as it is: the agent connects it to another backend. The kernel sends what an IPv6 socket writes to the IPv4
 * address that it is connected to as if it had named that.
 */
static __always_inline int send(struct bpf_sock_addr *context, const struct end *frontend, struct end *backend)
{
	const struct service_entry *service = service_of(frontend, IPPROTO_UDP, SERVICE_INSIDE);
	struct socket_peers *peers = bpf_sk_storage_get(&socket_peers, context->sk, NULL, 0);

	if (peers) {
		unrolled
		for (int i = 0; i < SOCKET_PEERS; i++) {
			struct socket_peer *peer = &peers->peers[i];

			if (!service && is_end(peer->backend_address, peer->backend_port_be, frontend) &&
			    !is_connection(context, peers, i))
				peer->service_id = 0; /* the backend is now a peer itself */
			if (!service || peer->service_id != service->service_id ||
			    !is_end(peer->frontend_address, peer->frontend_port_be, frontend))
				continue;
			if (backend_keeps_flows(peer->service_id, peer)) {
				copy_address(backend->address, peer->backend_address);
				backend->port_be = peer->backend_port_be;
				count(SOCKET_SENT);
				return PASS;
			}
			if (!select(context, service, backend))
				return refuse();
			if (!is_connection(context, peers, i))
				remember(peer, service->service_id, frontend, backend);
			count(SOCKET_SENT);
			tell(context, service->service_id, frontend, backend);
			return PASS;
		}
	}
	if (!service)
		return PASS;
	if (!select(context, service, backend))
		return refuse();
	if (assign(context, service->service_id, frontend, backend, false) == REFUSE)
		return REFUSE;
	count(SOCKET_SENT);
	tell(context, service->service_id, frontend, backend);
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
#define TO_BACKEND(name, hook, family, decide)                    \
	SEC(hook)                                                 \
	int name(struct bpf_sock_addr *context)                   \
	{                                                         \
		const struct end frontend = end##family(context); \
		struct end backend = frontend;                    \
		int result;                                       \
                                                                  \
		if (is_proxy())                                   \
			return PASS;                              \
		result = decide(context, &frontend, &backend);    \
		if (result == PASS)                               \
			write##family(context, &backend);         \
		return result;                                    \
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

SEC("cgroup/bind4")
int socket_bind4(struct bpf_sock_addr *context)
{
	const struct end end = end4(context);

	if (!asks_for_port_of_node(context))
		return PASS;
	return is_taken(&end, context->protocol) ? refuse_port() : PASS;
}

/* The unspecified address of IPv6 is that of IPv4, too, unless the socket is for IPv6 alone. */
SEC("cgroup/bind6")
int socket_bind6(struct bpf_sock_addr *context)
{
	struct end end = end6(context);

	if (!asks_for_port_of_node(context))
		return PASS;
	if (is_taken(&end, context->protocol))
		return refuse_port();
	if (!end_is_unspecified(&end) || end_is_mapped(&end) || is_ipv6_only(context->sk))
		return PASS;
	end.address[2] = END_MAPPED;
	return is_taken(&end, context->protocol) ? refuse_port() : PASS;
}
