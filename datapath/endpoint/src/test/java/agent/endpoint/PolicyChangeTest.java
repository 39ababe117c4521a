package agent.endpoint;

import static agent.endpoint.EndpointRig.assertFailed;
import static agent.endpoint.EndpointRig.assertRefused;
import static agent.endpoint.TestRules.allowEgressToName;
import static agent.endpoint.TestRules.allowEgressToNames;
import static agent.endpoint.TestRules.allowIngress;
import static agent.endpoint.TestRules.allowIngressFromCidr;
import static agent.endpoint.TestRules.denyIngress;
import static agent.endpoint.TestRules.manyPorts;
import static agent.endpoint.TestRules.named;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.RedirectedFlow;
import agent.endpoint.state.EndpointHealth.HealthLevel;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.endpoint.state.EndpointPolicyStatus;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.PolicyEnforcement;
import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.maps.layout.PolicyDirection;
import agent.policy.repository.PolicySnapshot;
import agent.policy.spec.RuleSpec;
import agent.policy.trace.PolicyQuery;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PolicyChangeTest {
  private static final IpAddress WEB = IpAddress.parse("10.5.0.9");
  private static final IpAddress CLIENT = IpAddress.parse("10.5.0.10");
  private static final IpAddress OTHER = IpAddress.parse("10.5.0.11");
  private static final IpAddress OUTSIDE = IpAddress.parse("198.51.100.7");

  private final FakeRig agent = new FakeRig();

  @BeforeEach
  void setUp() {
    agent.create("1", Requests.on("lxc1").ipv4(WEB.toString()).labels("app=web"));
    agent.create("2", Requests.on("lxc2").ipv4(CLIENT.toString()).labels("app=client"));
    agent.create("3", Requests.on("lxc3").ipv4(OTHER.toString()).labels("app=other"));
  }

  private boolean webLetsIn(IpAddress peer, int port) {
    return agent.datapath.allows(1, PolicyDirection.INGRESS, peer, 6, port);
  }

  @Test
  void shouldEnforceNothingWhileNoRuleSelectsTheEndpoint() {
    agent.importRules(allowIngress("app=unknown", "app=client", 80));
    assertTrue(webLetsIn(CLIENT, 80));
    assertTrue(webLetsIn(OUTSIDE, 1));
    assertTrue(agent.datapath.allows(1, PolicyDirection.EGRESS, OUTSIDE, 17, 53));
    assertEquals(PolicyEnforcement.NONE, agent.get("1").realizedPolicy().enforcement());
  }

  @Test
  void shouldEnforceARuleBeforeItAnswers() {
    agent.importRules(allowIngress("app=web", "app=client", 80));
    assertTrue(webLetsIn(CLIENT, 80));
    assertFalse(webLetsIn(CLIENT, 81));
    assertFalse(webLetsIn(OTHER, 80));
    assertFalse(webLetsIn(OUTSIDE, 80));
    assertTrue(agent.datapath.allows(1, PolicyDirection.EGRESS, OUTSIDE, 17, 53));
    final EndpointSnapshot web = agent.get("1");
    assertEquals(PolicyEnforcement.INGRESS, web.realizedPolicy().enforcement());
    assertEquals(List.of(agent.get("2").identity().id()), web.realizedPolicy().ingress().allowed());
    assertNotNull(web.policy());
    assertEquals(web.policy(), web.realizedPolicy());
  }

  @Test
  void shouldHaveOpenFlowsObeyWhenItIsWrittenAndBeforeItAnswers() {
    final List<String> seen = new ArrayList<>();
    agent.datapath.onEnforced = () -> seen.add(webLetsIn(CLIENT, 80) + " " + webLetsIn(OTHER, 80));
    agent.importRules(allowIngress("app=web", "app=client", 80));
    assertEquals("true false", seen.getLast());
    agent.importRules(denyIngress("app=web", "app=client", 80));
    assertEquals("false false", seen.getLast());
  }

  @Test
  void shouldLeaveTheRevisionOfARuleWithEveryEndpoint() {
    final PolicySnapshot snapshot = agent.importRules(allowIngress("app=web", "app=client", 80));
    for (final String id : List.of("1", "2", "3")) {
      assertEquals(snapshot.revision(), agent.get(id).realizedPolicy().revision(), id);
    }
    assertEquals(snapshot, agent.conductor.policy().get(List.of()));
  }

  @Test
  void shouldTouchOnlyTheEndpointAndTheEntriesThatChange() {
    agent.importRules(allowIngress("app=web", "app=client", 80));
    agent.datapath.calls.clear();
    final int logged = agent.get("2").log().size();
    agent.importRules(allowIngress("app=web", "app=client", 81));
    assertEquals(List.of("apply 1 +1 -0"), agent.datapath.calls);
    assertEquals(logged, agent.get("2").log().size());
  }

  @Test
  void shouldAllowEverythingAfterTheRulesAreDeleted() {
    agent.importRules(
        named("a", allowIngress("app=web", "app=client", 80)),
        named("b", denyIngress("app=web", "app=other", 80)));
    assertFalse(webLetsIn(OTHER, 80));
    final PolicySnapshot left = agent.deleteRules("name=a");
    assertEquals(1, left.rules().size());
    agent.deleteRules();
    assertTrue(webLetsIn(OTHER, 80));
    assertTrue(webLetsIn(OUTSIDE, 80));
    assertRefused(Refusal.Kind.NOT_FOUND, "labels", () -> agent.deleteRules("name=a"));
  }

  @Test
  void shouldReplaceTheRulesThatHaveTheSameLabels() {
    agent.importRules(named("a", allowIngress("app=web", "app=client", 80)));
    agent.importRules(named("a", allowIngress("app=web", "app=client", 443)));
    assertFalse(webLetsIn(CLIENT, 80));
    assertTrue(webLetsIn(CLIENT, 443));
    assertEquals(1, agent.conductor.policy().get(List.of()).rules().size());
  }

  @Test
  void shouldChangeNothingWhereARuleIsBad() {
    final PolicySnapshot before = agent.conductor.policy().get(List.of());
    agent.datapath.calls.clear();
    final RuleSpec bad = allowIngressFromCidr("app=web", "10.0.0.0/33", 80);
    final Refusal refusal =
        org.junit.jupiter.api.Assertions.assertThrows(
            Refusal.class, () -> agent.importRules(allowIngress("app=web", "app=client", 80), bad));
    assertEquals(Refusal.Kind.INVALID, refusal.kind());
    assertTrue(refusal.field().startsWith("[1]"), refusal.field());
    assertEquals(before, agent.conductor.policy().get(List.of()));
    assertEquals(List.of(), agent.datapath.calls);
    assertTrue(webLetsIn(OTHER, 80));
  }

  @Test
  void shouldHaveIpcacheEntriesOfCidrsOnlyWhileARuleNamesThem() {
    agent.importRules(named("a", allowIngressFromCidr("app=web", "198.51.100.0/24", 80)));
    assertTrue(webLetsIn(OUTSIDE, 80));
    assertFalse(webLetsIn(IpAddress.parse("203.0.113.1"), 80));
    assertTrue(agent.datapath.identityOf(OUTSIDE) >= 1 << 24);
    agent.deleteRules("name=a");
    assertEquals(9, agent.datapath.identityOf(OUTSIDE));
  }

  @Test
  void shouldNeverDropACidrThatIsAllowedBeforeAndAfter() {
    agent.importRules(named("a", allowIngressFromCidr("app=web", "198.51.100.0/24", 80)));
    agent.datapath.aroundWrites =
        () -> {
          assertTrue(webLetsIn(OUTSIDE, 80));
          assertTrue(webLetsRequestIn(OUTSIDE, 80));
        };
    agent.importRules(named("b", allowIngressFromCidr("app=web", "198.51.100.7/32", 80)));
    agent.deleteRules("name=a");
    agent.importRules(named("b", allowIngressFromCidr("app=web", "198.51.100.0/26", 80)));
    agent.importRules(named("b", allowIngressFromCidr("app=web", "198.51.100.7/32", 80)));
    agent.importRules(named("c", allowIngressFromCidr("app=web", "198.51.0.0/16", 80)));
    agent.deleteRules("name=b");
    agent.importRules(named("d", allowIngressFromCidr("app=web", "0.0.0.0/0", 80)));
    agent.deleteRules("name=c");
  }

  /** A proxy is asked by the identity that the kernel has for the address. */
  private boolean webLetsRequestIn(IpAddress client, int port) {
    final int identity = agent.datapath.identityOf(client);
    return agent
        .policy
        .requests()
        .dns(new RedirectedFlow(6, client, 40_000, identity, 0, WEB, port, 0, 1), "example.org");
  }

  @Test
  void shouldJudgeRequestsByARuleBeforeItAnswers() {
    agent.importRules(named("a", allowIngressFromCidr("app=web", "198.51.100.0/24", 80)));
    assertTrue(webLetsRequestIn(OUTSIDE, 80));
    assertEquals(
        agent.conductor.policy().get(List.of()).revision(), agent.policy.requests().revision());
    agent.importRules(named("a", allowIngressFromCidr("app=other", "198.51.100.0/24", 80)));
    assertTrue(webLetsRequestIn(OUTSIDE, 81), "no rule is for it");
    assertEquals(
        agent.conductor.policy().get(List.of()).revision(), agent.policy.requests().revision());
    agent.importRules(named("b", allowIngressFromCidr("app=unknown", "198.51.100.0/24", 80)));
    assertEquals(
        agent.conductor.policy().get(List.of()).revision(), agent.policy.requests().revision());
    agent.delete("1");
    assertFalse(webLetsRequestIn(OUTSIDE, 80), "it is gone");
  }

  @Test
  void shouldRemovePolicyMapEntriesOfUnusedIdentities() {
    agent.importRules(
        named("a", allowIngressFromCidr("app=web", "198.51.100.0/24", 80)),
        named("b", allowIngressFromCidr("app=web", "198.51.0.0/16", 80)));
    final int narrow = agent.datapath.identityOf(OUTSIDE);
    assertTrue(knows(narrow));
    agent.deleteRules("name=a");
    assertTrue(webLetsIn(OUTSIDE, 80));
    assertFalse(knows(narrow));
  }

  private boolean knows(int identity) {
    return agent.datapath.policies.get(1).keySet().stream()
        .anyMatch(key -> key.identity() == identity);
  }

  @Test
  void shouldNeverAllowMoreThanBeforeOrAfter() {
    agent.importRules(named("a", allowIngressFromCidr("app=web", "198.51.100.0/24", 80)));
    final IpAddress stranger = IpAddress.parse("203.0.113.1");
    agent.datapath.aroundWrites =
        () -> {
          assertFalse(webLetsIn(stranger, 80));
          assertFalse(webLetsRequestIn(stranger, 80));
          assertFalse(webLetsIn(OUTSIDE, 81));
          assertFalse(webLetsRequestIn(OUTSIDE, 81));
        };
    agent.importRules(named("b", allowIngressFromCidr("app=web", "198.51.0.0/16", 80)));
    agent.deleteRules("name=a");
    agent.importRules(named("b", allowIngress("app=web", "app=client", 80)));
  }

  @Test
  void shouldNotReplaceTheIpcacheEntryOfAnEndpointByThatOfARule() {
    agent.importRules(
        allowIngressFromCidr("app=web", "10.5.0.10/32", 80),
        allowIngress("app=web", "app=other", 80));
    assertEquals(agent.get("2").identity().id(), agent.datapath.identityOf(CLIENT));
    assertFalse(webLetsIn(CLIENT, 80));
    agent.delete("2");
    assertTrue(agent.datapath.identityOf(CLIENT) >= 1 << 24);
  }

  @Test
  void shouldRetryAnEndpointWhosePolicyMapCouldNotBeWritten() {
    agent.datapath.fails = call -> call.startsWith("apply 1");
    agent.importRules(
        allowIngress("app=web", "app=client", 80), allowIngress("app=other", "app=client", 80));
    final EndpointSnapshot web = agent.get("1");
    assertEquals(EndpointState.NOT_READY, web.state());
    assertEquals(HealthLevel.WARNING, web.health().policy());
    assertEquals("Warning", web.log().getFirst().code());
    assertEquals(EndpointState.READY, agent.get("3").state());
    assertFalse(agent.datapath.allows(3, PolicyDirection.INGRESS, OUTSIDE, 6, 80));
    assertTrue(web.realizedPolicy().revision() < web.policy().revision());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(1));
    assertEquals(EndpointState.READY, agent.get("1").state());
    assertFalse(webLetsIn(OTHER, 80));
    assertNotNull(agent.get("1").policy());
    assertEquals(agent.get("1").policy(), agent.get("1").realizedPolicy());
  }

  @Test
  void shouldReportEveryEndpointOfACallThatFailsAsAWhole() {
    agent.datapath.fails = call -> call.equals("all changes");
    agent.importRules(
        allowIngress("app=web", "app=client", 80), allowIngress("app=other", "app=client", 80));
    for (final String id : List.of("1", "3")) {
      assertEquals(EndpointState.NOT_READY, agent.get(id).state());
      assertEquals(
          "endpoint " + id + ": policy map: the kernel refused",
          agent.get(id).log().getFirst().message());
    }
    assertEquals(EndpointState.READY, agent.get("2").state());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(1));
    assertEquals(EndpointState.READY, agent.get("1").state());
    assertTrue(webLetsIn(CLIENT, 80));
    assertFalse(webLetsIn(OTHER, 80));
  }

  @Test
  void shouldWriteTheIpcacheAfterAWriteThatFailed() {
    agent.datapath.fails = call -> call.startsWith("ipcache +");
    assertFailed(() -> agent.importRules(allowIngressFromCidr("app=web", "198.51.100.0/24", 80)));
    agent.datapath.fails = call -> false;
    agent.create("7", Requests.on("lxc7").ipv4("10.5.0.77").labels("app=late"));
    assertEquals(
        agent.get("7").identity().id(), agent.datapath.identityOf(IpAddress.parse("10.5.0.77")));
    agent.importRules(allowIngressFromCidr("app=web", "198.51.100.0/24", 80));
    assertTrue(webLetsIn(OUTSIDE, 80));
  }

  /** What is answered with a failure is not in force, now or after a restart. */
  @Test
  void shouldTakeRulesBackThatTheKernelRefused() {
    agent.importRules(allowIngress("app=web", "app=client", 80));
    final PolicySnapshot before = agent.conductor.policy().get(List.of());
    agent.datapath.fails = call -> call.startsWith("ipcache +");
    assertFailed(() -> agent.importRules(allowIngressFromCidr("app=web", "198.51.100.0/24", 80)));
    assertEquals(before.rules(), agent.conductor.policy().get(List.of()).rules());
    agent.datapath.fails = call -> false;
    agent.advance(Duration.ofSeconds(11));
    assertTrue(webLetsIn(CLIENT, 80));
    assertFalse(webLetsIn(OUTSIDE, 80));
    agent.restart();
    assertEquals(before.rules(), agent.conductor.policy().get(List.of()).rules());
    assertFalse(webLetsIn(OUTSIDE, 80));
  }

  /** Simulates another node that has an endpoint with these labels. */
  @Test
  void shouldFollowIdentitiesThatAppearAndGoWithoutAnEndpointOfThisNode() {
    agent.importRules(allowIngress("app=web", "app=late", 80));
    final Identity late =
        agent.identities.acquire(LabelSet.parse("labels", List.of("app=late"))).join();
    assertFalse(knows(late.id()));
    agent.run();
    assertTrue(knows(late.id()));
    assertEquals(EndpointState.READY, agent.get("1").state());
    agent.identities.release(late.id()).join();
    agent.run();
    assertFalse(knows(late.id()));
  }

  @Test
  void shouldAllowAnEndpointThatIsCreatedLaterUntilItIsDeleted() {
    agent.importRules(allowIngress("app=web", "app=late", 80));
    agent.create("4", Requests.on("lxc4").ipv4("10.5.0.12").labels("app=late"));
    final int identity = agent.get("4").identity().id();
    assertTrue(webLetsIn(IpAddress.parse("10.5.0.12"), 80));
    agent.delete("4");
    assertFalse(knows(identity));
    assertEquals(List.of(), agent.get("1").realizedPolicy().ingress().allowed());
  }

  @Test
  void shouldListSelectorsWithTheIdentitiesThatTheySelect() {
    agent.importRules(allowIngress("app=web", "app=client", 80));
    assertTrue(
        agent.conductor.policy().selectors().stream()
            .anyMatch(s -> s.identities().equals(List.of(agent.get("2").identity().id()))));
  }

  @Test
  void shouldWarnWhereALaterIdentityOverflowsThePolicyMap() {
    agent.importRules(manyPorts("app=web", "group=g"));
    agent.create("4", Requests.on("lxc4").labels("group=g", "n=1"));
    assertEquals(EndpointState.READY, agent.get("1").state());
    agent.create("5", Requests.on("lxc5").labels("group=g", "n=2"));
    final EndpointSnapshot web = agent.get("1");
    assertEquals(EndpointState.NOT_READY, web.state());
    assertEquals(HealthLevel.WARNING, web.health().overall());
    assertTrue(web.error().contains("policy map entries, the limit is 16384"), web.error());
    final List<Integer> both =
        List.of(agent.get("4").identity().id(), agent.get("5").identity().id());
    assertEquals(both, web.policy().ingress().allowed(), "what the rules ask for");
    assertEquals(both.subList(0, 1), web.realizedPolicy().ingress().allowed(), "what is enforced");
    agent.advance(Duration.ofSeconds(10));
    assertEquals(EndpointState.NOT_READY, agent.get("1").state(), "also for its retries");
    agent.delete("5");
    agent.advance(Duration.ofSeconds(10));
    assertEquals(HealthLevel.OK, agent.get("1").health().overall());
  }

  @Test
  void shouldTellTheWantedPolicyOfAnEndpointThatCannotBeBuilt() {
    agent.importRules(manyPorts("app=web", "group=g"));
    agent.create("4", Requests.on("lxc4").labels("group=g", "n=1"));
    agent.create("5", Requests.on("lxc5").labels("app=db"));
    agent.delete("1");
    agent.create("6", Requests.on("lxc6").labels("group=g", "n=2"));
    assertFailed(() -> agent.relabel("5", "app=web"));
    agent.create("7", Requests.on("lxc7").labels("app=web").later());
    final EndpointSnapshot web = agent.get("7");
    assertEquals(EndpointState.NOT_READY, web.state());
    assertEquals(PolicyEnforcement.INGRESS, web.policy().enforcement());
    assertEquals(2, web.policy().ingress().allowed().size());
    assertEquals(EndpointPolicyStatus.NONE, web.realizedPolicy());
  }

  @Test
  void shouldDropEverythingWhereTheDenyEntriesDoNotFit() {
    final RuleSpec rule = manyPorts("app=web", "group=g");
    agent.importRules(
        allowIngress("app=web", "app=client", 80),
        new RuleSpec(rule.endpointSelector(), null, null, rule.ingress(), null, null, null));
    agent.create("4", Requests.on("lxc4").ipv4("10.5.0.40").labels("group=g", "n=1"));
    assertTrue(webLetsIn(CLIENT, 80));
    agent.create("5", Requests.on("lxc5").ipv4("10.5.0.50").labels("group=g", "n=2"));
    assertEquals(HealthLevel.WARNING, agent.get("1").health().overall());
    assertFalse(webLetsIn(CLIENT, 80));
    assertFalse(webLetsIn(IpAddress.parse("10.5.0.50"), 80));
    agent.delete("5");
    agent.advance(Duration.ofSeconds(10));
    assertEquals(HealthLevel.OK, agent.get("1").health().overall());
    assertTrue(webLetsIn(CLIENT, 80));
  }

  @Test
  void shouldAllowTheAddressesThatANameHasNow() {
    agent.importRules(allowEgressToName("app=web", "example.org"));
    final Set<String> names = agent.conductor.policy().wantedNames();
    assertEquals(1, names.size());
    final String name = names.iterator().next();
    assertTrue(name.startsWith("example.org"), name);
    assertFalse(agent.datapath.allows(1, PolicyDirection.EGRESS, OUTSIDE, 6, 443));
    agent.now(agent.conductor.policy().names(Map.of(name, List.of(OUTSIDE))));
    assertTrue(agent.datapath.allows(1, PolicyDirection.EGRESS, OUTSIDE, 6, 443));
    agent.now(agent.conductor.policy().names(Map.of(name, List.of())));
    assertFalse(agent.datapath.allows(1, PolicyDirection.EGRESS, OUTSIDE, 6, 443));
  }

  /** The writes are counted: they are those of the address, whatever else the rules select. */
  @Test
  void shouldWriteANewAddressOfOneNameAndNothingElse() {
    final Map<String, List<IpAddress>> names = new TreeMap<>();
    for (int i = 0; i < 1_000; i++) {
      final int first = 0xc612_0000 + 5 * i; // 198.18.0.0/15
      names.put(
          "n" + i + ".example.org.",
          IntStream.range(first, first + 5).mapToObj(IpAddress::ofIpv4).toList());
    }
    agent.now(agent.conductor.policy().names(names));
    agent.importRules(
        allowEgressToNames("app=web", "*.example.org"),
        allowEgressToName("app=other", "n8.example.org"));
    assertTrue(
        agent.datapath.allows(
            1, PolicyDirection.EGRESS, names.get("n7.example.org.").getLast(), 6, 443));
    agent.datapath.calls.clear();
    final List<IpAddress> more = new ArrayList<>(names.get("n7.example.org."));
    more.add(OUTSIDE);
    agent.now(agent.conductor.policy().names(Map.of("n7.example.org.", more)));
    assertEquals(List.of("ipcache +[198.51.100.7/32]"), agent.datapath.calls);
    assertTrue(agent.datapath.allows(1, PolicyDirection.EGRESS, OUTSIDE, 6, 443));
    agent.datapath.calls.clear();
    agent.now(agent.conductor.policy().names(Map.of("n7.example.org.", List.of(OUTSIDE))));
    assertEquals(1, agent.datapath.calls.size(), agent.datapath.calls.toString());
    assertTrue(agent.datapath.calls.getFirst().startsWith("ipcache -[198.18.0.35/32, "));
    agent.datapath.calls.clear();
    final List<IpAddress> used = List.of(OUTSIDE); // by another name, which app=web may reach
    assertFalse(agent.datapath.allows(3, PolicyDirection.EGRESS, OUTSIDE, 6, 443));
    agent.now(agent.conductor.policy().names(Map.of("n8.example.org.", used)));
    assertTrue(agent.datapath.allows(3, PolicyDirection.EGRESS, OUTSIDE, 6, 443));
    assertEquals(2, agent.datapath.calls.size(), agent.datapath.calls.toString());
    assertEquals("ipcache +[198.51.100.7/32]", agent.datapath.calls.getFirst());
  }

  /** The datapath has both orders at once: the answer of a name does not wait for two. */
  @Test
  void shouldAskForTheAddressOfANameBehindItsPolicyEntry() {
    agent.importRules(allowEgressToName("app=web", "example.org"));
    agent.datapath.calls.clear();
    agent.datapath.holds = call -> true;
    final CompletableFuture<Void> done =
        agent.conductor.policy().names(Map.of("example.org.", List.of(OUTSIDE)));
    agent.run();
    assertEquals(
        List.of("apply 1 +1 -0 unused", "ipcache +[198.51.100.7/32]"), agent.datapath.calls);
    assertFalse(done.isDone());
    assertTrue(agent.datapath.answerHeld() > 0);
    agent.run();
    assertTrue(done.isDone());
  }

  @Test
  void shouldTraceWhatTheRulesSayOfAFlow() {
    agent.importRules(allowIngress("app=web", "app=client", 80));
    for (final String from : List.of("app=client", "app=other")) {
      final PolicyQuery query =
          new PolicyQuery(
              LabelSet.parse("from", List.of(from)),
              LabelSet.parse("to", List.of("app=web")),
              List.of(PolicyQuery.Port.of("port", 80, "TCP")),
              false);
      assertEquals(
          from.equals("app=client"), agent.conductor.policy().trace(query).isAllowed(), from);
    }
  }

  /** Only of the endpoints whose maps change. */
  @Test
  void shouldLogWhatAChangeOfThePolicyWrites() {
    final List<LogEntry> before = agent.get("3").log();
    final long revision = agent.importRules(allowIngress("app=web", "app=client", 80)).revision();
    final List<LogEntry> log = agent.get("1").log();
    assertEquals("policy revision " + revision, log.get(0).message());
    assertEquals(EndpointState.READY, log.get(0).state());
    assertTrue(
        log.get(1).message().matches("[1-9] policy entries to write, [1-9] to delete"),
        log.get(1).message());
    assertEquals(EndpointState.REGENERATING, log.get(1).state());
    assertEquals("policy changed", log.get(2).message());
    assertEquals(EndpointState.WAITING_TO_REGENERATE, log.get(2).state());
    assertEquals(before, agent.get("3").log());
  }

  @Test
  void shouldShowTheRevisionThatEveryEndpointEnforces() {
    final long revision = agent.importRules(allowIngress("app=web", "app=client", 80)).revision();
    for (final String id : List.of("1", "2", "3")) {
      assertEquals(revision, agent.get(id).realizedPolicy().revision(), id);
    }
  }

  /** Verdicts do not depend on entries of an identity that no address has, and do from then on. */
  @Test
  void shouldSayWhichEntriesAreOfIdentitiesThatNoAddressHasYet() {
    agent.importRules(allowIngressFromCidr("app=web", "10.64.0.0/16", 80));
    agent.datapath.calls.clear();
    agent.importRules(named("narrow", allowIngressFromCidr("app=web", "10.64.9.0/24", 81)));
    assertEquals(
        List.of("apply 1 +1 -0 unused", "ipcache +[10.64.9.0/24]", "apply 1 +1 -0"),
        agent.datapath.calls);
  }

  /** Its operation alone changes the state of an endpoint. */
  @Test
  void shouldNotChangeTheStateOfAnEndpointThatAnOperationRunsOn() {
    final Deque<Runnable> writes = new ArrayDeque<>();
    agent.storing = writes::add;
    final var changed =
        agent
            .conductor
            .endpoints()
            .modify(
                EndpointIdentifier.local(1),
                Requests.request().state("ready").containerName("other").later().build());
    agent.run();
    assertEquals(1, writes.size(), "the operation waits for the disk");
    final int entries = agent.get("1").log().size();
    agent.importRules(allowIngress("app=web", "app=client", 80));
    assertTrue(webLetsIn(CLIENT, 80));
    assertEquals(entries, agent.get("1").log().size());
    agent.storing = Runnable::run;
    writes.forEach(Runnable::run);
    agent.now(changed);
    assertEquals(EndpointState.READY, agent.get("1").state());
  }

  @Test
  void shouldNotChangeTheStateOfAnEndpointWhoseOperationWaitsForItsUpdate() {
    agent.importRules(allowIngress("app=client", "app=late", 80));
    agent.datapath.holds = "applied"::equals;
    agent.importing(allowIngress("app=web", "app=client", 80));
    agent.run();
    final var created = Requests.on("lxc7").ipv4("10.5.0.77").labels("app=late").later().build();
    agent.conductor.endpoints().create(EndpointIdentifier.local(7), created);
    agent.run();
    final int entries = agent.get("2").log().size();
    final CompletableFuture<EndpointSnapshot> changed =
        agent
            .conductor
            .endpoints()
            .modify(
                EndpointIdentifier.local(2),
                Requests.request().state("ready").containerName("other").later().build());
    agent.run();
    assertFalse(changed.isDone(), "it waits for the update behind the one that is written");
    agent.datapath.holds = call -> false;
    agent.datapath.answerHeld();
    agent.now(changed);
    assertEquals(EndpointState.READY, agent.get("7").state());
    assertEquals(entries, agent.get("2").log().size());
  }
}
