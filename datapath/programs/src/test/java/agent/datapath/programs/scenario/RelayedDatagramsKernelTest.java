package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioNode.DEVICE_MAC;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.ScenarioServices.Server;
import agent.maps.layout.EndpointOption;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Datagrams of two senders that leave with one address, since both are of services: RFC 6864,
 * section 4.1, and RFC 8200, section 4.5. Both use the same identification numbers.
 */
@KernelTest
class RelayedDatagramsKernelTest {
  private static final int PORT = 30080;
  private static final int OTHER_PORT = 30081;
  private static final int SERVED = 8080;
  private static final int CLIENT = 40000;
  private static final int NUMBER = 77;
  private static final String ROUTER_MAC = "02:00:00:00:07:07";

  private final ScenarioNode node =
      new ScenarioNode()
          .withoutPolicy()
          .routed()
          .masquerade(DEVICE, NODE)
          .with(ALICE, EndpointOption.SERVICES)
          .with(BOB, EndpointOption.SERVICES);

  @AfterEach
  void close() {
    node.close();
  }

  private static IpPacket arriving(Family family, ScenarioHost from, ScenarioHost to) {
    return family.packet(from, to).from(ROUTER_MAC).to(DEVICE_MAC);
  }

  private void serve(Family family, ScenarioHost frontend, int port, ScenarioHost server) {
    node.services(family)
        .putOutside(port, family.address(frontend), port, UDP, 0, new Server(server, SERVED));
  }

  /** Returns the identification number of a frame whose header is intact. */
  private static int number(Family family, Outcome outcome) {
    final ByteBuffer bytes = ByteBuffer.wrap(outcome.frame());
    if (family == Family.IPV6) {
      return bytes.getInt(58);
    }
    int sum = 0;
    for (int i = 14; i < 14 + (bytes.get(14) & 0xf) * 4; i += 2) {
      sum += bytes.getShort(i) & 0xffff;
    }
    assertEquals(0xffff, (sum & 0xffff) + (sum >> 16), "the header's checksum");
    return bytes.getShort(18) & 0xffff;
  }

  private static int relayed(Family family, Outcome outcome) {
    assertEquals(Outcome.REDIRECT, outcome.action(), outcome::toString);
    return number(family, outcome);
  }

  /**
   * Sends fragments of datagrams of equal numbers in turn.
   *
   * @param first those of the first sender
   * @param second those of the second one
   * @param sending returns the number with which the fragment of a sender leaves
   */
  private static void haveNumbersOfTheirOwn(
      Function<Integer, List<byte[]>> first,
      Function<Integer, List<byte[]>> second,
      List<Function<byte[], Integer>> sending) {
    final Set<Integer> used = new HashSet<>();
    for (int i = 0; i < 10; i++) {
      final List<List<byte[]>> sent = List.of(first.apply(NUMBER + i), second.apply(NUMBER + i));
      final List<Integer> numbers = new ArrayList<>();
      for (int part = 0; part < sent.getFirst().size(); part++) {
        for (int sender = 0; sender < sent.size(); sender++) {
          final int number = sending.get(sender).apply(sent.get(sender).get(part));
          if (part == 0) {
            numbers.add(number);
          }
          assertEquals(numbers.get(sender), number, "sender " + sender + ", fragment " + part);
        }
      }
      if (!used.contains(NUMBER + i)) { // or another datagram has got it by chance
        assertEquals(NUMBER + i, numbers.getFirst(), "the first sender keeps its own");
      }
      used.addAll(numbers);
    }
    assertEquals(20, used.size(), used.toString());
  }

  private static List<byte[]> fragments(IpPacket packet, int number) {
    return packet.id(number).payloadOf(3000).fragments(1280);
  }

  private int fromNetwork(Family family, byte[] fragment) {
    return relayed(family, node.fromNetwork(fragment));
  }

  @ParameterizedTest
  @EnumSource
  void shouldNumberTheDatagramsOfTwoClients(Family family) {
    serve(family, NODE, PORT, PEER);
    haveNumbersOfTheirOwn(
        number -> fragments(arriving(family, FAR, NODE).udp(CLIENT, PORT), number),
        number -> fragments(arriving(family, STRANGER, NODE).udp(CLIENT, PORT), number),
        List.of(part -> fromNetwork(family, part), part -> fromNetwork(family, part)));
  }

  /** To two frontends, so that its own numbers are not counted together. */
  @ParameterizedTest
  @EnumSource
  void shouldNumberTheDatagramsOfOneClientToTwoFrontends(Family family) {
    serve(family, NODE, PORT, PEER);
    serve(family, HOST, PORT, PEER);
    haveNumbersOfTheirOwn(
        number -> fragments(arriving(family, FAR, NODE).udp(CLIENT, PORT), number),
        number -> fragments(arriving(family, FAR, HOST).udp(CLIENT + 1, PORT), number),
        List.of(part -> fromNetwork(family, part), part -> fromNetwork(family, part)));
  }

  /** The client knows both by the address of the frontend. */
  @ParameterizedTest
  @EnumSource
  void shouldNumberTheAnswersOfTwoBackends(Family family) {
    serve(family, NODE, PORT, PEER);
    serve(family, NODE, OTHER_PORT, STRANGER);
    node.fromNetwork(arriving(family, FAR, NODE).udp(CLIENT, PORT));
    node.fromNetwork(arriving(family, FAR, NODE).udp(CLIENT, OTHER_PORT));
    haveNumbersOfTheirOwn(
        number -> fragments(arriving(family, PEER, NODE).udp(SERVED, CLIENT), number),
        number -> fragments(arriving(family, STRANGER, NODE).udp(SERVED, CLIENT), number),
        List.of(part -> fromNetwork(family, part), part -> fromNetwork(family, part)));
  }

  /** Their answers leave through the stack with the address of the frontend. */
  @ParameterizedTest
  @EnumSource
  void shouldNumberTheAnswersOfTwoWorkloads(Family family) {
    serve(family, NODE, PORT, ALICE);
    serve(family, NODE, OTHER_PORT, BOB);
    node.fromNetwork(arriving(family, FAR, NODE).udp(CLIENT, PORT));
    node.fromNetwork(arriving(family, FAR, NODE).udp(CLIENT, OTHER_PORT));
    for (final ScenarioHost backend : List.of(ALICE, BOB)) {
      node.forwardedToWorkload(backend, family.packet(FAR, backend).udp(CLIENT, SERVED)).passes();
    }
    haveNumbersOfTheirOwn(
        number -> fragments(family.packet(ALICE, FAR).udp(SERVED, CLIENT), number),
        number -> fragments(family.packet(BOB, FAR).udp(SERVED, CLIENT), number),
        List.of(
            part -> throughTheStack(family, ALICE, part),
            part -> throughTheStack(family, BOB, part)));
  }

  private int throughTheStack(Family family, ScenarioHost workload, byte[] fragment) {
    node.fromWorkload(workload, fragment).passes();
    final Outcome left = node.forwardedToNetwork(fragment);
    assertEquals(Outcome.PASS, left.action(), left::toString);
    return number(family, left);
  }

  /** To a service whose backend is outside: the first fragment opens the flow. */
  @ParameterizedTest
  @EnumSource
  void shouldNumberTheDatagramsOfTwoWorkloadsToABackendOutside(Family family) {
    node.services(family).put(PORT, STRANGER, PORT, UDP, 0, new Server(PEER, SERVED));
    haveNumbersOfTheirOwn(
        number -> fragments(family.packet(ALICE, STRANGER).udp(CLIENT, PORT), number),
        number -> fragments(family.packet(BOB, STRANGER).udp(CLIENT, PORT), number),
        List.of(
            part -> relayed(family, node.fromWorkload(ALICE, part)),
            part -> relayed(family, node.fromWorkload(BOB, part))));
  }

  @ParameterizedTest
  @EnumSource
  void shouldNumberTheAnswersOfTwoBackendsOutsideToAWorkload(Family family) {
    node.services(family)
        .put(PORT, STRANGER, PORT, UDP, 0, new Server(PEER, SERVED))
        .put(OTHER_PORT, STRANGER, OTHER_PORT, UDP, 0, new Server(FAR, SERVED));
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(CLIENT, PORT));
    node.fromWorkload(ALICE, family.packet(ALICE, STRANGER).udp(CLIENT, OTHER_PORT));
    haveNumbersOfTheirOwn(
        number -> fragments(arriving(family, PEER, NODE).udp(SERVED, CLIENT), number),
        number -> fragments(arriving(family, FAR, NODE).udp(SERVED, CLIENT), number),
        List.of(part -> fromNetwork(family, part), part -> fromNetwork(family, part)));
  }

  /** Whole ones that routers may split; those with DF keep theirs. */
  @Test
  void shouldCountTheWholeDatagramsOfAllClients() {
    serve(Family.IPV4, NODE, PORT, PEER);
    final Set<Integer> queries = new HashSet<>();
    final Set<Integer> answers = new HashSet<>();
    for (int i = 0; i < 60; i++) {
      final boolean isQuick = i % 2 == 1;
      for (final ScenarioHost client : List.of(FAR, STRANGER)) {
        final Outcome sent =
            node.fromNetwork(whole(isQuick, client, NODE).udp(CLIENT, PORT).payloadOf(8));
        assertTrue(queries.add(relayed(Family.IPV4, sent)), queries.toString());
        final int port = sent.parsed().sourcePort();
        final IpPacket answer = whole(isQuick, PEER, NODE).udp(SERVED, port).payloadOf(8);
        final Outcome back = node.fromNetwork(answer);
        assertEquals(NODE.ipv4, back.parsed().source());
        if (client == FAR) {
          assertTrue(answers.add(relayed(Family.IPV4, back)), answers.toString());
        }
        assertTrue(back.parsed().checksumsAreRight());
        assertEquals(
            NUMBER, relayed(Family.IPV4, node.fromNetwork(answer.mayNotBeSplit())), "with DF");
      }
    }
  }

  private static IpPacket whole(boolean isQuick, ScenarioHost from, ScenarioHost to) {
    return Family.slow(isQuick, arriving(Family.IPV4, from, to).id(NUMBER));
  }
}
