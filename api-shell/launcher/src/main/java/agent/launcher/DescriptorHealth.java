package agent.launcher;

import agent.bindings.process.ProcessAttributes;
import agent.conductor.HealthBoard;
import agent.endpoint.Endpoints;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * Degraded while the agent has so many endpoints and devices that it could not start again with its
 * limit of open files: devices may come while it runs.
 */
final class DescriptorHealth implements HealthBoard.Probe {
  /** Name of the module. */
  static final String MODULE = "descriptors";

  private final long limit;
  private final IntSupplier endpoints;
  private final Supplier<Set<String>> devices;

  /**
   * Creates the probe.
   *
   * @param limit of the process
   * @param endpoints reads how many endpoints there are
   * @param devices reads which devices have programs of the agent
   */
  DescriptorHealth(long limit, IntSupplier endpoints, Supplier<Set<String>> devices) {
    this.limit = limit;
    this.endpoints = endpoints;
    this.devices = devices;
  }

  /** Returns the probe of this process. */
  static DescriptorHealth of(Settings settings, Endpoints endpoints) {
    return new DescriptorHealth(
        ProcessAttributes.descriptorLimit(),
        () -> endpoints.list(List.of()).size(),
        () -> DescriptorShares.devices(settings));
  }

  @Override
  public HealthBoard.Reading read() {
    final Set<String> found = new TreeSet<>();
    final Optional<String> obstacle =
        DescriptorShares.obstacle(
            limit,
            endpoints.getAsInt(),
            "",
            () -> {
              found.addAll(devices.get());
              return found.size();
            });
    return obstacle
        .map(
            reason ->
                HealthBoard.Reading.degraded(
                    "a restart of the agent would fail: "
                        + reason
                        + ", devices: "
                        + String.join(", ", found)))
        .orElseGet(() -> HealthBoard.Reading.ok("the limit of open files is " + limit));
  }
}
