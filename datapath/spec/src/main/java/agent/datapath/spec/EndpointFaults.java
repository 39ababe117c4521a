package agent.datapath.spec;

import java.util.List;

/** The faults that exist now in the kernel objects of endpoints. Thread-safe. */
@FunctionalInterface
public interface EndpointFaults {
  /** No endpoint has a fault. */
  EndpointFaults NONE = endpointId -> List.of();

  /** The part of an endpoint's health that a fault belongs to. */
  enum Part {
    /** Programs, links and the entry of the map {@code endpoints}. */
    PROGRAMS,
    /** The policy map and its slot in the map {@code policies}. */
    POLICY,
    /** The workload behind the programs, such as an address that it does not answer for. */
    WORKLOAD
  }

  /**
   * One fault.
   *
   * @param part the part of the endpoint's health
   * @param isRepairable false where the agent cannot repair it: the health is Failure then, and
   *     Warning otherwise
   * @param message what was found, for operators
   */
  record Fault(Part part, boolean isRepairable, String message) {}

  /** Returns the current faults of an endpoint, empty if there are none. */
  List<Fault> of(int endpointId);
}
