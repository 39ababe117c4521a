package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.HOST;
import static agent.datapath.programs.scenario.ScenarioHost.NODE;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.ScenarioHost.STRANGER;
import static agent.datapath.programs.scenario.ScenarioNetwork.DEVICE;
import static agent.datapath.programs.scenario.ScenarioProxy.CLIENT;
import static agent.datapath.programs.scenario.ScenarioProxy.PORT;
import static agent.datapath.programs.scenario.ScenarioProxy.PROXY;
import static agent.datapath.programs.scenario.ScenarioProxy.SOCKET;
import static agent.datapath.programs.scenario.ScenarioProxy.arriving;
import static agent.datapath.programs.scenario.ScenarioProxy.of;
import static agent.datapath.programs.scenario.ScenarioProxy.opening;
import static agent.datapath.programs.scenario.ScenarioProxy.packet;
import static agent.datapath.programs.scenario.ScenarioProxy.to;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.scenario.Flows.Flow;
import agent.maps.layout.DropReason;
import agent.maps.layout.EndpointOption;
import agent.maps.layout.MapSize;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Flows that policy sends to a proxy of the agent, from a workload and from the network. */
@KernelTest
class RedirectKernelTest {
  private final ScenarioNode node = new ScenarioNode().routed();
  private final ScenarioProxy proxy = new ScenarioProxy(node);

  @BeforeEach
  void listen() throws Exception {
    node.guard(DEVICE);
    proxy.listen();
  }

  @AfterEach
  void close() throws Exception {
    proxy.silence();
    node.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldSendAFlowOfAWorkloadToTheProxyAndItsAnswersBack(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      for (final ScenarioHost server : List.of(PEER, FAR)) {
        node.policyOf(ALICE).redirectTo(server, protocol, PORT, RedirectKind.HTTP);
        proxy.open(family, ALICE, server, protocol);
        for (int i = 0; i < 2; i++) {
          node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, protocol)))
              .passesAs(to(ALICE, packet(family, server, PORT, ALICE, CLIENT, protocol)));
          node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, server, PORT, protocol))
              .passesAs(of(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, protocol)));
        }
        node.flows().delete(family, ALICE, CLIENT, server, PORT, protocol);
        node.flows().delete(family, ALICE, CLIENT, HOST, PROXY, protocol);
      }
    }
  }

  /**
   * The client uses one port for two servers; both flows are the same to one port of the proxy. A
   * flow whose entry was evicted gets its port again.
   */
  @ParameterizedTest
  @EnumSource
  void shouldGiveEachFlowAPortOfTheProxy(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).redirectTo(PEER, protocol, PORT, RedirectKind.HTTP);
      for (int i = 0; i < MapSize.REDIRECT_PORTS; i++) {
        node.policyOf(ALICE).redirectTo(PEER, protocol, PORT + i, RedirectKind.HTTP);
        for (int j = 0; j < 3; j++) {
          node.fromWorkload(ALICE, opening(family.packet(ALICE, PEER), protocol, CLIENT, PORT + i))
              .passesAs(
                  of(ALICE, opening(family.packet(ALICE, HOST), protocol, CLIENT, PROXY + i)));
          if (j == 1) {
            node.flows().delete(family, ALICE, CLIENT, PEER, PORT + i, protocol);
          }
        }
        node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY + i, ALICE, CLIENT, protocol)))
            .passesAs(to(ALICE, packet(family, PEER, PORT + i, ALICE, CLIENT, protocol)));
      }
      node.policyOf(ALICE).redirectTo(FAR, protocol, PORT, RedirectKind.HTTP);
      node.fromWorkload(ALICE, opening(family.packet(ALICE, FAR), protocol, CLIENT, PORT))
          .dropsFor(DropReason.PORTS_EXHAUSTED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropWhatOpensAFlowWhereNoProxyListens(Family family) throws Exception {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE)
          .redirectTo(PEER, protocol, PORT, RedirectKind.HTTP)
          .redirectTo(FAR, protocol, PORT, RedirectKind.DNS);
      node.fromWorkload(ALICE, opening(family.packet(ALICE, FAR), protocol, CLIENT, PORT))
          .dropsFor(DropReason.NO_PROXY);
    }
    proxy.silence();
    for (final int protocol : ScenarioProxy.protocols()) {
      node.fromWorkload(ALICE, opening(family.packet(ALICE, PEER), protocol, CLIENT, PORT))
          .dropsFor(DropReason.NO_PROXY);
      assertNull(node.flows().find(family, ALICE, CLIENT, PEER, PORT, protocol));
    }
  }

  /**
   * One workload has sent its share of datagrams; another one, and clients outside, have theirs.
   */
  @ParameterizedTest
  @EnumSource
  void shouldDropTheDatagramsOfAWorkloadBeyondItsShareAlone(Family family) {
    for (final ScenarioHost workload : List.of(ALICE, BOB)) {
      node.policyOf(workload)
          .redirectTo(PEER, UDP, PORT, RedirectKind.HTTP)
          .redirectTo(PEER, TCP, PORT, RedirectKind.HTTP)
          .redirectTo(FAR, UDP, PORT, RedirectKind.HTTP);
    }
    RateWindow.inOne(() -> sendBeyondTheShare(family));
    node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, UDP)))
        .passesAs(to(ALICE, packet(family, PEER, PORT, ALICE, CLIENT, UDP)));
    proxy.open(family, ALICE, PEER, TCP);
    proxy.open(family, BOB, PEER, UDP);
    node.fromWorkload(BOB, packet(family, BOB, CLIENT, PEER, PORT, UDP))
        .passesAs(of(BOB, packet(family, BOB, CLIENT, HOST, PROXY, UDP)));
  }

  private void sendBeyondTheShare(Family family) {
    ScenarioProxy.spendShare(node, ALICE.id, 3);
    proxy.open(family, ALICE, PEER, UDP);
    final IpPacket atRest = packet(family, ALICE, CLIENT, PEER, PORT, UDP);
    final IpPacket shown = of(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, UDP));
    node.fromWorkload(ALICE, atRest).passesAs(shown);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, atRest).passesAs(shown); // judged again
    node.fromWorkload(ALICE, atRest).dropsFor(DropReason.PROXY_SHARE);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, atRest).dropsFor(DropReason.PROXY_SHARE);
    node.fromWorkload(ALICE, opening(family.packet(ALICE, FAR), UDP, CLIENT, PORT))
        .dropsFor(DropReason.PROXY_SHARE);
    assertNull(node.flows().find(family, ALICE, CLIENT, FAR, PORT, UDP));
  }

  @ParameterizedTest
  @EnumSource
  void shouldGiveTheClientsOutsideOneShareOfDatagrams(Family family) {
    node.policyOf(BOB).redirectFrom(STRANGER, UDP, PORT, RedirectKind.HTTP);
    node.policyOf(ALICE).redirectTo(PEER, UDP, PORT, RedirectKind.HTTP);
    final IpPacket arriving = arriving(family.packet(STRANGER, BOB).udp(CLIENT, PORT));
    RateWindow.inOne(
        () -> {
          ScenarioProxy.spendShare(node, 0, 1);
          node.fromNetwork(arriving)
              .passesUncountedAs(arriving(family.packet(STRANGER, HOST).udp(CLIENT, PROXY)));
          node.fromNetwork(arriving).dropsFor(DropReason.PROXY_SHARE);
        });
    proxy.open(family, ALICE, PEER, UDP);
  }

  /** The ports of both proxies take nothing that the programs have not sent there. */
  @ParameterizedTest
  @EnumSource
  void shouldDropWhatIsToAProxyItself(Family family) {
    node.own(NODE);
    for (final RedirectKind kind : List.of(RedirectKind.HTTP, RedirectKind.DNS)) {
      ScenarioProxy.serve(node, RedirectKind.HTTP, kind == RedirectKind.HTTP ? PROXY : 0);
      ScenarioProxy.serve(node, RedirectKind.DNS, kind == RedirectKind.DNS ? PROXY : 0);
      for (final int protocol : ScenarioProxy.protocols()) {
        for (final int port : new int[] {PROXY, PROXY + MapSize.REDIRECT_PORTS - 1}) {
          node.policyOf(ALICE).allowTo(HOST, protocol, port);
          node.fromWorkload(ALICE, opening(family.packet(ALICE, HOST), protocol, CLIENT, port))
              .dropsFor(DropReason.NOT_REDIRECTED);
          node.fromNetwork(arriving(opening(family.packet(STRANGER, HOST), protocol, CLIENT, port)))
              .dropsFor(DropReason.NOT_REDIRECTED);
        }
        final int other = PROXY + MapSize.REDIRECT_PORTS;
        node.policyOf(ALICE).allowTo(HOST, protocol, other).allowTo(NODE, protocol, PROXY);
        node.fromWorkload(ALICE, opening(family.packet(ALICE, HOST), protocol, CLIENT, other))
            .isForwarded();
        node.fromWorkload(ALICE, opening(family.packet(ALICE, NODE), protocol, CLIENT, PROXY))
            .isForwarded();
        node.fromNetwork(arriving(opening(family.packet(STRANGER, HOST), protocol, CLIENT, other)))
            .passesUncounted();
        node.fromNetwork(arriving(opening(family.packet(STRANGER, BOB), protocol, CLIENT, PROXY)))
            .passesUncounted(); // a port of another address
      }
    }
  }

  /** A client outside sends to the proxy with the tuple of a flow that policy has sent there. */
  @ParameterizedTest
  @EnumSource
  void shouldDropWhatIsToAProxyWithTheTupleOfAnEntry(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(BOB).redirectFrom(STRANGER, protocol, PORT, RedirectKind.HTTP);
      node.fromNetwork(arriving(opening(family.packet(STRANGER, BOB), protocol, CLIENT, PORT)))
          .passesUncountedAs(
              arriving(opening(family.packet(STRANGER, HOST), protocol, CLIENT, PROXY)));
      node.fromNetwork(arriving(packet(family, STRANGER, CLIENT, HOST, PROXY, protocol)))
          .dropsFor(DropReason.NOT_REDIRECTED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldNotTakeAConnectionInItsMiddle(Family family) {
    node.policyOf(ALICE).redirectTo(PEER, TCP, PORT, RedirectKind.HTTP);
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, PEER, PORT, TCP))
        .dropsFor(DropReason.NO_PROXY);
    node.policyOf(ALICE).allowTo(FAR, TCP, PORT);
    node.fromWorkload(ALICE, opening(family.packet(ALICE, FAR), TCP, CLIENT, PORT)).isForwarded();
    node.toWorkload(ALICE, family.packet(FAR, ALICE).tcp(PORT, CLIENT).syn().ack()).passes();
    node.policyOf(ALICE).redirectTo(FAR, TCP, PORT, RedirectKind.HTTP);
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, opening(family.packet(ALICE, FAR), TCP, CLIENT, PORT))
        .dropsFor(DropReason.NO_PROXY);
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, FAR, PORT, TCP))
        .dropsFor(DropReason.NO_PROXY);
  }

  /** A flow that is no connection, or has no answer yet, passes the proxy with its next packet. */
  @ParameterizedTest
  @EnumSource
  void shouldTakeAFlowThatBeganWithoutAProxy(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      for (final boolean isDenied : new boolean[] {true, false}) {
        final ScenarioHost server = isDenied ? PEER : FAR;
        final IpPacket query = opening(family.packet(ALICE, server), protocol, CLIENT, PORT);
        node.policyOf(ALICE).allowTo(server, protocol, PORT);
        node.fromWorkload(ALICE, query).isForwarded();
        if (isDenied) {
          node.policyOf(ALICE).denyTo(server, protocol, PORT);
          node.raiseGeneration(ALICE.id);
          node.fromWorkload(ALICE, query).dropsFor(DropReason.POLICY_DENY_RULE);
        }
        node.policyOf(ALICE).redirectTo(server, protocol, PORT, RedirectKind.HTTP);
        node.raiseGeneration(ALICE.id);
        if (protocol == UDP && !isDenied) {
          node.toWorkload(ALICE, packet(family, server, PORT, ALICE, CLIENT, UDP))
              .dropsFor(DropReason.NO_PROXY);
        }
        proxy.open(family, ALICE, server, protocol);
        node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, protocol)))
            .passesAs(to(ALICE, packet(family, server, PORT, ALICE, CLIENT, protocol)));
        node.flows().delete(family, ALICE, CLIENT, HOST, PROXY, protocol);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldTakeAConnectionOfTheNetworkThatBeganWithoutAProxy(Family family) {
    node.policyOf(BOB).allowFrom(FAR, TCP, PORT).allowFrom(PEER, TCP, PORT);
    node.toWorkload(BOB, opening(family.packet(FAR, BOB), TCP, CLIENT, PORT)).passes();
    node.toWorkload(BOB, opening(family.packet(PEER, BOB), TCP, CLIENT, PORT)).passes();
    node.fromWorkload(BOB, family.packet(BOB, PEER).tcp(PORT, CLIENT).syn().ack()).isForwarded();
    node.policyOf(BOB)
        .redirectFrom(FAR, TCP, PORT, RedirectKind.HTTP)
        .redirectFrom(PEER, TCP, PORT, RedirectKind.HTTP);
    node.raiseGeneration(BOB.id);
    node.fromNetwork(arriving(opening(family.packet(FAR, BOB), TCP, CLIENT, PORT)))
        .passesUncountedAs(arriving(opening(family.packet(FAR, HOST), TCP, CLIENT, PROXY)));
    node.fromNetwork(arriving(opening(family.packet(PEER, BOB), TCP, CLIENT, PORT)))
        .passesUncounted();
    node.toWorkload(BOB, opening(family.packet(PEER, BOB), TCP, CLIENT, PORT))
        .dropsFor(DropReason.NO_PROXY);
  }

  /** The proxy reads them from the entry of the client and itself. */
  @ParameterizedTest
  @EnumSource
  void shouldTellTheProxyTheIdentitiesThatAFlowGets(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.writeIdentity(FAR, FAR.identity);
      node.writeIdentity(ALICE, ALICE.identity);
      for (final ScenarioHost peer : List.of(FAR, PEER)) {
        node.policyOf(ALICE).redirectTo(peer, protocol, PORT, RedirectKind.HTTP);
        node.policyOf(BOB).redirectFrom(peer, protocol, PORT, RedirectKind.HTTP);
      }
      node.raiseGeneration(ALICE.id);
      proxy.open(family, ALICE, FAR, protocol);
      node.fromNetwork(arriving(opening(family.packet(FAR, BOB), protocol, CLIENT, PORT)))
          .passesUncountedAs(arriving(opening(family.packet(FAR, HOST), protocol, CLIENT, PROXY)));
      assertEquals(FAR.identity, leg(family, ALICE, protocol).responderIdentity());
      assertEquals(FAR.identity, leg(family, FAR, protocol).initiatorIdentity());

      node.writeIdentity(FAR, PEER.identity);
      node.raiseGeneration(0);
      node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, FAR, PORT, protocol))
          .passesAs(of(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, protocol)));
      assertEquals(PEER.identity, leg(family, ALICE, protocol).responderIdentity());
      assertEquals(ALICE.identity, leg(family, ALICE, protocol).initiatorIdentity());
      node.fromNetwork(arriving(packet(family, FAR, CLIENT, BOB, PORT, protocol)))
          .passesUncountedAs(arriving(packet(family, FAR, CLIENT, HOST, PROXY, protocol)));
      assertEquals(PEER.identity, leg(family, FAR, protocol).initiatorIdentity());
      assertEquals(BOB.identity, leg(family, FAR, protocol).responderIdentity());
      node.flows().delete(family, ALICE, CLIENT, FAR, PORT, protocol);
      node.flows().delete(family, ALICE, CLIENT, HOST, PROXY, protocol);

      node.policyOf(BOB).allowFromAny(protocol, PORT);
      node.policyOf(ALICE).redirectTo(BOB, protocol, PORT, RedirectKind.HTTP);
      node.raiseGeneration(ALICE.id);
      proxy.open(family, ALICE, BOB, protocol);
      proxy.join(family, ALICE, BOB, protocol);
      node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT)))
          .passesAs(to(BOB, opening(family.packet(ALICE, BOB), protocol, CLIENT, PORT)));
      node.writeIdentity(ALICE, STRANGER.identity);
      node.raiseGeneration(ALICE.id);
      node.fromWorkload(BOB, packet(family, BOB, PORT, ALICE, CLIENT, protocol))
          .passesAs(of(BOB, packet(family, BOB, PORT, HOST, SOCKET, protocol)));
      assertEquals(STRANGER.identity, leg(family, ALICE, protocol).initiatorIdentity());
      assertEquals(BOB.identity, leg(family, ALICE, protocol).responderIdentity());
    }
  }

  private Flow leg(Family family, ScenarioHost client, int protocol) {
    return node.flows().find(family, client, CLIENT, HOST, PROXY, protocol);
  }

  /** The answers of a server are not the queries of a client. */
  @ParameterizedTest
  @EnumSource
  void shouldNotTakeTheAnswersOfAFlow(Family family) {
    node.policyOf(BOB).allowFrom(FAR, UDP, PORT);
    node.toWorkload(BOB, opening(family.packet(FAR, BOB), UDP, CLIENT, PORT)).passes();
    node.policyOf(BOB).redirectFrom(FAR, UDP, PORT, RedirectKind.HTTP);
    node.raiseGeneration(BOB.id);
    node.fromWorkload(BOB, packet(family, BOB, PORT, FAR, CLIENT, UDP))
        .dropsFor(DropReason.NO_PROXY);
  }

  /**
   * A policy that asks for no proxy any more leaves a flow where it is; one that denies ends it.
   */
  @ParameterizedTest
  @EnumSource
  void shouldFollowChangesOfPolicy(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).redirectTo(PEER, protocol, PORT, RedirectKind.HTTP);
      proxy.open(family, ALICE, PEER, protocol);
      node.policyOf(ALICE).allowTo(PEER, protocol, PORT);
      for (int i = 0; i < 2; i++) {
        node.raiseGeneration(ALICE.id);
        node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, PEER, PORT, protocol))
            .passesAs(of(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, protocol)));
        node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, protocol)))
            .passesAs(to(ALICE, packet(family, PEER, PORT, ALICE, CLIENT, protocol)));
      }
      node.policyOf(ALICE).denyTo(PEER, protocol, PORT);
      node.raiseGeneration(ALICE.id);
      for (int i = 0; i < 2; i++) {
        node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, PEER, PORT, protocol))
            .dropsFor(DropReason.POLICY_DENY_RULE);
      }
    }
  }

  /** An allow that asks for no proxy takes precedence, by the identity or by any. */
  @ParameterizedTest
  @EnumSource
  void shouldAskForNoProxyWhereAnEntryAllowsWithout(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(BOB)
          .redirectFrom(FAR, protocol, PORT, RedirectKind.HTTP)
          .allowFromAny(protocol, PORT);
      node.toWorkload(BOB, opening(family.packet(FAR, BOB), protocol, CLIENT, PORT)).passes();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldAskForNoProxyWhereTheEntryOfTheIdentityAllowsWithout(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(BOB)
          .allowFrom(FAR, protocol, PORT)
          .redirectFromAny(protocol, PORT, RedirectKind.HTTP);
      node.toWorkload(BOB, opening(family.packet(FAR, BOB), protocol, CLIENT, PORT)).passes();
      node.toWorkload(BOB, opening(family.packet(PEER, BOB), protocol, CLIENT, PORT))
          .dropsFor(DropReason.NO_PROXY);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldAskForTheProxyOfTheLowerNumber(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(BOB)
          .redirectFrom(FAR, protocol, PORT, RedirectKind.DNS)
          .redirectFromAny(protocol, PORT, RedirectKind.HTTP)
          .redirectFrom(PEER, protocol, PORT + 1, RedirectKind.HTTP)
          .redirectFromAny(protocol, PORT + 1, RedirectKind.DNS);
      node.fromNetwork(arriving(opening(family.packet(FAR, BOB), protocol, CLIENT, PORT)))
          .passesUncountedAs(arriving(opening(family.packet(FAR, HOST), protocol, CLIENT, PROXY)));
      node.fromNetwork(arriving(opening(family.packet(PEER, BOB), protocol, CLIENT, PORT + 1)))
          .passesUncountedAs(arriving(opening(family.packet(PEER, HOST), protocol, CLIENT, PROXY)));
    }
  }

  /** Without an entry, the answers of the proxy would not find the flow. */
  @ParameterizedTest
  @EnumSource
  void shouldDropWhatAnEndpointWithoutConntrackOpens(Family family) {
    node.without(ALICE, EndpointOption.CONNTRACK);
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).redirectTo(PEER, protocol, PORT, RedirectKind.HTTP);
      node.fromWorkload(ALICE, opening(family.packet(ALICE, PEER), protocol, CLIENT, PORT))
          .dropsFor(DropReason.NO_PROXY);
      assertNull(node.flows().find(family, ALICE, CLIENT, PEER, PORT, protocol));
    }
  }

  /** The entry of the flow is that of its other endpoint. */
  @ParameterizedTest
  @EnumSource
  void shouldJudgeEachPacketOfAnEndpointThatDoesNotTrackFlows(Family family) {
    node.without(ALICE, EndpointOption.CONNTRACK);
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).allowTo(BOB, protocol, PORT);
      node.policyOf(BOB).allowFrom(ALICE, protocol, PORT);
      node.raiseGeneration(ALICE.id);
      node.fromWorkload(ALICE, opening(family.packet(ALICE, BOB), protocol, CLIENT, PORT))
          .reaches(BOB);
      node.policyOf(ALICE).redirectTo(BOB, protocol, PORT, RedirectKind.HTTP);
      node.raiseGeneration(ALICE.id);
      for (int i = 0; i < 2; i++) {
        node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, BOB, PORT, protocol))
            .dropsFor(DropReason.NO_PROXY);
      }
    }
  }

  /** The client uses one port for the same port of several servers. */
  @ParameterizedTest
  @EnumSource
  void shouldGiveEachServerAPortOfTheProxy(Family family) {
    final List<ScenarioHost> servers = List.of(PEER, FAR);
    for (final int protocol : ScenarioProxy.protocols()) {
      for (int i = 0; i < 2; i++) {
        for (final ScenarioHost server : servers) {
          final int proxy = PROXY + servers.indexOf(server);
          node.policyOf(ALICE).redirectTo(server, protocol, PORT, RedirectKind.HTTP);
          node.fromWorkload(ALICE, opening(family.packet(ALICE, server), protocol, CLIENT, PORT))
              .passesAs(of(ALICE, opening(family.packet(ALICE, HOST), protocol, CLIENT, proxy)));
        }
      }
      for (final ScenarioHost server : servers) {
        final int proxy = PROXY + servers.indexOf(server);
        node.toWorkload(ALICE, to(ALICE, packet(family, HOST, proxy, ALICE, CLIENT, protocol)))
            .passesAs(to(ALICE, packet(family, server, PORT, ALICE, CLIENT, protocol)));
      }
    }
  }

  /**
   * The server is a workload of this node, which sees the client's own address and port. Counters
   * of packets would be where the entry keeps the socket.
   */
  @ParameterizedTest
  @EnumSource
  void shouldGiveTheSocketOfTheProxyTheAddressOfTheClient(Family family) {
    node.with(ALICE, EndpointOption.CONNTRACK_ACCOUNTING);
    node.with(BOB, EndpointOption.CONNTRACK_ACCOUNTING);
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).allowTo(BOB, protocol, PORT);
      node.policyOf(BOB).redirectFrom(ALICE, protocol, PORT, RedirectKind.HTTP);
      proxy.open(family, ALICE, BOB, protocol);
      node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT)))
          .dropsFor(DropReason.POLICY_DENIED);
      proxy.join(family, ALICE, BOB, protocol);
      node.fromWorkload(BOB, packet(family, BOB, PORT, ALICE, CLIENT, protocol))
          .dropsFor(DropReason.NO_PROXY);
      node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT)))
          .passesAs(to(BOB, opening(family.packet(ALICE, BOB), protocol, CLIENT, PORT)));
      for (int i = 0; i < 2; i++) {
        node.fromWorkload(BOB, packet(family, BOB, PORT, ALICE, CLIENT, protocol))
            .passesAs(of(BOB, packet(family, BOB, PORT, HOST, SOCKET, protocol)));
        node.toWorkload(BOB, to(BOB, packet(family, HOST, SOCKET, BOB, PORT, protocol)))
            .passesAs(to(BOB, packet(family, ALICE, CLIENT, BOB, PORT, protocol)));
        node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, BOB, PORT, protocol))
            .passesAs(of(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, protocol)));
        node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, protocol)))
            .passesAs(to(ALICE, packet(family, BOB, PORT, ALICE, CLIENT, protocol)));
        node.raiseGeneration(BOB.id);
      }
    }
  }

  /** The server closes its connection; that of the client goes on with another. */
  @ParameterizedTest
  @EnumSource
  void shouldKeepTheConnectionOfTheClientWhereThatOfTheServerEnds(Family family) {
    node.policyOf(ALICE).redirectTo(BOB, TCP, PORT, RedirectKind.HTTP);
    node.policyOf(BOB).allowFrom(ALICE, TCP, PORT);
    proxy.open(family, ALICE, BOB, TCP);
    proxy.join(family, ALICE, BOB, TCP);
    node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), TCP, SOCKET, PORT)))
        .passesAs(to(BOB, opening(family.packet(ALICE, BOB), TCP, CLIENT, PORT)));
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, BOB, PORT, TCP));
    node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, TCP)));
    final Duration before = node.flows().find(family, ALICE, CLIENT, BOB, PORT, TCP).lifetime();
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(PORT, CLIENT).ack().fin());
    node.toWorkload(BOB, to(BOB, family.packet(HOST, BOB).tcp(SOCKET, PORT).ack().rst()));
    node.fromWorkload(BOB, family.packet(BOB, ALICE).tcp(PORT, CLIENT).ack().rst());
    final Duration after = node.flows().find(family, ALICE, CLIENT, BOB, PORT, TCP).lifetime();
    assertTrue(after.toSeconds() >= before.toSeconds() - 5, before + " " + after);
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, BOB, PORT, TCP))
        .passesAs(of(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, TCP)));
  }

  /** Packets of each side keep the entries of the flow that other packets find. */
  @ParameterizedTest
  @EnumSource
  void shouldKeepAFlowAsLongAsItsConnection(Family family) {
    node.policyOf(ALICE).redirectTo(BOB, TCP, PORT, RedirectKind.HTTP);
    node.policyOf(BOB).allowFrom(ALICE, TCP, PORT);
    proxy.open(family, ALICE, BOB, TCP);
    node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, TCP)));
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, BOB, PORT, TCP));
    assertIsEstablished(family, ALICE, CLIENT, BOB, PORT);
    assertIsEstablished(family, ALICE, CLIENT, HOST, PROXY);
    proxy.join(family, ALICE, BOB, TCP);
    node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), TCP, SOCKET, PORT)));
    node.fromWorkload(BOB, packet(family, BOB, PORT, ALICE, CLIENT, TCP));
    node.toWorkload(BOB, to(BOB, packet(family, HOST, SOCKET, BOB, PORT, TCP)));
    assertIsEstablished(family, HOST, SOCKET, BOB, PORT);
    node.policyOf(BOB).redirectFrom(FAR, TCP, PORT, RedirectKind.HTTP);
    node.fromNetwork(arriving(opening(family.packet(FAR, BOB), TCP, CLIENT, PORT)));
    node.toNetwork(arriving(packet(family, HOST, PROXY, FAR, CLIENT, TCP)));
    node.fromNetwork(arriving(packet(family, FAR, CLIENT, BOB, PORT, TCP)));
    assertIsEstablished(family, FAR, CLIENT, BOB, PORT);
    assertIsEstablished(family, FAR, CLIENT, HOST, PROXY);
  }

  private void assertIsEstablished(
      Family family, ScenarioHost from, int fromPort, ScenarioHost to, int toPort) {
    final Duration lifetime = node.flows().find(family, from, fromPort, to, toPort, TCP).lifetime();
    assertTrue(lifetime.toMinutes() > 1, from + " " + to + " " + lifetime);
  }

  /** The id and the address of an endpoint of the flow are another's. */
  @ParameterizedTest
  @EnumSource
  void shouldEndWithItsEndpoint(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).redirectTo(BOB, protocol, PORT, RedirectKind.HTTP);
      node.policyOf(BOB).allowFrom(ALICE, protocol, PORT);
      for (final ScenarioHost ended : List.of(ALICE, BOB)) {
        proxy.open(family, ALICE, BOB, protocol);
        proxy.join(family, ALICE, BOB, protocol);
        node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT)))
            .passesAs(to(BOB, opening(family.packet(ALICE, BOB), protocol, CLIENT, PORT)));
        node.reassign(ended);
        node.toWorkload(ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, protocol)))
            .dropsFor(DropReason.NO_PROXY);
        node.toWorkload(BOB, to(BOB, packet(family, HOST, SOCKET, BOB, PORT, protocol)))
            .dropsFor(DropReason.NO_PROXY);
        node.flows().delete(family, HOST, SOCKET, BOB, PORT, protocol);
        node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT)))
            .dropsFor(DropReason.NO_PROXY);
      }
      node.policyOf(BOB).redirectFrom(FAR, protocol, PORT, RedirectKind.HTTP);
      node.fromNetwork(arriving(opening(family.packet(FAR, BOB), protocol, CLIENT, PORT)))
          .passesUncountedAs(arriving(opening(family.packet(FAR, HOST), protocol, CLIENT, PROXY)));
      node.reassign(BOB);
      node.fromNetwork(arriving(packet(family, FAR, CLIENT, BOB, PORT, protocol)))
          .dropsFor(DropReason.NO_PROXY);
    }
  }

  /** The server's policy denies the flow before a socket of the proxy continues it. */
  @ParameterizedTest
  @EnumSource
  void shouldFollowChangesOfPolicyAtTheServer(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).allowTo(BOB, protocol, PORT);
      node.policyOf(BOB).redirectFrom(ALICE, protocol, PORT, RedirectKind.HTTP);
      node.raiseGeneration(BOB.id);
      proxy.open(family, ALICE, BOB, protocol);
      node.policyOf(BOB).denyFrom(ALICE, protocol, PORT);
      node.raiseGeneration(BOB.id);
      node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, BOB, PORT, protocol))
          .dropsAtPeerFor(DropReason.POLICY_DENY_RULE);
      proxy.join(family, ALICE, BOB, protocol);
      node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT)))
          .dropsFor(DropReason.NO_PROXY);
    }
  }

  /** Only the first fragment has the ports of the flow. */
  @ParameterizedTest
  @EnumSource
  void shouldRewriteEachFragment(Family family) {
    node.policyOf(ALICE).redirectTo(PEER, UDP, PORT, RedirectKind.HTTP);
    node.policyOf(BOB).redirectFrom(FAR, UDP, PORT, RedirectKind.HTTP);
    for (int id = 1; id <= 2; id++) {
      final List<byte[]> queries = fragments(id, packet(family, ALICE, CLIENT, PEER, PORT, UDP));
      final List<byte[]> shown =
          fragments(id, of(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, UDP)));
      final List<byte[]> answers =
          fragments(id, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, UDP)));
      final List<byte[]> received =
          fragments(id, to(ALICE, packet(family, PEER, PORT, ALICE, CLIENT, UDP)));
      final List<byte[]> arriving =
          fragments(id, arriving(packet(family, FAR, CLIENT, BOB, PORT, UDP)));
      final List<byte[]> passed =
          fragments(id, arriving(packet(family, FAR, CLIENT, HOST, PROXY, UDP)));
      final List<byte[]> sent =
          fragments(id, arriving(packet(family, HOST, PROXY, FAR, CLIENT, UDP)));
      final List<byte[]> leaving =
          fragments(id, arriving(packet(family, BOB, PORT, FAR, CLIENT, UDP)));
      for (int i = 0; i < queries.size(); i++) {
        node.fromWorkload(ALICE, queries.get(i)).passesAs(shown.get(i));
        node.fromNetwork(arriving.get(i)).passesUncountedAs(passed.get(i));
      }
      for (int i = 0; i < queries.size(); i++) {
        node.toWorkload(ALICE, answers.get(i)).passesAs(received.get(i));
        node.toNetwork(sent.get(i)).passesUncountedAs(leaving.get(i));
      }
    }
  }

  private static List<byte[]> fragments(int id, IpPacket packet) {
    return packet.id(id).payloadOf(1200).fragments(512);
  }

  /** The quick parser does not read IP options and extension headers. */
  @ParameterizedTest
  @EnumSource
  void shouldRewritePacketsWithIpOptions(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE).redirectTo(PEER, protocol, PORT, RedirectKind.HTTP);
      node.policyOf(BOB).redirectFrom(FAR, protocol, PORT, RedirectKind.HTTP);
      node.fromWorkload(ALICE, slow(opening(family.packet(ALICE, PEER), protocol, CLIENT, PORT)))
          .passesAs(slow(of(ALICE, opening(family.packet(ALICE, HOST), protocol, CLIENT, PROXY))));
      node.toWorkload(ALICE, slow(to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, protocol))))
          .passesAs(slow(to(ALICE, packet(family, PEER, PORT, ALICE, CLIENT, protocol))));
      node.fromNetwork(slow(arriving(opening(family.packet(FAR, BOB), protocol, CLIENT, PORT))))
          .passesUncountedAs(
              slow(arriving(opening(family.packet(FAR, HOST), protocol, CLIENT, PROXY))));
      node.toNetwork(slow(arriving(packet(family, HOST, PROXY, FAR, CLIENT, protocol))))
          .passesUncountedAs(slow(arriving(packet(family, BOB, PORT, FAR, CLIENT, protocol))));
      proxy.join(family, FAR, BOB, protocol);
      node.toWorkload(BOB, slow(to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT))))
          .passesAs(slow(to(BOB, opening(family.packet(FAR, BOB), protocol, CLIENT, PORT))));
      node.fromWorkload(BOB, slow(packet(family, BOB, PORT, FAR, CLIENT, protocol)))
          .passesAs(slow(of(BOB, packet(family, BOB, PORT, HOST, SOCKET, protocol))));
    }
  }

  private static IpPacket slow(IpPacket packet) {
    return Family.slow(false, packet);
  }

  /** What policy denies, or allows without a proxy. */
  @ParameterizedTest
  @EnumSource
  void shouldLeaveOtherFlowsToTheProgramOfTheWorkload(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(BOB).redirectFrom(FAR, protocol, PORT, RedirectKind.HTTP);
      node.policyOf(BOB).denyFrom(PEER, protocol, PORT).allowFrom(STRANGER, protocol, PORT);
      node.fromNetwork(arriving(opening(family.packet(PEER, BOB), protocol, CLIENT, PORT)))
          .passesUncounted();
      node.toWorkload(BOB, opening(family.packet(PEER, BOB), protocol, CLIENT, PORT))
          .dropsFor(DropReason.POLICY_DENY_RULE);
      node.fromNetwork(arriving(opening(family.packet(STRANGER, BOB), protocol, CLIENT, PORT)))
          .passesUncounted();
      node.toWorkload(BOB, opening(family.packet(STRANGER, BOB), protocol, CLIENT, PORT)).passes();
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldSendAFlowFromTheNetworkToTheProxyAndItsAnswersBack(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      for (final ScenarioHost client : List.of(FAR, STRANGER)) {
        node.policyOf(BOB).redirectFrom(client, protocol, PORT, RedirectKind.HTTP);
        node.fromNetwork(arriving(opening(family.packet(client, BOB), protocol, CLIENT, PORT)))
            .passesUncountedAs(
                arriving(opening(family.packet(client, HOST), protocol, CLIENT, PROXY)));
        for (int i = 0; i < 2; i++) {
          node.toNetwork(arriving(packet(family, HOST, PROXY, client, CLIENT, protocol)))
              .passesUncountedAs(arriving(packet(family, BOB, PORT, client, CLIENT, protocol)));
          node.fromNetwork(arriving(packet(family, client, CLIENT, BOB, PORT, protocol)))
              .passesUncountedAs(arriving(packet(family, client, CLIENT, HOST, PROXY, protocol)));
          node.raiseGeneration(BOB.id);
        }
        proxy.join(family, client, BOB, protocol);
        node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT)))
            .passesAs(to(BOB, opening(family.packet(client, BOB), protocol, CLIENT, PORT)));
        node.fromWorkload(BOB, packet(family, BOB, PORT, client, CLIENT, protocol))
            .passesAs(of(BOB, packet(family, BOB, PORT, HOST, SOCKET, protocol)));
        node.policyOf(BOB).denyFrom(client, protocol, PORT);
        node.raiseGeneration(BOB.id);
        node.fromNetwork(arriving(packet(family, client, CLIENT, BOB, PORT, protocol)))
            .dropsFor(DropReason.POLICY_DENY_RULE);
        node.flows().delete(family, client, CLIENT, BOB, PORT, protocol);
        node.flows().delete(family, HOST, SOCKET, BOB, PORT, protocol);
      }
    }
  }

  /** What a device that is not guarded brings reaches the program of the workload first. */
  @ParameterizedTest
  @EnumSource
  void shouldNotBypassTheProxyByAnotherDevice(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(BOB).redirectFrom(FAR, protocol, PORT, RedirectKind.HTTP);
      node.toWorkload(BOB, opening(family.packet(FAR, BOB), protocol, CLIENT, PORT))
          .dropsFor(DropReason.NO_PROXY);
    }
  }

  /** The tuples of a proxied flow are of no use to others than the proxy. */
  @ParameterizedTest
  @EnumSource
  void shouldRefuseWhatDoesNotComeFromTheProxy(Family family) {
    for (final int protocol : ScenarioProxy.protocols()) {
      node.policyOf(ALICE)
          .redirectTo(BOB, protocol, PORT, RedirectKind.HTTP)
          .allowAll(PolicyDirection.INGRESS);
      node.policyOf(BOB).allowAll(PolicyDirection.INGRESS);
      node.raiseGeneration(ALICE.id);
      proxy.open(family, ALICE, BOB, protocol);
      node.raiseGeneration(ALICE.id);
      node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, protocol))
          .dropsFor(DropReason.NO_PROXY);
      node.policyOf(ALICE).allowAllTo(HOST);
      node.raiseGeneration(ALICE.id);
      node.fromWorkload(ALICE, packet(family, ALICE, CLIENT, HOST, PROXY, protocol))
          .dropsFor(DropReason.NO_PROXY);
      node.forwardedToWorkload(
              ALICE, to(ALICE, packet(family, HOST, PROXY, ALICE, CLIENT, protocol)))
          .passes();
      node.toWorkload(ALICE, to(ALICE, packet(family, BOB, PORT, ALICE, CLIENT, protocol)))
          .dropsFor(DropReason.NO_PROXY);
      proxy.join(family, ALICE, BOB, protocol);
      node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET + 1, PORT)))
          .passes();
      node.toWorkload(BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT + 1)))
          .passes();
      node.toWorkload(BOB, to(BOB, opening(family.packet(NODE, BOB), protocol, SOCKET, PORT)))
          .passes();
      node.toWorkload(ALICE, to(ALICE, opening(family.packet(HOST, ALICE), protocol, SOCKET, PORT)))
          .passes();
      node.forwardedToWorkload(
              BOB, to(BOB, opening(family.packet(HOST, BOB), protocol, SOCKET, PORT)))
          .passes();
    }
  }
}
