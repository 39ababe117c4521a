package agent.policy;

import static agent.policy.Changes.add;
import static agent.policy.RuleSpecs.cidrs;
import static agent.policy.RuleSpecs.endpoints;
import static agent.policy.RuleSpecs.ingress;
import static agent.policy.RuleSpecs.labels;
import static agent.policy.RuleSpecs.on;
import static agent.policy.RuleSpecs.tcp;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.identity.DelayedIdentityAllocator;
import agent.identity.Identity;
import agent.identity.IdentityDirectory;
import agent.identity.IdentityDirectory.IdentityListener;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.maps.layout.PolicyDirection;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests that the engine follows identities that other threads and other nodes add and remove. */
class IdentityEventsTest {
  private static final PolicyEntry OPEN_OUT = PolicyEntry.allowAll(0, PolicyDirection.EGRESS);

  private final DelayedIdentityAllocator identities = new DelayedIdentityAllocator();
  private final LocalCidrIdentityAllocator cidrIdentities = new LocalCidrIdentityAllocator();
  private final PolicyEngine engine =
      PolicyEngine.open(
          new PolicyContext().identities(identities).cidrIdentities(cidrIdentities).conclude());
  private final List<String> calls = new ArrayList<>();

  IdentityEventsTest() {
    final Identity web = acquire("app=web");
    engine.endpointSet(1, web, List.of());
    add(
        engine,
        List.of(ingress(labels("app", "web"), on(endpoints(labels("app", "db")), tcp(80)))),
        false);
    engine.observe(() -> calls.add(Thread.currentThread().getName()));
  }

  private static LabelSet set(String... texts) {
    return LabelSet.parse("labels", List.of(texts));
  }

  private Identity acquire(String label) {
    final CompletableFuture<Identity> acquired = identities.acquire(set(label));
    identities.runAll();
    return acquired.join();
  }

  private static PolicyEntry in(Identity peer) {
    return PolicyEntry.allow(peer.id(), PolicyDirection.INGRESS, 6, 80);
  }

  private List<PolicyEntry> entries() {
    return engine.policyOf(1).orElseThrow().entries();
  }

  @Test
  void shouldCallTheObserverOnceOnTheThreadOfARemoteIdentityAndResolveOnRefresh() {
    final List<Identity> peers = new ArrayList<>();
    try (ExecutorService watch =
        Executors.newSingleThreadExecutor(Thread.ofPlatform().name("watch").factory())) {
      for (final String role : List.of("a", "b")) {
        watch.execute(() -> peers.add(identities.addRemote(set("app=db", "role=" + role))));
      }
      watch.execute(() -> identities.addRemote(set("app=other")));
    }
    assertEquals(List.of("watch"), calls);
    assertEquals(List.of(OPEN_OUT), entries());
    final PolicyUpdate update = engine.refresh();
    assertEquals(
        new PolicyDelta(List.of(in(peers.get(0)), in(peers.get(1))), List.of()),
        update.endpoints().getFirst().diff());
    assertEquals(List.of(in(peers.get(0)), in(peers.get(1)), OPEN_OUT), entries());
    identities.removeRemote(set("app=db", "role=a"));
    assertEquals(List.of("watch", Thread.currentThread().getName()), calls);
    assertEquals(
        new PolicyDelta(List.of(), List.of(in(peers.get(0)))),
        engine.refresh().endpoints().getFirst().diff());
  }

  @Test
  void shouldNotCallTheObserverForIdentitiesThatNoPolicyDependsOn() {
    identities.addRemote(set("app=other"));
    identities.removeRemote(set("app=other"));
    assertEquals(List.of(), calls);
    assertEquals(List.of(), engine.refresh().endpoints());
  }

  @Test
  void shouldKnowAnIdentityBeforeItsAcquireCompletes() {
    final List<Integer> known = new ArrayList<>();
    identities
        .acquire(set("app=db"))
        .thenAccept(
            db -> {
              engine.refresh();
              known.addAll(engine.policyOf(1).orElseThrow().ingress().allowed());
              assertEquals(List.of(db.id()), known);
            });
    assertEquals(List.of(), calls);
    identities.runAll();
    assertEquals(1, known.size());
    assertEquals(1, calls.size());
  }

  @Test
  void shouldFollowTheReleaseOfTheLastReference() {
    final Identity db = acquire("app=db");
    acquire("app=db");
    engine.refresh();
    calls.clear();
    identities.release(db.id());
    identities.runAll();
    assertEquals(List.of(), calls);
    assertEquals(List.of(in(db), OPEN_OUT), entries());
    identities.release(db.id());
    assertEquals(List.of(), calls);
    identities.runAll();
    assertEquals(1, calls.size());
    engine.refresh();
    assertEquals(List.of(OPEN_OUT), entries());
  }

  @Test
  void shouldCallALateObserverForWhatIsAffectedAlready() {
    identities.addRemote(set("app=db"));
    final List<String> late = new ArrayList<>();
    engine.observe(() -> late.add("affected"));
    assertEquals(List.of("affected"), late);
    engine.refresh();
    engine.observe(() -> late.add("again"));
    assertEquals(List.of("affected"), late);
  }

  @Test
  void shouldLetTheChangeOfRulesSettleItsOwnCidrsAndTellOfThoseOfOthers() {
    add(engine, List.of(ingress(labels("app", "web"), cidrs("10.0.0.0/8"))), false);
    assertEquals(List.of(), calls);
    final Identity other = cidrIdentities.acquire(Prefix.parse("192.0.2.0/24"));
    assertEquals(1, calls.size());
    assertEquals(other.id(), engine.refresh().outside().added().get(other.cidr().orElseThrow()));
  }

  @Test
  void shouldCallTheObserverOutsideTheLockOfTheEngine() throws Exception {
    final CountDownLatch read = new CountDownLatch(1);
    try (ExecutorService reader = Executors.newSingleThreadExecutor()) {
      engine.observe(
          () -> {
            reader.execute(
                () -> {
                  engine.selectors();
                  read.countDown();
                });
            try {
              calls.add(read.await(5, TimeUnit.SECONDS) ? "read" : "blocked");
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
          });
      identities.addRemote(set("app=db"));
    }
    assertEquals(List.of("read"), calls);
  }

  @Test
  void shouldMissNoIdentityThatAppearsWhileItIsOpened() {
    final IdentityDirectory busy =
        new IdentityDirectory() {
          @Override
          public Optional<Identity> find(int id) {
            return identities.find(id);
          }

          @Override
          public List<Identity> list() {
            return identities.list();
          }

          @Override
          public void addListener(IdentityListener listener) {
            identities.addRemote(set("app=db", "n=1"));
            identities.addListener(listener);
            identities.addRemote(set("app=db", "n=2"));
          }
        };
    final PolicyEngine opened = PolicyEngine.open(new PolicyContext().identities(busy).conclude());
    add(opened, List.of(ingress(labels("app", "web"), endpoints(labels("app", "db")))), false);
    assertEquals(2, opened.selectors().getFirst().identities().size());
  }
}
