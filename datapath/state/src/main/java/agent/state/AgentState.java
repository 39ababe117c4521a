package agent.state;

import agent.conductor.Faults;
import agent.datapath.spec.PrefilterList;
import agent.datapath.spec.PrefilterStore;
import agent.dns.NameLookup;
import agent.dns.NameStore;
import agent.endpoint.config.RuntimeOptionsStore;
import agent.endpoint.config.RuntimeOptionsStore.ChangedValue;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointStore;
import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import agent.node.NodeStore;
import agent.node.NodeStore.NodeRecord;
import agent.policy.repository.PolicyState;
import agent.policy.repository.PolicyStore;
import agent.service.Service;
import agent.service.ServiceStore;
import agent.types.OperationException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The state directory of one agent, locked while this is open. It keeps the requested configuration
 * for the next run. A change is durable when the call of its store returns, or, within a write that
 * {@link #store} commits, when that has completed.
 */
public final class AgentState implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(AgentState.class);

  private final StateLock lock;
  private final Path directory;
  private final Faults faults = new Faults("the state directory can be read and written");
  private final StateFolder<EndpointRecord> endpoints;
  private final StateFolder<PolicyState> policy;
  private final StateFolder<List<Lease>> leases;
  private final StateFolder<NodeRecord> node;
  private final StateFolder<PrefilterList> prefilter;
  private final StateFolder<List<ChangedValue>> configuration;
  private final StateFolder<Service> services;
  private final StateFolder<List<Service>> serviceBatches;
  private final StateFolder<List<NameLookup>> names;
  private final NameFile nameFile;
  private final PolicyFile policyFile;
  private final List<StateFolder<?>> folders;
  private final StoreConductor store =
      new StoreConductor(System::nanoTime, StoreConductor.syncThreads());
  private boolean isGone; // of the thread that retries

  /** Opens the folders. The names of folders and kinds are part of the stored format. */
  private AgentState(StateLock lock, Path directory) {
    this.lock = lock;
    this.directory = directory;
    if (!lock.hasNames()) {
      WrittenFiles.forget(directory);
    } else {
      LostNames.restore(directory, lock);
    }
    endpoints = folder("endpoints", "endpoint", new EndpointCodec());
    policy = folder("policy", "policy", new PolicyCodec());
    leases = folder("ipam", "leases", new LeaseCodec());
    node = folder("node", "node", new NodeCodec());
    prefilter = folder("prefilter", "prefilter", new PrefilterCodec());
    configuration = folder("configuration", "configuration", new ConfigurationCodec());
    services = folder("services", "service", new ServiceCodec());
    serviceBatches = folder("service-batches", "services", new ServiceListCodec());
    names = folder("names", "names", new NameCodec());
    nameFile = new NameFile(names, faults);
    policyFile = new PolicyFile(policy, faults);
    folders =
        List.of(
            endpoints,
            policy,
            leases,
            node,
            prefilter,
            configuration,
            services,
            serviceBatches,
            names);
  }

  private <T> StateFolder<T> folder(String name, String kind, Codec<T> codec) {
    return new StateFolder<>(
        new FolderFiles(directory.resolve(name)),
        kind,
        codec,
        faults,
        new WrittenFiles(directory, name),
        store);
  }

  /** Opens a state directory as {@link #open(Path, boolean)} does, without a proof of a run. */
  public static AgentState open(Path directory) {
    return open(directory, false);
  }

  /**
   * Locks a state directory and opens its folders; creates missing ones (0700).
   *
   * @param directory the state directory
   * @param isInKernel whether the kernel has something of a run before, which had a state
   * @return its state
   * @throws agent.types.AlreadyInUseException where another agent holds the lock
   * @throws agent.types.Refusal INVALID where others own the directory or may write to it
   * @throws OperationException where a folder cannot be created
   * @throws UncheckedIOException where the directory or the lock cannot be created
   */
  public static AgentState open(Path directory, boolean isInKernel) {
    final StateLock lock = StateLock.take(directory, isInKernel);
    try {
      return new AgentState(lock, directory);
    } catch (RuntimeException e) {
      lock.close();
      throw e;
    }
  }

  /** Returns whether a state directory has the lock file of a run. */
  public static boolean hasLock(Path directory) {
    return Files.exists(directory.resolve(StateLock.NAME), LinkOption.NOFOLLOW_LINKS);
  }

  /**
   * Returns {@code store}, the owner of the disk: it commits writes of the stores together, so that
   * their callers need not wait, and runs {@link #retry}. A store that is called on another thread
   * has it make the change, and waits.
   */
  public StoreConductor store() {
    return store;
  }

  /** Returns the store of endpoints: {@code endpoints/<id>.json}. */
  public EndpointStore endpointStore() {
    return new EndpointFiles(endpoints, faults);
  }

  /** Returns the store of rules: {@code policy/rules.json} and its copy. */
  public PolicyStore policyStore() {
    return policyFile;
  }

  /** Returns the store of address leases: {@code ipam/leases.json}. */
  public LeaseStore leaseStore() {
    return new LeaseFile(leases, faults);
  }

  /** Returns the store of the node's address ranges: {@code node/node.json}. */
  public NodeStore nodeStore() {
    return new NodeFile(node);
  }

  /** Returns the store of the deny list: {@code prefilter/list.json}. */
  public PrefilterStore prefilterStore() {
    return new PrefilterFile(prefilter, faults);
  }

  /** Returns the store of services: {@code services/<id>.json}, {@code service-batches}. */
  public ServiceStore serviceStore() {
    return new ServiceFiles(services, serviceBatches, faults, store);
  }

  /**
   * Returns the store of the addresses of names: {@code names/cache.json}, and {@code
   * names/added-<n>.json} for those that came since.
   */
  public NameStore nameStore() {
    return nameFile;
  }

  /** Returns the store of the daemon's configuration: {@code configuration/daemon.json}. */
  public RuntimeOptionsStore configurationStore() {
    return new ConfigurationFile(configuration, faults);
  }

  /**
   * Removes the state of previous runs except for the address ranges of the node, which other nodes
   * use.
   *
   * @throws OperationException where a file cannot be removed
   */
  public void discard() {
    for (final StateFolder<?> folder : folders.stream().filter(folder -> folder != node).toList()) {
      final List<String> documents = folder.names();
      documents.forEach(folder::remove);
      folder.written().complete();
      if (!documents.isEmpty()) {
        LOGGER.info("discarded {} of {}", documents, folder);
      }
    }
  }

  /** Returns the faults of the state directory that exist now, a module of the health report. */
  public Faults faults() {
    return faults;
  }

  /**
   * Looks for files that others have removed. Tries again what could not be written: ends the
   * faults whose cause has ended, and writes the copy of the rules where it is owed. Called every
   * second on the thread of {@link #store}.
   */
  public void retry() {
    watch();
    for (final StateFolder<?> folder : folders) {
      folder.retry();
    }
    policyFile.retry();
  }

  /** Looks for what others have removed: the directory, or files of it. */
  private void watch() {
    if (!lock.isInPlace()) {
      if (!isGone) {
        isGone = true;
        final String message =
            ("state directory %s was removed or replaced. What is in force stays, and no change is"
                    + " stored. Restore the directory, or restart the agent")
                .formatted(directory);
        LOGGER.error("{}", message);
        faults.failed(directory.toString(), message);
      }
      return;
    }
    if (isGone) {
      isGone = false;
      LOGGER.info("state directory {} is back", directory);
      faults.clear(directory.toString());
    }
    if (WrittenFiles.areGone(directory)) {
      folders.forEach(folder -> folder.written().restore());
    }
    folders.forEach(StateFolder::watch);
  }

  /** Writes a copy that is owed and releases the lock; the stores must not be used afterwards. */
  @Override
  public void close() {
    policyFile.retry();
    nameFile.close();
    lock.close();
  }
}
