package agent.state;

import agent.datapath.manager.spec.PrefilterList;
import agent.datapath.manager.spec.PrefilterStore;
import agent.endpoint.state.EndpointRecord;
import agent.endpoint.state.EndpointStore;
import agent.ipam.Lease;
import agent.ipam.LeaseStore;
import agent.node.NodeStore;
import agent.node.NodeStore.NodeRecord;
import agent.policy.PolicyState;
import agent.policy.PolicyStore;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The state directory of one agent, locked while this is open. It keeps the requested configuration
 * for the next run. A change is durable when the call of its store returns.
 */
public final class AgentState implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(AgentState.class);

  private final StateLock lock;
  private final StateFolder<EndpointRecord> endpoints;
  private final StateFolder<PolicyState> policy;
  private final StateFolder<List<Lease>> leases;
  private final StateFolder<NodeRecord> node;
  private final StateFolder<PrefilterList> prefilter;

  /** Opens the folders. The names of folders and kinds are part of the stored format. */
  private AgentState(StateLock lock, Path directory) {
    this.lock = lock;
    endpoints = StateFolder.open(directory.resolve("endpoints"), "endpoint", new EndpointCodec());
    policy = StateFolder.open(directory.resolve("policy"), "policy", new PolicyCodec());
    leases = StateFolder.open(directory.resolve("ipam"), "leases", new LeaseCodec());
    node = StateFolder.open(directory.resolve("node"), "node", new NodeCodec());
    prefilter = StateFolder.open(directory.resolve("prefilter"), "prefilter", new PrefilterCodec());
  }

  /**
   * Locks a state directory and opens its folders; creates missing ones (0700).
   *
   * @param directory the state directory
   * @return its state
   * @throws IllegalStateException where another agent holds the lock
   * @throws UncheckedIOException where the directory, the lock or a folder cannot be created
   */
  public static AgentState open(Path directory) {
    final StateLock lock = StateLock.take(directory);
    try {
      return new AgentState(lock, directory);
    } catch (UncheckedIOException e) {
      lock.close();
      throw e;
    }
  }

  /** Returns the store of endpoints: {@code endpoints/<id>.json}. */
  public EndpointStore endpointStore() {
    return new EndpointFiles(endpoints);
  }

  /** Returns the store of rules: {@code policy/rules.json} and its copy. */
  public PolicyStore policyStore() {
    return new PolicyFile(policy);
  }

  /** Returns the store of address leases: {@code ipam/leases.json}. */
  public LeaseStore leaseStore() {
    return new LeaseFile(leases);
  }

  /** Returns the store of the node's address ranges: {@code node/node.json}. */
  public NodeStore nodeStore() {
    return new NodeFile(node);
  }

  /** Returns the store of the deny list: {@code prefilter/list.json}. */
  public PrefilterStore prefilterStore() {
    return new PrefilterFile(prefilter);
  }

  /**
   * Removes the state of previous runs except for the address ranges of the node, which other nodes
   * use.
   *
   * @throws UncheckedIOException where a file cannot be removed
   */
  public void discard() {
    for (final StateFolder<?> folder : List.of(endpoints, policy, leases, prefilter)) {
      final List<String> documents = folder.names();
      documents.forEach(folder::remove);
      if (!documents.isEmpty()) {
        LOGGER.info("discarded {} of {}", documents, folder);
      }
    }
  }

  /** Releases the lock; the stores must not be used afterwards. */
  @Override
  public void close() {
    lock.close();
  }
}
