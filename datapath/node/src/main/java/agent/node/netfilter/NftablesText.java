package agent.node.netfilter;

import agent.types.Prefix;
import java.util.List;
import java.util.Map;

/**
 * The agent's table of nftables. Flows of protocols without ports have no second tuple that answers
 * could be known by, so that those of workloads are in a conntrack zone of their own: they never
 * meet a flow of the node. What a host sends by such a protocol is of that zone as long as a
 * workload has sent to the host, and the node has not ({@code sent}), nor had received from it
 * before ({@code received}).
 */
final class NftablesText {
  /** The counter of what is dropped beyond a share. */
  static final String OVER_SHARE = "over_share";

  /** The counter of what is dropped of protocols without ports. */
  static final String WITHOUT_PORT = "without_port";

  private static final int BEFORE_OTHERS = 90;
  private static final int AFTER_OTHERS = 110;

  /** A conntrack zone that no other program is expected to use. */
  private static final int ZONE = 42_727;

  /**
   * Counters, the flows that each workload has to a port of a host, and the hosts of protocols
   * without ports. Where there are more flows than the set holds, the kernel removes those of which
   * all have ended, and counts no others. A host is remembered for as long as the kernel keeps such
   * a flow (net.netfilter.nf_conntrack_generic_timeout).
   */
  private static final String FLOWS =
      """
      \tset flows${v} {
      \t\ttype ipv${v}_addr . ipv${v}_addr . inet_service;
      \t\tflags dynamic;
      \t\tsize 65535;
      \t}
      """;

  private static final String HOSTS =
      """
      \tset ${set}${v} {
      \t\ttypeof ${to};
      \t\tflags dynamic,timeout;
      \t\ttimeout 10m;
      \t\tsize 65535;
      \t}
      """;

  private static final String PORTLESS =
      "\t\tmeta l4proto { tcp, udp, sctp, icmp, ipv6-icmp } return\n";

  /** What quotes a packet of a flow is of its zone: errors of the path lower the MTU of tunnels. */
  private static final String ERRORS =
      """
      \t\tmeta nfproto ipv${v} ${errors} ${inner protocol} != ${others}\
       ${inner to} @masqueraded${v} ${inner to} != @sent${v} ${inner to} != @received${v}\
       ct zone set ${zone}
      """;

  private static final String ZONES =
      """
      \t\t${ip} saddr ${range} fib daddr type != local ct zone set ${zone} return
      \t\t${ip} daddr ${range} fib daddr type != local ct zone set ${zone} return
      \t\t${ip} daddr ${range} return
      \t\tmeta nfproto ipv${v} ${from} @masqueraded${v} ${from} != @sent${v}\
       ${from} != @received${v} ct zone set ${zone}
      """;

  private static final String INPUT =
      """
      \t\t${ip} saddr != ${range} ${from} != @masqueraded${v} update @received${v} { ${from} }
      """;

  private static final String RESERVE =
      """
      \t\t${ip} saddr != ${range} ${ip} daddr != ${range} update @sent${v} { ${to} }
      """;

  /** What the outside has opened is no flow that is masqueraded. */
  private static final String PORTLESS_FLOWS =
      """
      \t\t${ip} saddr ${range} ct direction reply return
      \t\t${ip} saddr ${range} ${to} @sent${v} counter name without_port drop
      \t\t${ip} saddr ${range} ${to} @received${v} counter name without_port drop
      \t\t${ip} saddr ${range} ct state new add @flows${v} { ${ip} saddr . ${any} . 0\
       ct count over ${share} } counter name over_share drop
      \t\t${ip} saddr ${range} update @masqueraded${v} { ${to} } return
      \t\t${ip} saddr ${range} counter name without_port drop
      """;

  private static final String MASQUERADE =
      """
      \t\t${ip} saddr ${range} tcp flags & (fin | syn | rst | ack) != syn return
      \t\t${ip} saddr ${range} meta l4proto { tcp, udp, sctp } add @flows${v} { ${ip} saddr\
       . ${ip} daddr . th dport ct count over ${share} } counter name over_share drop
      \t\t${ip} saddr ${range} meta l4proto { icmp, ipv6-icmp } add @flows${v} { ${ip} saddr\
       . ${ip} daddr . 0 ct count over ${share} } counter name over_share drop
      \t\t${ip} saddr ${range} meta l4proto { tcp, udp, sctp } masquerade to :${ports}
      \t\t${ip} saddr ${range} masquerade
      """;

  /** The words of a family; parts of headers are bits of the packet, as sets need them. */
  private static final Map<String, String> IPV4 =
      Map.of(
          "v", "4",
          "ip", "ip",
          "from", "@nh,96,32",
          "to", "@nh,128,32",
          "any", "0.0.0.0",
          "errors", "icmp type { destination-unreachable, time-exceeded, parameter-problem }",
          "inner protocol", "@th,136,8",
          "others", "{ 1, 6, 17, 132 }",
          "inner to", "@th,192,32");

  private static final Map<String, String> IPV6 =
      Map.of(
          "v", "6",
          "ip", "ip6",
          "from", "@nh,64,128",
          "to", "@nh,192,128",
          "any", "::",
          "errors",
              "icmpv6 type { destination-unreachable, packet-too-big, time-exceeded,"
                  + " parameter-problem }",
          "inner protocol", "@th,112,8",
          "others", "{ 6, 17, 44, 58, 132 }",
          "inner to", "@th,256,128");

  private final MasqueradeRules rules;
  private final StringBuilder text = new StringBuilder();

  private NftablesText(MasqueradeRules rules) {
    this.rules = rules;
  }

  /** Returns the table as nft reads it. */
  static String of(MasqueradeRules rules, String table) {
    final NftablesText text = new NftablesText(rules);
    text.text.append("table inet ").append(table).append(" {\n");
    text.write();
    return text.text.append("}\n").toString();
  }

  private void write() {
    for (final String counter : List.of(OVER_SHARE, WITHOUT_PORT)) {
      text.append("\tcounter ").append(counter).append(" {\n\t}\n");
    }
    for (final MasqueradedRange range : rules.ranges()) {
      add(range, FLOWS);
      for (final String set : List.of("sent", "received", "masqueraded")) {
        add(range, HOSTS.replace("${set}", set));
      }
    }
    begin("prerouting", "filter hook prerouting priority -300");
    text.append("\t\tmeta l4proto { tcp, udp, sctp } return\n");
    addAll(ERRORS);
    text.append("\t\tmeta l4proto { icmp, ipv6-icmp } return\n");
    addAll(ZONES);
    begin("input", "filter hook input priority 0");
    text.append(PORTLESS);
    addAll(INPUT);
    begin("portless", "filter hook postrouting priority -150");
    text.append(PORTLESS);
    addAll(RESERVE);
    rules.ranges().forEach(range -> addFlows(range, PORTLESS_FLOWS));
    begin(
        "postrouting",
        "nat hook postrouting priority " + (rules.areFirst() ? BEFORE_OTHERS : AFTER_OTHERS));
    rules.ranges().forEach(range -> addFlows(range, MASQUERADE));
    text.append("\t}\n");
  }

  /** Ends the chain before, if any, and begins one. */
  private void begin(String chain, String type) {
    text.append(chain.equals("prerouting") ? "" : "\t}\n");
    text.append("\tchain ").append(chain).append(" {\n\t\ttype ").append(type);
    text.append("; policy accept;\n");
  }

  private void addAll(String template) {
    rules.ranges().forEach(range -> add(range, template));
  }

  /** Adds rules behind those for what is never masqueraded. */
  private void addFlows(MasqueradedRange range, String template) {
    range.own().forEach(own -> add(range, "\t\t${ip} saddr " + own + " return\n"));
    for (final Prefix to : range.excluded()) {
      add(range, "\t\t${ip} saddr ${range} ${ip} daddr " + to + " return\n");
    }
    add(range, template);
  }

  private void add(MasqueradedRange range, String template) {
    String filled =
        template
            .replace("${range}", range.sources().toString())
            .replace("${zone}", Integer.toString(ZONE))
            .replace("${share}", Integer.toString(rules.ports().share()))
            .replace("${ports}", rules.ports().range());
    for (final Map.Entry<String, String> word :
        (range.sources().isIpv4() ? IPV4 : IPV6).entrySet()) {
      filled = filled.replace("${" + word.getKey() + "}", word.getValue());
    }
    text.append(filled);
  }
}
