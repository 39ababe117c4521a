package agent.datapath.programs.scenario;

import static agent.datapath.programs.scenario.ScenarioHost.ALICE;
import static agent.datapath.programs.scenario.ScenarioHost.BOB;
import static agent.datapath.programs.scenario.ScenarioHost.FAR;
import static agent.datapath.programs.scenario.ScenarioHost.PEER;
import static agent.datapath.programs.scenario.WorkloadPolicy.TCP;
import static agent.datapath.programs.scenario.WorkloadPolicy.UDP;

import agent.maps.layout.DropReason;
import agent.maps.layout.PolicyDirection;
import agent.testkit.IpPacket;
import agent.testkit.KernelTest;
import agent.testkit.OneCpu;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a policy answered holds for the same question until the endpoint's generation rises. */
@KernelTest
class VerdictCacheKernelTest {
  private static final int PORTS = 32;
  private static final int COLLIDING_ID = 382;

  private final OneCpu cpu = OneCpu.ofThisThread(); // each CPU has a cache of its own
  private final ScenarioNode node = new ScenarioNode();

  @AfterEach
  void close() {
    node.close();
    cpu.close();
  }

  @ParameterizedTest
  @EnumSource
  void shouldDenyWhatWasAllowedOnceTheGenerationRises(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.policyOf(ALICE).revokeTo(PEER, UDP, 53);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40001, 53)).passes();
    node.raiseGeneration(ALICE.id);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40002, 53))
        .dropsFor(DropReason.POLICY_DENIED);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40003, 53))
        .dropsFor(DropReason.POLICY_DENIED);
  }

  @ParameterizedTest
  @EnumSource
  void shouldAllowWhatWasDeniedOnceTheGenerationRises(Family family) {
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(40000, 80).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    node.policyOf(ALICE).allowFrom(PEER, TCP, 80);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(40001, 80).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    node.raiseGeneration(BOB.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(40002, 80).syn())
        .dropsFor(DropReason.POLICY_DENIED);
    node.raiseGeneration(ALICE.id);
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(40003, 80).syn()).passes();
    node.toWorkload(ALICE, family.packet(PEER, ALICE).tcp(40004, 80).syn()).passes();
  }

  @ParameterizedTest
  @EnumSource
  void shouldTellTheReasonAgain(Family family) {
    node.policyOf(ALICE).allowAll().denyTo(PEER, TCP, 80);
    for (int port = 40000; port < 40003; port++) {
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(port, 80).syn())
          .dropsFor(DropReason.POLICY_DENY_RULE);
    }
  }

  /** The answer that all is allowed to a peer does not make its answers pass, also when kept. */
  @ParameterizedTest
  @EnumSource
  void shouldKnowAgainThatOnlyTheDefaultAllows(Family family) {
    node.policyOf(ALICE).allowAll(PolicyDirection.INGRESS).allowTo(PEER, TCP, 443);
    for (int i = 0; i < 3; i++) {
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).tcp(40000, 80).ack())
          .dropsFor(DropReason.POLICY_DENIED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldDropAtOnceWhereAnEndpointHasNoPolicyMap(Family family) {
    node.withoutPolicy();
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000, 53)).passes();
    node.leavePolicy(ALICE);
    node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40001, 53))
        .dropsFor(DropReason.NO_ENDPOINT);
  }

  /** The policy of an echo is asked by itself, whatever was said of the packet before it. */
  @ParameterizedTest
  @EnumSource
  void shouldNotAnswerAnEchoAsTheDatagramBefore(Family family) {
    node.policyOf(ALICE).allowTo(PEER, UDP, 53);
    for (int i = 0; i < 3; i++) {
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).udp(40000 + i, 53)).passes();
      node.fromWorkload(ALICE, family.packet(ALICE, PEER).echoRequest(7, i))
          .dropsFor(DropReason.POLICY_DENIED);
    }
  }

  /**
   * Questions that differ in one thing only, more than the cache has room for, each asked of two
   * endpoints in turn: no answer is taken for another's. They have the same generation, and ids
   * whose answers share a slot for many questions.
   */
  @ParameterizedTest
  @EnumSource
  void shouldAnswerEachQuestionByItself(Family family) {
    node.renumber(BOB, COLLIDING_ID);
    final List<Question> questions = new ArrayList<>();
    for (final ScenarioHost peer : List.of(PEER, FAR)) {
      for (int port = 1; port <= PORTS; port++) {
        for (final int protocol : new int[] {TCP, UDP}) {
          questions.add(new Question(peer, protocol, port, false));
          questions.add(new Question(peer, protocol, port, true));
        }
      }
    }
    for (final Question question : questions) {
      allow(question.isAllowedAt(ALICE) ? ALICE : BOB, question);
    }
    Collections.shuffle(questions, new Random(20261122));
    for (int i = 0; i < questions.size(); i++) {
      ask(family, ALICE, questions.get(i), 20_000 + i);
      ask(family, BOB, questions.get(i), 20_000 + i);
    }
  }

  private record Question(ScenarioHost peer, int protocol, int port, boolean isEgress) {
    /** Any change of one of the values changes the answer. */
    boolean isAllowedAt(ScenarioHost workload) {
      final int values =
          (workload == ALICE ? 1 : 0)
              + (peer == PEER ? 1 : 0)
              + (protocol == TCP ? 1 : 0)
              + (isEgress ? 1 : 0);
      return (values + port) % 2 == 0;
    }
  }

  private void allow(ScenarioHost workload, Question question) {
    if (question.isEgress()) {
      node.policyOf(workload).allowTo(question.peer(), question.protocol(), question.port());
    } else {
      node.policyOf(workload).allowFrom(question.peer(), question.protocol(), question.port());
    }
  }

  private void ask(Family family, ScenarioHost workload, Question question, int sourcePort) {
    final IpPacket ip =
        question.isEgress()
            ? family.packet(workload, question.peer())
            : family.packet(question.peer(), workload);
    final IpPacket packet =
        question.protocol() == TCP
            ? ip.tcp(sourcePort, question.port()).syn()
            : ip.udp(sourcePort, question.port());
    final Outcome outcome =
        question.isEgress()
            ? node.fromWorkload(workload, packet)
            : node.toWorkload(workload, packet);
    if (question.isAllowedAt(workload)) {
      outcome.passes();
    } else {
      outcome.dropsFor(DropReason.POLICY_DENIED);
    }
  }
}
