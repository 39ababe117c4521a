// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Finds the sockets that are connected to a backend which has gone, among the open files of all processes: they can be
 * in any network namespace.
 */
#include "config/found_socket.h"
#include "lib/left_socket.h"

char _license[] SEC("license") = "Dual BSD/GPL";

SEC("iter/task_file")
int socket_find(struct bpf_iter__task_file *context)
{
	struct task_struct *task = context->task;
	struct file *file = context->file;
	struct found_socket found = {};
	struct socket_peers *peers;
	struct left_peer left;
	struct socket *socket;
	struct sock *sock;

	if (!file || !task)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sock = socket->sk;
	if (!sock)
		return 0;
	peers = bpf_sk_storage_get(&socket_peers, sock, NULL, 0);
	if (!peers || !has_left_peer(&sock->__sk_common, peers, sock->sk_protocol, &left))
		return 0;
	copy_address(found.frontend_address, left.frontend.address);
	found.frontend_port_be = left.frontend.port_be;
	copy_address(found.backend_address, peers->peers[0].backend_address);
	found.backend_port_be = peers->peers[0].backend_port_be;
	found.cookie = bpf_get_socket_cookie(sock);
	found.process = task->tgid;
	found.descriptor = context->fd;
	found.net_inode = sock->__sk_common.skc_net.net->ns.inum;
	found.protocol = sock->sk_protocol;
	if (sock->__sk_common.skc_family == KERNEL_FAMILY_IPV6)
		found.flags |= FOUND_SOCKET_IPV6;
	if (left.is_served)
		found.flags |= FOUND_SOCKET_SERVED;
	bpf_seq_write(context->meta->seq, &found, sizeof(found));
	return 0;
}
