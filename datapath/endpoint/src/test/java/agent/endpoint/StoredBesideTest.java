package agent.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointSnapshot;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Refusal;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is stored on its way to the disk, and what others see and get meanwhile. */
class StoredBesideTest {
  private final FakeRig agent = new FakeRig();
  private final Deque<Runnable> writes = new ArrayDeque<>();

  @BeforeEach
  void storeLater() {
    agent.storing = writes::add;
    agent.datapath.calls.clear();
  }

  @AfterEach
  void storeWhatIsLeft() {
    runWrites();
    assertTrue(agent.conductor.endpoints().list(List.of()).size() <= 2);
  }

  private static Requests web() {
    return Requests.on("lxc1").ipv4("10.5.0.9").labels("app=web").containerId("c1");
  }

  private static Requests client() {
    return Requests.on("lxc2").ipv4("10.5.0.10").labels("app=client");
  }

  private CompletableFuture<EndpointSnapshot> creating(String id, Requests request) {
    final CompletableFuture<EndpointSnapshot> answer =
        agent.conductor.endpoints().create(EndpointIdentifier.parse(id), request.build());
    agent.run();
    return answer;
  }

  private void runWrites() {
    while (!writes.isEmpty()) {
      writes.remove().run();
      agent.run();
    }
  }

  private EndpointSnapshot created(String id, Requests request) {
    final CompletableFuture<EndpointSnapshot> answer = creating(id, request);
    runWrites();
    return answer.join();
  }

  @Test
  void shouldStoreRecordsOfSeveralNewEndpointsAtATime() {
    final CompletableFuture<EndpointSnapshot> first = creating("12", web());
    final CompletableFuture<EndpointSnapshot> second = creating("13", client());
    assertEquals(2, writes.size(), "both may share a sync");
    assertFalse(first.isDone());
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
    assertEquals(List.of(), agent.datapath.calls);
    runWrites();
    assertEquals(12, first.join().id());
    assertEquals(13, second.join().id());
  }

  @Test
  void shouldKeepWhatAnEndpointThatIsBeingStoredHas() {
    final CompletableFuture<EndpointSnapshot> first = creating("12", web());
    final Requests same = client();
    FakeRig.assertRefused(Refusal.Kind.CONFLICT, "id", () -> agent.create("12", same));
    FakeRig.assertRefused(
        Refusal.Kind.CONFLICT,
        "interface-name",
        () -> agent.create("13", client().onInterface("lxc1")));
    FakeRig.assertRefused(
        Refusal.Kind.CONFLICT,
        "addressing.ipv4",
        () -> agent.create("13", client().ipv4("10.5.0.9")));
    FakeRig.assertRefused(
        Refusal.Kind.CONFLICT, "id", () -> agent.create("container-id:c1", client()));
    FakeRig.assertRefused(Refusal.Kind.NOT_FOUND, "id", () -> agent.delete("12"));
    runWrites();
    first.join();
  }

  @Test
  void shouldCountAndNumberEndpointsThatAreBeingStored() {
    agent.mostEndpoints = 2;
    final CompletableFuture<EndpointSnapshot> first = creating("agent-local:0", web());
    final CompletableFuture<EndpointSnapshot> second = creating("agent-local:0", client());
    FakeRig.assertRefused(
        Refusal.Kind.UNAVAILABLE,
        "id",
        () -> agent.create("agent-local:0", client().onInterface("lxc3").ipv4("10.5.0.11")));
    runWrites();
    assertEquals(1, first.join().id());
    assertEquals(2, second.join().id());
  }

  @Test
  void shouldGiveEverythingBackWhereTheRecordCannotBeStored() {
    agent.store.fails = true;
    final CompletableFuture<EndpointSnapshot> refused = creating("12", web().ipv4(null));
    runWrites();
    assertEquals("no space left on device", refused.exceptionNow().getMessage());
    assertEquals(List.of(), agent.ipam.leases());
    assertEquals(List.of(), agent.identities.inUse());
    agent.store.fails = false;
    assertEquals(12, created("12", web()).id());
  }

  /** The record is stored before the address is claimed: a lease never passes to no endpoint. */
  @Test
  void shouldClaimAnAddressWhenTheRecordIsStored() {
    agent.ipam.allocateAddress("ip", IpAddress.parse("10.5.0.9"), "cni", null);
    final CompletableFuture<EndpointSnapshot> answer = creating("12", web());
    assertEquals(0, agent.ipam.leases().getFirst().endpointId());
    runWrites();
    answer.join();
    assertEquals(12, agent.ipam.leases().getFirst().endpointId());
    assertEquals(1, agent.store.load().size());
  }

  private CompletableFuture<EndpointSnapshot> renaming() {
    return agent
        .conductor
        .endpoints()
        .modify(EndpointIdentifier.parse("12"), Requests.request().containerName("new").build());
  }

  @Test
  void shouldChangeAnEndpointWhenTheChangeIsStored() {
    created("12", web());
    final CompletableFuture<EndpointSnapshot> answer = renaming();
    agent.run();
    assertEquals(1, writes.size());
    assertEquals(null, agent.get("12").externalIdentifiers().containerName());
    runWrites();
    answer.join();
    assertEquals("new", agent.get("12").externalIdentifiers().containerName());
  }

  @Test
  void shouldChangeNothingWhereAChangeIsNotStored() {
    created("12", web());
    agent.store.fails = true;
    final CompletableFuture<EndpointSnapshot> answer =
        agent
            .conductor
            .endpoints()
            .modify(
                EndpointIdentifier.parse("12"),
                Requests.request().labels("app=other").later().build());
    agent.run();
    runWrites();
    assertEquals("no space left on device", answer.exceptionNow().getMessage());
    assertEquals(List.of("unspec:app=web"), agent.get("12").labels().securityRelevant());
    assertEquals(1, agent.identities.inUse().size());
  }

  /** The operation stores a record that has the former name. */
  @Test
  void shouldFollowARenamedInterfaceAfterAChangeThatIsBeingStored() {
    created("12", web());
    final CompletableFuture<EndpointSnapshot> answer = renaming();
    agent.run();
    agent.node.rename("lxc1", "renamed");
    agent.advance(Duration.ofSeconds(6));
    assertEquals(1, writes.size());
    runWrites();
    answer.join();
    agent.advance(Duration.ofSeconds(6));
    runWrites();
    assertEquals("renamed", agent.store.load().getFirst().device().name());
    assertEquals("new", agent.store.load().getFirst().externalIdentifiers().containerName());
    assertEquals("renamed", agent.get("12").networking().interfaceName());
  }

  @Test
  void shouldNotWaitForTheDiskToChangeTheConfiguration() {
    final CompletableFuture<Void> change =
        agent.conductor.configuration().change(Map.of("Debug", "Enabled"), null);
    agent.run();
    assertEquals(1, writes.size());
    assertEquals("Disabled", agent.conductor.configuration().wanted().toMap().get("Debug"));
    runWrites();
    change.join();
    assertEquals("Enabled", agent.conductor.configuration().wanted().toMap().get("Debug"));
  }

  @Test
  void shouldFailAConfigurationThatIsNotStored() {
    agent.configuration.fails = true;
    final CompletableFuture<Void> change =
        agent.conductor.configuration().change(Map.of("Debug", "Enabled"), null);
    agent.run();
    runWrites();
    assertTrue(change.exceptionNow() instanceof OperationException);
    assertEquals("Disabled", agent.conductor.configuration().wanted().toMap().get("Debug"));
  }

  /** Where they are not stored, others get them. */
  @Test
  void shouldEnterAnEndpointWhenTheLeasesOfItsAddressesAreStored() {
    final Deque<Runnable> leases = new ArrayDeque<>();
    agent.storingLeases = leases::add;
    final CompletableFuture<EndpointSnapshot> answer = creating("12", web().ipv4(null));
    runWrites();
    assertFalse(answer.isDone());
    assertEquals(List.of(), agent.conductor.endpoints().list(List.of()));
    assertEquals(List.of(), agent.datapath.calls);
    agent.storingLeases = Runnable::run;
    leases.remove().run();
    assertEquals(12, agent.now(answer).id());
    assertEquals(2, agent.ipam.leases().size());
  }

  /** The conductor's thread alone changes what the endpoints have, however fast the disk is. */
  @Test
  void shouldGoOnWithAChangeOfTheConfigurationOnTheConductor() {
    final CompletableFuture<Void> change =
        agent.conductor.configuration().change(Map.of("Debug", "Enabled"), null);
    agent.run();
    writes.remove().run();
    assertEquals("Disabled", agent.conductor.configuration().wanted().toMap().get("Debug"));
    agent.run();
    assertEquals("Enabled", agent.conductor.configuration().wanted().toMap().get("Debug"));
    runWrites();
    agent.now(change);
  }

  /** The operation stores a record that has the former address. */
  @Test
  void shouldFollowAnotherHostAddressAfterAChangeThatIsBeingStored() {
    created("12", web());
    final CompletableFuture<EndpointSnapshot> answer = renaming();
    agent.run();
    agent.node.hasDeviceWithMac("lxc1", 101, "02:00:00:00:00:77");
    agent.node.events.add(handler -> handler.onDevice(agent.node.present.get("lxc1")));
    agent.advance(Duration.ofSeconds(1));
    assertEquals(1, writes.size());
    runWrites();
    agent.now(answer);
    agent.advance(Duration.ofSeconds(6));
    runWrites();
    final EndpointRecord stored = agent.store.load().getFirst();
    assertEquals("02:00:00:00:00:77", stored.device().hostMac().toString());
    assertEquals("new", stored.externalIdentifiers().containerName());
    assertEquals("02:00:00:00:00:77", agent.datapath.attached.get(12).hostMac().toString());
  }
}
