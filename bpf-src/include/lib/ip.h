/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Numbers of IP for which no header of the kernel's API has a name that programs can include. */
#ifndef AGENT_LIB_IP_H
#define AGENT_LIB_IP_H

/* Families in structs of the kernel; the programs' own are in lib/packet.h. */
#define KERNEL_FAMILY_IPV4 2  /* AF_INET */
#define KERNEL_FAMILY_IPV6 10 /* AF_INET6 */

#define IPV4_VERSION_AND_WORDS 0x45 /* a header without options */
#define IPV4_DONT_FRAGMENT 0x4000
#define IPV6_FLOW_LABEL 0xfffff
#define IP_LARGEST_BYTES 65535

#define OUTER_HOPS 64 /* of headers in which packets are encapsulated */

#endif
