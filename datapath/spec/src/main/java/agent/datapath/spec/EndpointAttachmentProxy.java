package agent.datapath.spec;

import agent.types.MacAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Attaches and detaches the endpoints of this node. Thread-safe. Commands are executed on {@code
 * dp-conductor} in the order of submission; an attachment that waits for its programs does not
 * delay other commands. Every future is completed on that thread, so that dependent actions must be
 * short or run on another thread. A failed command completes its future exceptionally, with an
 * {@link agent.types.Refusal} EXHAUSTED where a map is full and UNAVAILABLE after close.
 */
public interface EndpointAttachmentProxy {
  /**
   * The host-side interface of an endpoint as the datapath knows it.
   *
   * @param ifindex its index, or 0 where it is unknown
   * @param mac its MAC address, or null where it is unknown
   * @param isAttached whether a link or a filter of the agent is attached to the interface with
   *     this index now; both end with their interface, so that the index then names the same
   *     interface, whatever its name and MAC address are now
   */
  record HostInterface(int ifindex, MacAddress mac, boolean isAttached) {
    /** Returns whether a present interface is this one, and not another that got its index. */
    public boolean is(int presentIndex, MacAddress presentMac) {
      return ifindex != 0 && ifindex == presentIndex && (isAttached || presentMac.equals(mac));
    }
  }

  /**
   * Attaches the programs to both hooks of the endpoint's interface without opening it: they drop
   * all packets until {@link #attach}. A hook with a program of the agent is not changed, and where
   * both have one, the interface stays as it is.
   *
   * @param endpointId the endpoint
   * @param ifindex index of its host-side interface
   * @param interfaceName name of that interface, for messages
   * @return fails where a hook may have no program of the agent
   */
  CompletableFuture<Void> close(int endpointId, int ifindex, String interfaceName);

  /**
   * What the map {@code endpoints} holds of an endpoint.
   *
   * @param ifindex index of its host-side interface; 0 where it has no entry
   * @param identity its identity; 0 where it has no entry
   * @param mac the workload's MAC address
   * @param hostMac the MAC address of the host side
   */
  record KernelEntry(int ifindex, int identity, MacAddress mac, MacAddress hostMac) {}

  /**
   * Opens the endpoint's interface: writes its entry, and attaches the programs or atomically
   * replaces those of a previous run. Creates its policy map where it is missing. An empty policy
   * map drops all packets: write the policy first by {@link PolicyMapProxy#synchronize}. On failure
   * the interface stays as it was before, also closed by {@link #close}.
   */
  CompletableFuture<Void> attach(EndpointSpec endpoint);

  /**
   * Removes the endpoint's programs, links, pins, policy map and entry. An unknown endpoint is not
   * an error, so that a call whose answer had failures can be repeated. The module {@code
   * datapath/ipcache} removes its ipcache entries.
   *
   * @return one message for each failure
   */
  CompletableFuture<List<String>> detach(int endpointId);

  /**
   * Closes an endpoint whose interface is gone: empties its cell and entry, and raises its
   * generation, so that programs deliver no packet to its interface index, and ends an attachment
   * that is waiting for its programs. Its policy map stays. {@link #attach} opens it again.
   */
  CompletableFuture<Void> stopDelivery(int endpointId);

  /** Writes a new identity to the endpoint's entry and raises its generation. */
  CompletableFuture<Void> setIdentity(int endpointId, int identity);

  /**
   * Returns the ids of endpoints that have a policy map, an entry or programs, including those of a
   * previous run.
   */
  CompletableFuture<Set<Integer>> known();

  /**
   * Returns the ids of endpoints whose policy the kernel enforces, including those of a previous
   * run: those of {@link #known} that have a policy map, and programs on both hooks.
   */
  CompletableFuture<Set<Integer>> enforced();

  /** Returns the host-side interface of an endpoint. */
  CompletableFuture<HostInterface> hostInterfaceOf(int endpointId);

  /**
   * Remembers in the BPF file system that an endpoint is being removed: for a record that cannot be
   * removed from a state directory that is read-only. It is kept across restarts of the agent, and
   * ends with the node's uptime, as the endpoint's interface does.
   */
  CompletableFuture<Void> rememberRemoval(int endpointId);

  /** Ends {@link #rememberRemoval}; an endpoint that is not remembered is not an error. */
  CompletableFuture<Void> forgetRemoval(int endpointId);

  /** Returns the ids of the endpoints whose removal is remembered. */
  CompletableFuture<Set<Integer>> rememberedRemovals();

  /** Returns the entry of an endpoint, for one whose record is not known. */
  CompletableFuture<KernelEntry> entryOf(int endpointId);
}
