package agent.launcher.process;

import agent.launcher.process.DifferentialModel.Kind;
import agent.launcher.process.DifferentialModel.Party;
import agent.launcher.process.DifferentialModel.Verdict;
import agent.launcher.process.DifferentialNetwork.Frontend;
import agent.launcher.process.DifferentialNetwork.Host;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;

/**
 * A flow that a client opens.
 *
 * @param source the address that the client asks for; null for any
 * @param isAtSocket whether programs translate the client's sockets
 * @param target the address that the client knows
 * @param port the port that it knows
 */
record DifferentialFlow(
    Host client, String source, boolean isTcp, boolean isAtSocket, String target, int port) {
  private static final List<String> SPECIAL =
      List.of("127.0.0.1", "127.0.0.53", "0.0.0.0", "224.0.0.1", "255.255.255.255");

  /** By which way a flow reaches its server. */
  enum Way {
    DIRECT,
    SOCKET,
    PACKET,
    NAT46,
    NAT46_SERVICE,
    SPECIAL
  }

  /** What becomes of a flow. */
  enum Outcome {
    DROPPED,
    OPEN,
    JUDGED
  }

  /**
   * What must become of a flow.
   *
   * @param host whose server it reaches
   * @param port at which port
   * @param from the address that the server sees; null where it does not matter
   * @param ends the client and the server as policy sees them; empty where no policy judges
   * @param verdict null where no policy judges
   */
  record Expected(
      Way way,
      Outcome outcome,
      Host host,
      int port,
      String from,
      List<Party> ends,
      Verdict verdict) {}

  /** Draws a flow. */
  static DifferentialFlow draw(
      DifferentialGenerator random, DifferentialNetwork network, boolean isAtSocket) {
    final int who = random.below(10);
    final boolean isTcp = random.below(5) < 3;
    final boolean isIpv6 = random.below(2) == 0;
    if (who == 0 || who == 1) {
      final Host client = network.host("outside");
      final String source = random.pick(client.addresses(isIpv6));
      return toWorkload(random, network, client, source, isTcp, isIpv6, isAtSocket);
    }
    if (who == 2) {
      return toWorkload(random, network, network.host("node"), null, isTcp, isIpv6, isAtSocket);
    }
    final Host client = random.pick(network.hosts().subList(0, 3));
    final int way = random.below(10);
    final boolean isTranslated = way == 7 || way == 8;
    if (way == 9) {
      return nat46(client, isTcp, isAtSocket, random.pick(SPECIAL), random.port(isTcp));
    }
    if (way == 5 || way == 6 || way == 7) {
      final Frontend frontend =
          random.pick(frontends(network, isTcp, isIpv6 && !isTranslated, false, null));
      return isTranslated
          ? nat46(client, isTcp, isAtSocket, frontend.address(), frontend.port())
          : new DifferentialFlow(
              client, null, isTcp, isAtSocket, frontend.address(), frontend.port());
    }
    Host server = random.pick(network.hosts());
    while (server == client) {
      server = random.pick(network.hosts());
    }
    final String address = random.pick(server.addresses(isIpv6 && !isTranslated));
    return isTranslated
        ? nat46(client, isTcp, isAtSocket, address, random.port(isTcp))
        : new DifferentialFlow(client, null, isTcp, isAtSocket, address, random.port(isTcp));
  }

  private static DifferentialFlow toWorkload(
      DifferentialGenerator random,
      DifferentialNetwork network,
      Host client,
      String source,
      boolean isTcp,
      boolean isIpv6,
      boolean isAtSocket) {
    final List<Frontend> frontends = frontends(network, isTcp, isIpv6, !isAtSocket, client);
    if (random.below(3) == 0 && (isAtSocket || client.kind() == Kind.WORLD)) {
      final Frontend frontend = random.pick(frontends);
      return new DifferentialFlow(
          client, source, isTcp, isAtSocket, frontend.address(), frontend.port());
    }
    final Host server = random.pick(network.hosts().subList(0, 3));
    return new DifferentialFlow(
        client, source, isTcp, isAtSocket, server.addresses(isIpv6).getFirst(), random.port(isTcp));
  }

  private static List<Frontend> frontends(
      DifferentialNetwork network,
      boolean isTcp,
      boolean isIpv6,
      boolean isForOutside,
      Host excluded) {
    return network.frontends().stream()
        .filter(each -> each.isTcp() == isTcp)
        .filter(each -> DifferentialNetwork.isIpv6(each.address()) == isIpv6)
        .filter(each -> !isForOutside || each.isForOutside())
        .filter(each -> each.host() != excluded)
        .toList();
  }

  private static DifferentialFlow nat46(
      Host client, boolean isTcp, boolean isAtSocket, String ipv4, int port) {
    final String target = DifferentialNetwork.literal(DifferentialNetwork.NAT46 + ipv4);
    return new DifferentialFlow(client, null, isTcp, isAtSocket, target, port);
  }

  /** Returns the IPv4 address that one of the range of NAT46 embeds. */
  private Optional<String> embedded() {
    final String prefix = DifferentialNetwork.literal(DifferentialNetwork.NAT46);
    final String stem = prefix.substring(0, prefix.length() - 3); // without the last two words
    if (client.kind() != Kind.WORKLOAD || !target.startsWith(stem)) {
      return Optional.empty();
    }
    final byte[] octets = InetAddress.ofLiteral(target).getAddress();
    return Optional.of(
        "%d.%d.%d.%d"
            .formatted(octets[12] & 0xff, octets[13] & 0xff, octets[14] & 0xff, octets[15] & 0xff));
  }

  /** Returns what must become of it. */
  Expected expected(DifferentialNetwork network, DifferentialModel model) {
    final Optional<String> embedded = embedded();
    final boolean isNat46 = embedded.isPresent();
    String address = embedded.orElse(target);
    if (SPECIAL.contains(address)) {
      return new Expected(Way.SPECIAL, Outcome.DROPPED, null, port, null, List.of(), null);
    }
    int served = port;
    boolean isByPacket = false;
    Way way = isNat46 ? Way.NAT46 : Way.DIRECT;
    for (final Frontend each : network.frontends()) {
      if (each.isTcp() == isTcp && each.address().equals(address) && each.port() == port) {
        isByPacket = isNat46 || !isAtSocket;
        way = isNat46 ? Way.NAT46_SERVICE : isByPacket ? Way.PACKET : Way.SOCKET;
        address = each.backend();
        served = each.backendPort();
        break;
      }
    }
    final String reached = address;
    final Host server =
        network.hosts().stream()
            .filter(host -> host.addresses().contains(reached))
            .findFirst()
            .orElseThrow();
    if (server == client) { // what stays inside of a workload is not judged
      return new Expected(way, Outcome.OPEN, server, served, null, List.of(), null);
    }
    final boolean isIpv6 = DifferentialNetwork.isIpv6(reached);
    final String own = source == null || isNat46 ? client.addresses(isIpv6).getFirst() : source;
    final Party from = client.at(own);
    final Party to = server.at(reached);
    final Verdict verdict = model.verdict(from, to, isTcp, served);
    final boolean isWithoutProxy = isByPacket || client.kind() == Kind.NODE;
    final Outcome outcome =
        !verdict.passes() || verdict.isJudged() && isWithoutProxy
            ? Outcome.DROPPED
            : verdict.isJudged() ? Outcome.JUDGED : Outcome.OPEN;
    return new Expected(
        way, outcome, server, served, seen(own, server, isIpv6), List.of(from, to), verdict);
  }

  /** Returns the address that the server sees: workloads are known outside by the node's. */
  private String seen(String own, Host server, boolean isIpv6) {
    if (client.kind() == Kind.NODE || server.kind() == Kind.NODE) {
      return null;
    }
    return client.kind() == Kind.WORKLOAD && server.kind() == Kind.WORLD
        ? DifferentialNetwork.literal(isIpv6 ? "2001:db8:2::1" : "192.0.2.1")
        : own;
  }

  @Override
  public String toString() {
    return "%s%s %s to %s port %d%s"
        .formatted(
            client.name(),
            source == null ? "" : " (" + source + ")",
            isTcp ? "TCP" : "UDP",
            target,
            port,
            isAtSocket ? ", at the socket" : "");
  }
}
