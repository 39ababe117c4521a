// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Ends the sockets of a network namespace that are connected to a backend which has gone: their processes get an error at
 * once, and TCP resets the connection. The kernel holds the lock of the socket meanwhile. The agent connects datagram
 * sockets to another backend where there is one, also those that have lost theirs since it looked for them.
 */
#include <linux/in.h>

#include "lib/left_socket.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Linux 6.5. */
extern int bpf_sock_destroy(struct sock_common *sock) __ksym;

/* Writes what the kernel has answered, so that the agent can count. */
static __always_inline void end_left(struct bpf_iter_meta *meta, struct sock_common *socket, __u8 protocol)
{
	struct socket_peers *peers = bpf_sk_storage_get(&socket_peers, (void *)socket, NULL, 0);
	struct left_peer left;
	int result;

	if (!peers || !has_left_peer(socket, peers, protocol, &left) || (protocol == IPPROTO_UDP && left.is_served))
		return;
	result = bpf_sock_destroy(socket);
	if (!result)
		bpf_sk_storage_delete(&socket_peers, (void *)socket); /* its process may keep it open */
	bpf_seq_write(meta->seq, &result, sizeof(result));
}

SEC("iter/tcp")
int socket_end_tcp(struct bpf_iter__tcp *context)
{
	struct sock_common *socket = context->sk_common;

	if (socket)
		end_left(context->meta, socket, IPPROTO_TCP);
	return 0;
}

SEC("iter/udp")
int socket_end_udp(struct bpf_iter__udp *context)
{
	struct udp_sock *socket = context->udp_sk;

	if (socket)
		end_left(context->meta, (struct sock_common *)socket, IPPROTO_UDP);
	return 0;
}
