package agent.endpoint;

import static agent.endpoint.EndpointRig.assertFailed;
import static agent.endpoint.EndpointRig.assertRefused;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.request.AddressClaims;
import agent.endpoint.request.AddressingRequest;
import agent.endpoint.request.EndpointRequest;
import agent.endpoint.state.DatapathConfiguration;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointLog.LogEntry;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointState;
import agent.endpoint.state.ExternalIdentifiers;
import agent.endpoint.state.WorkloadDescription;
import agent.identity.DelayedIdentityAllocator;
import agent.identity.LabelFilter;
import agent.ipam.AddressPool;
import agent.ipam.Ipam;
import agent.ipam.IpamContext;
import agent.ipam.Lease;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Each field of requests that create or change an endpoint: what it sets, and its limits. */
class EndpointRequestTest {
  private static final IpAddress LEASED = IpAddress.parse("10.5.0.77");

  private final FakeRig agent = new FakeRig();

  private Requests web() {
    return Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web");
  }

  private static Requests patch() {
    return Requests.request().state("ready");
  }

  private ExternalIdentifiers created(String id) {
    return agent.create(id, web()).externalIdentifiers();
  }

  @Test
  void shouldTakeExternalIdentifiersOfThePath() {
    assertEquals("abc", created("container-id:abc").containerId());
    agent.delete("container-id:abc");
    assertEquals("web", created("container-name:web").containerName());
    agent.delete("container-name:web");
    assertEquals("4fe", created("runtime-endpoint:4fe").runtimeEndpointId());
    agent.delete("runtime-endpoint:4fe");
    final ExternalIdentifiers cni = created("cni-attachment-id:abc:eth0");
    assertEquals("abc", cni.containerId());
    assertEquals("eth0", cni.containerInterfaceName());
    assertEquals("abc:eth0", cni.cniAttachmentId());
    assertNull(cni.runtimeEndpointId());
    agent.delete("cni-attachment-id:abc:eth0");
    for (final String kind : List.of("pod-name", "cep-name")) {
      final ExternalIdentifiers pod = created(kind + ":default:web-1");
      assertEquals("default/web-1", pod.qualifiedPodName());
      assertNull(pod.containerId());
      assertNull(pod.cniAttachmentId());
      agent.delete(kind + ":default:web-1");
    }
    assertNull(created("12").qualifiedPodName());
  }

  @Test
  void shouldTakeTheIdOfAPathThatNamesIt() {
    assertEquals(12, agent.create("agent-global:c1:n1:12", web().id(12)).id());
    assertRefused(
        Refusal.Kind.INVALID, "id", () -> agent.create("agent-global:c1:n1:13", web().id(14)));
  }

  @Test
  void shouldTakeTheIdOfTheBodyWhereThePathNamesNone() {
    assertEquals(65_535, agent.create("container-id:abc", web().id(65_535)).id());
    assertEquals(1, agent.create("0", Requests.on("lxc2").id(0)).id(), "it follows the largest");
    for (final int id : new int[] {-1, 65_536}) {
      assertRefused(
          Refusal.Kind.INVALID, "id", () -> agent.create("0", Requests.on("lxc3").id(id)));
    }
  }

  @Test
  void shouldTakeTextUpToItsLength() {
    final String longest = "x".repeat(1024);
    assertEquals(
        longest,
        agent.create("12", web().containerName(longest)).externalIdentifiers().containerName());
    assertRefused(
        Refusal.Kind.INVALID,
        "container-name",
        () -> agent.modify("12", patch().containerName(longest + "x")));
  }

  @Test
  void shouldRefuseASecondEndpointOfOneIdentifier() {
    created("container-id:abc");
    assertRefused(
        Refusal.Kind.CONFLICT,
        "id",
        () -> agent.create("container-id:abc", Requests.on("lxc2").containerId("abc")));
    assertEquals(1, agent.store.load().size());
  }

  @Test
  void shouldFindTheInterfaceByNameAndIndex() {
    assertEquals(
        103,
        agent.create("12", web().onInterface("lxc3").index(103)).networking().interfaceIndex());
    assertEquals(
        "lxc4", agent.create("13", Requests.on("lxc4").index(0)).networking().interfaceName());
    assertRefused(
        Refusal.Kind.INVALID,
        "interface-index",
        () -> agent.create("14", Requests.on("lxc5").index(-1)));
    assertRefused(
        Refusal.Kind.INVALID,
        "interface-name",
        () -> agent.create("14", Requests.on("lxc5").onInterface("").index(0)));
  }

  @Test
  void shouldRefuseAnEmptyOrZeroHardwareAddress() {
    assertRefused(Refusal.Kind.INVALID, "mac", () -> agent.create("12", web().mac("")));
    assertRefused(
        Refusal.Kind.INVALID, "mac", () -> agent.create("12", web().mac("00:00:00:00:00:00")));
    agent.create("12", web());
    assertEquals(
        "02:00:00:00:00:aa", agent.modify("12", patch().mac("")).networking().mac().toString());
    assertRefused(
        Refusal.Kind.INVALID,
        "host-mac",
        () -> agent.modify("12", patch().onInterface("lxc4").hostMac("02:00:00:00:00:65")));
  }

  private static EndpointRequest described(
      String text, Boolean flag, Integer number, List<String> labels) {
    return new EndpointRequest(
        "ready", null, text, text, text, null, number, flag, text, text, null, null, null, null,
        null, text, text, text, labels, text, number, null, text, null, true);
  }

  private EndpointSnapshot modify(EndpointRequest request) {
    return agent.now(agent.conductor.endpoints().modify(EndpointIdentifier.parse("12"), request));
  }

  @Test
  void shouldChangeEveryDescriptiveFieldThatARequestNames() {
    agent.create("12", web());
    final EndpointSnapshot changed = modify(described("new", true, 9, null));
    assertEquals(
        new ExternalIdentifiers("new", "new", "new", "new", "new", "new", "new", "new", true),
        changed.externalIdentifiers());
    assertEquals(new WorkloadDescription("new", 9, 9, null, "new"), changed.workload());
    assertEquals(List.of("unspec:app=web"), changed.labels().derived());
    final EndpointSnapshot same = modify(described(null, null, null, List.of("app=db")));
    assertEquals(changed.externalIdentifiers(), same.externalIdentifiers());
    assertEquals(changed.workload(), same.workload());
    assertEquals(List.of("unspec:app=db"), same.labels().derived());
  }

  @Test
  void shouldKeepUserLabelsWhereTheOthersChange() {
    agent.create("12", web());
    agent.relabel("12", "zone=a");
    final EndpointSnapshot changed = agent.modify("12", patch().labels("app=db"));
    assertEquals(List.of("unspec:zone=a"), changed.labels().user());
    assertEquals(List.of("unspec:app=db", "unspec:zone=a"), changed.labels().securityRelevant());
  }

  private DatapathConfiguration wired(
      Boolean verification, Boolean external, Boolean route, Boolean arp) {
    final DatapathConfiguration wiring =
        new DatapathConfiguration(verification, external, route, arp, null, null);
    return agent.modify("12", patch().wired(wiring).sync()).datapathConfiguration();
  }

  @Test
  void shouldChangeTheDatapathConfigurationThatARequestNames() {
    agent.create("12", web());
    wired(true, null, null, null);
    assertEquals("Disabled", agent.get("12").options().get("SourceIPVerification"));
    assertEquals(0, agent.datapath.attached.get(12).options() & 64);
    final DatapathConfiguration both = wired(null, false, true, true);
    assertEquals(new DatapathConfiguration(true, false, true, true, null, null), both);
    assertEquals("Disabled", agent.get("12").options().get("SourceIPVerification"));
    assertEquals(256, agent.datapath.attached.get(12).options() & 256);
    wired(false, null, null, null);
    assertEquals("Enabled", agent.get("12").options().get("SourceIPVerification"));
    assertEquals(256, agent.datapath.attached.get(12).options() & 256);
  }

  @Test
  void shouldRefuseToChangeWhatIsDecidedOnCreation() {
    agent.create("12", web().ipv6("f00d::5:0:9"));
    assertRefused(
        Refusal.Kind.INVALID,
        "datapath-configuration.external-ipam",
        () -> wired(null, true, null, null));
    assertRefused(
        Refusal.Kind.INVALID,
        "datapath-configuration.install-endpoint-route",
        () -> wired(null, null, false, null));
    assertRefused(
        Refusal.Kind.INVALID,
        "addressing.ipv6",
        () -> agent.modify("12", patch().ipv6("f00d::5:0:10")));
    assertEquals(EndpointState.READY, agent.modify("12", patch().ipv6("f00d::5:0:9")).state());
    assertEquals(12, agent.modify("12", patch().id(12)).id());
    assertEquals(12, agent.modify("12", patch().id(0)).id());
  }

  private List<EndpointState> newest(int count) {
    return agent.get("12").log().stream().limit(count).map(LogEntry::state).toList();
  }

  @Test
  void shouldBuildAgainOnlyWhereARequestNeedsIt() {
    agent.create("12", web());
    final int before = agent.get("12").log().size();
    agent.modify("12", patch().containerName("x").sync());
    assertEquals(before, agent.get("12").log().size(), "a description needs no build");
    configure(Map.of(), null);
    assertEquals(
        List.of(
            EndpointState.READY, EndpointState.REGENERATING, EndpointState.WAITING_TO_REGENERATE),
        newest(3));
    final int built = agent.get("12").log().size();
    configure(null, List.of("pod-template-hash=1"));
    assertEquals(built + 2, agent.get("12").log().size());
    assertEquals(List.of(EndpointState.READY, EndpointState.WAITING_FOR_IDENTITY), newest(2));
    configure(Map.of(), null);
    assertEquals(
        List.of(
            EndpointState.READY, EndpointState.REGENERATING, EndpointState.WAITING_TO_REGENERATE),
        newest(3));
    assertEquals(List.of("unspec:pod-template-hash=1"), agent.get("12").labels().user());
  }

  private EndpointSnapshot configure(Map<String, String> options, List<String> user) {
    return agent.now(
        agent.conductor.endpoints().configure(EndpointIdentifier.parse("12"), options, user));
  }

  @Test
  void shouldRefuseEveryChangeOfAnEndpointThatIsBeingDeleted() {
    agent.create("12", web());
    agent.datapath.fails = call -> call.startsWith("detach");
    agent.delete("12");
    assertRefused(Refusal.Kind.CONFLICT, "id", () -> agent.modify("12", patch()));
    assertRefused(Refusal.Kind.CONFLICT, "id", () -> configure(Map.of("Debug", "Enabled"), null));
    assertRefused(Refusal.Kind.CONFLICT, "id", () -> agent.relabel("12", "a=b"));
  }

  /** A later change must not write the record from before this one. */
  @Test
  void shouldStoreAChangeThatNeedsNoBuildOnce() {
    agent.create("12", web());
    agent.modify("12", patch().containerName("renamed"));
    assertEquals("renamed", stored().externalIdentifiers().containerName());
    final List<String> names = new ArrayList<>();
    agent.store.onSaved = record -> names.add(record.externalIdentifiers().containerName());
    configure(Map.of("Debug", "Enabled"), null);
    assertEquals(List.of("renamed"), names);
  }

  private EndpointRecord stored() {
    return agent.store.load().getFirst();
  }

  /** Without {@code sync-build-endpoint} the answer comes before the build that moves it. */
  @Test
  void shouldCloseTheNewInterfaceBeforeItAnswersARequestToMove() {
    agent.create("12", web());
    final CompletableFuture<EndpointSnapshot> answer =
        agent
            .conductor
            .endpoints()
            .modify(
                EndpointIdentifier.parse("12"),
                patch().onInterface("lxc4").mac("02:00:00:00:00:aa").later().build());
    while (!answer.isDone()) {
      agent.conductor.agent().doWork();
    }
    assertEquals(104, agent.datapath.closed.get(12));
    agent.run();
    assertEquals(104, agent.datapath.attached.get(12).ifindex());
  }

  /** What does not move it is stored although its interface is not there now. */
  @Test
  void shouldNotCloseAnEndpointThatARequestDoesNotMove() {
    agent.create("12", web());
    agent.node.present.remove("lxc1");
    agent.modify("12", patch().mac("02:00:00:00:00:bb").later());
    assertEquals("02:00:00:00:00:bb", stored().device().mac().toString());
  }

  @Test
  void shouldReleaseAllocatedAddressesWhereTheRecordIsNotStored() {
    agent.store.fails = true;
    assertFailed(() -> agent.create("12", Requests.on("lxc1")));
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.identities.inUse());
  }

  /** The first address is claimed when the second one is refused. */
  @Test
  void shouldReturnALeaseWhereTheOtherAddressIsRefusedAfterTheCheck() {
    agent.ipam.allocateAddress("ip", LEASED, "cni", null);
    final Lease before = agent.ipam.find(LEASED).orElseThrow();
    agent.store.onSaved =
        record -> agent.ipam.claim("ip", record.addressing().ipv6(), 99, null, null);
    assertRefused(
        Refusal.Kind.CONFLICT,
        "addressing.ipv6",
        () -> agent.create("12", Requests.on("lxc1").ipv4("10.5.0.77").ipv6("f00d::5:0:9")));
    assertEquals(before, agent.ipam.find(LEASED).orElseThrow());
    assertEquals(List.of(), agent.store.load());
  }

  /** Where the record cannot be removed either, the endpoint is entered to be removed. */
  @Test
  void shouldRemoveARefusedEndpointLaterWhoseRecordCannotBeRemoved() {
    agent.store.onSaved =
        record -> {
          agent.ipam.claim("ip", record.addressing().ipv4(), 99, null, null);
          agent.store.fails = true;
        };
    final Refusal refusal = assertThrows(Refusal.class, () -> agent.create("12", web()));
    assertEquals("addressing.ipv4", refusal.field());
    assertEquals(EndpointState.DISCONNECTING, agent.get("12").state());
    agent.store.fails = false;
    agent.advance(Duration.ofSeconds(10));
    assertRefused(Refusal.Kind.NOT_FOUND, "id", () -> agent.get("12"));
    assertEquals(List.of(), agent.store.load());
    assertEquals(List.of(), agent.identities.inUse());
  }

  /** Addresses of another allocator are compared with those of endpoints and of the node. */
  @Test
  void shouldRefuseExternalAddressesThatAreInUse() {
    final DatapathConfiguration external =
        new DatapathConfiguration(null, true, null, null, null, null);
    agent.create("12", Requests.on("lxc1").ipv4("172.30.0.9").ipv6("fd00::9").wired(external));
    for (final String used : List.of("172.30.0.9", "192.0.2.1")) {
      assertRefused(
          Refusal.Kind.CONFLICT,
          "addressing.ipv4",
          () -> agent.create("13", Requests.on("lxc2").ipv4(used).wired(external)));
    }
    agent.node.hasAddress("2001:db8::1");
    agent.advance(Duration.ofSeconds(6));
    for (final String used : List.of("fd00::9", "2001:db8::1")) {
      assertRefused(
          Refusal.Kind.CONFLICT,
          "addressing.ipv6",
          () -> agent.create("13", Requests.on("lxc2").ipv6(used).wired(external)));
    }
    agent.create("13", Requests.on("lxc2").ipv4("172.30.0.10").wired(external));
  }

  @Test
  void shouldAllocateFromThePoolThatEitherFamilyNames() {
    for (final AddressingRequest unknown :
        List.of(
            new AddressingRequest(null, null, "nosuch", null, null, null),
            new AddressingRequest(null, null, null, null, null, "nosuch"))) {
      assertThrows(
          Refusal.class, () -> agent.create("12", Requests.on("lxc1").addressing(unknown)));
    }
    agent.create(
        "12", Requests.on("lxc1").addressing(new AddressingRequest("", "", "default", "", "", "")));
    assertEquals(2, agent.ipam.leases().size());
  }

  @Test
  void shouldSayWhichFamilyAnAddressMustHave() {
    assertEquals(
        "addressing.ipv4: 'f00d::9' is not an IPv4 address",
        assertThrows(Refusal.class, () -> agent.create("12", web().ipv4("f00d::9"))).getMessage());
    assertEquals(
        "addressing.ipv6: '10.5.0.9' is not an IPv6 address",
        assertThrows(Refusal.class, () -> agent.create("12", web().ipv6("10.5.0.9"))).getMessage());
  }

  /** The contract has no answer of this request for a disabled family. */
  @Test
  void shouldRefuseADisabledFamilyAsInvalid() {
    final Ipam ipam =
        Ipam.open(
            new IpamContext()
                .pool(
                    new AddressPool(
                        AddressPool.DEFAULT, List.of(Prefix.parse("10.5.0.0/24"), FakeRig.RANGE6)))
                .families(true, false)
                .conclude());
    final AddressClaims claims = new AddressClaims(ipam);
    final Refusal disabled =
        assertThrows(Refusal.class, () -> claims.choose(1, read(null, "f00d::5:0:9")));
    assertEquals(Refusal.Kind.INVALID, disabled.kind());
    assertEquals("addressing.ipv6", disabled.field());
    assertTrue(disabled.reason().contains("disabled"), disabled.reason());
    claims.claim(1, claims.choose(1, read("10.5.0.9", null)).value());
    final Refusal used =
        assertThrows(Refusal.class, () -> claims.choose(2, read("10.5.0.9", null)));
    assertEquals(Refusal.Kind.CONFLICT, used.kind());
    assertFalse(ipam.leases().isEmpty());
  }

  private static EndpointAddressing read(String ipv4, String ipv6) {
    return AddressClaims.read(new AddressingRequest(ipv4, null, null, ipv6, null, null));
  }

  @Test
  void shouldUndoAFailedChangeBeforeTheStoreIsWritten() {
    agent.create("12", web());
    agent.datapath.fails = call -> call.startsWith("attach");
    assertThrows(OperationException.class, () -> wired(true, null, null, null));
    agent.datapath.fails = call -> false;
    assertEquals("Enabled", agent.get("12").options().get("SourceIPVerification"));
    assertEquals("Enabled", stored().configuration().options().get("SourceIPVerification"));
  }

  private List<Integer> ids(String... labels) {
    return agent.conductor.endpoints().list(List.of(labels)).stream()
        .map(EndpointSnapshot::id)
        .toList();
  }

  @Test
  void shouldListByLabelsInEffectWhetherTheyMakeTheIdentityOrNot() {
    agent.create("12", web().labels("app=web", "pod-template-hash=5f7"));
    agent.relabel("12", "app=db", "pod-template-generation=3");
    assertEquals(List.of(12), ids("pod-template-hash=5f7"));
    assertEquals(List.of(12), ids("pod-template-generation=3"));
    assertEquals(List.of(12), ids("app=db"));
    assertRefused(Refusal.Kind.NOT_FOUND, "labels", () -> ids("app=web"));
  }

  @Test
  void shouldListAnEndpointThatWaitsForItsIdentity() {
    final var late = new DelayedIdentityAllocator();
    final FakeRig rig = new FakeRig(() -> late);
    rig.conductor.endpoints().create(EndpointIdentifier.local(12), web().later().build());
    rig.run();
    assertNull(rig.get("12").identity());
    assertEquals(1, rig.conductor.endpoints().list(List.of("app=web")).size());
    assertRefused(
        Refusal.Kind.NOT_FOUND, "labels", () -> rig.conductor.endpoints().list(List.of("app=db")));
  }

  @Test
  void shouldReturnTheErrorsOfEveryEndpointOfAContainer() {
    agent.create("12", web().containerId("abc"));
    agent.create("13", Requests.on("lxc2").containerId("abc"));
    agent.datapath.fails = call -> call.equals("detach 13");
    assertEquals(
        List.of("link: EBUSY"), agent.now(agent.conductor.endpoints().deleteByContainerId("abc")));
    assertRefused(
        Refusal.Kind.INVALID,
        "container-id",
        () -> agent.now(agent.conductor.endpoints().deleteByContainerId(null)));
  }

  @Test
  void shouldCountThePoliciesThatItHasEnforced() {
    agent.create("12", web());
    assertEquals(1, agent.get("12").realizedPolicy().build());
    agent.importRules(TestRules.allowIngress("app=web", "app=web", 80));
    assertEquals(2, agent.get("12").realizedPolicy().build());
    agent.importRules(TestRules.allowIngress("app=other", "app=web", 80));
    assertEquals(2, agent.get("12").realizedPolicy().build());
    assertEquals(3, agent.get("12").realizedPolicy().revision());
  }

  @Test
  void shouldReturnTheRulesThatHaveTheLabels() {
    agent.importRules(
        TestRules.named("x", TestRules.allowIngress("app=web", "app=db", 80)),
        TestRules.named("y", TestRules.allowIngress("app=web", "app=db", 81)));
    assertEquals(2, agent.conductor.policy().get(List.of()).rules().size());
    assertEquals(1, agent.conductor.policy().get(List.of("name=x")).rules().size());
    assertEquals("default", agent.conductor.policy().mode().text());
  }

  /** One retry is scheduled at a time, whatever the number of failures meanwhile. */
  @Test
  void shouldScheduleOneRetryOfAFailedBuild() {
    agent.create("12", web());
    agent.datapath.fails = call -> call.startsWith("attach");
    agent.modify("12", patch().mac("02:00:00:00:00:bb").later());
    agent.advance(Duration.ofMillis(500));
    agent.modify("12", patch().mac("02:00:00:00:00:cc").later());
    agent.advance(Duration.ofMillis(4400));
    assertEquals(3, agent.get("12").controllers().getFirst().failureCount());
  }

  @Test
  void shouldReportAnUnexpectedExceptionAsAFailure() {
    agent.store.onSaved =
        record -> {
          throw new IllegalStateException("bug");
        };
    final OperationException failure =
        assertThrows(OperationException.class, () -> agent.create("12", web()));
    assertTrue(failure.getMessage().contains("bug"), failure.getMessage());
    assertEquals(List.of(), agent.identities.inUse());
  }

  private static void assertIncomplete(Consumer<EndpointContext> change) {
    final FakeRig rig = new FakeRig();
    final EndpointContext context =
        rig.baseContext()
            .policy(rig.policy)
            .identities(rig.identities)
            .ipam(rig.ipam)
            .addressing(rig.addressing());
    change.accept(context);
    assertThrows(RuntimeException.class, context::conclude);
  }

  @Test
  void shouldRefuseAContextThatIsIncompleteOrOutOfRange() {
    final Duration second = Duration.ofSeconds(1);
    assertIncomplete(context -> context.policy(null));
    assertIncomplete(context -> context.identities(null));
    assertIncomplete(context -> context.ipam(null));
    assertIncomplete(context -> context.addressing(null));
    assertIncomplete(context -> context.devices(null));
    assertIncomplete(context -> context.localAddresses(null));
    assertIncomplete(context -> context.routes(null));
    assertIncomplete(context -> context.store(null));
    assertIncomplete(context -> context.datapath(null, null, null));
    assertIncomplete(context -> context.retry(Duration.ZERO, second));
    assertIncomplete(context -> context.retry(second.negated(), second));
    assertIncomplete(context -> context.retry(second, second.minusNanos(1)));
    assertIncomplete(context -> context.refreshInterval(Duration.ZERO));
    final FakeRig rig = new FakeRig();
    final EndpointContext context =
        rig.baseContext()
            .policy(rig.policy)
            .identities(rig.identities)
            .ipam(rig.ipam)
            .addressing(rig.addressing())
            .labelFilter(LabelFilter.defaults())
            .keepsOptions(false)
            .refreshInterval(second)
            .retry(second, second)
            .conclude();
    assertThrows(IllegalStateException.class, () -> context.clusterName("c2"));
    assertEquals("c1", context.clusterName());
    assertEquals(second, context.retryMax());
    assertEquals(rig.addressing(), context.addressing());
  }
}
