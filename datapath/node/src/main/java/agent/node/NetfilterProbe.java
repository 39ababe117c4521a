package agent.node;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.net.NetlinkException;
import agent.node.netfilter.NftablesRules;
import agent.node.netlink.ChainMessage;
import agent.node.netlink.IpsecNetlink;
import agent.node.netlink.NetfilterNetlink;
import agent.node.netlink.RouteNetlink;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Reads what is configured on this node that only the stack does with forwarded packets: filters,
 * translation, routing by other things than the destination, encryption. In the network namespace
 * of the calling thread; for one thread at a time. What cannot be read counts as configured. The
 * rules of the agent itself do not count.
 */
final class NetfilterProbe {
  private static final Path PROC_NET = Path.of("/proc/thread-self/net");

  /** A file of {@code ip_vs} has three lines without a service. */
  private static final int IPVS_HEADER_LINES = 3;

  private int readGeneration = -1;
  private List<String> chains = List.of();

  /** Returns what is there, each with what an operator would look for; empty: nothing. */
  List<String> read() {
    final List<String> found = new ArrayList<>();
    reading("nftables", found, this::addChains);
    reading("iptables", found, NetfilterProbe::addLegacyTables);
    reading("IPVS", found, NetfilterProbe::addVirtualServices);
    reading("routing rules", found, NetfilterProbe::addRouting);
    reading("IPsec policies", found, NetfilterProbe::addPolicies);
    return found;
  }

  private interface Part {
    void addTo(List<String> found) throws IOException;
  }

  private static void reading(String what, List<String> found, Part part) {
    try {
      part.addTo(found);
    } catch (IOException | BindingsException failure) {
      found.add(what + " cannot be read: " + failure.getMessage());
    }
  }

  /** Reads the chains again only where the rule set has changed: it may be large. */
  private void addChains(List<String> found) {
    try (NetfilterNetlink netfilter = NetfilterNetlink.open()) {
      final int generation = netfilter.generation();
      if (generation != readGeneration) {
        chains =
            netfilter.baseChains().stream()
                .filter(chain -> chain.concernsForwarding() && !NftablesRules.isOwn(chain))
                .map(NetfilterProbe::text)
                .toList();
        readGeneration = generation;
      }
      found.addAll(chains);
    } catch (NetlinkException failure) {
      final int errno = failure.errno();
      if (errno != Errno.EPROTONOSUPPORT && errno != Errno.EINVAL) { // no nfnetlink, no nf_tables
        throw failure;
      }
    }
  }

  private static String text(ChainMessage chain) {
    return "nftables chain '"
        + chain.title()
        + (chain.uses() > 0 ? "' has rules" : "' drops by default");
  }

  /** The kernel lists the tables that were used since its start, and does not remove them. */
  private static void addLegacyTables(List<String> found) throws IOException {
    lines("ip_tables_names", table -> found.add("iptables has the table '" + table + "'"));
    lines("ip6_tables_names", table -> found.add("ip6tables has the table '" + table + "'"));
  }

  private static void addVirtualServices(List<String> found) throws IOException {
    final List<String> lines = new ArrayList<>();
    lines("ip_vs", lines::add);
    if (lines.size() > IPVS_HEADER_LINES) {
      found.add("IPVS has virtual services");
    }
  }

  private static void lines(String file, Consumer<String> consumer) throws IOException {
    try {
      Files.readAllLines(PROC_NET.resolve(file)).forEach(consumer);
    } catch (NoSuchFileException absent) {
      // the kernel lacks it
    }
  }

  private static void addRouting(List<String> found) {
    try (RouteNetlink netlink = RouteNetlink.open()) {
      for (final boolean ipv4 : new boolean[] {true, false}) {
        netlink.rules(ipv4).stream()
            .filter(rule -> !rule.isDefault())
            .map(rule -> (ipv4 ? "an IPv4" : "an IPv6") + " rule of priority " + rule.priority())
            .forEach(rule -> found.add(rule + " selects routes"));
        netlink.routesWithMtu(ipv4).stream()
            .map(route -> "the route to " + route.destination() + " has its own MTU")
            .forEach(found::add);
      }
    }
  }

  private static void addPolicies(List<String> found) {
    final int policies = IpsecNetlink.policies();
    if (policies > 0) {
      found.add(policies + " IPsec policies");
    }
  }
}
