package agent.endpoint;

import agent.conductor.Repairs;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.endpoint.config.RuntimeConfiguration;
import agent.endpoint.config.RuntimeOptions;
import agent.endpoint.config.RuntimeOptionsStore;
import agent.endpoint.restore.RestoreReport;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.EndpointStore;
import agent.identity.IdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.ipam.IpamContext;
import agent.node.FamilyAddressing;
import agent.node.NodeAddressing;
import agent.policy.repository.CommittedRules;
import agent.policy.resolve.EnforcementMode;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.UnreadableStateException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The test rig without a kernel, on {@link FakeDatapath} and {@link FakeNode}. */
final class FakeRig extends EndpointRig {
  static final Prefix RANGE4 = Prefix.parse("10.5.0.0/24");
  static final Prefix RANGE6 = Prefix.parse("f00d::5:0:0/96");

  final FakeDatapath datapath = new FakeDatapath();
  final FakeNode node = new FakeNode();
  final RecordingStore store = new RecordingStore();
  final Map<Integer, List<Fault>> faults = new HashMap<>();
  final Repairs repairs = new Repairs();

  /** Every snapshot in the order of its publication. */
  final List<EndpointSnapshot> published = new ArrayList<>();

  /** How each commit changed the rules, in the order in which they came into force. */
  final List<CommittedRules> committed = new ArrayList<>();

  /** What runs writes to the store. */
  Executor storing = Runnable::run;

  /** The reasons by id of records that the next start cannot read. */
  Map<Integer, String> damagedAtLoad = Map.of();

  int mostEndpoints = Integer.MAX_VALUE;

  /** Whether the translations of each endpoint are logged. */
  final Map<Integer, Boolean> translationsTraced = new HashMap<>();

  final ConfigurationStore configuration = new ConfigurationStore();

  /** The start-up options of the next run. */
  RuntimeOptions startOptions =
      new RuntimeOptions(EndpointOptions.defaults(), false, EnforcementMode.DEFAULT);

  boolean keepsOptions = true;
  Duration retryBase = Duration.ofSeconds(1);
  Duration retryMax = Duration.ofSeconds(8);
  Duration refreshInterval = Duration.ofSeconds(5);

  /** What guards the devices of the node from the next start on; null where nothing does. */
  FakeGuard guard;

  private final Supplier<IdentityAllocator> allocators;
  private final FakeProbes probes;
  private ManualClock clock;

  /** A store of the configuration whose calls can be made to fail. */
  final class ConfigurationStore implements RuntimeOptionsStore {
    List<ChangedValue> saved = List.of();
    boolean fails;
    boolean isUnreadable;

    @Override
    public List<ChangedValue> load() {
      if (isUnreadable) {
        throw new UnreadableStateException("the configuration is damaged");
      }
      return saved;
    }

    @Override
    public void save(List<ChangedValue> changes) {
      requireStoring();
      if (fails) {
        throw new OperationException("no space left on device");
      }
      saved = changes;
    }
  }

  /** An endpoint store whose calls can be made to fail. */
  final class RecordingStore implements EndpointStore {
    private final EndpointStore kept = EndpointStore.inMemory();
    boolean fails;
    Consumer<EndpointRecord> onSaved = record -> {};
    boolean isIncomplete;

    /** Whether a write may have failed before, so that each change asks. */
    boolean isDoubtful;

    /** The record with which it was last asked whether it can be written. */
    EndpointRecord checked;

    /** The number of the save that fails, counted down; 0 for none. */
    int failingSave;

    @Override
    public List<EndpointRecord> load() {
      final List<EndpointRecord> loaded = kept.load();
      damagedAtLoad.forEach(kept::invalid);
      return loaded;
    }

    @Override
    public void missed(Supplier<Set<Integer>> others) {
      if (isIncomplete) {
        final List<Integer> known = kept.load().stream().map(EndpointRecord::id).toList();
        others.get().stream()
            .filter(id -> id != 0 && !known.contains(id))
            .forEach(id -> kept.invalid(id, "its file is missing"));
      }
    }

    @Override
    public Map<Integer, String> unreadable() {
      return kept.unreadable();
    }

    @Override
    public void invalid(int id, String reason) {
      kept.invalid(id, reason);
    }

    @Override
    public void save(EndpointRecord endpoint) {
      check();
      if (failingSave > 0 && --failingSave == 0) {
        throw new OperationException("no space left on device");
      }
      kept.save(endpoint);
      onSaved.accept(endpoint);
    }

    @Override
    public boolean isFailing() {
      return fails || isDoubtful;
    }

    @Override
    public void checkWritable(EndpointRecord endpoint) {
      checked = endpoint;
      check();
    }

    @Override
    public void remove(int id) {
      check();
      kept.remove(id);
    }

    private void check() {
      requireStoring();
      if (fails) {
        throw new OperationException("no space left on device");
      }
    }
  }

  FakeRig() {
    this(LocalIdentityAllocator::new);
  }

  /** Creates an agent with another identity allocator; each run has its own instance. */
  FakeRig(Supplier<IdentityAllocator> allocators) {
    this(allocators, null);
  }

  /** Creates an agent that asks workloads for their addresses. */
  FakeRig(FakeProbes probes) {
    this(LocalIdentityAllocator::new, probes);
  }

  private FakeRig(Supplier<IdentityAllocator> allocators, FakeProbes probes) {
    this.allocators = allocators;
    this.probes = probes;
    node.hasAddress("192.0.2.1");
    node.hasAddress("10.5.0.1");
    for (int i = 1; i < 10; i++) {
      node.hasDevice("lxc" + i, 100 + i);
    }
    restart();
  }

  void restart() {
    clock = new ManualClock();
    launch(store);
  }

  /** Starts the next run; no work is done before the conductor runs. */
  CompletableFuture<RestoreReport> beginRestart() {
    clock = new ManualClock();
    return begin(store);
  }

  /** Advances the clock alone, as a call that waits for the kernel does. */
  void elapse(Duration time) {
    clock.advance(time);
  }

  /** Advances the clock in steps of a second and runs the work that becomes due. */
  void advance(Duration time) {
    run();
    Duration left = time;
    while (left.compareTo(Duration.ZERO) > 0) {
      final Duration step =
          left.compareTo(Duration.ofSeconds(1)) < 0 ? left : Duration.ofSeconds(1);
      clock.advance(step);
      run();
      left = left.minus(step);
    }
  }

  @Override
  EndpointContext baseContext() {
    final EndpointContext context = silentContext();
    if (guard != null) {
      context.guarded(guard.devices(node), guard);
    }
    return probes == null ? context : context.addressProbes(probes::open);
  }

  private EndpointContext silentContext() {
    datapath.forgetDesired();
    return new EndpointContext()
        .datapath(datapath, datapath, datapath)
        .devices(node.devices)
        .nodeDevices(Set.of("ext0"))
        .localAddresses(node.localAddresses)
        .routes(node.routes)
        .gateways(node.gateways)
        .forwarding(node.forwarding)
        .events(node::subscribe)
        .repairs(repairs)
        .observer(published::add)
        .policyObserver(commit -> committed.add(commit.get()))
        .storing(
            write -> CompletableFuture.runAsync(() -> store(write), work -> storing.execute(work)))
        .faults(id -> faults.getOrDefault(id, List.of()))
        .translationTrace(translationsTraced::put)
        .nanoClock(clock)
        .clock(clock)
        .clusterName("c1")
        .nodeName("n1")
        .configuration(RuntimeConfiguration.restore(startOptions, configuration))
        .obstacle(
            count -> count > mostEndpoints ? Optional.of("too many: " + count) : Optional.empty())
        .keepsOptions(keepsOptions)
        .refreshInterval(refreshInterval)
        .retry(retryBase, retryMax);
  }

  @Override
  NodeAddressing addressing() {
    return new NodeAddressing(
        FamilyAddressing.of(IpAddress.parse("192.0.2.1"), RANGE4),
        FamilyAddressing.of(null, RANGE6));
  }

  @Override
  IpamContext clocked(IpamContext context) {
    return context.clock(clock);
  }

  @Override
  boolean hasOtherThreads() {
    return false;
  }

  @Override
  IdentityAllocator allocator() {
    return allocators.get();
  }
}
