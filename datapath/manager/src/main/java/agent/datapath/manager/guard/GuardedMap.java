package agent.datapath.manager.guard;

import agent.datapath.manager.spec.EndpointFaults.Part;
import agent.maps.kernel.BpfMap;

/** One map with its desired entries, for an {@link EntryComparison}. */
public final class GuardedMap {
  final int endpointId;
  final Part part;
  final String subject;
  final BpfMap map;
  final DesiredEntries desired;
  boolean isFaulty;
  String failure;

  /**
   * Creates a map without desired entries.
   *
   * @param endpointId the endpoint that the map belongs to, or 0
   * @param part the part of that endpoint's health, or null
   * @param subject name for messages
   */
  public GuardedMap(int endpointId, Part part, String subject, BpfMap map) {
    this.endpointId = endpointId;
    this.part = part;
    this.subject = subject;
    this.map = map;
    desired = new DesiredEntries(map.keySize(), map.valueSize());
  }

  /** Returns the desired entries, which the owner of the map changes. */
  public DesiredEntries desired() {
    return desired;
  }

  /** Returns the map. */
  public BpfMap map() {
    return map;
  }
}
