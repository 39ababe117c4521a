/**
 * Encodes and decodes the rtnetlink(7) messages of links, addresses, routes and neighbours, in a
 * session that reads and changes the kernel's tables.
 *
 * <p>The codec is not libnl: the same decoders read answers to requests and the events of {@link
 * agent.bindings.net.NetlinkSocket#subscribe}, without callbacks and without a second copy of the
 * kernel's state, and the agent needs one library less at run time. Numbers and layouts are those
 * of the kernel headers that each record names. An attribute of a wrong length is refused with a
 * {@link agent.bindings.net.NetlinkException}; unknown attributes are skipped.
 */
package agent.node.netlink;
