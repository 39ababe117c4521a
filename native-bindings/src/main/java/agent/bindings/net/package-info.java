/** Netlink, packet and Unix sockets, devices and network namespaces. */
package agent.bindings.net;
