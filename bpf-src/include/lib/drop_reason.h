/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Drop reasons. The numbers are stable, since metrics and events contain them. */
#ifndef AGENT_LIB_DROP_REASON_H
#define AGENT_LIB_DROP_REASON_H

/* Why a program drops a packet; 0: it does not. */
enum drop_reason {
	DROP_NONE = 0,
	DROP_POLICY_DENIED = 1,    /* no rule allows it */
	DROP_POLICY_DENY_RULE = 2, /* a deny rule forbids it */
	DROP_INVALID_SOURCE_MAC = 3,
	DROP_INVALID_SOURCE_ADDRESS = 4,
	DROP_UNKNOWN_ETHERTYPE = 5,
	DROP_MALFORMED = 6,          /* truncated or inconsistent headers */
	DROP_UNKNOWN_PROTOCOL = 7,   /* an L4 protocol that policy does not support */
	DROP_FRAGMENT_NOT_FOUND = 8, /* a later fragment without a stored first fragment */
	DROP_CONNTRACK_FULL = 9,     /* the conntrack entry cannot be created, or was evicted */
	DROP_ICMP_ERROR_UNTRACKED = 10,
	DROP_NEIGHBOUR_UNKNOWN = 11, /* ARP or ND for an address other than the gateway's */
	DROP_FAMILY_DISABLED = 12,
	DROP_NO_ENDPOINT = 13, /* the endpoint does not exist */
	DROP_PREFILTER = 14,
	DROP_EXTENSION_HEADERS = 15, /* more IPv6 extension headers than the parser walks */
	DROP_SERVICE_UNSERVED = 16,  /* to a service without a backend */
	DROP_TUPLE_IN_USE = 17,      /* its receiver has another connection with this tuple */
	DROP_PORTS_EXHAUSTED = 18,   /* masqueraded or relayed, and no port of the node was free for its destination */
	DROP_NOT_FORWARDABLE = 19,   /* to another host, and its hop limit ends here or the way takes smaller ones */
	DROP_NO_PROXY = 20,          /* policy sends its flow to a proxy, which is not there or cannot take it */
	DROP_NOT_TRANSLATABLE = 21,  /* of a flow between IPv6 and IPv4, and has no counterpart in the other family */
	DROP_PROGRAM_REFUSED = 22,   /* the kernel refuses the program that would judge it */
	DROP_INVALID_ADDRESS = 23,   /* its source or destination is no unicast address of a host */
	DROP_PROXY_SHARE = 24,       /* its sender has sent its share of datagrams to proxies in this second */
	DROP_NOT_REDIRECTED = 25,    /* to a proxy itself, and not of a flow that policy sends there */
};

#endif
