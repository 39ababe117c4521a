package agent.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.ServiceEntries;
import agent.datapath.spec.ServiceProxy;
import agent.maps.layout.BackendState;
import agent.maps.layout.ServiceForwarding;
import agent.maps.layout.SocketCounter;
import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Refusal;
import agent.types.ServiceName;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ServicesTest {
  private static final Frontend WEB =
      new Frontend(IpAddress.parse("10.96.0.1"), 80, ServiceProtocol.TCP);
  private static final Frontend NAMES =
      new Frontend(IpAddress.parse("10.96.0.1"), 53, ServiceProtocol.ANY);

  private static final int OUTSIDE = ServiceEntries.OUTSIDE_ID;

  private final Datapath datapath = new Datapath();
  private final Disk disk = new Disk();
  private Services services = Services.restore(datapath, disk, "n1", ServiceForwarding.DEFAULT);

  /** A datapath that fails on demand. */
  static final class Datapath implements ServiceProxy {
    final Map<Integer, ServiceEntries> held = new TreeMap<>();
    Set<Integer> kept = Set.of();
    List<KeptFrontend> keptFrontends = List.of();
    RuntimeException failure;
    boolean isFailingOutside; // only then
    Function<Runnable, CompletableFuture<Void>> commands =
        command -> CompletableFuture.runAsync(command, Runnable::run);

    /** What is written is there when this has completed. */
    CompletableFuture<Void> enforced = CompletableFuture.completedFuture(null);

    @Override
    public CompletableFuture<Set<Integer>> known() {
      return CompletableFuture.completedFuture(Set.copyOf(held.keySet()));
    }

    @Override
    public CompletableFuture<List<KeptFrontend>> restore(
        Collection<ServiceEntries> services, Set<Integer> ids) {
      held.clear();
      services.forEach(service -> held.put(service.id(), service));
      kept = new TreeSet<>(ids);
      return CompletableFuture.completedFuture(keptFrontends);
    }

    @Override
    public CompletableFuture<Void> run(Runnable command) {
      return commands.apply(command);
    }

    @Override
    public Placed place(ServiceEntries service) {
      return () -> service;
    }

    @Override
    public CompletableFuture<Void> put(Placed placed) {
      final ServiceEntries service = placed.service();
      if (failure != null && (!isFailingOutside || service.id() < 0)) {
        return CompletableFuture.failedFuture(failure);
      }
      return enforced.thenRun(() -> held.put(service.id(), service));
    }

    @Override
    public CompletableFuture<Void> remove(int id) {
      return enforced.thenRun(
          () -> {
            held.remove(id);
            kept.remove(id);
          });
    }

    @Override
    public Hooks hooks() {
      return Hooks.ATTACHED;
    }

    @Override
    public int mostCells() {
      return 0;
    }

    @Override
    public Map<SocketCounter, Long> counters() {
      return Map.of();
    }
  }

  /** A store that fails on demand. */
  static final class Disk implements ServiceStore {
    final Map<Integer, Service> kept = new TreeMap<>();
    final Map<Integer, String> unreadable = new TreeMap<>();
    boolean isFull;
    boolean isIncomplete;

    Executor thread = Runnable::run;

    /** What is written is durable when this has completed. */
    CompletableFuture<Void> synced = CompletableFuture.completedFuture(null);

    @Override
    public Map<Integer, String> missed(Supplier<Set<Integer>> others) {
      if (isIncomplete) {
        others.get().stream()
            .filter(id -> !kept.containsKey(id))
            .forEach(id -> unreadable.put(id, "the file is missing"));
      }
      return Map.copyOf(unreadable);
    }

    @Override
    public Stored load() {
      return new Stored(List.copyOf(kept.values()), Map.copyOf(unreadable));
    }

    @Override
    public CompletableFuture<Void> save(Service service) {
      return write(() -> kept.put(service.id(), service));
    }

    @Override
    public CompletableFuture<Void> remove(int id) {
      return write(
          () -> {
            kept.remove(id);
            unreadable.remove(id);
          });
    }

    private CompletableFuture<Void> write(Runnable change) {
      if (isFull) {
        return CompletableFuture.failedFuture(new OperationException("no space left on device"));
      }
      return synced.thenRunAsync(change, thread);
    }
  }

  private static Backend backend(String address) {
    return new Backend(IpAddress.parse(address), 8080, Backend.State.ACTIVE, 1, null);
  }

  private static Service service(int id, Frontend frontend, Backend... backends) {
    return new Service(id, frontend, List.of(backends), false, 0, null, null);
  }

  private void restart() {
    services = Services.restore(datapath, disk, "n1", ServiceForwarding.DEFAULT);
  }

  /** Returns the result of a change that does not wait; throws its failure. */
  static <T> T done(CompletableFuture<T> change) {
    assertTrue(change.isDone(), "it is answered");
    try {
      return change.join();
    } catch (CompletionException failure) {
      throw assertInstanceOf(RuntimeException.class, failure.getCause());
    }
  }

  private Services.Put put(Service service) {
    return done(services.put(service));
  }

  private void remove(int id) {
    done(services.remove(id));
  }

  private boolean isNew(Service service) {
    return put(service).isCreated();
  }

  private static Refusal refused(Runnable call) {
    return assertThrows(Refusal.class, call::run);
  }

  /** The agent has --lb: a service that does not say it is forwarded by direct return. */
  @Test
  void shouldGiveTheDatapathHowPacketsOfClientsOutsideAreForwarded() {
    services = Services.restore(datapath, disk, "n1", ServiceForwarding.DSR);
    assertEquals(Set.of(ServiceForwarding.DSR), services.forwardingModes());
    final Service whole = service(1, WEB, HERE, ELSEWHERE);
    put(whole.offered(ServiceType.NODE_PORT, false, ForwardingMode.SNAT));
    assertEquals(Set.of(ServiceForwarding.SNAT), services.forwardingModes());
    assertEquals(ServiceForwarding.SNAT, datapath.held.get(1).forwarding());
    put(whole.offered(ServiceType.NODE_PORT, true, null));
    assertEquals(ServiceForwarding.DEFAULT, datapath.held.get(1).forwarding(), "for those inside");
    assertEquals(ServiceForwarding.DSR, datapath.held.get(1 | OUTSIDE).forwarding());
    put(whole);
    put(service(2, NAMES, HERE).offered(ServiceType.NODE_PORT, false, ForwardingMode.SNAT));
    services = Services.restore(datapath, disk, "n1", ServiceForwarding.DEFAULT);
    assertEquals(ServiceForwarding.SNAT, datapath.held.get(2).forwarding());
    assertEquals(Set.of(ServiceForwarding.SNAT), services.forwardingModes());
    put(whole.offered(ServiceType.NODE_PORT, false, ForwardingMode.DSR));
    assertEquals(Set.of(ServiceForwarding.SNAT, ServiceForwarding.DSR), services.forwardingModes());
  }

  @Test
  void shouldGiveTheDatapathWhatItNeedsOfAService() {
    assertTrue(
        isNew(
            new Service(
                7,
                NAMES,
                List.of(
                    new Backend(
                        IpAddress.parse("10.1.0.7"), 5353, Backend.State.TERMINATING, 3, "n2")),
                false,
                600,
                "names",
                "system")));
    assertEquals(
        new ServiceEntries(
            7,
            IpAddress.parse("10.96.0.1"),
            53,
            List.of(6, 17),
            600,
            List.of(
                new ServiceEntries.Backend(
                    IpAddress.parse("10.1.0.7"), 5353, BackendState.TERMINATING, 3))),
        datapath.held.get(7));
  }

  @ParameterizedTest
  @EnumSource
  void shouldKeepTheStateOfABackend(Backend.State state) {
    put(service(1, WEB, new Backend(IpAddress.parse("10.1.0.7"), 80, state, 1, null)));
    assertEquals(state.name(), datapath.held.get(1).backends().getFirst().state().name());
  }

  @Test
  void shouldLetOnlyBackendsOfThisNodeServeALocalService() {
    final Backend here = new Backend(WEB.address(), 1, Backend.State.ACTIVE, 1, "n1");
    final Backend elsewhere = new Backend(WEB.address(), 2, Backend.State.ACTIVE, 1, "n2");
    final List<Backend> all = List.of(here, elsewhere, backend("10.1.0.7"));
    put(new Service(1, WEB, all, true, 0, null, null));
    assertEquals(List.of(1), datapath.held.get(1).backends().stream().map(b -> b.port()).toList());
    assertEquals(3, services.get(1).backends().size());
  }

  private static final Backend HERE =
      new Backend(IpAddress.parse("10.1.0.7"), 1, Backend.State.ACTIVE, 1, "n1");
  private static final Backend ELSEWHERE =
      new Backend(IpAddress.parse("10.1.0.7"), 2, Backend.State.ACTIVE, 1, "n2");

  private static final Backend SOMEWHERE =
      new Backend(IpAddress.parse("10.1.0.7"), 3, Backend.State.ACTIVE, 1, null);

  private static Service offered(ServiceType type, boolean isLocal, boolean isLocalOutside) {
    return new Service(
        1,
        WEB,
        List.of(HERE, ELSEWHERE, SOMEWHERE),
        type,
        isLocal,
        isLocalOutside,
        null,
        60,
        null,
        null,
        EntrySource.API);
  }

  /** What the datapath has, as id, scopes and ports of the backends. */
  private List<String> held() {
    return datapath.held.values().stream()
        .map(
            entries ->
                (entries.id() & ~OUTSIDE)
                    + " "
                    + new TreeSet<>(entries.scopes())
                    + " "
                    + entries.backends().stream().map(b -> b.port()).toList())
        .toList();
  }

  @Test
  void shouldOfferAServiceOutsideByTheBackendsOfItsPolicies() {
    for (final ServiceType type : ServiceType.values()) {
      put(offered(type, false, false));
      assertEquals(
          type == ServiceType.CLUSTER_IP
              ? List.of("1 [INSIDE] [1, 2, 3]")
              : List.of("1 [INSIDE, OUTSIDE] [1, 2, 3]"),
          held(),
          type.text());
    }
    put(offered(ServiceType.NODE_PORT, false, true));
    assertEquals(List.of("1 [OUTSIDE] [1]", "1 [INSIDE] [1, 2, 3]"), held());
    assertEquals(OUTSIDE + 1, datapath.held.keySet().iterator().next());
    assertEquals(60, datapath.held.get(OUTSIDE + 1).affinitySec());
    put(offered(ServiceType.NODE_PORT, true, false));
    assertEquals(List.of("1 [OUTSIDE] [1, 2, 3]", "1 [INSIDE] [1]"), held());
    restart();
    assertEquals(List.of("1 [OUTSIDE] [1, 2, 3]", "1 [INSIDE] [1]"), held());
    put(offered(ServiceType.NODE_PORT, true, true));
    assertEquals(List.of("1 [INSIDE, OUTSIDE] [1]"), held());
    final Backend unnamed = backend("10.1.0.8");
    put(service(1, WEB, HERE, unnamed).offered(ServiceType.NODE_PORT, false, null));
    assertEquals(List.of("1 [INSIDE, OUTSIDE] [1, 8080]"), held(), "the same backends");
    put(offered(ServiceType.NODE_PORT, true, false));
    remove(1);
    assertEquals(List.of(), held());
  }

  @Test
  void shouldLeaveAllAsItWasWhereAServiceOutsideCannotBeOffered() {
    for (final boolean isNew : new boolean[] {true, false}) {
      final List<String> before = held();
      final Service with = offered(ServiceType.NODE_PORT, false, true);
      datapath.failure = Refusal.exhausted("", "the map is full");
      datapath.isFailingOutside = true;
      refused(() -> put(with));
      assertEquals(before, held(), isNew ? "none" : "the former one");
      datapath.failure = null;
      disk.isFull = true;
      assertThrows(OperationException.class, () -> put(with));
      assertEquals(before, held(), isNew ? "none" : "the former one");
      disk.isFull = false;
      put(offered(ServiceType.LOAD_BALANCER, true, true));
    }
  }

  private static Service named(int id, Frontend frontend, String name, Backend... backends) {
    return new Service(id, frontend, List.of(backends), false, 0, name, "shop");
  }

  /** Notes what is followed, with the services of the datapath at that moment. */
  private List<String> followed() {
    final List<String> followed = new ArrayList<>();
    services.follow(
        changed -> {
          new TreeMap<>(
                  changed.entrySet().stream()
                      .collect(Collectors.toMap(e -> e.getKey().toString(), Map.Entry::getValue)))
              .forEach((name, all) -> followed.add(name + all + " at " + served()));
          return CompletableFuture.completedFuture(null);
        });
    return followed;
  }

  private List<String> served() {
    return datapath.held.values().stream()
        .flatMap(service -> service.backends().stream())
        .map(backend -> backend.address().toString())
        .toList();
  }

  @Test
  void shouldNameABackendBeforeItServesAndUntilItDoesNot() {
    final List<String> followed = followed();
    put(named(1, WEB, "cart", backend("10.1.0.7")));
    put(named(1, WEB, "cart", backend("10.1.0.8")));
    put(named(1, WEB, "cart", backend("10.1.0.8")));
    remove(1);
    assertEquals(
        List.of(
            "shop/cart[10.1.0.7] at []",
            "shop/cart[10.1.0.7, 10.1.0.8] at [10.1.0.7]",
            "shop/cart[10.1.0.8] at [10.1.0.8]",
            "shop/cart[] at []"),
        followed);
    assertEquals(Map.of(), services.namedBackends());
  }

  @Test
  void shouldJoinTheBackendsOfServicesOfOneName() {
    final List<String> followed = followed();
    put(named(1, WEB, "cart", backend("10.1.0.7"), backend("10.1.0.8")));
    put(named(2, NAMES, "cart", backend("10.1.0.8")));
    put(service(3, new Frontend(WEB.address(), 81, ServiceProtocol.TCP), backend("10.1.0.9")));
    put(named(1, WEB, "other", backend("10.1.0.7")));
    remove(2);
    assertEquals(
        List.of(
            "shop/cart[10.1.0.7, 10.1.0.8] at []",
            "shop/other[10.1.0.7] at [10.1.0.7, 10.1.0.8, 10.1.0.8, 10.1.0.9]",
            "shop/cart[10.1.0.8] at [10.1.0.7, 10.1.0.8, 10.1.0.9]",
            "shop/cart[] at [10.1.0.7, 10.1.0.9]"),
        followed);
    restart();
    assertEquals(
        Map.of(new ServiceName("other", "shop"), Set.of(IpAddress.parse("10.1.0.7"))),
        services.namedBackends());
  }

  @Test
  void shouldTakeBackTheNameOfABackendThatIsRefused() {
    final List<String> followed = followed();
    put(named(1, WEB, "cart", backend("10.1.0.7")));
    datapath.failure = Refusal.exhausted("id", "full");
    refused(() -> put(named(1, WEB, "cart", backend("10.1.0.8"))));
    refused(() -> put(named(2, NAMES, "names", backend("10.1.0.9"))));
    assertEquals(
        List.of(
            "shop/cart[10.1.0.7] at []",
            "shop/cart[10.1.0.7, 10.1.0.8] at [10.1.0.7]",
            "shop/cart[10.1.0.7] at [10.1.0.7]",
            "shop/names[10.1.0.9] at [10.1.0.7]",
            "shop/names[] at [10.1.0.7]"),
        followed);
  }

  @Test
  void shouldRefuseABackendThatCannotBeFollowed() {
    final Refusal full = Refusal.exhausted("identity", "no number is free");
    services.follow(changed -> CompletableFuture.failedFuture(full));
    final Refusal refusal = refused(() -> put(named(1, WEB, "cart", backend("10.1.0.7"))));
    assertEquals(full.getMessage(), refusal.getMessage());
    assertEquals(Map.of(), datapath.held);
    assertEquals(Map.of(), disk.kept);
    assertEquals(Map.of(), services.namedBackends());
    services.follow(changed -> CompletableFuture.completedFuture(null));
    assertTrue(isNew(named(1, WEB, "cart", backend("10.1.0.7"))));
  }

  @Test
  void shouldSayWhetherAServiceIsNew() {
    assertTrue(isNew(service(1, WEB)));
    assertFalse(isNew(service(1, WEB)));
    assertFalse(isNew(service(1, WEB, backend("10.1.0.7"))));
    assertEquals(1, datapath.held.get(1).backends().size());
    remove(1);
    assertTrue(isNew(service(1, WEB)));
  }

  @Test
  void shouldTellEachChangeThatIsInForceAndNoOther() {
    disk.unreadable.put(9, "cut");
    restart();
    final List<String> reported = new ArrayList<>();
    services.observe(
        (id, before, after) -> {
          assertEquals(after != null, datapath.held.containsKey(id), "it is in force");
          reported.add(id + " " + backends(before) + " " + backends(after));
        });
    put(service(1, WEB));
    put(service(1, WEB));
    put(service(1, WEB, backend("10.1.0.7")));
    refused(() -> put(service(2, WEB)));
    datapath.failure = Refusal.exhausted("id", "full");
    refused(() -> put(service(1, WEB)));
    datapath.failure = null;
    refused(() -> remove(2));
    remove(1);
    remove(9);
    assertEquals(List.of("1 - 0", "1 0 1", "1 1 -", "9 - -"), reported);
  }

  private static String backends(Service service) {
    return service == null ? "-" : Integer.toString(service.backends().size());
  }

  @Test
  void shouldRefuseAFrontendOfAnotherService() {
    put(service(1, NAMES));
    final Frontend overlapping = new Frontend(NAMES.address(), 53, ServiceProtocol.UDP);
    final Refusal refusal = refused(() -> put(service(2, overlapping)));
    assertEquals(Refusal.Kind.CONFLICT, refusal.kind());
    assertEquals(
        "frontend-address: 10.96.0.1:53/UDP is already the frontend of service 1",
        refusal.getMessage());
    assertEquals(Set.of(1), datapath.held.keySet());
    refused(() -> put(service(3, new Frontend(NAMES.address(), 53, ServiceProtocol.ANY))));
    put(service(4, new Frontend(NAMES.address(), 54, ServiceProtocol.UDP)));
  }

  @Test
  void shouldHoldNoMoreBackendsThanTheLimit() {
    services.limit(3);
    put(service(1, WEB, backend("10.0.0.1"), backend("10.0.0.2")));
    put(service(1, WEB, backend("10.0.0.1"), backend("10.0.0.3")));
    final Service tooMuch = service(2, NAMES, backend("10.0.0.4"), backend("10.0.0.5"));
    for (int i = 0; i < 2; i++) {
      final Refusal refusal = refused(() -> put(tooMuch));
      assertEquals(Refusal.Kind.EXHAUSTED, refusal.kind());
      assertEquals(
          "backend-addresses: more than 3 backends in all services (--max-service-backends)",
          refusal.getMessage());
      assertEquals(1, services.list().size());
      assertEquals(Set.of(1), datapath.held.keySet());
    }
    put(service(1, WEB, backend("10.0.0.1")));
    datapath.failure = new OperationException("the table is full");
    assertThrows(OperationException.class, () -> put(tooMuch));
    datapath.failure = null;
    put(tooMuch);
    remove(2);
    restart();
    services.limit(1);
    put(service(1, WEB, backend("10.0.0.9")));
    assertEquals(Refusal.Kind.EXHAUSTED, refused(() -> put(tooMuch)).kind());
    services.limit(3);
    put(tooMuch);
    restart();
    services.limit(1);
    put(service(2, NAMES, backend("10.0.0.4")));
  }

  @Test
  void shouldTakeNothingOfAFrontendThatIsTakenInPart() {
    put(service(1, new Frontend(NAMES.address(), 53, ServiceProtocol.UDP)));
    refused(() -> put(service(2, NAMES)));
    assertTrue(isNew(service(3, new Frontend(NAMES.address(), 53, ServiceProtocol.TCP))));
  }

  @Test
  void shouldLetAnotherThreadChangeAServiceAfterAChange() {
    put(service(1, WEB));
    assertFalse(onAnotherThread(() -> isNew(service(1, WEB, backend("10.1.0.7")))));
    refused(() -> put(service(2, WEB)));
    assertTrue(onAnotherThread(() -> isNew(service(2, NAMES))));
    remove(1);
    assertTrue(onAnotherThread(() -> isNew(service(1, WEB))));
  }

  /** Otherwise the kernel could have what one of them wrote, and the disk what the other did. */
  @Test
  void shouldChangeAServiceForOneCallerAfterTheOther() {
    datapath.enforced = new CompletableFuture<>();
    final CompletableFuture<Services.Put> first =
        services.put(service(1, WEB, backend("10.1.0.7")));
    final List<CompletableFuture<?>> others =
        List.of(
            services.put(service(1, WEB, backend("10.1.0.8"))),
            services.remove(1),
            services.put(service(1, NAMES)));
    assertFalse(first.isDone());
    assertTrue(others.stream().noneMatch(CompletableFuture::isDone), "they wait");
    datapath.enforced.complete(null);
    assertTrue(done(first).isCreated());
    others.forEach(ServicesTest::done);
    assertEquals(List.of(service(1, NAMES)), services.list());
    assertEquals(List.of(service(1, NAMES)), List.copyOf(disk.kept.values()));
    assertEquals(NAMES.port(), datapath.held.get(1).port());
    assertEquals(Set.of(1), datapath.held.keySet());
  }

  private static boolean onAnotherThread(Supplier<Boolean> change) {
    return CompletableFuture.supplyAsync(change).join();
  }

  @Test
  void shouldFreeAFrontendThatItsServiceHasNoLonger() {
    put(service(1, NAMES));
    put(service(1, new Frontend(NAMES.address(), 53, ServiceProtocol.TCP)));
    put(service(2, new Frontend(NAMES.address(), 53, ServiceProtocol.UDP)));
    remove(1);
    put(service(3, new Frontend(NAMES.address(), 53, ServiceProtocol.TCP)));
    assertEquals(List.of(2, 3), services.list().stream().map(Service::id).toList());
  }

  @Test
  void shouldLeaveAllAsItWasWhereTheDatapathRefuses() {
    put(service(1, WEB, backend("10.1.0.7")));
    datapath.failure = Refusal.exhausted("", "map services is full");
    assertEquals("map services is full", refused(() -> put(service(1, NAMES))).getMessage());
    refused(() -> put(service(2, NAMES)));
    datapath.failure = null;
    assertEquals(WEB, services.get(1).frontend());
    assertEquals(List.of(services.get(1)), List.copyOf(disk.load().services()));
    put(service(3, NAMES));
  }

  @Test
  void shouldLeaveAllAsItWasWhereTheDiskIsFull() {
    put(service(1, WEB, backend("10.1.0.7")));
    final ServiceEntries before = datapath.held.get(1);
    disk.isFull = true;
    assertThrows(OperationException.class, () -> put(service(1, NAMES)));
    assertThrows(OperationException.class, () -> put(service(2, NAMES)));
    assertThrows(OperationException.class, () -> remove(1));
    assertEquals(Map.of(1, before), datapath.held);
    assertEquals(WEB, services.get(1).frontend());
    disk.isFull = false;
    put(service(3, NAMES));
  }

  @Test
  void shouldHaveItsServicesAgainAfterARestart() {
    put(service(1, WEB, backend("10.1.0.7")));
    put(service(2, NAMES));
    remove(2);
    datapath.held.clear();
    restart();
    assertEquals(Set.of(1), datapath.held.keySet());
    assertEquals(WEB, services.get(1).frontend());
    refused(() -> put(service(9, WEB)));
  }

  @Test
  void shouldLeaveAServiceWhoseRecordCannotBeReadAsItIs() {
    disk.unreadable.put(5, "the file is damaged");
    restart();
    assertEquals(Set.of(5, OUTSIDE + 5), datapath.kept);
    assertEquals(Refusal.Kind.UNAVAILABLE, refused(() -> put(service(5, WEB))).kind());
    assertEquals("id: service 5: the file is damaged", refused(() -> services.get(5)).getMessage());
    remove(5);
    assertEquals(Set.of(), datapath.kept);
    assertEquals(Refusal.Kind.NOT_FOUND, refused(() -> services.get(5)).kind());
    assertTrue(isNew(service(5, WEB)));
  }

  /** Where the names of the files are lost, only the maps tell that there was a service. */
  @Test
  void shouldLeaveServicesOfTheMapsAsTheyAreWhoseRecordsMayBeLost() {
    put(service(1, WEB));
    put(service(5, NAMES, HERE, ELSEWHERE).offered(ServiceType.NODE_PORT, true, null));
    assertEquals(Set.of(1, 5, 5 | OUTSIDE), datapath.held.keySet());
    disk.kept.remove(5);
    disk.isIncomplete = true;
    restart();
    assertEquals(Set.of(5, OUTSIDE + 5), datapath.kept);
    assertEquals("id: service 5: the file is missing", refused(() -> services.get(5)).getMessage());
    remove(5);
    assertEquals(Set.of(), datapath.kept);
    assertEquals(List.of(service(1, WEB)), services.list());
  }

  @Test
  void shouldKeepTheFrontendsOfAServiceWhoseRecordCannotBeRead() {
    disk.unreadable.put(5, "the file is damaged");
    put(service(1, WEB));
    datapath.keptFrontends =
        List.of(
            new ServiceProxy.KeptFrontend(5, NAMES.address(), NAMES.port(), 17),
            new ServiceProxy.KeptFrontend(5, WEB.address(), WEB.port(), 6));
    restart();
    final Refusal refusal = refused(() -> put(service(6, NAMES)));
    assertEquals(Refusal.Kind.CONFLICT, refusal.kind());
    assertEquals(
        "frontend-address: 10.96.0.1:53/ANY is already the frontend of service 5",
        refusal.getMessage());
    assertEquals(Set.of(1), datapath.held.keySet());
    put(service(6, new Frontend(NAMES.address(), NAMES.port(), ServiceProtocol.TCP)));
    remove(6);
    remove(5);
    put(service(7, NAMES));
    refused(() -> put(service(8, WEB)));
    assertEquals(Set.of(1, 7), datapath.held.keySet());
  }

  @Test
  void shouldFreeAFrontendWhenTheDatapathHasNoneOfIt() {
    put(service(1, WEB));
    datapath.enforced = new CompletableFuture<>();
    final CompletableFuture<Void> removal = services.remove(1);
    refused(() -> put(service(2, WEB)));
    datapath.enforced.complete(null);
    done(removal);
    assertTrue(isNew(service(2, WEB)));
  }

  @Test
  void shouldNameAServiceThatIsNotThere() {
    assertEquals("id: service 3 does not exist", refused(() -> services.get(3)).getMessage());
    assertEquals(Refusal.Kind.NOT_FOUND, refused(() -> remove(3)).kind());
  }

  @Test
  void shouldReadProtocolsAndStatesAndNameWhatIsNone() {
    assertEquals(ServiceProtocol.UDP, ServiceProtocol.parse("p", "udp"));
    assertEquals(
        "p: 'ICMP' is not TCP, UDP, SCTP or ANY",
        refused(() -> ServiceProtocol.parse("p", "ICMP")).getMessage());
    assertEquals(ServiceProtocol.SCTP, ServiceProtocol.parse("p", "sctp"));
    for (final Backend.State state : Backend.State.values()) {
      assertEquals(state, Backend.State.parse("s", state.text()));
    }
    assertEquals("quarantined", Backend.State.QUARANTINED.text());
    assertEquals(
        "s: 'gone' is not active, terminating, quarantined or maintenance",
        refused(() -> Backend.State.parse("s", "gone")).getMessage());
    assertEquals(
        "[fd00::1]:80/TCP",
        new Frontend(IpAddress.parse("fd00::1"), 80, ServiceProtocol.TCP).toString());
  }

  @Test
  void shouldOfferAServiceWithAllElseThatItHas() {
    for (final boolean isLocal : new boolean[] {true, false}) {
      final Service inside = new Service(1, WEB, List.of(HERE), isLocal, 60, "shop", "production");
      assertEquals(
          new Service(
              1,
              WEB,
              List.of(HERE),
              ServiceType.NODE_PORT,
              isLocal,
              !isLocal,
              ForwardingMode.SNAT,
              60,
              "shop",
              "production",
              EntrySource.API),
          inside.offered(ServiceType.NODE_PORT, !isLocal, ForwardingMode.SNAT));
    }
  }
}
