/**
 * Calls libbpf and the kernel: objects, programs, links, map operations, netlink and epoll, without
 * allocation on hot paths.
 */
package agent.bindings;
