package agent.datapath.guard;

import agent.conductor.Faults;
import agent.conductor.HealthBoard;
import agent.datapath.spec.EndpointFaults;
import agent.reconcile.MapFaults;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * The differences between the kernel and what the agent wants that exist now: the health module
 * {@code dp-guard}, and the part of each endpoint. Thread-safe.
 */
public final class KernelFaults implements EndpointFaults, MapFaults, HealthBoard.Probe {
  private record Known(int endpointId, Fault fault) {}

  private final Faults module = new Faults("links, maps and pins are as the agent set them");
  private final TreeMap<String, Known> known = new TreeMap<>();

  /**
   * Adds the fault of a subject, or replaces it: it is repaired, or the repair is not verified yet.
   *
   * @param endpointId the endpoint that the fault belongs to, or 0
   * @param part the part of the endpoint's health; may be null without an endpoint
   * @param subject what has the fault, such as {@code endpoint 12 to_endpoint}
   * @param found what was found
   */
  public void degraded(int endpointId, Part part, String subject, String found) {
    module.degraded(subject, subject + ": " + found);
    put(endpointId, part, true, subject, found);
  }

  /** Adds or replaces a fault that the agent cannot repair; the parameters are those above. */
  public void failed(int endpointId, Part part, String subject, String found) {
    module.failed(subject, subject + ": " + found);
    put(endpointId, part, false, subject, found);
  }

  private synchronized void put(
      int endpointId, Part part, boolean isRepairable, String subject, String found) {
    if (endpointId != 0) {
      known.put(
          subject, new Known(endpointId, new Fault(part, isRepairable, subject + ": " + found)));
    }
  }

  @Override
  public void degraded(String subject, String found) {
    degraded(0, null, subject, found);
  }

  @Override
  public void failed(String subject, String found) {
    failed(0, null, subject, found);
  }

  @Override
  public synchronized void clear(String subject) {
    module.clear(subject);
    known.remove(subject);
  }

  @Override
  public synchronized List<Fault> of(int endpointId) {
    if (known.isEmpty()) {
      return List.of();
    }
    final List<Fault> faults = new ArrayList<>();
    for (final Known one : known.values()) {
      if (one.endpointId() == endpointId) {
        faults.add(one.fault());
      }
    }
    return faults;
  }

  @Override
  public HealthBoard.Reading read() {
    return module.read();
  }
}
